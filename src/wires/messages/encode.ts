// An answer as a Messages response. Blocks that this vendor made are given as they came. Thinking of any other model has
// an empty signature, and is left out when a client sends it back.
import type { OnceAnswer } from '../../engine/index.ts'
import type { Native } from '../../language/content.ts'
import type { Usage } from '../../language/events.ts'
import type { AnswerPart } from '../../language/history.ts'
import { isJsonObject, type JsonObject } from '../../lib/json.ts'
import { argumentsObject } from '../stateless/index.ts'

export type MessageHead = { id: string; model: string }

const stopReasons: Readonly<Record<OnceAnswer['stop'], string>> = {
  end: 'end_turn',
  calls: 'tool_use',
  length: 'max_tokens',
  refusal: 'refusal',
  filter: 'refusal',
}

export function encodeMessage(head: MessageHead, { parts, stop, usage }: OnceAnswer): JsonObject {
  return {
    ...messageFields(head),
    content: parts.flatMap(encodeBlocks),
    ...encodeStop(stop),
    usage: encodeMessageUsage(usage),
  }
}

export function messageFields({ id, model }: MessageHead): JsonObject {
  return { id, type: 'message', role: 'assistant', model, container: null }
}

export function encodeStop(stop: OnceAnswer['stop']): JsonObject {
  const stop_reason = stopReasons[stop]
  const stop_details =
    stop_reason === 'refusal' ? { type: 'refusal', category: null, explanation: null } : null
  return { stop_reason, stop_sequence: null, stop_details }
}

/** None for a part that has nothing to show. */
export function encodeBlocks(part: AnswerPart): JsonObject[] {
  const own = anthropicBlock(part.native)
  switch (part.type) {
    case 'text':
      return part.text === ''
        ? []
        : [{ type: 'text', text: part.text, citations: own?.['citations'] ?? null }]
    case 'thinking':
      if (own) return [own]
      return part.text === '' ? [] : [{ type: 'thinking', thinking: part.text, signature: '' }]
    case 'call':
      return [{ ...callBlock(part.id, part.name), input: argumentsObject(part.text), ...own }]
    case 'hosted':
      return own ? [own] : []
  }
}

export function callBlock(id: string, name: string): JsonObject {
  return { type: 'tool_use', id, name, input: {}, caller: { type: 'direct' } }
}

/** The block as this vendor made it. */
export function anthropicBlock(native: Native | undefined): JsonObject | undefined {
  return native?.origin.protocol === 'anthropic' && isJsonObject(native.data) ? native.data : undefined
}

/** The vendor counts cached input apart; ours includes it. Zeros if the model gave no count. */
export function encodeMessageUsage(usage: Usage | undefined): JsonObject {
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
