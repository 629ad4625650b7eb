/**
 * A scripted turn as Anthropic would answer it: one message, and the same message as a stream of events.
 * It also writes down what it handed out, so that the checks can ask for it back unchanged.
 */

import type { DoubleRequest } from '../double.ts'
import { faultOf } from '../faults.ts'
import {
  argumentsText,
  argumentsValue,
  type Frame,
  type NeutralStop,
  pieces,
  rawFrames,
  type ScriptedTurn,
  stopOf,
  thinkingOf,
} from '../script.ts'
import { mintId, seal } from '../seal.ts'
import { isRecord, type JsonRecord, recordsOf, stringOf } from '../shape.ts'
import type { AnthropicMemory } from './memory.ts'
import { holdThread } from './threads.ts'

const FROM_OWN: Readonly<Record<string, NeutralStop>> = {
  end_turn: 'end',
  tool_use: 'tool',
  max_tokens: 'length',
  stop_sequence: 'stop-sequence',
  pause_turn: 'pause',
  refusal: 'refusal',
  model_context_window_exceeded: 'context',
}
const TO_OWN: Readonly<Record<NeutralStop, string>> = {
  end: 'end_turn',
  tool: 'tool_use',
  length: 'max_tokens',
  'stop-sequence': 'stop_sequence',
  pause: 'pause_turn',
  refusal: 'refusal',
  filter: 'refusal',
  context: 'model_context_window_exceeded',
}

export function respondAnthropic(
  turn: ScriptedTurn,
  request: DoubleRequest,
  memory: AnthropicMemory,
): { body: unknown; frames: Frame[] } {
  const frames = rawFrames(turn.raw)
  if (frames) {
    if (!isRecord(request.body) || request.body['stream'] !== true) {
      throw new Error('raw frames can only answer a request that streams: script the whole message instead')
    }
    return { body: null, frames }
  }
  const message = isRecord(turn.raw) ? turn.raw : buildMessage(turn, request, memory)
  remember(message, memory)
  if (isRecord(request.body)) holdThread(request.body, message, memory)
  const partial = (turn.calls ?? []).map(argumentsText)
  return { body: message, frames: streamMessage(message, partial, turn) }
}

function buildMessage(turn: ScriptedTurn, request: DoubleRequest, memory: AnthropicMemory): JsonRecord {
  const body = isRecord(request.body) ? request.body : {}
  const content = buildContent(turn, body, memory)
  const calls = content.filter(block => block['type'] === 'tool_use')
  const cut = turn.calls?.some(call => call.cut) ?? false
  const stop = stopOf({ ...turn, calls: calls.map(() => ({ name: '', cut })) }, FROM_OWN)
  const sequences = Array.isArray(body['stop_sequences']) ? body['stop_sequences'] : []
  return {
    id: mintId('msg_01', ++memory.counter),
    type: 'message',
    role: 'assistant',
    model: stringOf(body['model']),
    content,
    stop_reason: TO_OWN[stop],
    stop_sequence: stop === 'stop-sequence' ? (sequences[0] ?? null) : null,
    stop_details:
      TO_OWN[stop] === 'refusal'
        ? { type: 'refusal', category: null, explanation: turn.refusal ?? null }
        : null,
    container: containerFor(calls, body, memory),
    usage: {
      input_tokens: Math.ceil(request.rawText.length / 4),
      output_tokens: Math.max(1, Math.ceil(JSON.stringify(content).length / 4)),
      cache_creation_input_tokens: 0,
      cache_read_input_tokens: 0,
      cache_creation: null,
      output_tokens_details: null,
      server_tool_use: null,
      service_tier: 'standard',
      ...turn.usage,
    },
    ...turn.extra,
  }
}

function buildContent(turn: ScriptedTurn, body: JsonRecord, memory: AnthropicMemory): JsonRecord[] {
  const content: JsonRecord[] = []
  const thinking = thinkingOf(turn)
  const config = body['thinking']
  if (thinking && (thinking.text !== '' || thinking.redacted === undefined)) {
    const isOmitted = isRecord(config) && config['display'] === 'omitted'
    const text = isOmitted ? '' : thinking.text
    content.push({
      type: 'thinking',
      thinking: text,
      signature: thinking.signature ?? seal('thinking', text),
    })
  }
  if (thinking?.redacted !== undefined) {
    content.push({ type: 'redacted_thinking', data: thinking.redacted || seal('redacted', '') })
  }
  for (const block of recordsOf(turn.native)) content.push(sealSearchResults(block))
  if (turn.text !== undefined && turn.text !== '')
    content.push({ type: 'text', text: turn.text, citations: null })
  for (const call of turn.calls ?? []) {
    content.push({
      type: 'tool_use',
      id: call.id ?? mintId('toolu_01', ++memory.counter),
      name: call.name,
      // A call cut short has no arguments that could be parsed; without a stream nothing of them is seen.
      input: call.cut ? {} : orEmpty(argumentsValue(call)),
      caller: { type: 'direct' },
    })
  }
  return content
}

const orEmpty = (value: unknown): unknown => (value === undefined ? {} : value)

/** Search results that a script wrote without `encrypted_content` get one that verifies. */
function sealSearchResults(block: JsonRecord): JsonRecord {
  if (block['type'] !== 'web_search_tool_result' || !Array.isArray(block['content'])) return block
  const content = block['content'].map(item =>
    isRecord(item) && item['encrypted_content'] === undefined
      ? { ...item, encrypted_content: seal('search', stringOf(item['url'])) }
      : item,
  )
  return { ...block, content }
}

const isFromCode = (block: JsonRecord): boolean =>
  isRecord(block['caller']) && block['caller']['type'] !== 'direct'

function containerFor(calls: JsonRecord[], body: JsonRecord, memory: AnthropicMemory): JsonRecord | null {
  if (!calls.some(isFromCode)) return null
  const given = isRecord(body['container']) ? body['container']['id'] : body['container']
  const id = typeof given === 'string' ? given : mintId('container_01', ++memory.counter)
  return { id, expires_at: new Date(Date.now() + 270_000).toISOString(), skills: null }
}

function remember(message: JsonRecord, memory: AnthropicMemory): void {
  const content = recordsOf(message['content'])
  const thoughts = content.filter(block => stringOf(block['type']).endsWith('thinking'))
  for (const block of thoughts) {
    if (block['type'] === 'thinking')
      memory.signatures.set(stringOf(block['signature']), stringOf(block['thinking']))
    else memory.redacted.add(stringOf(block['data']))
  }
  const container = isRecord(message['container']) ? stringOf(message['container']['id']) : ''
  for (const block of content) {
    const id = stringOf(block['id'])
    if (block['type'] === 'tool_use') memory.thinking.set(id, thoughts)
    if (block['type'] === 'tool_use' && isFromCode(block) && container) memory.containers.set(id, container)
    if (message['stop_reason'] === 'pause_turn' && id) memory.paused.set(id, content)
    for (const item of recordsOf(block['content'])) {
      if (typeof item['encrypted_content'] === 'string') memory.encrypted.add(item['encrypted_content'])
    }
  }
}

const event = (type: string, fields: JsonRecord, mark?: Frame['mark']): Frame => ({
  event: type,
  data: JSON.stringify({ type, ...fields }),
  ...(mark && { mark }),
})

/** `partial`: the arguments text of the scripted calls, which need not be the JSON of their input. */
function streamMessage(message: JsonRecord, partial: string[], turn: ScriptedTurn): Frame[] {
  const { content, stop_reason, stop_sequence, stop_details, container, usage, ...rest } = message
  const totals = isRecord(usage) ? usage : {}
  const start = {
    ...rest,
    content: [],
    stop_reason: null,
    stop_sequence: null,
    stop_details: null,
    container: null,
  }
  const frames = [
    event('message_start', { message: { ...start, usage: { ...totals, output_tokens: 1 } } }),
    event('ping', {}),
  ]
  const blocks = recordsOf(content)
  const scripted = blocks.length - partial.length
  for (const [index, block] of blocks.entries()) {
    for (const frame of streamBlock(block, index, turn.chunk, partial[index - scripted])) frames.push(frame)
  }
  if (faultOf(turn, 'usage-only-delta')) {
    frames.push(event('message_delta', { delta: {}, usage: { ...deltaUsage(totals), output_tokens: 1 } }))
  }
  const delta = { stop_reason, stop_sequence, stop_details, ...(container ? { container } : {}) }
  frames.push(event('message_delta', { delta, usage: deltaUsage(totals) }))
  frames.push(event('message_stop', {}, 'terminal'))
  return frames
}

const deltaUsage = (usage: JsonRecord): JsonRecord => ({
  input_tokens: usage['input_tokens'] ?? null,
  output_tokens: usage['output_tokens'] ?? 0,
  cache_creation_input_tokens: usage['cache_creation_input_tokens'] ?? null,
  cache_read_input_tokens: usage['cache_read_input_tokens'] ?? null,
  output_tokens_details: usage['output_tokens_details'] ?? null,
  server_tool_use: usage['server_tool_use'] ?? null,
})

function streamBlock(block: JsonRecord, index: number, chunk?: number, written?: string): Frame[] {
  const type = stringOf(block['type'])
  const delta = (fields: JsonRecord, mark?: Frame['mark']): Frame =>
    event('content_block_delta', { index, delta: fields }, mark)
  const open = (content_block: JsonRecord, mark?: Frame['mark']): Frame =>
    event('content_block_start', { index, content_block }, mark)
  const stop = event('content_block_stop', { index })
  if (type === 'text') {
    const deltas = pieces(stringOf(block['text']), chunk).map(text => delta({ type: 'text_delta', text }))
    return [open({ ...block, text: '' }), ...deltas, stop]
  }
  if (type === 'thinking') {
    const deltas = pieces(stringOf(block['thinking']), chunk).map(thinking =>
      delta({ type: 'thinking_delta', thinking }),
    )
    const signed = delta({ type: 'signature_delta', signature: block['signature'] })
    return [open({ type, thinking: '', signature: '' }), ...deltas, signed, stop]
  }
  if (type === 'tool_use' || type === 'server_tool_use' || type === 'mcp_tool_use') {
    const whole = written ?? JSON.stringify(block['input'] ?? {})
    const texts = ['', ...pieces(whole === '{}' ? '' : whole, chunk)]
    const deltas = texts.map(partial_json => delta({ type: 'input_json_delta', partial_json }, 'arguments'))
    return [open({ ...block, input: {} }, type === 'tool_use' ? 'call-start' : undefined), ...deltas, stop]
  }
  return [open(block), stop]
}
