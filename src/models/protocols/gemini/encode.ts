// A request to generateContent: the body, and the history as its `contents`. Roles alternate, the turn after a batch of
// calls holds as many responses, and signatures stand on the parts that they came with. Each entry is encoded once;
// neighbours of one role are joined as text. A call that lacks a signature has the documented stand-in wherever it is, so
// that an encoding does not depend on which turn is the current one.

import type { ModelRequest } from '../../../engine/ports/index.ts'
import type { CallPart } from '../../../language/calls.ts'
import type { InputPart, Origin, ResultPart } from '../../../language/content.ts'
import type { AnswerFormat } from '../../../language/format.ts'
import type { AssistantEntry, Entry, ToolEntry } from '../../../language/history.ts'
import { isJsonObject, type Json, type JsonObject, parseBounded } from '../../../lib/json/index.ts'
import { historyArguments } from '../../common/answer.ts'
import { settleFormat, type VendorFormat } from '../../common/format.ts'
import {
  ASKED_TO_CONTINUE,
  type CallPair,
  CONTINUE,
  isFailed,
  loneCall,
  loneResult,
  nativeFor,
  pairsAt,
  resultText,
  sameOrigin,
  splitSystem,
  systemNote,
  unpairedIds,
} from '../../common/history.ts'
import { asObject, asString, isEmptyObject } from '../../common/json-read.ts'
import { type Media, mention } from '../../common/media.ts'
import { bodyWith, collectWarnings, keepOffers, type Warn, wireJson } from '../../common/prepare.ts'
import { geminiJson, geminiOpenApi } from '../../common/schema-dialect.ts'
import { SessionCache } from '../../common/session-cache.ts'
import { isAllowedName, type WireNames } from '../../common/wire-names.ts'
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
import { declareTools, nameRule } from './tools.ts'

export const protocolName = 'gemini'

/** The tools that Google defines and its caller runs. */
const geminiTyped = [googleComputer(/^computerUse$/)]

export function prepare(
  asked: ModelRequest,
  target: ModelTarget,
  cache = new SessionCache(),
): Prepared<Reading> {
  const { warnings, warn } = collectWarnings()
  const offer = offerFor(asked, target, warn)
  const formed = asked.format
    ? settleFormat(asked, each => vendorFormat(each, asked, target))
    : { request: asked }
  const { request, field: format, unchecked } = formed
  const { systemParts, spoken } = splitSystem(request)
  const { contents, encoded } = encodeHistory(cache, { ...offer, spoken, warn })
  const { contents: _, ...own } = target.body
  const fields: JsonObject = {
    ...own,
    ...(systemParts.length > 0 && {
      systemInstruction: { parts: systemParts.map(({ text }) => ({ text })) },
    }),
    ...offer.declared.fields,
    ...generationField(request, target, format),
  }
  return {
    path: `/models/${encodeURIComponent(target.model)}:streamGenerateContent?alt=sse`,
    headers: {},
    body: bodyWith({ tools: offer.declared.tools }, fields, { contents }),
    warnings,
    reading: offer.reading,
    ...(unchecked && { unchecked }),
    usesStored: false,
    encoded,
  }
}

// ---- the offer -------------------------------------------------------------------------------------------

const offerFor = keepOffers(googleOffer(protocolName, geminiTyped, declareTools))

// ---- fields ----------------------------------------------------------------------------------------------

function generationField(request: ModelRequest, target: ModelTarget, format?: JsonObject): JsonObject {
  const own = { ...asObject(target.body['generationConfig']), ...format }
  const limit = answerLimit(request, target)
  const generationConfig: JsonObject = limit === undefined ? own : { ...own, maxOutputTokens: limit }
  return isEmptyObject(generationConfig) ? {} : { generationConfig }
}

function vendorFormat(
  format: AnswerFormat,
  request: ModelRequest,
  target: ModelTarget,
): VendorFormat | undefined {
  const isOpenApi = target.quirks.has('openapi-schemas')
  return googleFormat(format, request, target, {
    json: { responseMimeType: 'application/json' },
    key: isOpenApi ? 'responseSchema' : 'responseJsonSchema',
    dialect: isOpenApi ? geminiOpenApi : geminiJson,
  })
}

// ---- the history -----------------------------------------------------------------------------------------

type EncodingContext = {
  /** The history without its leading system entries. */
  spoken: readonly Entry[]
  origin: Origin
  names: WireNames
  /** Signatures are optional, and results hold no media. */
  isOlder: boolean
  warn: Warn
}

type Role = 'user' | 'model'

const ASK = `{"role":"user","parts":[${wireJson({ text: CONTINUE })}]}`

function encodeHistory(cache: SessionCache, context: EncodingContext): { contents: string; encoded: number } {
  const { spoken, origin, names, isOlder, warn } = context
  const { encoded, join } = cache.encode(spoken, {
    key: googleKey(origin, names, isOlder),
    variant: index => unpairedIds(spoken, index).join(' '),
    encode: (entry, index) => encodeEntry(context, entry, index).map(wireJson).join(','),
  })
  const roleAt = (index: number): Role => (spoken[index]?.role === 'assistant' ? 'model' : 'user')
  const { text, last } = join((before, index) => {
    const role = roleAt(index)
    const opening = `{"role":"${role}","parts":[`
    // The first content must be a user's.
    if (before < 0) return role === 'user' ? opening : `${ASK},${opening}`
    return roleAt(before) === role ? ',' : `]},${opening}`
  })
  if (last < 0) return { contents: `[${ASK}]`, encoded }
  if (roleAt(last) === 'user') return { contents: `[${text}]}]`, encoded }
  // And so must the last.
  warn(ASKED_TO_CONTINUE)
  return { contents: `[${text}]},${ASK}]`, encoded }
}

// ---- entries ---------------------------------------------------------------------------------------------

function encodeEntry(context: EncodingContext, entry: Entry, index: number): JsonObject[] {
  switch (entry.role) {
    case 'system':
      return textParts(systemNote(entry.text, context.warn))
    case 'user':
      return entry.parts.flatMap(part => encodeContent(context, part))
    case 'assistant':
      return encodeAnswer(context, entry, index)
    case 'tool':
      return encodeResults(context, entry, index)
  }
}

/** An empty text is no part. */
function textParts(text: string): JsonObject[] {
  return text === '' ? [] : [{ text }]
}

function encodeContent(context: EncodingContext, part: InputPart): JsonObject[] {
  if (part.type === 'text') return textParts(part.text)
  return [encodeMedia(context, part) ?? { text: mention(part) }]
}

function encodeMedia(context: EncodingContext, part: Media): JsonObject | undefined {
  const media = googleMedia(part, context.warn)
  if (media === undefined) return undefined
  return 'base64' in media
    ? { inlineData: { mimeType: media.mediaType, data: media.base64 } }
    : { fileData: { mimeType: media.mediaType, fileUri: media.url } }
}

function encodeAnswer(context: EncodingContext, entry: AssistantEntry, index: number): JsonObject[] {
  const paired = new Set(pairsAt(context.spoken, index).map(pair => pair.call))
  let isSigned = context.isOlder
  return entry.parts.flatMap(part => {
    if (part.type !== 'call') {
      const native = nativeFor(part, context.origin)
      if (isJsonObject(native)) return [native]
      return part.type === 'text' ? textParts(part.text) : []
    }
    if (!paired.has(part)) return [{ text: loneCall(part) }]
    const call = encodeCall(context, part, entry)
    // Only the first of parallel calls is signed.
    const needsSignature = !isSigned && !('thoughtSignature' in call)
    isSigned = true
    return [needsSignature ? { ...call, thoughtSignature: FOREIGN_SIGNATURE } : call]
  })
}

function encodeCall(context: EncodingContext, call: CallPart, entry: AssistantEntry): JsonObject {
  const args = historyArguments(call)
  const native = nativeCall(context, call)
  if (native !== undefined) {
    const { functionCall, ...rest } = native
    return { functionCall: { args, ...functionCall }, ...rest }
  }
  const id = nativeCallId(context, call, entry)
  const name = context.names.toWire(call.name)
  return { functionCall: { ...(id !== '' && { id }), name, args } }
}

type NativeCall = JsonObject & { functionCall: JsonObject }

/**
 * Undefined also if the model made up a name that the API refuses, or if its arguments were redacted: the signature would
 * not cover another spelling.
 */
function nativeCall(context: EncodingContext, call: CallPart): NativeCall | undefined {
  const native = nativeFor(call, context.origin)
  if (call.sealed !== undefined || !isJsonObject(native) || !isJsonObject(native['functionCall']))
    return undefined
  if (!isAllowedName(asString(native['functionCall']['name']), nameRule)) return undefined
  return { ...native, functionCall: native['functionCall'] }
}

/** '' for the calls of another model: without ids, calls and responses are paired by their order. */
function nativeCallId(context: EncodingContext, call: CallPart, entry: AssistantEntry): string {
  const native = nativeCall(context, call)
  if (native !== undefined) return asString(native.functionCall['id'])
  return sameOrigin(entry.origin, context.origin) ? (call.nativeId ?? '') : ''
}

function encodeResults(context: EncodingContext, entry: ToolEntry, index: number): JsonObject[] {
  const pairs = pairsAt(context.spoken, index)
  const paired = new Set(pairs.map(pair => pair.result))
  const lone = entry.results.filter(result => !paired.has(result))
  return [
    ...pairs.map(pair => encodeResult(context, pair)),
    ...(context.isOlder ? pairs.flatMap(pair => mediaAfterResults(context, pair)) : []),
    ...lone.map(result => ({ text: loneResult(result) })),
  ]
}

function encodeResult(context: EncodingContext, { call, result, entry }: CallPair): JsonObject {
  const { outcome } = result
  const native = nativeCall(context, call)?.functionCall
  const isTyped = native !== undefined && native['name'] !== call.name
  const typed = isTyped ? geminiTyped.find(each => each.isCall(native, {})) : undefined
  const id = nativeCallId(context, call, entry)
  const name = asString(nativeCall(context, call)?.functionCall['name']) || context.names.toWire(call.name)
  const text = resultText(outcome)
  const media = context.isOlder ? [] : mediaIn(context, outcome.parts)
  return {
    functionResponse: {
      ...(id !== '' && { id }),
      name,
      response:
        native && typed?.result
          ? typed.result(outcome, native)
          : isFailed(outcome)
            ? { error: text }
            : { output: asValue(text) },
      ...(media.length > 0 && { parts: media }),
    },
  }
}

/** The API's own form of a result is a value, so JSON text is given as one, if nothing of its spelling is lost by that. */
function asValue(text: string): Json {
  if (!/^[[{]/.test(text)) return text
  const value = parseBounded(text)
  return value !== undefined && JSON.stringify(value) === text ? value : text
}

/** Media that cannot be sent is mentioned in the result's own text. */
function mediaIn(context: EncodingContext, parts: readonly ResultPart[]): JsonObject[] {
  const media = parts.map(part => (part.type === 'text' ? undefined : encodeMedia(context, part)))
  return media.filter(part => part !== undefined)
}

/** For models whose responses hold no media: it follows all responses, with the name of its tool. */
function mediaAfterResults(context: EncodingContext, { call, result }: CallPair): JsonObject[] {
  const media = mediaIn(context, result.outcome.parts)
  return media.length === 0 ? [] : [{ text: `[from ${call.name}]`.toWellFormed() }, ...media]
}
