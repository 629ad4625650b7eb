// A question of a running call, in the terminal: one line for each member of its form, or the address to open.
import type { QuestionAnswer, ToolQuestion } from '../../client/index.ts'
import { readChoices } from '../../language/questions.ts'
import { findSuspicions } from '../../language/suspicions.ts'
import { isJsonObject, type Json, type JsonObject } from '../../lib/json/index.ts'
import { printable, printableEnds } from '../../lib/text/index.ts'
import type { Terminal } from './terminal.ts'

type Asks = Pick<Terminal, 'ask' | 'write'>

export async function askForm(terminal: Asks, question: ToolQuestion): Promise<QuestionAnswer> {
  const { message, url, schema } = question
  terminal.write(`\n  ${printableEnds(message, { multiline: true, maxChars: 10_000 })}\n`)
  for (const words of findSuspicions([message, url ?? '', schema ?? {}]))
    terminal.write(`  ! ${printable(words, 300)}\n`)
  if (url !== undefined) return agreed(terminal, url)
  const properties = isJsonObject(schema?.['properties']) ? schema['properties'] : {}
  const content: JsonObject = {}
  for (const [name, member] of Object.entries(properties)) {
    const line = await terminal.ask(`  ${fieldLabel(name, isJsonObject(member) ? member : {})} › `)
    if (line === undefined) return { action: 'cancel' }
    if (line.trim() !== '' && isJsonObject(member)) content[name] = fieldValue(line.trim(), member)
  }
  return { action: 'accept', content }
}

/** The whole address is shown, and nothing of it is fetched. */
async function agreed(terminal: Asks, url: string): Promise<QuestionAnswer> {
  terminal.write(`  ${printableEnds(url, { maxChars: 8_000 })}\n`)
  const line = await terminal.ask('  Open it in your browser, then type y (n: decline) › ')
  if (line === undefined) return { action: 'cancel' }
  return { action: /^y/i.test(line.trim()) ? 'accept' : 'decline' }
}

function fieldLabel(name: string, member: JsonObject): string {
  const title = typeof member['title'] === 'string' ? member['title'] : name
  const choices = readChoices(member)?.map(({ value }) => value) ?? []
  const kind = choices.length > 0 ? choices.join(' / ') : String(member['type'] as string | undefined)
  return printable(`${title} (${kind})`, 200)
}

function fieldValue(text: string, member: JsonObject): Json {
  switch (member['type']) {
    case 'number':
    case 'integer':
      return Number(text)
    case 'boolean':
      return /^(y|yes|true|1)$/i.test(text)
    case 'array':
      return text.split(',').map(item => item.trim())
    default:
      return text
  }
}
