// Facts about a history that every encoder needs: which system entries belong to the instructions, which calls and results
// stand side by side, and the text for those that do not; who may have a native block back, and the text of a result. No
// vendor's field names are here.

import type { ModelRequest } from '../../engine/ports/index.ts'
import type { CallPart, CallResult, Outcome } from '../../language/calls.ts'
import type { Native, Origin, ResultPart } from '../../language/content.ts'
import { type AssistantEntry, type Entry, listCalls } from '../../language/history.ts'
import type { Json } from '../../lib/json/index.ts'
import type { WireNames } from './wire-names.ts'

// ---- system entries --------------------------------------------------------------------------------------

/** The agent's instructions with the system entries that the history begins with, and the rest of the history. */
export function splitSystem(request: ModelRequest): {
  /** Each with data beside its text that only its vendor understands. */
  systemParts: { text: string; native?: Native }[]
  spoken: readonly Entry[]
} {
  const { history, system = '' } = request
  const systemParts: { text: string; native?: Native }[] = system.trim() === '' ? [] : [{ text: system }]
  let leading = 0
  for (let entry = history[0]; entry?.role === 'system'; entry = history[++leading])
    if (entry.text.trim() !== '') systemParts.push(entry)
  return { systemParts, spoken: leading === 0 ? history : history.slice(leading) }
}

/** A system entry in mid-conversation, for a vendor that takes none there; '' for a blank one. */
export function systemNote(text: string, warn: (warning: string) => void): string {
  if (text.trim() === '') return ''
  warn('A system message in mid-conversation was sent as a note in the user’s role.')
  return `<system>\n${text}\n</system>`
}

/** Said in the user's role where a vendor wants the user to have spoken and nobody has. */
export const CONTINUE = 'Continue.'

/** Stands for a message that says nothing. */
export const EMPTY_MESSAGE = '(empty message)'

export const ASKED_TO_CONTINUE = 'The history ended with an answer, so the model was asked to continue.'

// ---- pairs of calls and results ----------------------------------------------------------------------------

export type CallPair = { call: CallPart; result: CallResult; entry: AssistantEntry }

/**
 * The calls of the answer at `index`, or of the answer before the results at `index`, with their results, in the order
 * in which the model asked. A call and a result are a pair only if their entries stand side by side.
 */
export function pairsAt(history: readonly Entry[], index: number): CallPair[] {
  const { answer, results } = batchAt(history, index)
  if (answer === undefined || results === undefined) return []
  const byCall = new Map(results.map(result => [result.callId, result]))
  return listCalls(answer).flatMap(call => {
    const result = byCall.get(call.id)
    return result === undefined ? [] : [{ call, result, entry: answer }]
  })
}

/** Ids of the calls without a result, or of the results without a call, in the entry at `index`. */
export function unpairedIds(history: readonly Entry[], index: number): string[] {
  const entry = history[index]
  if (entry?.role !== 'assistant' && entry?.role !== 'tool') return []
  const { answer, results = [] } = batchAt(history, index)
  if (answer !== undefined && isAnsweredInOrder(answer, results)) return []
  const called = answer === undefined ? [] : listCalls(answer).map(call => call.id)
  const answered = results.map(result => result.callId)
  const [own, others] = entry.role === 'tool' ? [answered, new Set(called)] : [called, new Set(answered)]
  return own.filter(id => !others.has(id))
}

type CallBatch = { answer: AssistantEntry | undefined; results: readonly CallResult[] | undefined }

function batchAt(history: readonly Entry[], index: number): CallBatch {
  const at = history[index]?.role === 'tool' ? index - 1 : index
  const [answer, answered] = [history[at], history[at + 1]]
  return {
    answer: answer?.role === 'assistant' ? answer : undefined,
    results: answered?.role === 'tool' ? answered.results : undefined,
  }
}

/** The usual case, checked without building anything. */
function isAnsweredInOrder(answer: AssistantEntry, results: readonly CallResult[]): boolean {
  let count = 0
  for (const part of answer.parts)
    if (part.type === 'call' && results[count++]?.callId !== part.id) return false
  return count === results.length
}

/** Stands for a call whose result is not in the next entry. Vendors refuse such a call. */
export function loneCall(call: CallPart): string {
  return `[${call.name} was called; nothing is known of its result]`
}

/** Stands for a result whose call is not in the entry before. */
export function loneResult({ name, outcome }: CallResult): string {
  return `[result of ${name}] ${resultText(outcome)}`
}

/** Wire names of all tools that were called, for vendors that refuse calls in a history without declared tools. */
export function calledNames(history: readonly Entry[], names: WireNames): Set<string> {
  const called = new Set<string>()
  for (const entry of history)
    if (entry.role === 'assistant') for (const call of listCalls(entry)) called.add(names.toWire(call.name))
  return called
}

// ---- native blocks and results --------------------------------------------------------------------------

export function sameOrigin(a: Origin | undefined, b: Origin): boolean {
  return a !== undefined && a.protocol === b.protocol && a.family === b.family
}

/** The maker's own block, if `target` is its maker. Otherwise undefined: the whole block is left out. */
export function nativeFor(part: { native?: Native }, target: Origin): Json | undefined {
  return part.native && sameOrigin(part.native.origin, target) ? part.native.data : undefined
}

export function isFailed(outcome: Outcome): boolean {
  return outcome.kind !== 'ok'
}

/** The text of a result: never empty, well-formed. `mention` gives the words for what is not text. */
export function resultText(
  outcome: Outcome,
  mention: (part: Exclude<ResultPart, { type: 'text' }>) => string = mediaNote,
): string {
  const texts: string[] = []
  for (const part of outcome.parts) {
    const text = part.type === 'text' ? part.text : mention(part)
    if (text !== '') texts.push(text)
  }
  const text = texts.join('\n').toWellFormed()
  return text.trim() === '' ? emptyWords(outcome) : text
}

/** The same for a vendor without a flag for failed calls. */
export function flaggedText(
  outcome: Outcome,
  mention?: (part: Exclude<ResultPart, { type: 'text' }>) => string,
): string {
  const text = resultText(outcome, mention)
  return isFailed(outcome) ? `[${outcome.kind}] ${text}` : text
}

export function emptyWords(outcome: Outcome): string {
  return isFailed(outcome) ? `The call ended: ${outcome.kind}.` : 'The tool gave no output.'
}

export function mediaNote(part: Exclude<ResultPart, { type: 'text' }>): string {
  if (part.type === 'image') return '[image]'
  return `[file: ${part.name ?? part.mediaType}]`
}

/** Undefined for any other address. */
export function splitDataUri(url: string): { mediaType: string; base64: string } | undefined {
  const found = /^data:([^;,]*)((?:;[^;,]*)*);base64,/i.exec(url.slice(0, 512))
  if (found === null) return undefined
  return { mediaType: found[1] || 'application/octet-stream', base64: url.slice(found[0].length) }
}
