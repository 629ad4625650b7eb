// A request to Interactions: the body, and the history as its `input` steps. Thoughts stand with their signatures where
// they stood; calls and results are paired by unique ids. Each entry is encoded once. An answer that holds a thought or a
// call begins with a thought: its own, or the documented stand-in.

import type { ModelRequest } from '../../../engine/ports/index.ts'
import type { CallPart, Outcome } from '../../../language/calls.ts'
import type { InputPart, Origin, ResultPart } from '../../../language/content.ts'
import type { AnswerFormat } from '../../../language/format.ts'
import type { AssistantEntry, Entry, ToolEntry } from '../../../language/history.ts'
import { isJsonObject, type Json, type JsonObject } from '../../../lib/json/index.ts'
import { historyArguments } from '../../common/answer.ts'
import { digestHistory, digestParts, keepsNativeIds } from '../../common/continuity.ts'
import { settleFormat, type VendorFormat } from '../../common/format.ts'
import {
  ASKED_TO_CONTINUE,
  type CallPair,
  CONTINUE,
  calledNames,
  isFailed,
  loneCall,
  loneResult,
  nativeFor,
  pairsAt,
  resultText,
  splitSystem,
  systemNote,
  unpairedIds,
} from '../../common/history.ts'
import { asObject, asString, isEmptyObject } from '../../common/json-read.ts'
import { type Media, mention } from '../../common/media.ts'
import { bodyWith, collectWarnings, keepOffers, type Warn, wireJson } from '../../common/prepare.ts'
import { geminiJson } from '../../common/schema-dialect.ts'
import { joinVariants, SessionCache } from '../../common/session-cache.ts'
import { type IdRule, isAllowedName, type WireIds, type WireNames, wireIds } from '../../common/wire-names.ts'
import type { ModelTarget, Prepared } from '../../protocol.ts'
import { googleComputer } from '../google/computer.ts'
import {
  answerLimit,
  FOREIGN_SIGNATURE,
  googleFormat,
  googleKey,
  googleMedia,
  googleOffer,
} from '../google/encode.ts'
import type { Reading } from './decode.ts'
import { type Declarations, declareTools, nameRule, placeholders } from './tools.ts'

export const protocolName = 'gemini-interactions'

/** The tools that Google defines and its caller runs. */
const interactionsTyped = [googleComputer(/^computer_use$/)]

/** The service does not interpret ids: its own go back unchanged. */
const ID_RULE: IdRule = { pattern: /^[\x21-\x7e]+$/, maxLength: 1024 }

export function prepare(
  asked: ModelRequest,
  target: ModelTarget,
  cache = new SessionCache(),
): Prepared<Reading> {
  const { warnings, warn } = collectWarnings()
  const offer = offerFor(asked, target, warn)
  const { origin, names } = offer
  const formed = asked.format
    ? settleFormat(asked, each => vendorFormat(each, asked, target))
    : { request: asked }
  const { request, field: format, unchecked } = formed
  const { systemParts, spoken } = splitSystem(request)
  const ids = wireIds(cache, spoken, origin, ID_RULE)
  const context: EncodingContext = { spoken, origin, names, ids, warn }
  const range = rangeToSend(cache, context, target)
  const { steps, encoded, hasResults } = encodeHistory(cache, context, range)
  const isOwn = offer.declared.tools !== undefined || !hasResults
  const declared = isOwn ? offer.declared : placeholders(calledNames(spoken, names))
  const { input: _, previous_interaction_id: __, background: ___, ...own } = target.body
  const fields: JsonObject = {
    ...own,
    model: target.model,
    ...(systemParts.length > 0 && { system_instruction: systemParts.map(({ text }) => text).join('\n\n') }),
    ...generationField(request, target, declared),
    ...(format && { response_format: format }),
    ...range.fields,
    store: target.stateful,
    stream: true,
  }
  return {
    path: '/interactions',
    headers: {},
    body: bodyWith({ tools: declared.tools }, fields, {
      input: steps === undefined ? undefined : `[${steps}]`,
    }),
    warnings,
    reading: {
      ...offer.reading,
      ...(target.stateful && { seen: digestHistory(cache, spoken) }),
    },
    ...(unchecked && { unchecked }),
    usesStored: 'previous_interaction_id' in range.fields,
    encoded,
  }
}

// ---- the offer -------------------------------------------------------------------------------------------

const offerFor = keepOffers(googleOffer(protocolName, interactionsTyped, declareTools))

// ---- fields ----------------------------------------------------------------------------------------------

function generationField(request: ModelRequest, target: ModelTarget, { choice }: Declarations): JsonObject {
  const limit = answerLimit(request, target)
  const generation_config: JsonObject = {
    ...asObject(target.body['generation_config']),
    ...(limit !== undefined && { max_output_tokens: limit }),
    ...(choice !== undefined && { tool_choice: choice }),
  }
  return isEmptyObject(generation_config) ? {} : { generation_config }
}

function vendorFormat(
  format: AnswerFormat,
  request: ModelRequest,
  target: ModelTarget,
): VendorFormat | undefined {
  const json = { type: 'text', mime_type: 'application/json' }
  return googleFormat(format, request, target, { json, key: 'schema', dialect: geminiJson })
}

// ---- the history -----------------------------------------------------------------------------------------

type EncodingContext = {
  /** The history without its leading system entries. */
  spoken: readonly Entry[]
  origin: Origin
  names: WireNames
  ids: WireIds
  warn: Warn
}

type Range = {
  from: number
  to: number
  /** The model continues its last answer by itself, so it needs no message of the user. */
  continues: boolean
  /** Refer to the entries that are not sent. */
  fields: JsonObject
}

/** Which entries are sent. */
function rangeToSend(cache: SessionCache, context: EncodingContext, target: ModelTarget): Range {
  const { spoken, origin } = context
  const end = spoken.length
  const at = spoken.findLastIndex(entry => entry.role === 'assistant')
  const stored = target.stateful && !target.forgotten ? storedInteraction(cache, context, at) : undefined
  const token = continuationToken(spoken.at(-1), origin)
  if (token !== '') {
    const fields: JsonObject = { continuation_token: token }
    if (stored !== undefined)
      return { from: end, to: end, continues: true, fields: { previous_interaction_id: stored, ...fields } }
    // Nothing is stored: the question is sent again, without the parts of its answer so far.
    let to = end
    while (to > 0 && continuationToken(spoken[to - 1], origin) !== '') to--
    return { from: 0, to, continues: true, fields }
  }
  if (stored === undefined || at === end - 1) return { from: 0, to: end, continues: false, fields: {} }
  return { from: at + 1, to: end, continues: false, fields: { previous_interaction_id: stored } }
}

/** The interaction that ended with the answer at `at`, if the vendor stored exactly the history up to there. */
function storedInteraction(
  cache: SessionCache,
  { spoken, origin, ids }: EncodingContext,
  at: number,
): string | undefined {
  const entry = spoken[at]
  if (entry?.role !== 'assistant') return undefined
  const { id, said, seen } = asObject(continuityData(entry, origin))
  if (asString(id) === '' || entry.parts.some(part => part.type === 'call' && part.cut)) return undefined
  const isSame = said === digestParts(entry.parts) && seen === digestHistory(cache, spoken, at)
  const isKept = keepsNativeIds(entry, at, ids) && keepsNativeNames(entry, origin)
  return isSame && isKept ? asString(id) : undefined
}

/** A result must have the name that its stored call has. */
function keepsNativeNames({ parts }: AssistantEntry, origin: Origin): boolean {
  return parts.every(part => part.type !== 'call' || nativeCall({ origin }, part) !== undefined)
}

/** Not empty when the answer stopped at the vendor's own limit, and the next answer is the rest of it. */
function continuationToken(entry: Entry | undefined, origin: Origin): string {
  return entry?.role === 'assistant' ? asString(asObject(continuityData(entry, origin))['token']) : ''
}

function continuityData({ continuity }: AssistantEntry, origin: Origin): Json | undefined {
  return continuity && nativeFor({ native: continuity }, origin)
}

const RESULT_PREFIX = '{"type":"function_result"'
const THOUGHT_PREFIX = '{"type":"thought"'
const ASK = wireJson(userStep([{ type: 'text', text: CONTINUE }]))

/** `steps` is undefined when the vendor has everything already. */
type Steps = { steps: string | undefined; encoded: number; hasResults: boolean }

function encodeHistory(cache: SessionCache, context: EncodingContext, range: Range): Steps {
  const { spoken, origin, names, ids, warn } = context
  const { from, to, continues } = range
  if (from === to && continues && from > 0) return { steps: undefined, encoded: 0, hasResults: false }
  const encoder = {
    key: googleKey(origin, names),
    variant: (index: number) => joinVariants(unpairedIds(spoken, index).join(' '), ids.variant(index)),
    encode: (entry: Entry, index: number) => encodeEntry(context, entry, index).map(wireJson).join(','),
  }
  const { pieces, encoded, join } = cache.encode(spoken, encoder, from, to)
  const { text, last } = join((before, index) => {
    const comma = before < 0 ? '' : ','
    return needsQuestion(context, pieces, before, index) ? `${comma}${ASK},` : comma
  })
  let hasResults = false
  for (let index = from; index < to && !hasResults; index++)
    hasResults = pieces[index]!.startsWith(RESULT_PREFIX)
  if (last < 0) return { steps: ASK, encoded, hasResults }
  if (spoken[last]?.role !== 'assistant' || continues) return { steps: text, encoded, hasResults }
  warn(ASKED_TO_CONTINUE)
  return { steps: `${text},${ASK}`, encoded, hasResults }
}

/**
 * The first step must be a user's. Two answers in a row are two turns of the model, unless the second is the rest of the
 * first: a thought in it would stand in the middle of a turn.
 */
function needsQuestion(
  { spoken, origin }: EncodingContext,
  pieces: readonly string[],
  before: number,
  index: number,
): boolean {
  if (spoken[index]?.role !== 'assistant') return false
  if (before < 0) return true
  const isSecondAnswer = spoken[before]?.role === 'assistant' && pieces[index]!.startsWith(THOUGHT_PREFIX)
  return isSecondAnswer && continuationToken(spoken[before], origin) === ''
}

// ---- entries ---------------------------------------------------------------------------------------------

function encodeEntry(context: EncodingContext, entry: Entry, index: number): JsonObject[] {
  switch (entry.role) {
    case 'system':
      return encodeUser(context, [{ type: 'text', text: systemNote(entry.text, context.warn) }])
    case 'user':
      return encodeUser(context, entry.parts)
    case 'assistant':
      return encodeAnswer(context, entry, index)
    case 'tool':
      return encodeResults(context, entry, index)
  }
}

function encodeUser(context: EncodingContext, parts: readonly InputPart[]): JsonObject[] {
  const content = parts.flatMap(part => encodeContent(context, part))
  return content.length === 0 ? [] : [userStep(content)]
}

function userStep(content: JsonObject[]): JsonObject {
  return { type: 'user_input', content }
}

/** An empty text is no content. */
function encodeContent(context: EncodingContext, part: InputPart | ResultPart): JsonObject[] {
  if (part.type === 'text') return part.text === '' ? [] : [{ type: 'text', text: part.text }]
  return [encodeMedia(context, part) ?? { type: 'text', text: mention(part) }]
}

function encodeMedia(context: EncodingContext, part: Media): JsonObject | undefined {
  const media = googleMedia(part, context.warn)
  if (media === undefined) return undefined
  const type = /^(image|audio|video)\//.exec(media.mediaType)?.[1] ?? 'document'
  const content: JsonObject = 'base64' in media ? { data: media.base64 } : { uri: media.url }
  return { type, mime_type: media.mediaType, ...content }
}

function encodeAnswer(context: EncodingContext, entry: AssistantEntry, index: number): JsonObject[] {
  const paired = new Set(pairsAt(context.spoken, index).map(pair => pair.call))
  const keepsThoughts = hasItsFirstCall(context, entry, index, paired)
  const steps: JsonObject[] = []
  for (const part of entry.parts) {
    const native = nativeFor(part, context.origin)
    if (part.type === 'call') {
      if (paired.has(part)) steps.push(encodeCall(context, part, index))
      else addOutput(steps, loneCall(part))
    } else if (part.type === 'thinking') {
      if (isJsonObject(native) && keepsThoughts) steps.push({ type: 'thought', ...native })
    } else if (isJsonObject(native)) steps.push(native)
    else if (part.type === 'text') addOutput(steps, part.text)
  }
  const needsThought = steps.some(step => step['type'] === 'thought' || step['type'] === 'function_call')
  return !needsThought || steps[0]?.['type'] === 'thought'
    ? steps
    : [{ type: 'thought', signature: FOREIGN_SIGNATURE }, ...steps]
}

/** A signed thought belongs to the call that it led to, and goes back only with that very call. */
function hasItsFirstCall(
  context: EncodingContext,
  entry: AssistantEntry,
  index: number,
  paired: ReadonlySet<CallPart>,
): boolean {
  const first = entry.parts.find(part => part.type === 'call')
  if (first === undefined) return true
  if (!paired.has(first) || nativeCall(context, first) === undefined) return false
  return context.ids.of(index, first.id) === first.nativeId
}

function addOutput(steps: JsonObject[], text: string): void {
  if (text === '') return
  const last = steps.at(-1)
  const content: JsonObject = { type: 'text', text }
  if (last?.['type'] === 'model_output' && Array.isArray(last['content']))
    steps[steps.length - 1] = { ...last, content: [...last['content'], content] }
  else steps.push({ type: 'model_output', content: [content] })
}

function encodeCall(context: EncodingContext, call: CallPart, index: number): JsonObject {
  return {
    type: 'function_call',
    arguments: historyArguments(call),
    ...nativeCall(context, call),
    id: context.ids.of(index, call.id),
    name: callWireName(context, call),
  }
}

/**
 * Undefined also if the model made up a name that the API refuses, or if its arguments were redacted: such a call is sent
 * as another model's.
 */
function nativeCall({ origin }: Pick<EncodingContext, 'origin'>, call: CallPart): JsonObject | undefined {
  const native = nativeFor(call, origin)
  if (call.sealed !== undefined || !isJsonObject(native)) return undefined
  const { name } = native
  return name === undefined || isAllowedName(asString(name), nameRule) ? native : undefined
}

function callWireName(context: EncodingContext, call: CallPart): string {
  return asString(nativeCall(context, call)?.['name']) || context.names.toWire(call.name)
}

function encodeResults(context: EncodingContext, entry: ToolEntry, index: number): JsonObject[] {
  const pairs = pairsAt(context.spoken, index)
  const paired = new Set(pairs.map(pair => pair.result))
  const lone = entry.results.filter(result => !paired.has(result))
  const steps = pairs.map(pair => encodeResult(context, pair, index))
  if (lone.length > 0) steps.push(userStep(lone.map(result => ({ type: 'text', text: loneResult(result) }))))
  return steps
}

/** Media that cannot be sent is mentioned in the result's own text. */
function encodeResult(context: EncodingContext, { call, result }: CallPair, index: number): JsonObject {
  const { outcome } = result
  const text = typedResult(context, call, outcome) ?? resultText(outcome)
  const media = outcome.parts.flatMap(part =>
    part.type === 'text' ? [] : (encodeMedia(context, part) ?? []),
  )
  return {
    type: 'function_result',
    call_id: context.ids.of(index, call.id),
    name: callWireName(context, call),
    result: media.length === 0 ? text : [{ type: 'text', text }, ...media],
    ...(isFailed(outcome) && { is_error: true }),
  }
}

/** Beside a picture a result has texts only, so the fields of a vendor-typed result are JSON. */
function typedResult(context: EncodingContext, call: CallPart, outcome: Outcome): string | undefined {
  const { name, arguments: args } = nativeCall(context, call) ?? {}
  if (name === undefined || name === call.name) return undefined
  const typed = interactionsTyped.find(each => each.isCall({ name }, {}))
  return typed?.result && wireJson(typed.result(outcome, { name, args: asObject(args) }))
}
