// Reading an answer of Gemini Interactions: a fold over stream events, in which the non-streaming answer is one whole
// interaction. Steps are kept in their order, thoughts with their signatures in place, and steps of kinds that this
// codec does not know as they came. Requests are made elsewhere (interactions.ts).

import type { ModelAnswer, ModelCall, ModelDelta } from '../../../engine/ports.ts'
import type { HostedPart, Native, TextPart, ThinkingPart } from '../../../language/content.ts'
import type { Usage } from '../../../language/events.ts'
import { isJsonObject, type Json, type JsonObject } from '../../../lib/json.ts'
import { printable } from '../../../lib/text.ts'
import { wrapText } from '../../common/custom-tools.ts'
import { isCut } from '../../common/truncated.ts'
import type { Failure, Frame } from '../../protocol.ts'
import {
  countOf,
  errorOf,
  interrupted,
  listOf,
  objectOf,
  parsed,
  type Reading,
  stringOf,
  words,
} from '../google/decode.ts'
import { continuityOf } from './continuity.ts'
import { endOf, errorFailure } from './end.ts'
import { type CallStep, closeStep, contentText, openStep, type Step, takeDelta } from './steps.ts'

export type InteractionReading = Reading & {
  /** What the request said of the history, to judge later whether the vendor's memory of it is still the same. */
  seen: string
  /** The vendor was asked to keep the interaction. */
  stored: boolean
}

export type State = InteractionReading & {
  steps: Step[]
  /** The vendor's index → the step that is being told. */
  open: Map<number, Step>
  calls: number
  /** A call was left out, so that the vendor remembers more than we do. */
  dropped: boolean
  id: string
  status: string
  token: string
  usage: JsonObject
  errors: JsonObject[]
  done: boolean
  failure: Failure | undefined
}

export function initialState(reading: InteractionReading): State {
  return {
    ...reading,
    steps: [],
    open: new Map(),
    calls: 0,
    dropped: false,
    id: '',
    status: '',
    token: '',
    usage: {},
    errors: [],
    done: false,
    failure: undefined,
  }
}

// ---- events ------------------------------------------------------------------------------------------------

export function stepAnswer(state: State, frame: Frame): ModelDelta[] {
  if (state.done || state.failure) return []
  const text = frame.data.trim()
  if (text === '' || text === '[DONE]') return []
  const value = parsed(text)
  if (value === undefined) {
    state.failure = interrupted('Gemini sent an event that is not JSON.')
    return []
  }
  const event = objectOf(Array.isArray(value) ? value[0] : value)
  return takeEvent(state, stringOf(event['event_type']) || (frame.event ?? ''), event)
}

function takeEvent(state: State, type: string, event: JsonObject): ModelDelta[] {
  switch (type) {
    case '':
      return takeWhole(state, event)
    case 'interaction.created':
    case 'interaction.status_update':
      takeHead(state, objectOf(event['interaction']))
      takeHead(state, event)
      return []
    case 'step.start':
      return startStep(state, indexOf(state, event), objectOf(event['step']))
    case 'step.delta': {
      const step = state.open.get(indexOf(state, event))
      return step === undefined ? [] : takeDelta(step, objectOf(event['delta']))
    }
    case 'step.stop': {
      const step = state.open.get(indexOf(state, event))
      state.open.delete(indexOf(state, event))
      return step === undefined ? [] : closeStep(step)
    }
    case 'interaction.completed':
      takeHead(state, objectOf(event['interaction']))
      state.done = true
      return []
    case 'error':
      state.errors.push(objectOf(event['error']))
      state.status = 'failed'
      state.done = true
      return []
    default:
      return []
  }
}

function takeWhole(state: State, body: JsonObject): ModelDelta[] {
  const error = errorOf(body)
  if (error !== undefined) {
    state.failure = errorFailure(error)
    return []
  }
  if (!Array.isArray(body['steps']) && typeof body['status'] !== 'string') return []
  takeHead(state, body)
  const deltas = listOf(body['steps']).flatMap((step, index) => {
    const opened = startStep(state, index, objectOf(step))
    const at = state.open.get(index)
    return at === undefined ? opened : [...opened, ...closeStep(at)]
  })
  state.open.clear()
  state.done = true
  return deltas
}

function takeHead(state: State, head: JsonObject): void {
  state.id = stringOf(head['id']) || stringOf(head['interaction_id']) || state.id
  state.status = stringOf(head['status']) || state.status
  state.token = stringOf(head['continuation_token']) || state.token
  if (isJsonObject(head['usage'])) state.usage = { ...state.usage, ...head['usage'] }
  for (const error of listOf(head['errors'])) state.errors.push(objectOf(error))
}

function indexOf(state: State, event: JsonObject): number {
  const { index } = event
  return typeof index === 'number' ? index : Math.max(0, state.steps.length - 1)
}

function startStep(state: State, index: number, given: JsonObject): ModelDelta[] {
  if (given['type'] === 'user_input') return []
  if (given['type'] === 'function_call' && state.single && state.calls > 0) {
    state.dropped = true
    state.open.delete(index)
    return []
  }
  const { step, deltas } = openStep(state, given, state.calls)
  if (step.kind === 'call') state.calls++
  state.steps.push(step)
  state.open.set(index, step)
  return deltas
}

// ---- the whole ---------------------------------------------------------------------------------------------

export function haltAnswer(state: State): { answer: ModelAnswer } | { failure: Failure } {
  if (state.failure) return { failure: state.failure }
  if (!state.done) return { failure: interrupted('The stream of Gemini ended before the interaction did.') }
  const end = endOf(state)
  if ('failure' in end) return end
  const { stop, whole, warning } = end
  const parts = state.steps.flatMap(step => partsOf(state, step, whole))
  const usage = usageOf(state.usage)
  const kept = whole && state.stored && !state.dropped
  const continuity = continuityOf(
    state.origin,
    { id: kept ? state.id : '', seen: state.seen, token: stop === 'pause' ? state.token : '' },
    parts,
  )
  return {
    answer: {
      parts,
      stop,
      origin: state.origin,
      ...(usage && { usage }),
      ...(continuity && { continuity }),
      ...(warning !== undefined && { warnings: [words(warning)] }),
    },
  }
}

/** `whole`: the vendor stands by this answer, so that its artifacts can be given back. */
function partsOf(
  state: State,
  step: Step,
  whole: boolean,
): (TextPart | ThinkingPart | HostedPart | ModelCall)[] {
  const native = (data: Json): Native => ({ origin: state.origin, data })
  switch (step.kind) {
    case 'thought': {
      const given = { ...step.given, ...(step.summary.length > 0 && { summary: step.summary }) }
      const signed = step.signature === '' ? given : { ...given, signature: step.signature }
      const keep = whole && step.signature !== ''
      const text = contentText(step.summary)
      if (!keep && text === '') return []
      return [{ type: 'thinking', text, ...(keep && { native: native(signed) }) }]
    }
    case 'output':
      return step.content.map(content =>
        content.type === 'text' && typeof content['text'] === 'string'
          ? { type: 'text' as const, text: content['text'] }
          : hostedOf('media', { type: 'model_output', content: [content] }, native),
      )
    case 'hosted':
      return [hostedOf(stringOf(step.given['type']) || 'step', step.given, native)]
    case 'call':
      return [callOf(step, native, whole, state.status === 'requires_action')]
  }
}

/** `waits`: the vendor says that it waits for results, so that a call it never closed may still be whole. */
function callOf(step: CallStep, native: (data: Json) => Native, whole: boolean, waits: boolean): ModelCall {
  const { name, form, text } = step
  const cut = !whole || isCut(step, step.closed ? 'closed' : waits ? 'length' : 'unclosed')
  const { arguments: given, ...rest } = step.given
  const args = step.raw === '' ? given : parsed(step.raw)
  // Arguments that can be made again from the call's text are not kept twice.
  const odd = form === 'text' && JSON.stringify(wrapText(text)) !== JSON.stringify(args)
  const block = odd && isJsonObject(args) ? { ...rest, arguments: args } : rest
  const id = stringOf(step.given['id'])
  return {
    type: 'call',
    name,
    form,
    text,
    ...(cut && { cut: true as const }),
    ...(id !== '' && { nativeId: id }),
    ...(!cut && step.wire !== '' && { native: native(block) }),
  }
}

function hostedOf(tool: string, step: JsonObject, native: (data: Json) => Native): HostedPart {
  const args = objectOf(step['arguments'])
  const summary =
    stringOf(args['code']) ||
    stringOf(step['result']) ||
    (Object.keys(args).length > 0 ? JSON.stringify(args) : tool.replaceAll('_', ' '))
  return {
    type: 'hosted',
    tool,
    summary: printable(summary, { maxChars: 500, multiline: true }),
    native: native(step),
  }
}

function usageOf(usage: JsonObject): Usage | undefined {
  if (Object.keys(usage).length === 0) return undefined
  const count = (name: string): number => countOf(usage[name])
  const thinking = count('total_thought_tokens')
  const cacheRead = count('total_cached_tokens')
  return {
    input: count('total_input_tokens') + count('total_tool_use_tokens'),
    output: count('total_output_tokens') + thinking,
    ...(cacheRead > 0 && { cacheRead }),
    ...(thinking > 0 && { thinking }),
  }
}
