// What the rehearsal model says in words: what came of the calls, or what it could do. Results are data: they are
// reported, shortened, and never acted on.
import type { CallResult, OutcomeKind } from '../../language/calls.ts'
import { textOf } from '../../language/content.ts'
import type { Entry } from '../../language/history.ts'
import type { ToolDeclaration } from '../../language/tools.ts'
import { isJsonObject, type Json } from '../../lib/json.ts'

const MAX_REPORTED = 280
const MAX_NAMED = 8

const OPENINGS: Readonly<Record<OutcomeKind, string>> = {
  ok: 'answered',
  error: 'failed',
  invalid: 'would not take the arguments that I gave it',
  denied: 'was not allowed',
  timeout: 'took too long and was stopped',
  cancelled: 'was cancelled',
  abandoned: 'was left without an answer',
  unknown: 'may or may not have happened',
}

export function reportOf(result: CallResult, tools: readonly ToolDeclaration[]): string {
  const { name, outcome } = result
  const label = tools.find(tool => tool.name === name)?.title ?? name
  const opening = `${label} ${OPENINGS[outcome.kind]}`
  const said = saidBy(result)
  const sentence = said === '' ? `${opening}.` : `${opening}: ${ended(said)}`
  return outcome.kind === 'unknown' ? `${sentence} Please check before it is asked for again.` : sentence
}

function saidBy({ outcome }: CallResult): string {
  const texts: string[] = []
  let others = 0
  for (const part of outcome.parts) {
    if (part.type === 'text') texts.push(part.text)
    else others++
  }
  const text = shortened(plain(texts.join('\n')))
  if (others === 0) return text
  const attached = others === 1 ? 'one attachment' : `${others} attachments`
  return text === '' ? attached : `${text} (with ${attached})`
}

/** JSON is read out; other text is put on one line. */
function plain(text: string): string {
  if (/^\s*[[{]/u.test(text)) {
    try {
      return readOut(JSON.parse(text) as Json) // JSON.parse is typed `any`; JSON text yields nothing but Json
    } catch {
      return oneLine(text)
    }
  }
  return oneLine(text)
}

function oneLine(text: string): string {
  return text.replace(/\s+/gu, ' ').trim()
}

function readOut(value: Json, depth = 0): string {
  if (depth > 5) return '…'
  if (Array.isArray(value)) {
    if (value.length === 0) return 'an empty list'
    const shown = value
      .slice(0, 5)
      .map(item => readOut(item, depth + 1))
      .join('; ')
    return value.length > 5 ? `${shown}; and ${value.length - 5} more` : shown
  }
  if (!isJsonObject(value)) return oneLine(String(value))
  const members = Object.entries(value).map(
    ([name, member]) => `${name.replaceAll('_', ' ')} ${readOut(member, depth + 1)}`,
  )
  return members.length === 0 ? 'nothing' : members.join(', ')
}

function shortened(text: string): string {
  return text.length > MAX_REPORTED
    ? `${text
        .slice(0, MAX_REPORTED - 1)
        .toWellFormed()
        .trimEnd()}…`
    : text
}

function ended(text: string): string {
  return /[.!?…]$/u.test(text) ? text : `${text}.`
}

const MAX_TOLD = 12

/** What a conversation came to, the newest last: a summary for whoever goes on from it. */
export function summaryReply(history: readonly Entry[], tools: readonly ToolDeclaration[]): string {
  const told: string[] = []
  for (const entry of history) {
    if (entry.role === 'user') told.push(`You said: “${shortened(oneLine(textOf(entry.parts)))}”`)
    else if (entry.role === 'tool') told.push(...entry.results.map(result => reportOf(result, tools)))
  }
  const left = Math.max(0, told.length - MAX_TOLD)
  return [left > 0 ? `After ${left} earlier events:` : 'So far:', ...told.slice(left)].join(' ')
}

export function undoneReply(names: readonly string[]): string {
  return `I did not get to ${listed(names)}.`
}

export function idleReply(message: string, tools: readonly ToolDeclaration[], mayUse: boolean): string {
  if (message.trim() === '') return 'I can only read text, and there was none.'
  const quoted = `“${shortened(oneLine(message))}”`
  if (tools.length === 0)
    return `I have no tools here, so all I can do is repeat what I understood: ${quoted}`
  const names = tools.slice(0, MAX_NAMED).map(tool => tool.name)
  const more = tools.length - names.length
  const all = listed(more > 0 ? [...names, `${more} more`] : names)
  if (!mayUse)
    return `I may not use tools for this answer. Otherwise I could use ${all}. I understood: ${quoted}`
  return `None of my tools seems to fit that. I could use ${all}: ask for one of these.`
}

function listed(names: readonly string[]): string {
  return names.length < 2 ? (names[0] ?? '') : `${names.slice(0, -1).join(', ')} and ${names.at(-1)}`
}
