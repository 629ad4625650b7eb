// An answer as a Messages response. Blocks that this vendor made are given as they came. Thinking of any other model has
// an empty signature, and is left out when a client sends it back.
import type { OnceAnswer } from '../../engine/index.ts'
import { joinText, type Native } from '../../language/content.ts'
import type { Usage } from '../../language/events.ts'
import type { AnswerPart } from '../../language/history.ts'
import { isJsonObject, type Json, type JsonObject } from '../../lib/json/index.ts'
import { argumentsObject } from '../stateless/index.ts'
import { ownSummary } from './decode-blocks.ts'
import type { Diagnostics } from './decode-fields.ts'

export type MessageHead = {
  id: string
  model: string
  /** The answer is a summary of the conversation. `own`: the model has said it as text. */
  summary?: 'vendor' | 'own'
  diagnostics?: Diagnostics
}

const stopReasons: Readonly<Record<OnceAnswer['stop'], string>> = {
  end: 'end_turn',
  calls: 'tool_use',
  length: 'max_tokens',
  refusal: 'refusal',
  filter: 'refusal',
}

export function encodeMessage(head: MessageHead, answer: OnceAnswer): JsonObject {
  return {
    ...messageFields(head),
    content: shownParts(head, answer).flatMap(encodeBlocks),
    container: encodeContainer(answer),
    ...encodeStop(head, answer),
    usage: encodeMessageUsage(answer.usage),
  }
}

export function messageFields({ id, model, diagnostics }: MessageHead): JsonObject {
  return {
    id,
    type: 'message',
    role: 'assistant',
    model,
    container: null,
    ...(diagnostics && { diagnostics }),
  }
}

/** A summary that the model has said here becomes the block that the client sends in place of the conversation. */
export function shownParts({ summary }: MessageHead, { parts }: OnceAnswer): readonly AnswerPart[] {
  if (summary !== 'own') return parts
  const said = joinText(parts)
  const content = said.trim() === '' ? null : said
  const data = { type: 'compaction', content, encrypted_content: null, signature: ownSummary }
  const native = { origin: { protocol: 'anthropic', family: ownSummary }, data }
  return [{ type: 'hosted', tool: 'compaction', summary: 'compaction', native }]
}

/** Where the vendor's code has run, for the client to name it again. */
export function encodeContainer({ continuity }: OnceAnswer): Json {
  const container = anthropicBlock(continuity)?.['container']
  return isJsonObject(container) ? container : null
}

export function encodeStop({ summary }: MessageHead, { stop }: OnceAnswer): JsonObject {
  const stop_reason = summary && stop === 'end' ? 'compaction' : stopReasons[stop]
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
