// Reading an answer of Chat Completions: a fold over chunks, in which a non-streaming answer is one chunk. Which call a
// fragment belongs to is decided in calls.ts.

import type { ModelDelta } from '../../../engine/ports/index.ts'
import type { Origin, TextPart, ThinkingPart } from '../../../language/content.ts'
import type { Usage, VendorAnswer } from '../../../language/events.ts'
import { isJsonObject, type Json, type JsonObject } from '../../../lib/json/index.ts'
import { GatheredText } from '../../../lib/text/gathered.ts'
import { printable } from '../../../lib/text/index.ts'
import { type AnswerStop, usageOfCounts, vendorAnswer, wholeAnswer } from '../../common/answer.ts'
import { passingFailure } from '../../common/failure.ts'
import { asCount, asList, asObject, asString, isEmptyObject, readJson } from '../../common/json-read.ts'
import type { Frame, Halted, ModelFailure } from '../../protocol.ts'
import {
  type CallReading,
  closeCalls,
  modelCalls,
  type StreamedCalls,
  startCalls,
  takeFragments,
} from './calls.ts'
import { streamFailure } from './failure.ts'

export type Reading = CallReading & { origin: Origin }

export type State = {
  origin: Origin
  text: GatheredText
  thinking: GatheredText
  refused: boolean
  /** Blocks of reasoning that a server wants back as they were. */
  details: JsonObject[]
  /** Reasoning came as `reasoning_content`, which a server may want back. */
  hasReasoningContent: boolean
  calls: StreamedCalls
  finish: string | undefined
  vendor: VendorAnswer | undefined
  usage: Usage | undefined
  failure: ModelFailure | undefined
}

export function initial(reading: Reading): State {
  return {
    origin: reading.origin,
    text: new GatheredText(),
    thinking: new GatheredText(),
    refused: false,
    details: [],
    hasReasoningContent: false,
    calls: startCalls(reading),
    finish: undefined,
    vendor: undefined,
    usage: undefined,
    failure: undefined,
  }
}

// ---- events ----------------------------------------------------------------------------------------------

export function step(state: State, frame: Frame): ModelDelta[] {
  if (state.failure !== undefined) return []
  const chunk = readChunk(state, frame.data)
  if (chunk === undefined) return []
  if (isJsonObject(chunk['error'])) {
    state.failure = streamFailure(chunk['error'])
    return []
  }
  state.vendor ??= vendorAnswer(chunk['id'], chunk['model'])
  if (isJsonObject(chunk['usage'])) state.usage = readUsage(chunk['usage'])
  const deltas: ModelDelta[] = []
  for (const choice of asList(chunk['choices'])) if (isFirstChoice(choice)) takeChoice(state, choice, deltas)
  return deltas
}

/** Text that is no object is ignored. An object that does not parse means lost text, perhaps lost arguments. */
function readChunk(state: State, data: string): JsonObject | undefined {
  const chunk = readJson(data)
  if (chunk === undefined && data.trimStart().startsWith('{'))
    state.failure = passingFailure('The model provider sent a chunk that is not JSON.')
  return isJsonObject(chunk) ? chunk : undefined
}

function isFirstChoice(choice: Json): choice is JsonObject {
  return isJsonObject(choice) && (choice['index'] === undefined || choice['index'] === 0)
}

function takeChoice(state: State, choice: JsonObject, deltas: ModelDelta[]): void {
  // Some servers repeat themselves after the end.
  if (state.finish !== undefined) return
  const whole = isJsonObject(choice['message'])
  const message = whole ? choice['message'] : choice['delta']
  if (isJsonObject(message)) takeDelta(state, message, whole, deltas)
  const finish = asString(choice['finish_reason'])
  if (finish === '') return
  state.finish = finish
  if (finish === 'error') state.failure ??= streamFailure({})
  closeCalls(state.calls, isCutShort(finish), deltas)
}

function takeDelta(state: State, delta: JsonObject, whole: boolean, deltas: ModelDelta[]): void {
  const reasoning = textIn(delta['reasoning_content'])
  if (reasoning !== '') state.hasReasoningContent = true
  addDetails(state.details, asList(delta['reasoning_details']))
  addText(state, 'thinking', reasoning || textIn(delta['reasoning']) || thinkingIn(delta['content']), deltas)
  addText(state, 'text', textIn(delta['content']), deltas)
  const refusal = textIn(delta['refusal'])
  if (refusal !== '') state.refused = true
  addText(state, 'text', refusal, deltas)
  takeFragments(state.calls, delta['tool_calls'], whole, deltas)
}

function addText(state: State, type: 'text' | 'thinking', text: string, deltas: ModelDelta[]): void {
  if (text === '') return
  state[type].add(text)
  deltas.push({ type, text })
}

/** A text, or the texts in a list of parts. */
function textIn(content: Json | undefined): string {
  if (!Array.isArray(content)) return asString(content)
  return content.map(part => asString(asObject(part)['text'])).join('')
}

/** Some servers put thinking among the parts of the content. */
function thinkingIn(content: Json | undefined): string {
  return asList(content)
    .map(part => textIn(asObject(part)['thinking']))
    .join('')
}

/** Fragments of the same type at the same index are one block. */
function addDetails(details: JsonObject[], fragments: readonly Json[]): void {
  for (const fragment of fragments) {
    if (!isJsonObject(fragment)) continue
    const last = details.at(-1)
    if (last === undefined || last['type'] !== fragment['type'] || last['index'] !== fragment['index']) {
      details.push({ ...fragment })
      continue
    }
    for (const [key, value] of Object.entries(fragment)) {
      const known = last[key]
      const isStreamed = key === 'text' || key === 'summary' || key === 'data'
      if (isStreamed && typeof known === 'string' && typeof value === 'string') last[key] = known + value
      else if (value !== null) last[key] = value
    }
  }
}

// ---- the answer ------------------------------------------------------------------------------------------

const STOPS: Readonly<Record<string, AnswerStop>> = {
  stop: 'end',
  eos: 'end',
  tool_calls: 'calls',
  function_call: 'calls',
  length: 'length',
  content_filter: 'filter',
}

function isCutShort(finish: string): boolean {
  return finish === 'length' || finish === 'content_filter'
}

/** A vendor that runs tools of its own says nothing of it. */
export function hasRun(): boolean {
  return false
}

export function halt(state: State): Halted {
  if (state.failure !== undefined) return { failure: state.failure }
  const { finish, origin, usage, vendor } = state
  if (finish === undefined)
    return { failure: passingFailure('The model provider closed the stream before the answer was whole.') }
  const warnings: string[] = []
  if (!Object.hasOwn(STOPS, finish))
    warnings.push(`The model stopped for an unknown reason: ${printable(finish, 80)}.`)
  if (state.calls.dropped) warnings.push('The model made more than one call; only the first was taken.')
  const whole = modelCalls(state.calls, isCutShort(finish))
  // A call in a filtered answer must not run, however whole it looks.
  const calls = finish === 'content_filter' ? whole.map(call => ({ ...call, cut: true as const })) : whole
  const parts = [...thinkingPart(state), ...textPart(state), ...calls]
  const stop = readStop(state, finish, calls.length > 0)
  return { answer: wholeAnswer({ parts, stop, origin, usage, warnings, vendor }) }
}

/** Calls decide: servers give `stop` with calls, and `tool_calls` without any. */
function readStop(state: State, finish: string, hasCalls: boolean): AnswerStop {
  const stop = Object.hasOwn(STOPS, finish) ? STOPS[finish] : undefined
  if (stop === 'length' || stop === 'filter') return stop
  if (hasCalls) return 'calls'
  return state.refused ? 'refusal' : 'end'
}

function readUsage(usage: JsonObject): Usage {
  const input = asObject(usage['prompt_tokens_details'])
  const output = asObject(usage['completion_tokens_details'])
  return usageOfCounts({
    input: asCount(usage['prompt_tokens']),
    output: asCount(usage['completion_tokens']),
    cacheRead: asCount(input['cached_tokens']) || asCount(usage['prompt_cache_hit_tokens']),
    thinking: asCount(output['reasoning_tokens']),
  })
}

function thinkingPart({
  thinking: { whole: thinking },
  details,
  origin,
  hasReasoningContent,
}: State): ThinkingPart[] {
  if (thinking === '' && details.length === 0) return []
  const data: JsonObject = {
    ...(hasReasoningContent && { reasoning_content: thinking }),
    ...(details.length > 0 && { reasoning_details: details }),
  }
  return [{ type: 'thinking', text: thinking, ...(!isEmptyObject(data) && { native: { origin, data } }) }]
}

function textPart({ text: { whole } }: State): TextPart[] {
  return whole === '' ? [] : [{ type: 'text', text: whole }]
}
