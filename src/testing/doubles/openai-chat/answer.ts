// Builds the `chat.completion` of a scripted turn, and streams from it, so that both forms agree: the role first, then text and
// calls in pieces, a finish reason, usage, [DONE]. Compatible servers differ by their quirks only: see `ChatQuirks`.
import { chatCall, chatUsage } from '../../../apis/openai/chat-frames.ts'
import type { DoubleRequest } from '../double.ts'
import { findFault } from '../faults.ts'
import { countTokens, obfuscation } from '../openai/envelope.ts'
import {
  type DoubleAnswer,
  type DoubleFrame,
  jsonFrame,
  type NeutralStop,
  neutralStops,
  readThinking,
  type ScriptedTurn,
  scriptedStop,
  scriptedText,
  splitText,
} from '../script.ts'
import { mintId } from '../seal.ts'
import { asRecord, asRecords, isAbsent, isRecord, type JsonRecord, shownText } from '../shape.ts'

/** How a server deviates in the stream of tool calls. None of these is OpenAI's own behaviour. */
export type ChatQuirks = {
  /** Every call's delta has `index: 0`, or has no index. */
  index: 'right' | 'all-zero' | 'missing'
  /** Every delta of a call has its id and name, not only the first. */
  repeatIds: boolean
  /** Each call comes whole in one delta. */
  wholeCalls: boolean
  /** Thinking is shown in `reasoning_content`, a field that OpenAI does not have. */
  showReasoning: boolean
}

const FINISH_REASONS: Record<NeutralStop, string> = {
  end: 'stop',
  tool: 'tool_calls',
  length: 'length',
  'stop-sequence': 'stop',
  pause: 'stop',
  refusal: 'stop',
  filter: 'content_filter',
  context: 'length',
}

/** The ids of the answer are made from `salt`. No other answer has the same. */
export function answerChat(
  turn: ScriptedTurn,
  { body, rawText }: DoubleRequest,
  salt: string,
  declared: ChatQuirks,
): DoubleAnswer {
  const { model, stream_options: options } = asRecord(body)
  const quirks = { ...declared, ...faultQuirks(turn) }
  const built = {
    model,
    ...buildCompletion(turn, salt, quirks),
    usage: chatUsage(countTokens(turn, rawText)),
  }
  const completion = isRecord(turn.raw) ? { ...built, ...turn.raw } : built
  return { body: completion, frames: streamCompletion(completion, asRecord(options), turn.chunk, quirks) }
}

function faultQuirks(turn: ScriptedTurn): Partial<ChatQuirks> {
  const quirk = findFault(turn, 'index')?.quirk
  if (quirk === undefined) return {}
  return quirk === 'repeat-id' ? { repeatIds: true } : { index: quirk }
}

function buildCompletion(turn: ScriptedTurn, salt: string, { showReasoning }: ChatQuirks): JsonRecord {
  const calls = (turn.calls ?? []).map((call, at) => {
    const { id = mintId('call_', at, salt), name, custom } = call
    return chatCall(id, name, custom ? 'text' : 'json', scriptedText(call))
  })
  const message = {
    role: 'assistant',
    content: turn.refusal === undefined ? (turn.text ?? null) : null,
    refusal: turn.refusal ?? null,
    annotations: [],
    ...(showReasoning && !isAbsent(turn.thinking) && { reasoning_content: readThinking(turn)?.text }),
    ...(calls.length > 0 && { tool_calls: calls }),
  }
  const finish_reason = FINISH_REASONS[scriptedStop(turn, neutralStops(FINISH_REASONS))]
  return {
    id: mintId('chatcmpl-', 0, salt),
    object: 'chat.completion',
    created: Math.floor(Date.now() / 1000),
    choices: [{ index: 0, message, logprobs: null, finish_reason }],
    service_tier: 'default',
    system_fingerprint: 'fp_turnwire',
  }
}

// ---- the stream ---------------------------------------------------------------------------------------------

type ChatDelta = { delta: JsonRecord; mark?: 'call-start' | 'arguments' }

function streamCompletion(
  completion: JsonRecord,
  options: JsonRecord,
  size: number | undefined,
  quirks: ChatQuirks,
): DoubleFrame[] {
  const withUsage = options['include_usage'] === true
  const padded = options['include_obfuscation'] !== false
  const { choices, usage, ...rest } = completion
  const chunk = (
    choice: JsonRecord[],
    used: unknown,
    pad: boolean,
    mark?: DoubleFrame['mark'],
  ): DoubleFrame => {
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
