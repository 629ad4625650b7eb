// A request to the Responses API: the body, and the history as its input items. Each entry is encoded by itself. An
// answer of this vendor and model family goes back item by item, byte for byte. From the first item that cannot go
// back like that, the answer is told in plain items instead: no ids, no reasoning, no hosted tools.

import type { ModelRequest } from '../../../engine/ports/index.ts'
import type { CallPart, CallResult } from '../../../language/calls.ts'
import type { InputPart, Origin, ResultPart } from '../../../language/content.ts'
import type { AnswerFormat } from '../../../language/format.ts'
import type { AnswerPart, AssistantEntry, Entry, ToolEntry } from '../../../language/history.ts'
import { isJsonObject, type Json, type JsonObject } from '../../../lib/json/index.ts'
import { cutMiddle } from '../../../lib/text/index.ts'
import { historyArgumentsText } from '../../common/answer.ts'
import { digestHistory, digestParts, keepsNativeIds } from '../../common/continuity.ts'
import { openaiFormat, settleFormat, type VendorFormat } from '../../common/format.ts'
import {
  EMPTY_MESSAGE,
  emptyWords,
  flaggedText,
  isFailed,
  mediaNote,
  nativeFor,
} from '../../common/history.ts'
import { asList, asObject, asString } from '../../common/json-read.ts'
import {
  acceptedPicture,
  commonPictures,
  isInline,
  isPicture,
  isTextual,
  type Media,
  mention,
  readInline,
} from '../../common/media.ts'
import { openaiDialects } from '../../common/openai.ts'
import {
  bodyWith,
  collectWarnings,
  keepOffers,
  type OfferRequest,
  type Warn,
  wireJson,
} from '../../common/prepare.ts'
import type { Restores } from '../../common/restore-values.ts'
import { commaBetween, joinVariants, SessionCache } from '../../common/session-cache.ts'
import { makeRestores } from '../../common/tool-declarations.ts'
import { type BoundTool, bindTools, plainTools } from '../../common/vendor-typed.ts'
import { type IdRule, toolNames, type WireIds, type WireNames, wireIds } from '../../common/wire-names.ts'
import type { ModelTarget, Prepared } from '../../protocol.ts'
import { countNativeParts, nativeItem, plainEntries } from './context.ts'
import type { Reading } from './decode.ts'
import { type Introduced, introducedIn, nothing, takesDeferred } from './deferred.ts'
import { noReasoning } from './failure.ts'
import { approvalRequest } from './items.ts'
import { type Declarations, declarer, declareTools, nameRule } from './tools.ts'
import { responsesTyped, typedItem } from './vendor-typed.ts'

export const protocolName = 'openai-responses'

const ID_RULE: IdRule = { pattern: /^[A-Za-z0-9_-]+$/, maxLength: 64 }
const ENCRYPTED_REASONING = 'reasoning.encrypted_content'
const FEWEST_TOKENS = 16
const MAX_OUTPUT_BYTES = 10_485_760

export function prepare(
  asked: ModelRequest,
  target: ModelTarget,
  cache = new SessionCache(),
): Prepared<Reading> {
  const { warnings, warn } = collectWarnings()
  const offer = offerFor(asked, target, warn)
  const { origin, names, bound } = offer
  const formed = asked.format ? settleFormat(asked, vendorFormat) : { request: asked }
  const { request, field: format, unchecked, restored } = formed
  const restores = restored ? { tools: new Map(), ...offer.restores, text: restored } : offer.restores
  const { history } = request
  const ids = wireIds(cache, history, origin, ID_RULE)
  const plain = plainEntries(cache, history, origin, takesReasoning(target))
  const introduced = introducedFor(cache, offer, request, warn)
  const context: EncodingContext = { history, origin, names, ids, plain, introduced, warn }
  const resumed = target.stateful && !target.forgotten ? resumption(cache, context) : undefined
  const input = encodeHistory(cache, context, resumed?.from ?? 0)
  const declared = declarationsFor(offer, request, introduced, target, warn)
  const fields: JsonObject = {
    ...offer.fields,
    ...(format && { text: { ...asObject(target.body['text']), format } }),
    ...(request.system !== undefined && request.system !== '' && { instructions: request.system }),
    ...(resumed && { previous_response_id: resumed.response }),
    ...declared.fields,
    ...limitFields(request.maxTokens ?? target.maxTokens, warn),
    store: target.stateful,
    stream: true,
  }
  return {
    path: '/responses',
    headers: {},
    body: bodyWith({ tools: declared.tools }, fields, { input: `[${input.items}]` }),
    warnings,
    reading: {
      origin,
      names: names.fromWire,
      bound,
      ...(target.stateful && { before: digestHistory(cache, history) }),
    },
    ...(unchecked && { unchecked }),
    ...(restores && { restores }),
    usesStored: resumed !== undefined,
    encoded: input.encoded,
  }
}

// ---- the offer -------------------------------------------------------------------------------------------

type Offer = {
  origin: Origin
  names: WireNames
  bound: readonly BoundTool[]
  /** The input declares deferred tools where they were found. */
  mayIntroduce: boolean
  /** The body's fields that no history changes. */
  fields: JsonObject
  /** The declarations for a history that introduces no tools. */
  declared: Declarations
  /** Those of `declared`. */
  warnings: readonly string[]
  /** Those of the tools. */
  restores: Restores | undefined
}

const offerFor = keepOffers(makeOffer)

function makeOffer(request: OfferRequest, target: ModelTarget, warn: Warn): Offer {
  const { tools, vendorSearch } = request
  const names = toolNames(tools, nameRule)
  const bound = bindTools(target.quirks.has(plainTools) ? [] : tools, protocolName, responsesTyped, warn)
  const collected = collectWarnings()
  const declare = declarer(names, bound, collected.warn)
  return {
    origin: { protocol: protocolName, family: target.family },
    names,
    bound,
    mayIntroduce: !vendorSearch && takesDeferred(target) && tools.some(tool => tool.deferred),
    fields: { ...operatorFields(target, warn), model: target.model, ...includeFields(target) },
    declared: declareTools(request, { target, declare, introduced: nothing.names }, collected.warn),
    warnings: collected.warnings,
    restores: makeRestores(tools, openaiDialects),
  }
}

function introducedFor(
  cache: SessionCache,
  { mayIntroduce, names, bound }: Offer,
  request: ModelRequest,
  warn: Warn,
): Introduced {
  return mayIntroduce ? introducedIn(cache, request, declarer(names, bound, warn)) : nothing
}

/** Those of the offer, unless the history introduces tools. */
function declarationsFor(
  { declared, warnings, names, bound }: Offer,
  request: ModelRequest,
  introduced: Introduced,
  target: ModelTarget,
  warn: Warn,
): Declarations {
  if (introduced.names.size > 0) {
    const declare = declarer(names, bound, warn)
    return declareTools(request, { target, declare, introduced: introduced.names }, warn)
  }
  for (const warning of warnings) warn(warning)
  return declared
}

// ---- fields ----------------------------------------------------------------------------------------------

/** These would replace the history that we send, or detach the answer from this request. */
const REFUSED_FIELDS: readonly string[] = ['background', 'conversation', 'input', 'previous_response_id']

function operatorFields(target: ModelTarget, warn: Warn): JsonObject {
  const given = Object.entries(target.body)
  for (const [name] of given)
    if (REFUSED_FIELDS.includes(name)) warn(`"${name}" is not taken from the configuration and was left out.`)
  return Object.fromEntries(given.filter(([name]) => !REFUSED_FIELDS.includes(name)))
}

/** Without a positive limit the vendor's own holds. */
function limitFields(wanted: number, warn: Warn): JsonObject {
  if (!(wanted > 0)) return {}
  if (wanted >= FEWEST_TOKENS) return { max_output_tokens: Math.floor(wanted) }
  warn(`The vendor takes no limit below ${FEWEST_TOKENS} tokens, so the limit of ${wanted} was raised to it.`)
  return { max_output_tokens: FEWEST_TOKENS }
}

/** Any object is asked for in words too: the vendor refuses the form if nothing in the request speaks of JSON. */
function vendorFormat(format: AnswerFormat): VendorFormat | undefined {
  if (format.type === 'json') return { field: { type: 'json_object' }, holds: 'whole', needsWords: true }
  const own = openaiFormat(format)
  if (own === undefined) return undefined
  const { fields, ...kept } = own
  return { field: { type: 'json_schema', ...fields }, ...kept }
}

function takesReasoning(target: ModelTarget): boolean {
  return !target.quirks.has(noReasoning)
}

/** A model that does not reason refuses to be asked for encrypted reasoning. */
function includeFields(target: ModelTarget): JsonObject {
  const values = asList(target.body['include']).filter(value => value !== ENCRYPTED_REASONING)
  if (takesReasoning(target)) values.push(ENCRYPTED_REASONING)
  return values.length > 0 ? { include: values } : {}
}

// ---- the history -----------------------------------------------------------------------------------------

type EncodingContext = {
  history: readonly Entry[]
  origin: Origin
  names: WireNames
  ids: WireIds
  /** Indexes of the entries that are told in plain items. */
  plain: ReadonlySet<number>
  introduced: Introduced
  warn: Warn
}

function encodeHistory(
  cache: SessionCache,
  context: EncodingContext,
  from: number,
): { items: string; encoded: number } {
  const { history, origin, ids, plain, introduced } = context
  const encoder = {
    key: `${origin.protocol} ${origin.family}`,
    variant: (index: number) =>
      joinVariants(
        plain.has(index) ? `plain ${ids.variant(index)}` : ids.variant(index),
        introduced.variant(index),
      ),
    encode: (entry: Entry, index: number) =>
      [...encodeEntry(context, entry, index), ...introduced.itemsAt(index)].map(wireJson).join(','),
  }
  const { encoded, join } = cache.encode(history, encoder, from)
  const { text } = join(commaBetween)
  return { items: text === '' ? EMPTY_ITEM : text, encoded }
}

/** A request must have an item, even if no entry has one for this vendor. */
const EMPTY_ITEM = wireJson(messageItem('user', [textContent(EMPTY_MESSAGE)]))

type Resumption = {
  response: string
  /** The first entry that the vendor has not seen. */
  from: number
}

/** The response to continue from; undefined when the whole history has to be sent. */
function resumption(cache: SessionCache, context: EncodingContext): Resumption | undefined {
  const { history, origin, ids, plain } = context
  const at = history.findLastIndex(entry => entry.role === 'assistant')
  const entry = history[at]
  if (entry?.role !== 'assistant' || at === history.length - 1 || plain.has(at)) return undefined
  const data = entry.continuity && nativeFor({ native: entry.continuity }, origin)
  if (!isJsonObject(data) || !isStoredWhole(entry, origin) || !keepsNativeIds(entry, at, ids))
    return undefined
  const { response, before, said } = data
  if (said !== digestParts(entry.parts) || before !== digestHistory(cache, history, at)) return undefined
  return asString(response) === '' ? undefined : { response: asString(response), from: at + 1 }
}

/** The vendor stored everything that we would send of this answer. */
function isStoredWhole(entry: AssistantEntry, origin: Origin): boolean {
  return entry.parts.slice(countNativeParts(entry, origin)).every(part => part.type === 'thinking')
}

// ---- entries ---------------------------------------------------------------------------------------------

function encodeEntry(context: EncodingContext, entry: Entry, index: number): JsonObject[] {
  switch (entry.role) {
    case 'system':
      return entry.text === '' ? [] : [messageItem('developer', [textContent(entry.text)])]
    case 'user':
      return encodeUser(context, entry.parts)
    case 'assistant':
      return encodeAnswer(context, entry, index)
    case 'tool':
      return encodeResults(context, entry, index)
  }
}

function encodeUser(context: EncodingContext, parts: readonly InputPart[]): JsonObject[] {
  const content = parts
    .filter(part => part.type !== 'text' || part.text !== '')
    .map(part => encodeContent(context, part))
  return content.length === 0 ? [] : [messageItem('user', content)]
}

function messageItem(role: 'developer' | 'user', content: JsonObject[]): JsonObject {
  return { type: 'message', role, content }
}

function textContent(text: string): JsonObject {
  return { type: 'input_text', text }
}

function encodeContent(context: EncodingContext, part: InputPart | ResultPart): JsonObject {
  return part.type === 'text' ? textContent(part.text) : encodeMedia(context, part)
}

/** A picture or a file that the vendor takes, or a mention of it. */
function encodeMedia(context: EncodingContext, part: Media): JsonObject {
  const media = isPicture(part) ? encodePicture(part) : encodeFile(part)
  if (media !== undefined) return media
  context.warn(`${mediaNote(part)} could not be sent to this vendor and was only mentioned.`)
  return textContent(mention(part))
}

function encodePicture(part: Media): JsonObject | undefined {
  if (!isInline(part)) return { type: 'input_image', image_url: part.url, detail: 'auto' }
  const picture = acceptedPicture(readInline(part), commonPictures)
  if (picture === undefined) return undefined
  const image_url = `data:${picture.mediaType};base64,${picture.base64}`
  return { type: 'input_image', image_url, detail: 'auto' }
}

const DOCUMENTS = /^application\/(?:pdf|rtf|msword|vnd\.(?:ms-|openxmlformats-|oasis\.))/

function encodeFile(part: Media): JsonObject | undefined {
  if (!isInline(part)) return { type: 'input_file', file_url: part.url }
  const inline = readInline(part)
  if (inline === undefined) return undefined
  const { mediaType, base64 } = inline
  if (!DOCUMENTS.test(mediaType) && !isTextual(mediaType)) return undefined
  const filename = (part.type === 'file' ? part.name : undefined) ?? defaultFileName(mediaType)
  return { type: 'input_file', filename, file_data: `data:${mediaType};base64,${base64}` }
}

/** The vendor takes the type of a file from its name. */
function defaultFileName(mediaType: string): string {
  const subtype = /^[^/]+\/(?:x-)?([a-z0-9]+)$/i.exec(mediaType)?.[1]?.toLowerCase() ?? 'bin'
  return `file.${subtype === 'plain' ? 'txt' : subtype}`
}

/** As many parts as possible as the vendor's own items, the rest as plain items. */
function encodeAnswer(context: EncodingContext, entry: AssistantEntry, index: number): JsonObject[] {
  const native = nativePartsAt(context, entry, index)
  return entry.parts.flatMap((part, at) => {
    if (at >= native) return encodePlain(context, part, index)
    const item = nativeItem(part, context.origin)
    if (item === undefined) return []
    const isCall = part.type === 'call' && item['type'] !== approvalRequest
    return [isCall ? { ...item, call_id: context.ids.of(index, part.id) } : item]
  })
}

/** `index`: of the answer, or of the results that follow it. */
function nativePartsAt({ origin, plain }: EncodingContext, answer: AssistantEntry, index: number): number {
  return plain.has(index) ? 0 : countNativeParts(answer, origin)
}

function encodePlain(context: EncodingContext, part: AnswerPart, index: number): JsonObject[] {
  switch (part.type) {
    case 'text': {
      const phase = part.phase && { phase: part.phase }
      return part.text === '' ? [] : [{ type: 'message', role: 'assistant', content: part.text, ...phase }]
    }
    case 'call':
      return [encodeCall(context, part, index)]
    case 'hosted':
      context.warn(
        `What the vendor's tool "${part.tool}" did cannot be shown to this model and was left out.`,
      )
      return []
    case 'thinking':
      return []
  }
}

function encodeCall(context: EncodingContext, call: CallPart, index: number): JsonObject {
  const shared = { call_id: context.ids.of(index, call.id), name: context.names.toWire(call.name) }
  return call.form === 'text'
    ? { type: 'custom_tool_call', ...shared, input: call.text }
    : { type: 'function_call', ...shared, arguments: historyArgumentsText(call) }
}

function encodeResults(context: EncodingContext, entry: ToolEntry, index: number): JsonObject[] {
  const answer = answerBefore(context.history, index)
  const native = answer === undefined ? 0 : nativePartsAt(context, answer, index)
  const positions = new Map(answer?.parts.map((part, at) => [part.type === 'call' ? part.id : '', at]))
  const after: JsonObject[] = []
  const outputs = entry.results.flatMap(result => {
    const at = positions.get(result.callId) ?? -1
    const call = answer?.parts[at]
    if (call?.type === 'call') {
      const item = at < native ? nativeItem(call, context.origin) : undefined
      if (item) after.push(...(typedItem(item)?.after?.(result.outcome) ?? []))
      return [encodeResult(context, result, call, index, at < native)]
    }
    context.warn(`The result of the call "${result.callId}" has no call in this history and was left out.`)
    return []
  })
  return [...outputs, ...after]
}

function answerBefore(history: readonly Entry[], index: number): AssistantEntry | undefined {
  const found = history.findLast((entry, at) => at < index && entry.role === 'assistant')
  return found?.role === 'assistant' ? found : undefined
}

/** `isNative`: the call goes back as the vendor's own item. */
function encodeResult(
  context: EncodingContext,
  result: CallResult,
  call: CallPart,
  index: number,
  isNative: boolean,
): JsonObject {
  const item = isNative ? nativeItem(call, context.origin) : undefined
  if (item?.['type'] === approvalRequest) return encodeApproval(item, result)
  const caller = item?.['caller']
  const typed = item && typedItem(item)
  if (item && typed?.result)
    return {
      type: `${asString(item['type'])}_output`,
      call_id: context.ids.of(index, call.id),
      ...typed.result(result.outcome, item),
      ...(isJsonObject(caller) && { caller }),
    }
  return {
    type: call.form === 'text' ? 'custom_tool_call_output' : 'function_call_output',
    call_id: context.ids.of(index, call.id),
    output: encodeOutput(context, result),
    // Names the vendor's own program that made the call.
    ...(isJsonObject(caller) && { caller }),
  }
}

/** The person's decision; any other outcome than `ok` is a refusal. */
function encodeApproval(item: JsonObject, { outcome }: CallResult): JsonObject {
  const approve = outcome.kind === 'ok'
  return {
    type: 'mcp_approval_response',
    approval_request_id: asString(item['id']),
    approve,
    ...(!approve && { reason: flaggedText(outcome) }),
  }
}

function encodeOutput(context: EncodingContext, { outcome, callId }: CallResult): Json {
  const bounded = (text: string): string => {
    const { text: kept, cutBytes } = cutMiddle(
      text,
      MAX_OUTPUT_BYTES,
      bytes => `\n[${bytes} bytes left out]\n`,
    )
    if (cutBytes > 0)
      context.warn(`The result of the call "${callId}" is longer than the vendor takes and was cut.`)
    return kept
  }
  if (outcome.parts.every(part => part.type === 'text')) return bounded(flaggedText(outcome))
  const parts = outcome.parts.filter(part => part.type !== 'text' || part.text !== '')
  const content = parts.map(part =>
    part.type === 'text' ? textContent(bounded(part.text)) : encodeMedia(context, part),
  )
  return isFailed(outcome) ? [textContent(`[${outcome.kind}] ${emptyWords(outcome)}`), ...content] : content
}
