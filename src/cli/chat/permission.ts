// Asks a person about one call. All of its arguments can be shown, escaped so that they cannot pose as something else. The
// answer holds for this call and these arguments.
import type { Permission, ToolCall } from '../../client/index.ts'
import { findSuspicions } from '../../language/suspicions.ts'
import { isJsonObject, JsonError, type JsonObject, parseJson } from '../../lib/json/index.ts'
import { printable, printableEnds } from '../../lib/text/index.ts'
import type { Styles } from '../style.ts'
import { previewLines } from './preview.ts'
import type { Terminal } from './terminal.ts'

const shownAtFirst = 1200
const previewAtFirst = 40

/** `always`: this tool needs no question any more in this session. Undefined: the person wants the turn to stop, or the
 * signal took the question back. */
export type PersonsAnswer = { permission: Permission; always?: true } | undefined

export async function askPermission(
  call: ToolCall,
  terminal: Terminal,
  styles: Styles,
  signal: AbortSignal,
): Promise<PersonsAnswer> {
  const { yellow, bold, dim, red } = styles
  let input = call.input
  let edited = false
  terminal.write(`\n  ${yellow('●')} ${bold(printable(call.name, 128))} wants to run\n`)
  if (call.reason !== undefined) terminal.write(`    ${yellow(printable(call.reason, 1200))}\n`)
  terminal.write(described(input, styles, shownAtFirst))
  if (call.preview)
    terminal.write(previewLines(call.preview, styles, previewAtFirst, terminal.width).join(''))
  for (;;) {
    const answer = await askOnce(call, terminal, styles, signal)
    switch (answer) {
      case undefined:
        return undefined
      case 'y':
      case 'yes':
        return { permission: edited ? { granted: true, input } : true }
      case 'a':
      case 'always':
        return { permission: edited ? { granted: true, input } : true, always: true }
      case 'n':
      case 'no': {
        const reason = await terminal.ask(
          `  ${bold('Why not?')} ${dim('the model is told; Enter for no reason')} › `,
          { signal },
        )
        if (reason === undefined) return undefined
        return { permission: { granted: false, ...(reason.trim() !== '' && { reason: reason.trim() }) } }
      }
      case 'v':
        terminal.write(described(input, styles, Number.POSITIVE_INFINITY))
        if (call.preview && !edited)
          terminal.write(
            previewLines(call.preview, styles, Number.POSITIVE_INFINITY, terminal.width).join(''),
          )
        break
      case 'e': {
        const changed = await edit(input, terminal, styles, signal)
        if (signal.aborted) return undefined
        if (!changed) break
        input = changed
        edited = true
        terminal.write(described(input, styles, shownAtFirst))
        break
      }
      default:
        terminal.write(`  ${red('Please answer y, n, e, a or v.')}\n`)
    }
  }
}

/** The answer that a person types. A call whose time is over can only be rejected. */
async function askOnce(
  call: ToolCall,
  terminal: Terminal,
  styles: Styles,
  signal: AbortSignal,
): Promise<string | undefined> {
  const { yellow, bold, dim } = styles
  const isOver = call.expiresAt !== undefined && call.expiresAt <= Date.now()
  if (isOver) terminal.write(`    ${yellow('The time for an answer is over. It can only be rejected.')}\n`)
  const prompt = isOver
    ? `${bold('Reject it?')} ${dim('n rejects it, v view all')}`
    : `${bold('Allow it?')} ${dim('y yes, n no, e edit, a always, v view all')}`
  const line = await terminal.ask(`  ${prompt} › `, { signal })
  const answer = line?.trim().toLowerCase()
  const isLate = isOver && answer !== undefined && !['n', 'no', 'v'].includes(answer)
  return isLate ? askOnce(call, terminal, styles, signal) : answer
}

async function edit(
  input: JsonObject,
  terminal: Terminal,
  { bold, red }: Styles,
  signal: AbortSignal,
): Promise<JsonObject | undefined> {
  const line = await terminal.ask(`  ${bold('Arguments')} › `, { filled: JSON.stringify(input), signal })
  if (line === undefined || line.trim() === '') return undefined
  try {
    const value = parseJson(line)
    if (isJsonObject(value)) return value
    terminal.write(`  ${red('The arguments must be a JSON object.')}\n`)
  } catch (error) {
    if (!(error instanceof JsonError)) throw error
    terminal.write(`  ${red(`That is not JSON: ${printable(error.message, 200)}`)}\n`)
  }
  return undefined
}

/** Warns above values that are easy to misread. A long value shows its beginning, its length and its end. */
function described(input: JsonObject, { dim, yellow }: Styles, most: number): string {
  const members = Object.entries(input)
  if (members.length === 0) return `    ${dim('without arguments')}\n`
  const texts = members.map(([, value]) => (typeof value === 'string' ? value : JSON.stringify(value)))
  const maxChars = roomForEach(texts, most)
  const width = Math.min(20, Math.max(...members.map(([name]) => name.length)))
  const warnings = findSuspicions(input).map(words => `    ${yellow(`! ${printable(words, 300)}`)}\n`)
  const lines = members.map(([name], at) => {
    const shownName = printableEnds(name, { maxChars: 80 })
    return `    ${dim(shownName.padEnd(width))}  ${printableEnds(texts[at]!, { maxChars })}\n`
  })
  return [...warnings, ...lines].join('')
}

const leastForEach = 160

/** Short values leave their room to the long ones. */
function roomForEach(texts: readonly string[], most: number): number {
  const lengths = texts.map(text => text.length).sort((one, other) => one - other)
  let room = most
  for (const [at, length] of lengths.entries()) {
    const share = room / (lengths.length - at)
    if (length > share) return Math.max(leastForEach, Math.floor(share))
    room -= length
  }
  return Number.POSITIVE_INFINITY
}
