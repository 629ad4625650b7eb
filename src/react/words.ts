// The words of a call: a sentence for its status, its most telling argument, its sizes and times. Everything that a model or
// a tool wrote passes `printable` here, so that it is one line with nothing hidden in it.
import type { Found, OutcomeKind } from '../language/calls.ts'
import { isJsonObject, type Json, type JsonObject, parseBounded } from '../lib/json/index.ts'
import { printable } from '../lib/text/index.ts'
import type { CallStatus, CallView } from './view.ts'

export { plural } from '../lib/text/plural.ts'

export const statusWords: Readonly<Record<CallStatus, string>> = {
  writing: 'arguments arriving',
  proposed: 'being checked',
  client: 'waits for the application',
  waiting: 'waits for approval',
  allowed: 'allowed',
  running: 'running',
  ok: 'done',
  error: 'failed',
  invalid: 'invalid',
  denied: 'denied',
  timeout: 'timed out',
  cancelled: 'cancelled',
  abandoned: 'abandoned',
  unknown: 'unknown',
}

/** Why a call ended as it did, for those outcomes that need a sentence. */
export function outcomeSentence(call: CallView): string | undefined {
  const kind: OutcomeKind | undefined = call.outcome?.kind
  switch (kind) {
    case 'unknown':
      if (call.checked) return checkedWords(call.checked.found)
      return call.startedAt === undefined
        ? 'This may have happened. No answer came.'
        : `This may have happened. It was started at ${clockTime(call.startedAt)} and no answer came.`
    case 'invalid':
      return 'It never ran: its arguments did not pass the check.'
    case 'denied':
      return call.approval?.decided
        ? `It never ran: ${printable(call.approval.decided.by, 60)} refused it.`
        : `It never ran: ${call.forbiddenBy === undefined ? 'the policy' : ruleWords(call.forbiddenBy)} refused it.`
    case 'abandoned':
      return 'It never ran: a new message came before the answer.'
    case 'error': {
      const { message, cause = [] } = call.outcome?.thrown ?? {}
      return message === undefined
        ? 'It failed.'
        : `It failed: ${printable([message, ...cause].join(', because '), 300)}`
    }
    case 'timeout':
      return call.checked ? checkedWords(call.checked.found) : 'It was started and did not end in time.'
    default:
      return call.checked && checkedWords(call.checked.found)
  }
}

function checkedWords(found: Found): string {
  return found === 'ran'
    ? 'It took effect. No answer came at first; its tool was asked afterwards.'
    : 'It took no effect. No answer came at first; its tool was asked afterwards.'
}

export function parseCallArguments({ text, form }: Pick<CallView, 'text' | 'form'>): Json | undefined {
  if (form === 'text') return undefined
  return parseBounded(text === '' ? '{}' : text)
}

/** Members that say most about a call, the first one that is there. */
const telling = [
  'command',
  'path',
  'file',
  'to',
  'url',
  'query',
  'expression',
  'city',
  'text',
  'name',
  'title',
  'id',
]

/** The most telling argument, on one line. */
export function tellingArgument(call: Pick<CallView, 'text' | 'form'>, most = 80): string {
  const value = parseCallArguments(call)
  if (value === undefined || !isJsonObject(value)) return printable(call.text.trim(), most)
  const names = Object.keys(value)
  const name =
    telling.find(each => typeof value[each] === 'string') ??
    names.find(each => isShort(value[each])) ??
    names[0]
  if (name === undefined) return ''
  const shown = value[name] ?? null
  return printable(typeof shown === 'string' ? shown : JSON.stringify(shown), most)
}

function isShort(value: Json | undefined): boolean {
  return typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean'
}

/** A tool's name for people. A title that is a sentence of its own loses its period. */
export function toolTitle(name: string, title: string | undefined): string {
  return printable((title ?? name).replace(/[.:;,\s]+$/, ''), 80)
}

/** The effect of a call, in a sentence made of the tool's title and the arguments. */
export function callSentence(
  name: string,
  title: string | undefined,
  input: Json | undefined,
  text: string,
): string {
  const subject = toolTitle(name, title)
  if (input === undefined || !isJsonObject(input)) return `${subject}: ${printable(text.trim(), 160)}`
  const parts = Object.entries(input)
    .slice(0, 3)
    .map(([member, value]) => `${printable(member, 40)} ${shortValue(value)}`)
  const more = Object.keys(input).length - parts.length
  if (parts.length === 0) return `${subject}, with no arguments`
  return `${subject}: ${parts.join(', ')}${more > 0 ? ` and ${more} more` : ''}`
}

function shortValue(value: Json): string {
  if (typeof value === 'string') return `“${printable(value, 60)}”`
  if (Array.isArray(value)) return `${value.length} items`
  return printable(isJsonObject(value) ? `{ ${Object.keys(value).join(', ')} }` : String(value), 60)
}

/** In the two largest units. It is rounded first, so that no unit is full: 119.9 s are 2 min 0 s. */
export function duration(ms: number): string {
  if (ms < 1) return '0 ms'
  if (Math.round(ms) < 1000) return `${Math.round(ms)} ms`
  const seconds = Math.round(ms / 1000)
  const minutes = Math.round(ms / 60_000)
  const hours = Math.round(ms / 3_600_000)
  if (seconds < 60) return `${ms < 9_950 ? (ms / 1000).toFixed(1) : seconds} s`
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ${seconds % 60} s`
  if (minutes < 1440) return `${Math.floor(minutes / 60)} h ${minutes % 60} min`
  return `${Math.floor(hours / 24)} d ${hours % 24} h`
}

/** How long a call has run, or ran. */
export function callDuration(call: CallView): number | undefined {
  if (call.outcome?.ms !== undefined) return call.outcome.ms
  if (call.settledAt === undefined) return undefined
  return call.startedAt === undefined ? undefined : call.settledAt - call.startedAt
}

export function byteSize(bytes: number): string {
  if (bytes < 1000) return `${bytes} B`
  if (bytes < 1_000_000) return `${(bytes / 1000).toFixed(bytes < 10_000 ? 1 : 0)} kB`
  return `${(bytes / 1_000_000).toFixed(1)} MB`
}

export function clockTime(at: number): string {
  return new Date(at).toLocaleTimeString('en-GB', { hour: '2-digit', minute: '2-digit', second: '2-digit' })
}

/** With milliseconds: events of one moment are told apart. */
export function preciseTime(at: number): string {
  return `${clockTime(at)}.${String(new Date(at).getMilliseconds()).padStart(3, '0')}`
}

export function exactTime(at: number): string {
  return new Date(at).toISOString().replace('T', ' ').replace('Z', ' UTC')
}

export function relativeTime(at: number, now: number): string {
  const ms = now - at
  const past = Math.abs(ms)
  const words =
    past < 5000
      ? 'now'
      : past < 60_000
        ? `${Math.round(past / 1000)} s`
        : past < 3_600_000
          ? `${Math.round(past / 60_000)} min`
          : past < 86_400_000
            ? `${Math.round(past / 3_600_000)} h`
            : `${Math.round(past / 86_400_000)} d`
  if (words === 'now') return ms >= 0 ? 'just now' : 'now'
  return ms >= 0 ? `${words} ago` : `in ${words}`
}

/** The members in which two objects differ, as lines of JSON for a diff. */
export function prettyJson(value: Json | undefined, text: string): string {
  return value === undefined ? text : JSON.stringify(sorted(value), null, 2)
}

function sorted(value: Json): Json {
  if (Array.isArray(value)) return value.map(sorted)
  if (!isJsonObject(value)) return value
  const pairs: [string, Json][] = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))
  return Object.fromEntries(
    pairs.map(([name, member]): [string, Json] => [name, sorted(member)]),
  ) as JsonObject
}

const rules: Readonly<Record<string, string>> = {
  'operator-trust': 'the trust that the operator gave this tool',
  'client-trust': 'the trust that the application gave this tool',
  'client-tool': 'the application runs it',
  'changed-tool': 'the definition of this tool has changed',
  grant: 'a grant',
}

/** A rule in words: those of the runtime are spelled out, the operator's own are named. */
export function ruleWords(rule: string): string {
  return rules[rule] ?? `the rule ${rule}`
}
