// An answer as a GenerateContentResponse, or as a stream of partial ones. Parts that this vendor made are given as they
// came, with their signatures. Calls come whole in the last chunk, as they do from the vendor.
import type { OnceAnswer, OnceItem, PlainError } from '../../engine/index.ts'
import type { CallPart } from '../../language/calls.ts'
import type { Usage } from '../../language/events.ts'
import type { AnswerPart } from '../../language/history.ts'
import { isJsonObject, type JsonObject } from '../../lib/json/index.ts'
import { dataFrame } from '../http/index.ts'
import type { FrameEncoder } from '../http/stream.ts'
import { argumentsObject } from '../stateless/index.ts'
import { geminiErrorBody } from './wordings.ts'

export type GeminiHead = { responseId: string; modelVersion: string; includeThoughts: boolean }

const geminiFinishReasons: Readonly<Record<OnceAnswer['stop'], string>> = {
  end: 'STOP',
  calls: 'STOP',
  length: 'MAX_TOKENS',
  refusal: 'SAFETY',
  filter: 'SAFETY',
}

export function encodeGeminiResponse(head: GeminiHead, answer: OnceAnswer): object {
  const parts = answer.parts.flatMap(part => encodeGeminiPart(part, head.includeThoughts))
  return lastChunk(head, answer, parts)
}

function lastChunk(head: GeminiHead, { stop, usage }: OnceAnswer, parts: JsonObject[]): object {
  const finishReason = geminiFinishReasons[stop]
  return contentChunk(head, parts, { finishReason }, { usageMetadata: encodeUsageMetadata(usage) })
}

function contentChunk(
  { responseId, modelVersion }: GeminiHead,
  parts: JsonObject[],
  candidate: object = {},
  rest: object = {},
): object {
  const content = { role: 'model', parts }
  return { candidates: [{ content, index: 0, ...candidate }], ...rest, modelVersion, responseId }
}

function encodeGeminiPart(part: AnswerPart, includeThoughts: boolean): JsonObject[] {
  const { native } = part
  const own = native?.origin.protocol === 'gemini' && isJsonObject(native.data) ? native.data : undefined
  if (part.type === 'call') return [encodeGeminiCall(part, own)]
  if (own) return [own]
  if (part.type === 'hosted' || part.text === '') return []
  if (part.type === 'text') return [{ text: part.text }]
  return includeThoughts ? [{ text: part.text, thought: true }] : []
}

function encodeGeminiCall({ id, name, text }: CallPart, own: JsonObject | undefined): JsonObject {
  const args = argumentsObject(text)
  const call = own?.['functionCall']
  if (!isJsonObject(call)) return { functionCall: { id, name, args } }
  return { ...own, functionCall: { args, ...call, name } }
}

/** Zeros if the model gave no count. */
function encodeUsageMetadata(usage: Usage | undefined): JsonObject {
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

export class GeminiStreamEncoder implements FrameEncoder<OnceItem> {
  readonly #head: GeminiHead

  constructor(head: GeminiHead) {
    this.#head = head
  }

  take(item: OnceItem): string {
    if (item.type === 'answer') return this.#finish(item.answer)
    const { delta } = item
    if (delta.type === 'text') return dataFrame(contentChunk(this.#head, [{ text: delta.text }]))
    if (delta.type !== 'thinking' || !this.#head.includeThoughts) return ''
    return dataFrame(contentChunk(this.#head, [{ text: delta.text, thought: true }]))
  }

  fail(error: PlainError): string {
    return dataFrame(geminiErrorBody(error))
  }

  /** The signature of a text that was streamed has lost its place. That of a call or of an empty part has not. */
  #finish(answer: OnceAnswer): string {
    const parts = answer.parts
      .filter(part => part.type === 'call' || part.type === 'hosted' || part.text === '')
      .flatMap(part => encodeGeminiPart(part, false))
    return dataFrame(lastChunk(this.#head, answer, parts.length > 0 ? parts : [{ text: '' }]))
  }
}
