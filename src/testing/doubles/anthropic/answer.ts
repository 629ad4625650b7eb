// Builds the message of a scripted turn, and streams it as Anthropic's events: message_start, the blocks one by one,
// message_delta, message_stop. It also records what it issued, so that the checks can demand it back unchanged.
import { type DoubleRequest, rawAnswer, type VendorDouble } from '../double.ts'
import { findFault } from '../faults.ts'
import {
  type DoubleFrame,
  jsonFrame,
  type NeutralStop,
  neutralStops,
  readThinking,
  type ScriptedTurn,
  scriptedStop,
  scriptedText,
  scriptedValue,
  splitText,
} from '../script.ts'
import { mintId, seal } from '../seal.ts'
import { asList, asRecord, asRecords, asString, isRecord, type JsonRecord, tokensIn } from '../shape.ts'
import { type AnthropicMemory, containerId, holdThread, isFromCode } from './history.ts'

const STOP_REASONS: Readonly<Record<NeutralStop, string>> = {
  end: 'end_turn',
  tool: 'tool_use',
  length: 'max_tokens',
  'stop-sequence': 'stop_sequence',
  pause: 'pause_turn',
  refusal: 'refusal',
  filter: 'refusal',
  context: 'model_context_window_exceeded',
}

export const answerAnthropic: VendorDouble<AnthropicMemory>['respond'] = (turn, request, memory) => {
  const raw = rawAnswer(turn, request)
  if (raw) return raw
  const body = asRecord(request.body)
  const message = isRecord(turn.raw) ? turn.raw : buildMessage(turn, request, memory)
  rememberMessage(message, memory)
  holdThread(body, message, memory)
  return { body: message, frames: streamMessage(message, (turn.calls ?? []).map(scriptedText), turn) }
}

function buildMessage(turn: ScriptedTurn, request: DoubleRequest, memory: AnthropicMemory): JsonRecord {
  const body = asRecord(request.body)
  const content = buildContent(turn, body, memory)
  const calls = content.filter(block => block['type'] === 'tool_use')
  const cut = turn.calls?.some(call => call.cut) ?? false
  const counted = calls.map(() => ({ name: '', cut }))
  const stop = scriptedStop({ ...turn, calls: counted }, neutralStops(STOP_REASONS))
  const stop_reason = STOP_REASONS[stop]
  const refusal = { type: 'refusal', category: null, explanation: turn.refusal ?? null }
  return {
    id: mintId('msg_01', ++memory.counter),
    type: 'message',
    role: 'assistant',
    model: asString(body['model']),
    content,
    stop_reason,
    stop_sequence: stop === 'stop-sequence' ? (asList(body['stop_sequences'])[0] ?? null) : null,
    stop_details: stop_reason === 'refusal' ? refusal : null,
    container: calls.some(isFromCode) ? buildContainer(body, memory) : null,
    usage: {
      input_tokens: tokensIn(request.rawText),
      output_tokens: Math.max(1, tokensIn(JSON.stringify(content))),
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
  const thinking = readThinking(turn)
  if (thinking && (thinking.text !== '' || thinking.redacted === undefined)) {
    const isOmitted = asRecord(body['thinking'])['display'] === 'omitted'
    const text = isOmitted ? '' : thinking.text
    const signature = thinking.signature ?? seal('thinking', text)
    content.push({ type: 'thinking', thinking: text, signature })
  }
  if (thinking?.redacted !== undefined) {
    content.push({ type: 'redacted_thinking', data: thinking.redacted || seal('redacted', '') })
  }
  content.push(...asRecords(turn.native).map(sealSearchResults))
  if (turn.text) content.push({ type: 'text', text: turn.text, citations: null })
  for (const call of turn.calls ?? []) {
    const value = scriptedValue(call)
    content.push({
      type: 'tool_use',
      id: call.id ?? mintId('toolu_01', ++memory.counter),
      name: call.name,
      // The arguments of a call that was cut cannot be parsed. Only a stream shows any of them.
      input: call.cut || value === undefined ? {} : value,
      caller: { type: 'direct' },
    })
  }
  return content
}

/** Search results that a script wrote without `encrypted_content` get one that verifies. */
function sealSearchResults(block: JsonRecord): JsonRecord {
  if (block['type'] !== 'web_search_tool_result' || !Array.isArray(block['content'])) return block
  const content = block['content'].map(item =>
    isRecord(item) && item['encrypted_content'] === undefined
      ? { ...item, encrypted_content: seal('search', asString(item['url'])) }
      : item,
  )
  return { ...block, content }
}

function buildContainer(body: JsonRecord, memory: AnthropicMemory): JsonRecord {
  const given = containerId(body['container'])
  const id = typeof given === 'string' ? given : mintId('container_01', ++memory.counter)
  return { id, expires_at: new Date(Date.now() + 270_000).toISOString(), skills: null }
}

function rememberMessage(message: JsonRecord, memory: AnthropicMemory): void {
  const content = asRecords(message['content'])
  const thoughts = content.filter(block => asString(block['type']).endsWith('thinking'))
  for (const { type, signature, thinking, data } of thoughts) {
    if (type === 'thinking') memory.signatures.set(asString(signature), asString(thinking))
    else memory.redacted.add(asString(data))
  }
  const { id: named, expires_at: expires } = asRecord(message['container'])
  const container = asString(named)
  if (container) memory.expiries.set(container, Date.parse(asString(expires)))
  for (const block of content) {
    const id = asString(block['id'])
    const isCall = block['type'] === 'tool_use'
    if (isCall) memory.thinking.set(id, thoughts)
    if (isCall && isFromCode(block) && container) memory.containers.set(id, container)
    if (message['stop_reason'] === 'pause_turn' && id) memory.paused.set(id, content)
    for (const { encrypted_content: encrypted } of asRecords(block['content'])) {
      if (typeof encrypted === 'string') memory.encrypted.add(encrypted)
    }
  }
}

// ---- the stream ---------------------------------------------------------------------------------------------

const event = (type: string, fields: JsonRecord, mark?: DoubleFrame['mark']): DoubleFrame =>
  jsonFrame(type, { type, ...fields }, mark)

/** `inputs`: the arguments text of the scripted calls, which need not be the JSON of their input. */
function streamMessage(message: JsonRecord, inputs: string[], turn: ScriptedTurn): DoubleFrame[] {
  const { content, stop_reason, stop_sequence, stop_details, container, usage, ...rest } = message
  const unknown = { stop_reason: null, stop_sequence: null, stop_details: null, container: null }
  const totals = asRecord(usage)
  const start = { ...rest, content: [], ...unknown, usage: { ...totals, output_tokens: 1 } }
  const delta = { stop_reason, stop_sequence, stop_details, ...(container ? { container } : {}) }
  const early = { delta: {}, usage: { ...deltaUsage(totals), output_tokens: 1 } }
  const blocks = asRecords(content)
  // The calls of the script are the last blocks of the message.
  const firstCall = blocks.length - inputs.length
  return [
    event('message_start', { message: start }),
    event('ping', {}),
    ...blocks.flatMap((block, index) => blockEvents(block, index, turn.chunk, inputs[index - firstCall])),
    ...(findFault(turn, 'usage-only-delta') ? [event('message_delta', early)] : []),
    event('message_delta', { delta, usage: deltaUsage(totals) }),
    event('message_stop', {}, 'terminal'),
  ]
}

const deltaUsage = (usage: JsonRecord): JsonRecord => ({
  input_tokens: usage['input_tokens'] ?? null,
  output_tokens: usage['output_tokens'] ?? 0,
  cache_creation_input_tokens: usage['cache_creation_input_tokens'] ?? null,
  cache_read_input_tokens: usage['cache_read_input_tokens'] ?? null,
  output_tokens_details: usage['output_tokens_details'] ?? null,
  server_tool_use: usage['server_tool_use'] ?? null,
})

function blockEvents(block: JsonRecord, index: number, chunk?: number, input?: string): DoubleFrame[] {
  const type = asString(block['type'])
  const open = (content_block: JsonRecord, mark?: DoubleFrame['mark']): DoubleFrame =>
    event('content_block_start', { index, content_block }, mark)
  const delta = (fields: JsonRecord, mark?: DoubleFrame['mark']): DoubleFrame =>
    event('content_block_delta', { index, delta: fields }, mark)
  const stop = event('content_block_stop', { index })
  if (type === 'text') {
    const deltas = splitText(asString(block['text']), chunk).map(text => delta({ type: 'text_delta', text }))
    return [open({ ...block, text: '' }), ...deltas, stop]
  }
  if (type === 'thinking') {
    const texts = splitText(asString(block['thinking']), chunk)
    const deltas = texts.map(thinking => delta({ type: 'thinking_delta', thinking }))
    const signed = delta({ type: 'signature_delta', signature: block['signature'] })
    return [open({ type, thinking: '', signature: '' }), ...deltas, signed, stop]
  }
  if (type === 'tool_use' || type === 'server_tool_use' || type === 'mcp_tool_use') {
    const whole = input ?? JSON.stringify(block['input'] ?? {})
    const texts = ['', ...splitText(whole === '{}' ? '' : whole, chunk)]
    const deltas = texts.map(partial_json => delta({ type: 'input_json_delta', partial_json }, 'arguments'))
    return [open({ ...block, input: {} }, type === 'tool_use' ? 'call-start' : undefined), ...deltas, stop]
  }
  return [open(block), stop]
}
