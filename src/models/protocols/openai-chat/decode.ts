// The answer of Chat Completions, chunk by chunk. A whole completion is read as one chunk that says everything.
// Which call a fragment belongs to is decided in openai-chat-calls.ts.

import type { ModelAnswer, ModelDelta } from '../../../engine/ports.ts'
import type { Origin, ThinkingPart } from '../../../language/content.ts'
import type { Usage } from '../../../language/events.ts'
import { isJsonObject, type Json, type JsonObject } from '../../../lib/json.ts'
import { printable } from '../../../lib/text.ts'
import type { Failure, Frame } from '../../protocol.ts'
import { type Calls, closeCalls, modelCalls, startCalls, takeFragments } from './calls.ts'
import { streamFailure } from './failure.ts'

export type State = {
  origin: Origin
  text: string
  thinking: string
  refused: boolean
  /** Blocks of reasoning that a server wants back as they were. */
  details: JsonObject[]
  /** Reasoning came under a name that wants it back. */
  content: boolean
  calls: Calls
  finish: string | undefined
  usage: Usage | undefined
  failure: Failure | undefined
}

export type Reading = {
  origin: Origin
  names: ReadonlyMap<string, string>
  wrapped: ReadonlySet<string>
  single: boolean
}

export function initialState({ origin, names, wrapped, single }: Reading): State {
  return {
    origin,
    text: '',
    thinking: '',
    refused: false,
    details: [],
    content: false,
    calls: startCalls(names, wrapped, single),
    finish: undefined,
    usage: undefined,
    failure: undefined,
  }
}

export function stepFrame(state: State, frame: Frame): ModelDelta[] {
  if (state.failure !== undefined) return []
  const chunk = parseChunk(state, frame.data)
  if (chunk === undefined) return []
  if (isJsonObject(chunk['error'])) {
    state.failure = streamFailure(chunk['error'])
    return []
  }
  if (isJsonObject(chunk['usage'])) state.usage = usageOf(chunk['usage'])
  const deltas: ModelDelta[] = []
  const { choices } = chunk
  if (Array.isArray(choices))
    for (const choice of choices) if (isFirst(choice)) takeChoice(state, choice, deltas)
  return deltas
}

/** Text that is no object says nothing; an object torn apart means lost words, of which some may be arguments. */
function parseChunk(state: State, data: string): JsonObject | undefined {
  try {
    const value: unknown = JSON.parse(data)
    return isJsonObject(value) ? value : undefined
  } catch {
    const message = 'The model provider sent a chunk that is not JSON.'
    if (data.trimStart().startsWith('{')) state.failure = { code: 'model_failed', message, retry: true }
    return undefined
  }
}

function isFirst(choice: Json): choice is JsonObject {
  return isJsonObject(choice) && (choice['index'] === undefined || choice['index'] === 0)
}

function takeChoice(state: State, choice: JsonObject, deltas: ModelDelta[]): void {
  // A finished answer takes nothing more: some servers repeat themselves after it.
  if (state.finish !== undefined) return
  const whole = isJsonObject(choice['message'])
  const said = whole ? choice['message'] : choice['delta']
  if (isJsonObject(said)) takeDelta(state, said, whole, deltas)
  const finish = choice['finish_reason']
  if (typeof finish !== 'string' || finish === '') return
  state.finish = finish
  if (finish === 'error') state.failure ??= streamFailure({})
  closeCalls(state.calls, isCutShort(finish), deltas)
}

function takeDelta(state: State, said: JsonObject, whole: boolean, deltas: ModelDelta[]): void {
  const thinking =
    wordsIn(said['reasoning_content']) || wordsIn(said['reasoning']) || thoughtsIn(said['content'])
  if (wordsIn(said['reasoning_content']) !== '') state.content = true
  if (Array.isArray(said['reasoning_details'])) addDetails(state.details, said['reasoning_details'])
  if (thinking !== '') {
    state.thinking += thinking
    deltas.push({ type: 'thinking', text: thinking })
  }
  addText(state, wordsIn(said['content']), deltas)
  const refusal = wordsIn(said['refusal'])
  if (refusal !== '') state.refused = true
  addText(state, refusal, deltas)
  takeFragments(state.calls, said['tool_calls'], whole, deltas)
}

function addText(state: State, text: string, deltas: ModelDelta[]): void {
  if (text === '') return
  state.text += text
  deltas.push({ type: 'text', text })
}

/** Text, or parts of which some are text. */
function wordsIn(content: Json | undefined): string {
  if (typeof content === 'string') return content
  if (!Array.isArray(content)) return ''
  let text = ''
  for (const part of content) if (isJsonObject(part) && typeof part['text'] === 'string') text += part['text']
  return text
}

/** Some servers put thinking among the parts of the content. */
function thoughtsIn(content: Json | undefined): string {
  if (!Array.isArray(content)) return ''
  return content.map(part => (isJsonObject(part) ? wordsIn(part['thinking']) : '')).join('')
}

/** Fragments of one block are put together again: the same type at the same index. */
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
      const grows = key === 'text' || key === 'summary' || key === 'data'
      if (grows && typeof known === 'string' && typeof value === 'string') last[key] = known + value
      else if (value !== null) last[key] = value
    }
  }
}

// ---- the end ---------------------------------------------------------------------------------------------

const stops: Readonly<Record<string, ModelAnswer['stop']>> = {
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

export function haltState(state: State): { answer: ModelAnswer } | { failure: Failure } {
  if (state.failure !== undefined) return { failure: state.failure }
  const { finish } = state
  if (finish === undefined) {
    const message = 'The model provider closed the stream before the answer was whole.'
    return { failure: { code: 'model_failed', message, retry: true } }
  }
  const warnings: string[] = []
  if (!Object.hasOwn(stops, finish))
    warnings.push(`The model stopped for an unknown reason: ${printable(finish, 80)}.`)
  if (state.calls.left > 0) warnings.push('The model made more than one call; only the first was taken.')
  const whole = modelCalls(state.calls, isCutShort(finish))
  // What a filter stopped is not to be done, however whole it looks.
  const calls = finish === 'content_filter' ? whole.map(call => ({ ...call, cut: true as const })) : whole
  return {
    answer: {
      parts: [...thinkingPart(state), ...textPart(state), ...calls],
      stop: stopOf(state, finish, calls.length > 0),
      origin: state.origin,
      ...(state.usage && { usage: state.usage }),
      ...(warnings.length > 0 && { warnings }),
    },
  }
}

/** Calls decide: servers say `stop` over calls, and `tool_calls` over none. */
function stopOf(state: State, finish: string, hasCalls: boolean): ModelAnswer['stop'] {
  const told = Object.hasOwn(stops, finish) ? stops[finish] : undefined
  if (told === 'length' || told === 'filter') return told
  if (hasCalls) return 'calls'
  return state.refused ? 'refusal' : 'end'
}

function thinkingPart(state: State): ThinkingPart[] {
  const { thinking, details, origin } = state
  if (thinking === '' && details.length === 0) return []
  const data: JsonObject = {
    ...(state.content && { reasoning_content: thinking }),
    ...(details.length > 0 && { reasoning_details: details }),
  }
  const native = Object.keys(data).length > 0 ? { native: { origin, data } } : {}
  return [{ type: 'thinking', text: thinking, ...native }]
}

function textPart({ text }: State): { type: 'text'; text: string }[] {
  return text === '' ? [] : [{ type: 'text', text }]
}

function usageOf(usage: JsonObject): Usage {
  const inside = isJsonObject(usage['prompt_tokens_details']) ? usage['prompt_tokens_details'] : {}
  const outside = isJsonObject(usage['completion_tokens_details']) ? usage['completion_tokens_details'] : {}
  const cached = count(inside['cached_tokens']) ?? count(usage['prompt_cache_hit_tokens'])
  const thinking = count(outside['reasoning_tokens'])
  return {
    input: count(usage['prompt_tokens']) ?? 0,
    output: count(usage['completion_tokens']) ?? 0,
    ...(cached !== undefined && { cacheRead: cached }),
    ...(thinking !== undefined && { thinking }),
  }
}

function count(value: Json | undefined): number | undefined {
  return typeof value === 'number' && Number.isFinite(value) ? value : undefined
}
