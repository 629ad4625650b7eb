// Streams a message as Anthropic's events: message_start, the blocks one by one, message_delta, message_stop.
import { faultOf } from '../faults.ts'
import { type Frame, jsonFrame, type ScriptedTurn, splitText } from '../script.ts'
import { asRecord, asRecords, asString, type JsonRecord } from '../shape.ts'

const event = (type: string, fields: JsonRecord, mark?: Frame['mark']): Frame =>
  jsonFrame(type, { type, ...fields }, mark)

/** `inputs`: the arguments text of the scripted calls, which need not be the JSON of their input. */
export function streamMessage(message: JsonRecord, inputs: string[], turn: ScriptedTurn): Frame[] {
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
    ...(faultOf(turn, 'usage-only-delta') ? [event('message_delta', early)] : []),
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

function blockEvents(block: JsonRecord, index: number, chunk?: number, input?: string): Frame[] {
  const type = asString(block['type'])
  const open = (content_block: JsonRecord, mark?: Frame['mark']): Frame =>
    event('content_block_start', { index, content_block }, mark)
  const delta = (fields: JsonRecord, mark?: Frame['mark']): Frame =>
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
