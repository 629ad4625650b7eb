// An answer as a Messages response. Blocks that this vendor made go out as they came; thinking of any other model has no
// signature, and is dropped on its way back.
import type { CallPart } from '../../language/calls.ts'
import type { Native } from '../../language/content.ts'
import type { Usage } from '../../language/events.ts'
import type { AnswerPart } from '../../language/history.ts'
import { isJsonObject, type JsonObject } from '../../lib/json.ts'
import { type Answer, argumentsObject } from '../stateless/index.ts'

export type Head = { id: string; model: string }

const stopReasons: Readonly<Record<Answer['stop'], string>> = {
  end: 'end_turn',
  calls: 'tool_use',
  length: 'max_tokens',
  refusal: 'refusal',
  filter: 'refusal',
  pause: 'pause_turn',
  cancelled: 'end_turn',
}

export function encodeMessage(head: Head, answer: Answer): object {
  return {
    ...messageHead(head),
    content: answer.parts.flatMap(encodePart),
    ...encodeStop(answer),
    usage: encodeUsage(answer.usage),
  }
}

export function messageHead({ id, model }: Head): JsonObject {
  return { id, type: 'message', role: 'assistant', model, container: null }
}

export function encodeStop({ stop }: Answer): JsonObject {
  const stop_reason = stopReasons[stop]
  const stop_details =
    stop_reason === 'refusal' ? { type: 'refusal', category: null, explanation: null } : null
  return { stop_reason, stop_sequence: null, stop_details }
}

export function encodePart(part: AnswerPart): JsonObject[] {
  const own = nativeOf(part.native)
  switch (part.type) {
    case 'text':
      return part.text === ''
        ? []
        : [{ type: 'text', text: part.text, citations: own?.['citations'] ?? null }]
    case 'thinking':
      if (own) return [own]
      return part.text === '' ? [] : [{ type: 'thinking', thinking: part.text, signature: '' }]
    case 'call':
      return [{ ...callHead(part), input: argumentsObject(part.text), ...own }]
    case 'hosted':
      return own ? [own] : []
  }
}

export function callHead({ id, name }: Pick<CallPart, 'id' | 'name'>): JsonObject {
  return { type: 'tool_use', id, name, input: {}, caller: { type: 'direct' } }
}

/** The block as this vendor made it. */
export function nativeOf(native: Native | undefined): JsonObject | undefined {
  return native?.origin.protocol === 'anthropic' && isJsonObject(native.data) ? native.data : undefined
}

/** The vendor counts cached input apart; `input` is all that was read. Zeros when the model did not say. */
export function encodeUsage(usage: Usage | undefined): JsonObject {
  const { input = 0, output = 0, cacheRead = 0, cacheWrite = 0, thinking } = usage ?? {}
  return {
    input_tokens: Math.max(0, input - cacheRead - cacheWrite),
    output_tokens: output,
    cache_creation_input_tokens: cacheWrite,
    cache_read_input_tokens: cacheRead,
    cache_creation: null,
    output_tokens_details: thinking === undefined ? null : { thinking_tokens: thinking },
    server_tool_use: null,
    service_tier: 'standard',
  }
}
