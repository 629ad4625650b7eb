// What both codecs of Gemini make requests with: which models ask for thought signatures, how names are spelled, tools
// in the vendor's dialect, calls paired with their results, the tool choice, media. Field names of either API are in
// the codecs themselves.

import type { CallPart, CallResult } from '../../../language/calls.ts'
import type { AssistantEntry, Entry } from '../../../language/history.ts'
import type { ToolChoice, ToolDeclaration } from '../../../language/tools.ts'
import type { JsonObject } from '../../../lib/json.ts'
import { mediaNote, resultText } from '../../common/artifacts.ts'
import { grammarProblem, textToolDescription, textToolSchema } from '../../common/custom-tools.ts'
import {
  type Inline,
  inlineOf,
  isInline,
  isPicture,
  isTextual,
  type Media,
  pictureOf,
} from '../../common/media.ts'
import { type Dialect, toDialect } from '../../common/schema-dialect.ts'
import type { NameRule, WireNames } from '../../common/wire-names.ts'
import type { Target } from '../../protocol.ts'
import { objectOf } from './decode.ts'

/** The API takes more characters in newer versions; every version takes these. */
export const nameRule: NameRule = { pattern: /^[a-zA-Z0-9_.:-]+$/, maxLength: 64, firstLetter: true }

/** Documented as the signature of history that another model wrote. */
export const FOREIGN_SIGNATURE = 'skip_thought_signature_validator'

/** Said where the API wants somebody to have spoken and nobody has. */
export const CONTINUE = 'Continue.'

/** Before version 3 signatures are optional, calls have no ids, and results hold no media. */
export function isOlder(target: Target): boolean {
  return target.quirks.has('no-thought-signatures') || /(?:^|\/)gemini-[12][.-]/.test(target.model)
}

// ---- tools -------------------------------------------------------------------------------------------------

export type Warn = (text: string) => void

export type Declared = { tool: ToolDeclaration; wire: string; description: string; schema: JsonObject }

/** The tools in the vendor's dialect. One whose schema cannot be said is left out, never the request. */
export function declareTools(
  tools: readonly ToolDeclaration[],
  names: WireNames,
  dialect: Dialect,
  warn: Warn,
): Declared[] {
  const declared: Declared[] = []
  for (const tool of tools) {
    const problem = grammarProblem(tool)
    if (problem !== undefined) {
      warn(`The tool "${tool.name}" is not offered to Gemini, because of its grammar: ${problem}.`)
      continue
    }
    const source = tool.input.form === 'text' ? textToolSchema : tool.input.schema
    const adapted = toDialect(source, dialect)
    if ('unusable' in adapted) {
      warn(`The tool "${tool.name}" is not offered to Gemini: ${adapted.unusable}.`)
      continue
    }
    if (adapted.lost.length > 0)
      warn(`The schema of "${tool.name}" was adapted for Gemini: ${adapted.lost.join('; ')}.`)
    const description = tool.input.form === 'text' ? textToolDescription(tool) : tool.description
    declared.push({ tool, wire: names.toWire(tool.name), description, schema: adapted.schema })
  }
  return declared
}

/** A tool without arguments has no schema: of an empty object of properties the API complains. */
export function takesNothing(schema: JsonObject): boolean {
  const isOpen = schema['additionalProperties'] !== undefined && schema['additionalProperties'] !== false
  return !isOpen && Object.keys(objectOf(schema['properties'])).length === 0
}

/** All that spellings of names depend on beside the names themselves. */
export function namesKey(names: WireNames): string {
  let key = ''
  for (const [wire, name] of names.fromWire) if (wire !== name) key += `${wire} `
  return key
}

// ---- tool choice -------------------------------------------------------------------------------------------

export type Choice = { mode: 'auto' | 'any' | 'none' | 'validated'; only?: string[]; warning?: string }

/** The tool choice as both APIs can say it. Undefined: nothing is to be said. */
export function choiceOf(
  choice: ToolChoice,
  tools: readonly ToolDeclaration[],
  names: WireNames,
): Choice | undefined {
  if (tools.length === 0) return undefined
  if (choice === 'none') return { mode: 'none' }
  if (choice === 'required') return { mode: 'any' }
  if (choice === 'auto') {
    const strict = tools.some(tool => tool.input.form === 'json' && tool.input.strict === true)
    return { mode: strict ? 'validated' : 'auto' }
  }
  const wanted = 'tool' in choice ? [choice.tool] : choice.allowed
  const mode = 'tool' in choice || choice.mode === 'required' ? 'any' : 'validated'
  const offered = new Set(tools.map(tool => tool.name))
  const only = [...new Set(wanted)].filter(name => offered.has(name)).map(name => names.toWire(name))
  if (only.length > 0) return { mode, only }
  return { mode: 'none', warning: 'The tool choice names no tool that is offered: no call is allowed.' }
}

// ---- pairs of calls and results ----------------------------------------------------------------------------

export type Paired = { call: CallPart; result: CallResult; entry: AssistantEntry }

/**
 * The calls of the entry at `index` that the next entry answers, or that this one answers, in the order in which the
 * model asked. All others would be refused: a call without a result, a result without a call.
 */
export function pairsAt(history: readonly Entry[], index: number): Paired[] {
  const at = history[index]?.role === 'tool' ? index - 1 : index
  const [asked, answered] = [history[at], history[at + 1]]
  if (asked?.role !== 'assistant' || answered?.role !== 'tool') return []
  const results = new Map(answered.results.map(result => [result.callId, result]))
  const pairs: Paired[] = []
  for (const call of asked.parts) {
    const result = call.type === 'call' ? results.get(call.id) : undefined
    if (call.type === 'call' && result !== undefined) pairs.push({ call, result, entry: asked })
  }
  return pairs
}

/** Not empty where a call or a result stands alone; part of the key under which the encoding is remembered. */
export function pairsVariant(history: readonly Entry[], index: number): string {
  const entry = history[index]
  if (entry?.role === 'user' || entry?.role === 'system') return ''
  const own = entry?.role === 'tool' ? entry.results.length : (entry?.parts.filter(isCall).length ?? 0)
  if (own === 0 || isAnsweredInOrder(history, index, own)) return ''
  const pairs = pairsAt(history, index)
  return pairs.length === own ? '' : `pairs ${pairs.map(pair => pair.call.id).join(' ')}`
}

/** The usual case, told without building anything. */
function isAnsweredInOrder(history: readonly Entry[], index: number, own: number): boolean {
  const at = history[index]?.role === 'tool' ? index - 1 : index
  const [asked, answered] = [history[at], history[at + 1]]
  if (asked?.role !== 'assistant' || answered?.role !== 'tool' || answered.results.length !== own)
    return false
  let place = 0
  for (const part of asked.parts)
    if (part.type === 'call' && answered.results[place++]?.callId !== part.id) return false
  return place === own
}

function isCall(part: { type: string }): boolean {
  return part.type === 'call'
}

export function loneCall(call: CallPart): string {
  return `[${call.name} was called; nothing is known of its result]`
}

export function loneResult({ name, outcome }: CallResult): string {
  return `[result of ${name}] ${resultText(outcome)}`
}

export function systemNote(text: string): string {
  return `<system>\n${text}\n</system>`
}

export const MOVED_SYSTEM = 'A system message in mid-conversation was sent as a note in the user’s role.'

/** How many system entries the history begins with; they are part of the instructions. */
export function leadingSystem(history: readonly Entry[]): number {
  const first = history.findIndex(entry => entry.role !== 'system')
  return first < 0 ? history.length : first
}

/** The agent's instructions and the system entries that the history begins with. */
export function instructions(
  system: string | undefined,
  history: readonly Entry[],
  leading: number,
): string[] {
  const texts = history.slice(0, leading).map(entry => (entry.role === 'system' ? entry.text : ''))
  return [system ?? '', ...texts].filter(text => text.trim() !== '')
}

// ---- media -------------------------------------------------------------------------------------------------

export type Carried = Inline | { mediaType: string; url: string }

const byExtension: Readonly<Record<string, string>> = {
  png: 'image/png',
  jpg: 'image/jpeg',
  jpeg: 'image/jpeg',
  webp: 'image/webp',
  gif: 'image/gif',
  heic: 'image/heic',
  heif: 'image/heif',
}
const pictures: ReadonlySet<string> = new Set([
  'image/png',
  'image/jpeg',
  'image/webp',
  'image/heic',
  'image/heif',
])

/** Undefined when the service takes no such thing: it is mentioned then. */
export function mediaOf(part: Media, warn: Warn): Carried | undefined {
  const media = isInline(part) ? inlineMedia(part) : addressOf(part)
  if (media === undefined) warn(`${mediaNote(part)} could not be sent to Gemini and was only mentioned.`)
  return media
}

function inlineMedia(part: Media): Carried | undefined {
  const inline = inlineOf(part)
  if (isPicture(part)) return pictureOf(inline, pictures)
  if (inline === undefined || /^(?:audio|video)\/|^application\/pdf$/.test(inline.mediaType)) return inline
  return isTextual(inline.mediaType) ? { ...inline, mediaType: 'text/plain' } : undefined
}

/** The API wants a type with every address; most pictures on the web are JPEG. */
function addressOf(part: Media): Carried {
  if (part.type === 'file') return { mediaType: part.mediaType, url: part.url }
  const extension = /\.([a-z]+)(?:[?#]|$)/i.exec(part.url)?.[1]?.toLowerCase() ?? ''
  return { mediaType: byExtension[extension] ?? 'image/jpeg', url: part.url }
}
