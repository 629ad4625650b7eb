// A history as Gemini's `contents`: roles in turn, as many responses as calls in the one next turn, signatures on
// the parts that they came with. Each entry is encoded once and remembered; neighbours of one role are joined as
// text. What is remembered does not depend on which turn is the current one: a step that lacks a signature has the
// documented stand-in wherever it stands.

import type { CallPart } from '../../../language/calls.ts'
import type { InputPart, Origin, ResultPart } from '../../../language/content.ts'
import type { AssistantEntry, Entry, ToolEntry } from '../../../language/history.ts'
import { isJsonObject, type JsonObject } from '../../../lib/json.ts'
import { wellFormed } from '../../../lib/text.ts'
import { isFailed, nativeFor, resultText, sameOrigin, wireJson } from '../../common/artifacts.ts'
import { encodeEntries, joinPieces } from '../../common/encode-cache.ts'
import { type Media, mention } from '../../common/media.ts'
import { historyArguments } from '../../common/truncated.ts'
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
  /** Signatures are not asked for, and results hold no media. */
  older: boolean
  warn: Warn
}

type Context = Speaker & { spoken: readonly Entry[] }

/** `spoken`: the history without the system entries that it begins with. */
export function encodeContents(
  spoken: readonly Entry[],
  speaker: Speaker,
): { contents: string; encoded: number } {
  const context: Context = { ...speaker, spoken }
  const { protocol, family } = speaker.origin
  const encoded = encodeEntries(
    spoken,
    `${protocol} ${family} ${speaker.older ? 'older' : ''} ${namesKey(speaker.names)}`,
    (entry, index) => encodeEntry(context, entry, index).join(','),
    index => pairsVariant(spoken, index),
  )
  const roleAt = (index: number): Role => (spoken[index]?.role === 'assistant' ? 'model' : 'user')
  const { text, last } = joinPieces(encoded, (before, index) => {
    const role = roleAt(index)
    const opening = `{"role":"${role}","parts":[`
    // The user speaks first.
    if (before < 0) return role === 'user' ? opening : `${words},${opening}`
    return roleAt(before) === role ? ',' : `]},${opening}`
  })
  if (last < 0) return { contents: `[${words}]`, encoded: encoded.encoded }
  // And last.
  const goesOn = roleAt(last) === 'model'
  if (goesOn)
    speaker.warn(
      'The history ended with an answer, which Gemini does not go on with: it was asked to continue.',
    )
  return { contents: `[${text}]}${goesOn ? `,${words}` : ''}]`, encoded: encoded.encoded }
}

type Role = 'user' | 'model'
const words = `{"role":"user","parts":[${wireJson({ text: CONTINUE })}]}`

// ---- entries -----------------------------------------------------------------------------------------------

function encodeEntry(context: Context, entry: Entry, index: number): string[] {
  switch (entry.role) {
    case 'user':
      return entry.parts.flatMap(part => inputPart(context, part)).map(wireJson)
    case 'system':
      if (entry.text.trim() === '') return []
      context.warn(MOVED_SYSTEM)
      return [wireJson({ text: systemNote(entry.text) })]
    case 'tool':
      return responseParts(context, entry, index).map(wireJson)
    case 'assistant':
      return answerParts(context, entry, index).map(wireJson)
  }
}

/** An empty text is no part. */
function inputPart(context: Context, part: InputPart): JsonObject[] {
  if (part.type !== 'text') return [mediaPart(context, part) ?? { text: mention(part) }]
  return part.text === '' ? [] : [{ text: part.text }]
}

function mediaPart(context: Context, part: Media): JsonObject | undefined {
  const media = mediaOf(part, context.warn)
  if (media === undefined) return undefined
  return 'base64' in media
    ? { inlineData: { mimeType: media.mediaType, data: media.base64 } }
    : { fileData: { mimeType: media.mediaType, fileUri: media.url } }
}

// ---- answers -----------------------------------------------------------------------------------------------

function answerParts(context: Context, entry: AssistantEntry, index: number): JsonObject[] {
  const paired = new Set(pairsAt(context.spoken, index).map(pair => pair.call))
  const parts: JsonObject[] = []
  let signed = context.older
  for (const part of entry.parts) {
    if (part.type === 'call') {
      if (!paired.has(part)) {
        parts.push({ text: loneCall(part) })
        continue
      }
      const call = callPart(context, part, entry)
      // Of parallel calls only the first is signed.
      parts.push(
        signed || 'thoughtSignature' in call ? call : { ...call, thoughtSignature: FOREIGN_SIGNATURE },
      )
      signed = true
    } else {
      const native = nativeFor(part, context.origin)
      if (isJsonObject(native)) parts.push(native)
      else if (part.type === 'text' && part.text !== '') parts.push({ text: part.text })
    }
  }
  return parts
}

function callPart(context: Context, call: CallPart, entry: AssistantEntry): JsonObject {
  const args = historyArguments(call)
  const native = nativeCallOf(context, call)
  if (native !== undefined) {
    const { functionCall, ...side } = native
    return { functionCall: { args, ...functionCall }, ...side }
  }
  const id = callIdOf(context, call, entry)
  const name = context.names.toWire(call.name)
  return { functionCall: { ...(id !== undefined && { id }), name, args } }
}

type NativeCall = JsonObject & { functionCall: JsonObject }

function nativeCallOf(context: Context, call: CallPart): NativeCall | undefined {
  const native = nativeFor(call, context.origin)
  if (!isJsonObject(native) || !isJsonObject(native['functionCall'])) return undefined
  return { ...native, functionCall: native['functionCall'] }
}

/** Another model's ids mean nothing here: without ids, calls and responses are paired by their order. */
function callIdOf(context: Context, call: CallPart, entry: AssistantEntry): string | undefined {
  const native = nativeCallOf(context, call)
  const id =
    native === undefined && sameOrigin(entry.origin, context.origin)
      ? call.nativeId
      : native?.functionCall['id']
  return stringOf(id) || undefined
}

// ---- results -----------------------------------------------------------------------------------------------

function responseParts(context: Context, entry: ToolEntry, index: number): JsonObject[] {
  const pairs = pairsAt(context.spoken, index)
  const paired = new Set(pairs.map(pair => pair.result))
  const told = entry.results.filter(result => !paired.has(result))
  return [
    ...pairs.map(pair => responsePart(context, pair)),
    ...(context.older ? pairs.flatMap(pair => shownMedia(context, pair)) : []),
    ...told.map(result => ({ text: loneResult(result) })),
  ]
}

function responsePart(context: Context, { call, result, entry }: Paired): JsonObject {
  const { outcome } = result
  const id = callIdOf(context, call, entry)
  const name = stringOf(nativeCallOf(context, call)?.functionCall['name']) || context.names.toWire(call.name)
  const text = resultText(outcome)
  const media = context.older ? [] : mediaIn(context, outcome.parts)
  return {
    functionResponse: {
      ...(id !== undefined && { id }),
      name,
      response: isFailed(outcome) ? { error: text } : { output: text },
      ...(media.length > 0 && { parts: media }),
    },
  }
}

/** What cannot be sent is mentioned in the result's own text. */
function mediaIn(context: Context, parts: readonly ResultPart[]): JsonObject[] {
  const media = parts.map(part => (part.type === 'text' ? undefined : mediaPart(context, part)))
  return media.filter(part => part !== undefined)
}

/** Where a response holds no media, it stands after all responses, with the name of its tool. */
function shownMedia(context: Context, { call, result }: Paired): JsonObject[] {
  const media = mediaIn(context, result.outcome.parts)
  return media.length === 0 ? [] : [{ text: wellFormed(`[from ${call.name}]`) }, ...media]
}
