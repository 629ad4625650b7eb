/**
 * A scripted turn as Chat Completions says it: one `chat.completion`, and the same as a stream of chunks.
 * The answer is built once and streamed from, so that both forms always tell the same story.
 * Compatible servers differ here by their quirks only: see `ChatQuirks`.
 */
import { createHash } from 'node:crypto'
import { faultOf } from '../faults.ts'
import { isObject, type Json, textOf } from '../openai/refusals.ts'
import { countTokens } from '../openai/usage.ts'
import {
  argumentsText,
  type Frame,
  type NeutralStop,
  pieces,
  type ScriptedCall,
  type ScriptedTurn,
  stopOf,
  thinkingOf,
} from '../script.ts'
import { mintId } from '../seal.ts'

/** How a server bends the stream of tool calls. None of these is OpenAI's own behaviour. */
export type ChatQuirks = {
  /** Every call's delta says `index: 0`, or says no index at all. */
  index: 'right' | 'all-zero' | 'missing'
  /** Id and name stand in every delta of a call, not in its first one alone. */
  repeatIds: boolean
  /** Each call comes whole in one delta. */
  wholeCalls: boolean
  /** Thinking is shown in `reasoning_content`, a field that OpenAI does not have. */
  showReasoning: boolean
}

export const NO_QUIRKS: ChatQuirks = {
  index: 'right',
  repeatIds: false,
  wholeCalls: false,
  showReasoning: false,
}

const OWN_STOPS: Record<string, NeutralStop> = {
  stop: 'end',
  tool_calls: 'tool',
  length: 'length',
  content_filter: 'filter',
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

export type ChatContext = {
  turn: ScriptedTurn
  body: Json
  rawText: string
  /** What the ids of this answer are made from; no other answer has the same. */
  salt: string
  created: number
  quirks: ChatQuirks
}

/** One tool call as it is said, and where its text may be cut for streaming. */
type SpokenCall = { id: string; type: 'function' | 'custom'; name: string; text: string }

export function answerChat(context: ChatContext): { body: unknown; frames: Frame[] } {
  const quirks = quirksOf(context)
  const completion = isObject(context.turn.raw)
    ? { ...completionOf(context, quirks), ...context.turn.raw }
    : completionOf(context, quirks)
  return { body: completion, frames: streamOf(completion, context, quirks) }
}

function quirksOf({ turn, quirks }: ChatContext): ChatQuirks {
  const fault = faultOf(turn, 'index')
  if (fault === undefined) return quirks
  return fault.quirk === 'repeat-id' ? { ...quirks, repeatIds: true } : { ...quirks, index: fault.quirk }
}

function completionOf(context: ChatContext, quirks: ChatQuirks): Json {
  const { turn, body, salt, created } = context
  const message: Json = {
    role: 'assistant',
    content: turn.refusal === undefined ? (turn.text ?? null) : null,
    refusal: turn.refusal ?? null,
    annotations: [],
  }
  if (quirks.showReasoning && turn.thinking !== undefined) {
    message['reasoning_content'] = thinkingOf(turn)?.text
  }
  const calls = (turn.calls ?? []).map((call, at) => spoken(call, at, salt))
  if (calls.length > 0) message['tool_calls'] = calls.map(callObject)
  const finish = FINISH_REASONS[stopOf(turn, OWN_STOPS)]
  return {
    id: mintId('chatcmpl-', 0, salt),
    object: 'chat.completion',
    created,
    model: body['model'],
    choices: [{ index: 0, message, logprobs: null, finish_reason: finish }],
    usage: usageOf(context),
    service_tier: 'default',
    system_fingerprint: 'fp_turnwire',
  }
}

function spoken(call: ScriptedCall, at: number, salt: string): SpokenCall {
  return {
    id: call.id ?? mintId('call_', at, salt),
    type: call.custom === true ? 'custom' : 'function',
    name: call.name,
    text: argumentsText(call),
  }
}

function callObject({ id, type, name, text }: SpokenCall): Json {
  return type === 'custom'
    ? { id, type, custom: { name, input: text } }
    : { id, type, function: { name, arguments: text } }
}

function usageOf({ turn, rawText }: ChatContext): Json {
  const counts = countTokens(turn, rawText)
  return {
    prompt_tokens: counts.input,
    completion_tokens: counts.output,
    total_tokens: counts.input + counts.output,
    prompt_tokens_details: { cached_tokens: counts.cached, audio_tokens: 0 },
    completion_tokens_details: {
      reasoning_tokens: counts.reasoning,
      audio_tokens: 0,
      accepted_prediction_tokens: 0,
      rejected_prediction_tokens: 0,
    },
  }
}

/** A delta and what it stands for, before it is wrapped in a chunk. */
type Delta = { delta: Json; mark?: 'call-start' | 'arguments' }

function streamOf(completion: Json, { turn, body }: ChatContext, quirks: ChatQuirks): Frame[] {
  const options = isObject(body['stream_options']) ? body['stream_options'] : {}
  const withUsage = options['include_usage'] === true
  const padded = options['include_obfuscation'] !== false
  const { choices, usage, ...rest } = completion
  const chunk = (choicesNow: Json[], usageNow: unknown, pad: boolean): string =>
    JSON.stringify({
      ...rest,
      object: 'chat.completion.chunk',
      choices: choicesNow,
      ...(withUsage ? { usage: usageNow } : {}),
      ...(pad ? { obfuscation: padding(JSON.stringify(choicesNow)) } : {}),
    })
  const choice = firstChoice(choices)
  const deltas = deltasOf(choice.message, turn.chunk, quirks)
  const frames: Frame[] = deltas.map(({ delta, mark }) => ({
    data: chunk([{ index: 0, delta, logprobs: null, finish_reason: null }], null, padded),
    ...(mark === undefined ? {} : { mark }),
  }))
  const last = { index: 0, delta: {}, logprobs: null, finish_reason: choice.finish }
  frames.push({ data: chunk([last], null, false), mark: 'terminal' })
  if (withUsage) frames.push({ data: chunk([], usage, false) })
  frames.push({ data: '[DONE]' })
  return frames
}

function firstChoice(choices: unknown): { message: Json; finish: unknown } {
  const first: unknown = Array.isArray(choices) ? choices[0] : undefined
  const message = isObject(first) && isObject(first['message']) ? first['message'] : {}
  return { message, finish: isObject(first) ? first['finish_reason'] : null }
}

function deltasOf(message: Json, size: number | undefined, quirks: ChatQuirks): Delta[] {
  const content = message['content']
  const refusal = message['refusal']
  const calls: unknown[] = Array.isArray(message['tool_calls']) ? message['tool_calls'] : []
  const opening: Json = { role: 'assistant', content: typeof content === 'string' ? '' : null, refusal: null }
  const texts = (key: string, text: unknown): Delta[] =>
    typeof text === 'string' ? pieces(text, size).map(piece => ({ delta: { [key]: piece } })) : []
  return [
    { delta: opening },
    ...texts('reasoning_content', message['reasoning_content']),
    ...texts('content', content),
    ...texts('refusal', refusal),
    ...calls.flatMap((call, at) => (isObject(call) ? callDeltas(call, at, size, quirks) : [])),
  ]
}

function callDeltas(call: Json, at: number, size: number | undefined, quirks: ChatQuirks): Delta[] {
  const type = call['type'] === 'custom' ? 'custom' : 'function'
  const field = type === 'custom' ? 'input' : 'arguments'
  const inner = isObject(call[type]) ? call[type] : {}
  const text = textOf(inner[field])
  const index = quirks.index === 'missing' ? {} : { index: quirks.index === 'all-zero' ? 0 : at }
  const full = (value: string): Json => ({
    ...index,
    id: call['id'],
    type,
    [type]: { name: inner['name'], [field]: value },
  })
  const wrap = (entry: Json, mark: 'call-start' | 'arguments'): Delta => ({
    delta: { tool_calls: [entry] },
    mark,
  })
  if (quirks.wholeCalls) return [wrap(full(text), 'call-start')]
  const rest = pieces(text, size).map(piece =>
    wrap(quirks.repeatIds ? full(piece) : { ...index, [type]: { [field]: piece } }, 'arguments'),
  )
  return [wrap(full(''), 'call-start'), ...rest]
}

/** The vendor pads its deltas so that their size betrays nothing; the padding here is the same every run. */
export function padding(seed: string): string {
  const digest = createHash('sha256').update(seed).digest('base64url').replace(/[-_]/g, '')
  return digest.slice(0, 4 + (digest.charCodeAt(0) % 12))
}
