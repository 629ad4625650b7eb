// An answer as a GenerateContentResponse, or as a stream of partial ones. Parts that this vendor made go out as they came,
// signature and all. Calls come whole, in the last chunk, as they do from the vendor.

import type { CallPart } from '../../language/calls.ts'
import type { Native } from '../../language/content.ts'
import type { Usage } from '../../language/events.ts'
import type { AnswerPart } from '../../language/history.ts'
import { isJsonObject, type JsonObject } from '../../lib/json.ts'
import { dataFrame } from '../http/index.ts'
import { type Answer, argumentsObject, type Piece, type StreamEncoder } from '../stateless/index.ts'
import { errorBody } from './refuse.ts'

export type Head = { responseId: string; modelVersion: string; includeThoughts: boolean }

const finishReasons: Readonly<Record<Answer['stop'], string>> = {
  end: 'STOP',
  calls: 'STOP',
  length: 'MAX_TOKENS',
  refusal: 'SAFETY',
  filter: 'SAFETY',
  pause: 'STOP',
  cancelled: 'OTHER',
}

export function encodeResponse(head: Head, answer: Answer): object {
  return last(
    head,
    answer,
    answer.parts.flatMap(part => encodePart(part, head.includeThoughts)),
  )
}

function last(head: Head, { stop, usage }: Answer, parts: JsonObject[]): object {
  return chunk(head, parts, { finishReason: finishReasons[stop] }, { usageMetadata: encodeUsage(usage) })
}

function chunk(
  { responseId, modelVersion }: Head,
  parts: JsonObject[],
  candidate: object,
  rest: object,
): object {
  const content = { role: 'model', parts }
  return { candidates: [{ content, index: 0, ...candidate }], ...rest, modelVersion, responseId }
}

function encodePart(part: AnswerPart, includeThoughts: boolean): JsonObject[] {
  const own = nativeOf(part.native)
  if (part.type === 'call') return [encodeCall(part, own)]
  if (own) return [own]
  if (part.type === 'hosted' || part.text === '') return []
  if (part.type === 'text') return [{ text: part.text }]
  return includeThoughts ? [{ text: part.text, thought: true }] : []
}

function encodeCall({ id, name, text }: CallPart, own: JsonObject | undefined): JsonObject {
  const args = argumentsObject(text)
  const call = own?.['functionCall']
  if (!isJsonObject(call)) return { functionCall: { id, name, args } }
  return { ...own, functionCall: { args, ...call, name } }
}

function nativeOf(native: Native | undefined): JsonObject | undefined {
  return native?.origin.protocol === 'gemini' && isJsonObject(native.data) ? native.data : undefined
}

/** Zeros when the model did not say. */
function encodeUsage(usage: Usage | undefined): JsonObject {
  const { input = 0, output = 0, cacheRead, thinking } = usage ?? {}
  return {
    promptTokenCount: input,
    candidatesTokenCount: Math.max(0, output - (thinking ?? 0)),
    ...(thinking !== undefined && { thoughtsTokenCount: thinking }),
    ...(cacheRead !== undefined && { cachedContentTokenCount: cacheRead }),
    totalTokenCount: input + output,
  }
}

// ---- the stream ---------------------------------------------------------------------------------------------

export class PartialEncoder implements StreamEncoder {
  readonly #head: Head

  constructor(head: Head) {
    this.#head = head
  }

  begin(): string {
    return ''
  }

  take(piece: Piece): string {
    if (piece.type === 'text') return dataFrame(chunk(this.#head, [{ text: piece.text }], {}, {}))
    if (piece.type !== 'thinking' || !this.#head.includeThoughts) return ''
    return dataFrame(chunk(this.#head, [{ text: piece.text, thought: true }], {}, {}))
  }

  /** A signature on text that was told already has lost its place; one on an empty part, or on a call, has not. */
  end(answer: Answer, rest: readonly Piece[]): string {
    const parts = answer.parts
      .filter(part => part.type === 'call' || part.type === 'hosted' || part.text === '')
      .flatMap(part => encodePart(part, false))
    const said = rest.map(piece => this.take(piece)).join('')
    return said + dataFrame(last(this.#head, answer, parts.length > 0 ? parts : [{ text: '' }]))
  }

  fail(failure: Parameters<StreamEncoder['fail']>[0]): string {
    return dataFrame(errorBody(failure))
  }
}
