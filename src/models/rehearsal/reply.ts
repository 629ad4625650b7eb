// The rehearsal model's sentences: reports of results, a summary, and its reply when it calls nothing. Results are data:
// they are shortened and quoted, never acted on.
import type { CallResult, OutcomeKind } from '../../language/calls.ts'
import { joinText } from '../../language/content.ts'
import type { Entry } from '../../language/history.ts'
import type { ToolDeclaration } from '../../language/tools.ts'

const MAX_QUOTED = 280
const MAX_NAMED = 8
const MAX_SUMMARISED = 12

const PHRASES: Readonly<Record<OutcomeKind, string>> = {
  ok: 'answered',
  error: 'failed',
  invalid: 'would not take the arguments that I gave it',
  denied: 'was not allowed',
  timeout: 'took too long and was stopped',
  cancelled: 'was cancelled',
  abandoned: 'was left without an answer',
  unknown: 'may or may not have happened',
}

export function reportResult({ name, outcome }: CallResult, tools: readonly ToolDeclaration[]): string {
  const label = tools.find(tool => tool.name === name)?.title ?? name
  const texts = outcome.parts.map(part => (part.type === 'text' ? readable(part.text) : `(${part.type})`))
  const said = quotable(texts.join(' '))
  const sentence = said === '' ? '.' : `: ${said}${/[.!?…]$/u.test(said) ? '' : '.'}`
  const advice = outcome.kind === 'unknown' ? ' Please check before it is asked for again.' : ''
  return `${label} ${PHRASES[outcome.kind]}${sentence}${advice}`
}

/** JSON loses its punctuation. */
function readable(text: string): string {
  if (!/^\s*[[{]/u.test(text)) return text
  const plain = text.replaceAll('":', ' ').replace(/[{}[\]"]+/gu, '')
  return plain.replace(/,(?=\S)/gu, ', ')
}

function quotable(text: string): string {
  const line = text.replace(/\s+/gu, ' ').trim()
  return line.length > MAX_QUOTED
    ? `${line
        .slice(0, MAX_QUOTED - 1)
        .toWellFormed()
        .trimEnd()}…`
    : line
}

export function conversationSummary(history: readonly Entry[], tools: readonly ToolDeclaration[]): string {
  const events = history.flatMap(entry => {
    if (entry.role === 'tool') return entry.results.map(result => reportResult(result, tools))
    return entry.role === 'user' ? [`You said: “${quotable(joinText(entry.parts))}”`] : []
  })
  const left = Math.max(0, events.length - MAX_SUMMARISED)
  return [left > 0 ? `After ${left} earlier events:` : 'So far:', ...events.slice(left)].join(' ')
}

export function replyWithoutCall(
  message: string,
  tools: readonly ToolDeclaration[],
  mayCall: boolean,
): string {
  if (message.trim() === '') return 'I can only read text, and there was none.'
  const quoted = `“${quotable(message)}”`
  if (tools.length === 0)
    return `I have no tools here, so all I can do is repeat what I understood: ${quoted}`
  const names = tools.slice(0, MAX_NAMED).map(tool => tool.name)
  if (tools.length > names.length) names.push(`${tools.length - names.length} more`)
  const all = [names.slice(0, -1).join(', '), ...names.slice(-1)].filter(each => each !== '').join(' and ')
  return mayCall
    ? `None of my tools seems to fit that. I could use ${all}: ask for one of these.`
    : `I may not use tools for this answer. Otherwise I could use ${all}. I understood: ${quoted}`
}
