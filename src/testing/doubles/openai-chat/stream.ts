// Streams a `chat.completion` as chunks: the role first, then text and calls in pieces, a finish reason, usage, [DONE].
import { obfuscation } from '../openai/envelope.ts'
import { type Frame, jsonFrame, splitText } from '../script.ts'
import { asRecord, asRecords, type JsonRecord, shownText } from '../shape.ts'
import type { ChatQuirks } from './answer.ts'

type ChatDelta = { delta: JsonRecord; mark?: 'call-start' | 'arguments' }

export function streamCompletion(
  completion: JsonRecord,
  options: JsonRecord,
  size: number | undefined,
  quirks: ChatQuirks,
): Frame[] {
  const withUsage = options['include_usage'] === true
  const padded = options['include_obfuscation'] !== false
  const { choices, usage, ...rest } = completion
  const chunk = (choice: JsonRecord[], used: unknown, pad: boolean, mark?: Frame['mark']): Frame => {
    const shown = { ...rest, object: 'chat.completion.chunk', choices: choice }
    const padding = pad && { obfuscation: obfuscation(JSON.stringify(choice)) }
    return jsonFrame(undefined, { ...shown, ...(withUsage && { usage: used }), ...padding }, mark)
  }
  const { message, finish_reason = null } = asRecords(choices)[0] ?? {}
  const frames = messageDeltas(asRecord(message), size, quirks).map(({ delta, mark }) =>
    chunk([{ index: 0, delta, logprobs: null, finish_reason: null }], null, padded, mark),
  )
  frames.push(chunk([{ index: 0, delta: {}, logprobs: null, finish_reason }], null, false, 'terminal'))
  if (withUsage) frames.push(chunk([], usage, false))
  return [...frames, { data: '[DONE]' }]
}

function messageDeltas(message: JsonRecord, size: number | undefined, quirks: ChatQuirks): ChatDelta[] {
  const texts = (key: string): ChatDelta[] => {
    const text = message[key]
    return typeof text === 'string' ? splitText(text, size).map(part => ({ delta: { [key]: part } })) : []
  }
  const content = typeof message['content'] === 'string' ? '' : null
  return [
    { delta: { role: 'assistant', content, refusal: null } },
    ...['reasoning_content', 'content', 'refusal'].flatMap(texts),
    ...asRecords(message['tool_calls']).flatMap((call, at) => callDeltas(call, at, size, quirks)),
  ]
}

function callDeltas(call: JsonRecord, at: number, size: number | undefined, quirks: ChatQuirks): ChatDelta[] {
  const type = call['type'] === 'custom' ? 'custom' : 'function'
  const field = type === 'custom' ? 'input' : 'arguments'
  const { name, [field]: input } = asRecord(call[type])
  const text = shownText(input)
  const index = quirks.index === 'missing' ? {} : { index: quirks.index === 'all-zero' ? 0 : at }
  const whole = (value: string): JsonRecord => ({
    ...index,
    id: call['id'],
    type,
    [type]: { name, [field]: value },
  })
  const delta = (entry: JsonRecord, mark: 'call-start' | 'arguments'): ChatDelta => ({
    delta: { tool_calls: [entry] },
    mark,
  })
  if (quirks.wholeCalls) return [delta(whole(text), 'call-start')]
  const rest = splitText(text, size).map(part =>
    delta(quirks.repeatIds ? whole(part) : { ...index, [type]: { [field]: part } }, 'arguments'),
  )
  return [delta(whole(''), 'call-start'), ...rest]
}
