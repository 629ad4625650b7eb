// A history as the steps of an interaction: thoughts with their signatures where they stood, calls and results paired
// by unique ids. Each entry is encoded once and remembered. A turn of the model opens with a thought wherever it
// holds one or calls something; where none of the vendor's own can stand, the documented stand-in does.

import type { CallPart } from '../../../language/calls.ts'
import type { InputPart, Origin, ResultPart } from '../../../language/content.ts'
import type { AssistantEntry, Entry, ToolEntry } from '../../../language/history.ts'
import { isJsonObject, type JsonObject } from '../../../lib/json.ts'
import { isFailed, nativeFor, resultText, wireJson } from '../../common/artifacts.ts'
import { encodeEntries, joinPieces, joinVariants } from '../../common/encode-cache.ts'
import { type Media, mention } from '../../common/media.ts'
import { historyArguments } from '../../common/truncated.ts'
import type { WireIds } from '../../common/wire-ids.ts'
import type { WireNames } from '../../common/wire-names.ts'
import { stringOf } from '../google/decode.ts'
import {
  CONTINUE,
  FOREIGN_SIGNATURE,
  loneCall,
  loneResult,
  MOVED_SYSTEM,
  mediaOf,
  namesKey,
  type Paired,
  pairsAt,
  pairsVariant,
  systemNote,
  type Warn,
} from '../google/encode.ts'

export type Speaker = {
  origin: Origin
  names: WireNames
  ids: WireIds
  /** Thoughts are not asked for. */
  older: boolean
  warn: Warn
}

type Context = Speaker & { spoken: readonly Entry[] }

/**
 * `spoken`: the history without the system entries that it begins with; `from`, `to`: the entries that are sent.
 * `open`: the model goes on by itself, so that nobody needs to ask it to.
 */
export function encodeSteps(
  spoken: readonly Entry[],
  range: { from: number; to: number; open: boolean },
  speaker: Speaker,
): { steps: string; encoded: number; hasResults: boolean } {
  const { from, to } = range
  const context: Context = { ...speaker, spoken }
  const { protocol, family } = speaker.origin
  const sent = spoken.slice(from, to)
  const encoded = encodeEntries(
    sent,
    `${protocol} ${family} ${speaker.older ? 'older' : ''} ${namesKey(speaker.names)}`,
    (entry, at) =>
      encodeEntry(context, entry, at + from)
        .map(wireJson)
        .join(','),
    at => joinVariants(pairsVariant(spoken, at + from), speaker.ids.variant(at + from)),
  )
  const { pieces } = encoded
  const { text, last } = joinPieces(encoded, (before, at) => {
    const comma = before < 0 ? '' : ','
    return mustAskBefore(sent, pieces, before, at, range.from, speaker.origin) ? `${comma}${ASK},` : comma
  })
  return {
    steps: askedToGoOn(text, sent[last], range.open, speaker.warn),
    encoded: encoded.encoded,
    hasResults: pieces.some(piece => piece.startsWith(RESULT)),
  }
}

const RESULT = '{"type":"function_result"'
const THOUGHT = '{"type":"thought"'
const ASK = wireJson(userStep([{ type: 'text', text: CONTINUE }]))

/** Two answers in a row are two turns of the model: a thought in the second would stand in the middle of the first. */
function mustAskBefore(
  sent: readonly Entry[],
  pieces: readonly string[],
  before: number,
  at: number,
  from: number,
  origin: Origin,
): boolean {
  if (sent[at]?.role !== 'assistant') return false
  if (before < 0) return from === 0
  const parts = sent[before]?.role === 'assistant' && pieces[at]?.startsWith(THOUGHT) === true
  return parts && !isContinued(sent[before], origin)
}

function askedToGoOn(steps: string, last: Entry | undefined, open: boolean, warn: Warn): string {
  if (last === undefined) return ASK
  if (last.role !== 'assistant' || open) return steps
  warn('The history ended with an answer, which Gemini does not go on with: it was asked to continue.')
  return `${steps},${ASK}`
}

/** The answer stopped at the vendor's own limit, and the next one is the rest of it. */
export function tokenOf(entry: Entry | undefined, origin: Origin): string {
  if (entry?.role !== 'assistant' || entry.continuity === undefined) return ''
  const data = nativeFor({ native: entry.continuity }, origin)
  return isJsonObject(data) ? stringOf(data['token']) : ''
}

function isContinued(entry: Entry | undefined, origin: Origin): boolean {
  return tokenOf(entry, origin) !== ''
}

// ---- entries -----------------------------------------------------------------------------------------------

function encodeEntry(context: Context, entry: Entry, index: number): JsonObject[] {
  switch (entry.role) {
    case 'user': {
      const content = entry.parts.flatMap(part => contentOf(context, part))
      return content.length === 0 ? [] : [userStep(content)]
    }
    case 'system':
      if (entry.text.trim() === '') return []
      context.warn(MOVED_SYSTEM)
      return [userStep([{ type: 'text', text: systemNote(entry.text) }])]
    case 'tool':
      return resultSteps(context, entry, index)
    case 'assistant':
      return answerSteps(context, entry, index)
  }
}

function userStep(content: JsonObject[]): JsonObject {
  return { type: 'user_input', content }
}

/** An empty text is no content. */
function contentOf(context: Context, part: InputPart | ResultPart): JsonObject[] {
  if (part.type === 'text') return part.text === '' ? [] : [{ type: 'text', text: part.text }]
  return mediaContent(context, part) ?? [{ type: 'text', text: mention(part) }]
}

function mediaContent(context: Context, part: Media): JsonObject[] | undefined {
  const media = mediaOf(part, context.warn)
  if (media === undefined) return undefined
  const kind = /^(image|audio|video)\//.exec(media.mediaType)?.[1] ?? 'document'
  const where: JsonObject = 'base64' in media ? { data: media.base64 } : { uri: media.url }
  return [{ type: kind, mime_type: media.mediaType, ...where }]
}

// ---- answers -----------------------------------------------------------------------------------------------

function answerSteps(context: Context, entry: AssistantEntry, index: number): JsonObject[] {
  const paired = new Set(pairsAt(context.spoken, index).map(pair => pair.call))
  const keepsThoughts = isInPlace(context, entry, index, paired)
  const steps: JsonObject[] = []
  for (const part of entry.parts) {
    const native = nativeFor(part, context.origin)
    if (part.type === 'call') {
      if (paired.has(part)) steps.push(callStep(context, part, index))
      else speak(steps, loneCall(part))
    } else if (part.type === 'thinking') {
      if (isJsonObject(native) && keepsThoughts) steps.push({ type: 'thought', ...native })
    } else if (isJsonObject(native)) steps.push(native)
    else if (part.type === 'text') speak(steps, part.text)
  }
  const needsThought = steps.some(step => step['type'] === 'thought' || step['type'] === 'function_call')
  return context.older || !needsThought || steps[0]?.['type'] === 'thought'
    ? steps
    : [{ type: 'thought', signature: FOREIGN_SIGNATURE }, ...steps]
}

/** A signed thought belongs to the call that it led to: it goes back only with that very call. */
function isInPlace(
  context: Context,
  entry: AssistantEntry,
  index: number,
  paired: ReadonlySet<CallPart>,
): boolean {
  const first = entry.parts.find(part => part.type === 'call')
  if (first === undefined) return true
  if (!paired.has(first) || nativeFor(first, context.origin) === undefined) return false
  return context.ids.of(index, first.id) === first.nativeId
}

function speak(steps: JsonObject[], text: string): void {
  if (text === '') return
  const last = steps.at(-1)
  const content: JsonObject = { type: 'text', text }
  if (last?.['type'] === 'model_output' && Array.isArray(last['content']))
    steps[steps.length - 1] = { ...last, content: [...last['content'], content] }
  else steps.push({ type: 'model_output', content: [content] })
}

function callStep(context: Context, call: CallPart, index: number): JsonObject {
  const native = nativeFor(call, context.origin)
  return {
    type: 'function_call',
    arguments: historyArguments(call),
    ...(isJsonObject(native) && native),
    id: context.ids.of(index, call.id),
    name: nameOfCall(context, call),
  }
}

function nameOfCall(context: Context, call: CallPart): string {
  const native = nativeFor(call, context.origin)
  return (isJsonObject(native) && stringOf(native['name'])) || context.names.toWire(call.name)
}

// ---- results -----------------------------------------------------------------------------------------------

function resultSteps(context: Context, entry: ToolEntry, index: number): JsonObject[] {
  const pairs = pairsAt(context.spoken, index)
  const paired = new Set(pairs.map(pair => pair.result))
  const told = entry.results.filter(result => !paired.has(result))
  const steps = pairs.map(pair => resultStep(context, pair, index))
  if (told.length > 0) steps.push(userStep(told.map(one => ({ type: 'text', text: loneResult(one) }))))
  return steps
}

function resultStep(context: Context, { call, result }: Paired, index: number): JsonObject {
  const { outcome } = result
  const text = resultText(outcome)
  const media = outcome.parts.flatMap(part =>
    part.type === 'text' ? [] : (mediaContent(context, part) ?? []),
  )
  return {
    type: 'function_result',
    call_id: context.ids.of(index, call.id),
    name: nameOfCall(context, call),
    result: media.length === 0 ? text : [{ type: 'text', text }, ...media],
    ...(isFailed(outcome) && { is_error: true }),
  }
}
