// Reading an answer of Interactions: a fold over stream events, in which a non-streaming answer is one interaction. Steps
// keep their order, thoughts their signatures, and steps of unknown kinds are kept as they came.

import type { ModelCall, ModelDelta } from '../../../engine/ports/index.ts'
import type { HostedPart, Native, Origin, TextPart, ThinkingPart } from '../../../language/content.ts'
import type { Usage } from '../../../language/events.ts'
import { isJsonObject, type Json, type JsonObject } from '../../../lib/json/index.ts'
import { printable } from '../../../lib/text/index.ts'
import {
  type AnswerStop,
  type CallArguments,
  type ModelPart,
  usageOfCounts,
  vendorAnswer,
  wholeAnswer,
  wholeCall,
} from '../../common/answer.ts'
import { digestParts } from '../../common/continuity.ts'
import { failureText, passingFailure } from '../../common/failure.ts'
import { asCount, asList, asObject, asString, isEmptyObject, readJson } from '../../common/json-read.ts'
import { wrapText } from '../../common/text-tools.ts'
import type { Frame, Halted, ModelFailure } from '../../protocol.ts'
import { type CalledTool, callArguments, calledTool, type GoogleReading } from '../google/decode.ts'
import { googleError } from '../google/failure.ts'
import { errorCode, streamFailure } from './failure.ts'

export type Reading = GoogleReading & {
  /** The digest of the history that the request was made from, if the vendor stores the interaction. */
  seen?: string
}

export type State = Reading & {
  steps: AnswerStep[]
  /** The vendor's index → the step that is being sent. */
  open: Map<number, AnswerStep>
  calls: number
  /** A call was dropped, so the vendor stores more than we have. */
  dropped: boolean
  id: string
  model: string
  status: string
  /** Continues an answer that stopped at the vendor's own limit. */
  token: string
  usage: JsonObject
  errors: JsonObject[]
  done: boolean
  failure: ModelFailure | undefined
}

type AnswerStep = ThoughtStep | OutputStep | HostedStep | CallStep
type ThoughtStep = { kind: 'thought'; given: JsonObject; summary: JsonObject[]; signature: string }
type OutputStep = { kind: 'output'; content: JsonObject[] }
type HostedStep = { kind: 'hosted'; given: JsonObject }
type CallStep = CalledTool & {
  kind: 'call'
  given: JsonObject
  index: number
  /** As they were streamed; empty when they came with the step, until it is closed. */
  arguments: CallArguments
  closed: boolean
}

export function initial(reading: Reading): State {
  return {
    ...reading,
    steps: [],
    open: new Map(),
    calls: 0,
    dropped: false,
    id: '',
    model: '',
    status: '',
    token: '',
    usage: {},
    errors: [],
    done: false,
    failure: undefined,
  }
}

// ---- events ----------------------------------------------------------------------------------------------

export function step(state: State, frame: Frame): ModelDelta[] {
  if (state.done || state.failure) return []
  const text = frame.data.trim()
  if (text === '' || text === '[DONE]') return []
  const value = readJson(text)
  if (value === undefined) {
    state.failure = passingFailure('Gemini sent an event that is not JSON.')
    return []
  }
  const event = asObject(Array.isArray(value) ? value[0] : value)
  const handle = HANDLERS.get(asString(event['event_type']) || (frame.event ?? ''))
  return handle?.(state, event) ?? []
}

type EventHandler = (state: State, event: JsonObject) => ModelDelta[] | undefined

/** A body that is no event has no type. */
const HANDLERS: ReadonlyMap<string, EventHandler> = new Map(
  Object.entries<EventHandler>({
    '': takeWhole,
    'interaction.created': takeStatus,
    'interaction.status_update': takeStatus,
    'step.start': (state, event) => openStep(state, indexIn(state, event), asObject(event['step'])),
    'step.delta': (state, event) =>
      takeDelta(state.open.get(indexIn(state, event)), asObject(event['delta'])),
    'step.stop': (state, event) => closeStep(state, indexIn(state, event)),
    'interaction.completed': (state, event) => {
      takeHead(state, asObject(event['interaction']))
      state.done = true
      return undefined
    },
    error: (state, event) => {
      state.errors.push(asObject(event['error']))
      state.status = 'failed'
      state.done = true
      return undefined
    },
  }),
)

function takeStatus(state: State, event: JsonObject): undefined {
  takeHead(state, asObject(event['interaction']))
  takeHead(state, event)
}

function takeWhole(state: State, body: JsonObject): ModelDelta[] {
  const error = googleError(body)
  if (error !== undefined) {
    state.failure = streamFailure(error)
    return []
  }
  if (!Array.isArray(body['steps']) && typeof body['status'] !== 'string') return []
  takeHead(state, body)
  const deltas = asList(body['steps']).flatMap((given, index) => [
    ...openStep(state, index, asObject(given)),
    ...closeStep(state, index),
  ])
  state.done = true
  return deltas
}

function takeHead(state: State, head: JsonObject): void {
  state.id = asString(head['id']) || asString(head['interaction_id']) || state.id
  state.model = asString(head['model']) || state.model
  state.status = asString(head['status']) || state.status
  state.token = asString(head['continuation_token']) || state.token
  if (isJsonObject(head['usage'])) state.usage = { ...state.usage, ...head['usage'] }
  for (const error of asList(head['errors'])) state.errors.push(asObject(error))
}

function indexIn(state: State, event: JsonObject): number {
  const { index } = event
  return typeof index === 'number' ? index : Math.max(0, state.steps.length - 1)
}

// ---- steps -----------------------------------------------------------------------------------------------

function openStep(state: State, index: number, given: JsonObject): ModelDelta[] {
  if (given['type'] === 'user_input') return []
  if (given['type'] === 'function_call' && state.single && state.calls > 0) {
    state.dropped = true
    state.open.delete(index)
    return []
  }
  const { opened, deltas } = readOpening(state, given)
  state.steps.push(opened)
  state.open.set(index, opened)
  return deltas
}

function readOpening(state: State, given: JsonObject): { opened: AnswerStep; deltas: ModelDelta[] } {
  switch (given['type']) {
    case 'thought': {
      const { summary: list, signature, ...rest } = given
      const summary = asList(list).map(asObject)
      const text = joinTexts(summary)
      return {
        opened: { kind: 'thought', given: rest, summary, signature: asString(signature) },
        deltas: text === '' ? [] : [{ type: 'thinking', text }],
      }
    }
    case 'model_output': {
      const opened: OutputStep = { kind: 'output', content: [] }
      const deltas = asList(given['content']).flatMap(content => addContent(opened, asObject(content)))
      return { opened, deltas }
    }
    case 'function_call':
      return openCall(state, given)
    default:
      return { opened: { kind: 'hosted', given }, deltas: [] }
  }
}

function openCall(state: State, given: JsonObject): { opened: CallStep; deltas: ModelDelta[] } {
  const tool = calledTool(state, asString(given['name']))
  const { name, form } = tool
  const index = state.calls++
  return {
    opened: { ...tool, kind: 'call', given, index, arguments: callArguments(tool), closed: false },
    deltas: [{ type: 'call', index, name, form }],
  }
}

function takeDelta(open: AnswerStep | undefined, delta: JsonObject): ModelDelta[] {
  switch (open?.kind) {
    case 'thought':
      return addThought(open, delta)
    case 'output':
      if (asString(delta['type']).startsWith('text_annotation')) return []
      return addOutput(open, delta)
    case 'call':
      return typeof delta['arguments'] === 'string'
        ? showArguments(open, open.arguments.push(delta['arguments']))
        : []
    case 'hosted':
      mergeFields(open.given, delta)
      return []
    case undefined:
      return []
  }
}

function addThought(thought: ThoughtStep, delta: JsonObject): ModelDelta[] {
  if (typeof delta['signature'] === 'string') {
    thought.signature = delta['signature']
    return []
  }
  const content = asObject(delta['content'])
  const text = asString(content['text'])
  const last = thought.summary.at(-1)
  // The signature is over one text, so its streamed pieces are joined again.
  if (content['type'] === 'text' && last !== undefined && typeof last['text'] === 'string')
    last['text'] += text
  else if (!isEmptyObject(content)) thought.summary.push({ ...content })
  return text === '' ? [] : [{ type: 'thinking', text }]
}

function addOutput(output: OutputStep, delta: JsonObject): ModelDelta[] {
  const last = output.content.at(-1)
  const { text } = delta
  if (typeof text !== 'string' || typeof last?.['text'] !== 'string') return addContent(output, delta)
  last['text'] += text
  return text === '' ? [] : [{ type: 'text', text }]
}

function addContent(output: OutputStep, content: JsonObject): ModelDelta[] {
  const { text } = content
  if (typeof text !== 'string') {
    if (!isEmptyObject(content)) output.content.push(content)
    return []
  }
  if (text === '') return []
  output.content.push({ type: 'text', text })
  return [{ type: 'text', text }]
}

function showArguments({ index }: CallStep, text: string): ModelDelta[] {
  return text === '' ? [] : [{ type: 'arguments', index, text }]
}

/** Arguments that were not streamed came with the step. */
function closeStep(state: State, index: number): ModelDelta[] {
  const open = state.open.get(index)
  state.open.delete(index)
  if (open?.kind !== 'call' || open.closed) return []
  open.closed = true
  const args = open.arguments
  const given = args.raw === '' ? JSON.stringify(open.given['arguments'] ?? {}) : ''
  return [...showArguments(open, args.push(given)), ...showArguments(open, args.end())]
}

/** Fields of a vendor's own step that are replaced, never appended to. */
const REPLACED_FIELDS: ReadonlySet<string> = new Set(['signature', 'id', 'call_id', 'name'])

function mergeFields(given: JsonObject, delta: JsonObject): void {
  for (const [key, value] of Object.entries(delta))
    if (key !== 'type') given[key] = REPLACED_FIELDS.has(key) ? value : mergeValue(given[key], value)
}

/** Lists and texts are appended to; members of objects are replaced. */
function mergeValue(old: Json | undefined, value: Json): Json {
  if (Array.isArray(old) && Array.isArray(value)) return [...old, ...value]
  if (isJsonObject(old) && isJsonObject(value)) return { ...old, ...value }
  if (typeof old !== 'string' || typeof value !== 'string') return value
  return value.startsWith(old) ? value : old + value
}

/** Several summaries become lines. */
function joinTexts(contents: readonly JsonObject[]): string {
  const texts = contents.map(content => asString(content['text'])).filter(text => text !== '')
  return texts.join('\n')
}

// ---- the answer ------------------------------------------------------------------------------------------

/** Searches and code in the vendor's own container may be repeated; calls of an MCP server may not. */
export function hasRun({ steps }: State): boolean {
  return steps.some(each => each.kind === 'hosted' && each.given['type'] === 'mcp_server_tool_call')
}

export function halt(state: State): Halted {
  if (state.failure) return { failure: state.failure }
  if (!state.done)
    return { failure: passingFailure('The stream of Gemini ended before the interaction did.') }
  const end = readStop(state)
  if ('failure' in end) return end
  const { stop, isValid, warning } = end
  const parts = state.steps.flatMap(each => stepParts(state, each, isValid))
  return {
    answer: wholeAnswer({
      parts,
      stop,
      origin: state.origin,
      usage: readUsage(state.usage),
      vendor: vendorAnswer(state.id, state.model),
      continuity: makeContinuity(state, end, parts),
      warnings: warning === undefined ? [] : [failureText(warning)],
    }),
  }
}

/** `isValid`: the vendor did not reject the answer, so its calls may run and its artifacts may go back. */
type AnswerEnd = { stop: AnswerStop; isValid: boolean; warning?: string }

function readStop(state: State): AnswerEnd | { failure: ModelFailure } {
  const hasCalls = state.calls > 0
  switch (state.status) {
    case 'failed':
      return readError(state.errors[0] ?? {}, hasCalls)
    case 'cancelled':
      return { failure: { ...passingFailure('Gemini cancelled the interaction.'), retry: false } }
    case 'queued':
    case 'in_progress':
      return { failure: passingFailure('Gemini ended the stream of an interaction that is still running.') }
    case 'incomplete':
      return { stop: 'length', isValid: true }
    case 'budget_exceeded': {
      const warning = 'Gemini stopped: the budget of the interaction is used up.'
      return { stop: 'length', isValid: true, warning }
    }
    case 'requires_continuation':
      // Calls must be answered first; then the model continues by itself.
      return { stop: hasCalls ? 'calls' : state.token === '' ? 'length' : 'pause', isValid: true }
    default:
      return { stop: hasCalls ? 'calls' : 'end', isValid: true }
  }
}

const FILTERED: ReadonlySet<string> = new Set([
  'safety',
  'recitation',
  'content_blocked',
  'language',
  'blocklist',
  'prohibited_content',
  'spii',
])

/** The service could not read a call. The model can correct it when it is told. */
const UNREADABLE: ReadonlySet<string> = new Set([
  'malformed_function_call',
  'malformed_tool_call',
  'unexpected_tool_call',
])

function readError(error: JsonObject, hasCalls: boolean): AnswerEnd | { failure: ModelFailure } {
  const code = errorCode(error)
  const message = asString(error['message'])
  if (FILTERED.has(code) || code.startsWith('image_'))
    return { stop: 'filter', isValid: false, warning: `Gemini stopped with ${code}: ${message}` }
  if (UNREADABLE.has(code) && hasCalls)
    return { stop: 'calls', isValid: false, warning: `Gemini could not read its own call: ${message}` }
  return { failure: streamFailure(error) }
}

/** Data with which the next request continues from this interaction, or gets the rest of a paused answer. */
function makeContinuity(
  { origin, id, seen, token, dropped }: State,
  { stop, isValid }: AnswerEnd,
  parts: readonly ModelPart[],
): Native | undefined {
  const isStored = isValid && !dropped && id !== '' && seen !== undefined
  const data: JsonObject = {
    ...(isStored && { id, seen, said: digestParts(parts) }),
    ...(stop === 'pause' && { token }),
  }
  return isEmptyObject(data) ? undefined : { origin, data }
}

function readUsage(usage: JsonObject): Usage | undefined {
  if (isEmptyObject(usage)) return undefined
  const thinking = asCount(usage['total_thought_tokens'])
  return usageOfCounts({
    input: asCount(usage['total_input_tokens']) + asCount(usage['total_tool_use_tokens']),
    output: asCount(usage['total_output_tokens']) + thinking,
    cacheRead: asCount(usage['total_cached_tokens']),
    thinking,
  })
}

function stepParts(state: State, answerStep: AnswerStep, isValid: boolean): ModelPart[] {
  const { origin } = state
  switch (answerStep.kind) {
    case 'thought':
      return thinkingPart(answerStep, origin, isValid)
    case 'output':
      return answerStep.content.map(content => outputPart(content, origin))
    case 'hosted':
      return [hostedPart(asString(answerStep.given['type']) || 'step', answerStep.given, origin)]
    case 'call':
      return [callPart(answerStep, origin, isValid, state.status === 'requires_action')]
  }
}

function thinkingPart(
  { given, summary, signature }: ThoughtStep,
  origin: Origin,
  isValid: boolean,
): ThinkingPart[] {
  const text = joinTexts(summary)
  if (!isValid || signature === '') return text === '' ? [] : [{ type: 'thinking', text }]
  const data = { ...given, ...(summary.length > 0 && { summary }), signature }
  return [{ type: 'thinking', text, native: { origin, data } }]
}

function outputPart(content: JsonObject, origin: Origin): TextPart | HostedPart {
  if (content['type'] === 'text' && typeof content['text'] === 'string')
    return { type: 'text', text: content['text'] }
  return hostedPart('media', { type: 'model_output', content: [content] }, origin)
}

/** `waits`: the vendor waits for results, so a call that it never closed may still be whole. */
function callPart(call: CallStep, origin: Origin, isValid: boolean, waits: boolean): ModelCall {
  const { name, form, typed } = call
  const { text, raw } = call.arguments
  const cut = !isValid || call.arguments.isCut(call.closed ? 'closed' : waits ? 'length' : 'unclosed')
  const { arguments: given, ...rest } = call.given
  const args = raw === '' ? given : readJson(raw)
  // Arguments that can be made again from the call's text are left out.
  const isOdd =
    typed !== undefined || (form === 'text' && JSON.stringify(wrapText(text)) !== JSON.stringify(args))
  const data = isOdd && isJsonObject(args) ? { ...rest, arguments: args } : rest
  const native = cut || call.wire === '' ? undefined : { origin, data }
  return wholeCall({ name, form, text }, cut, asString(call.given['id']), native)
}

function hostedPart(tool: string, data: JsonObject, origin: Origin): HostedPart {
  const args = asObject(data['arguments'])
  const summary =
    asString(args['code']) ||
    asString(data['result']) ||
    (isEmptyObject(args) ? tool.replaceAll('_', ' ') : JSON.stringify(args))
  return {
    type: 'hosted',
    tool,
    summary: printable(summary, { maxChars: 500, multiline: true }),
    native: { origin, data },
  }
}
