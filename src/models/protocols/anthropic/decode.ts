// Reading an answer of Anthropic Messages: a fold over stream events, in which the non-streaming answer is one whole
// event. It keeps arguments as the model wrote them and blocks that only their maker understands as they came.
// What the fold amounts to is in anthropic-answer.ts; sockets, retries and clocks are the runner's.

import type { ModelDelta } from '../../../engine/ports.ts'
import type { CallForm } from '../../../language/calls.ts'
import type { Origin } from '../../../language/content.ts'
import { isJsonObject, type Json, type JsonObject } from '../../../lib/json.ts'
import { type TextUnwrapper, textUnwrapper } from '../../common/custom-tools.ts'
import { NO_ARGUMENTS } from '../../common/truncated.ts'
import type { Failure, Frame } from '../../protocol.ts'
import { failureOfEvent } from './failure.ts'

/** What must be known of the request to read its answer. */
export type Reading = {
  origin: Origin
  /** Wire name → our name. */
  names: ReadonlyMap<string, string>
  /** Wire names of the text tools that were declared as functions of one string. */
  texts: ReadonlySet<string>
}

export type Block = {
  type: string
  start: JsonObject
  /** Text or thinking; or arguments as the server wrote them. */
  text: string
  signature: string
  citations: Json[]
  closed: boolean
  /** It was told in words that this codec does not know, so that it cannot be given back whole. */
  odd: boolean
  call?: Call
}

export type Call = {
  index: number
  name: string
  form: CallForm
  /** The arguments as they were shown: `text` itself, or what was wrapped in it. */
  shown: string
  unwrapper?: TextUnwrapper
  /** The wrapping of a text call was closed, so that nothing of it is missing. */
  unwrapped: boolean
}

export type State = Reading & {
  blocks: Block[]
  /** The vendor's index → the block that is being told. It counts all blocks, not calls alone. */
  open: Map<number, Block>
  calls: number
  shown: boolean
  usage: JsonObject
  stop: JsonObject
  container: JsonObject | undefined
  done: boolean
  failure: Failure | undefined
}

export function initialState(reading: Reading): State {
  return {
    ...reading,
    blocks: [],
    open: new Map(),
    calls: 0,
    shown: false,
    usage: {},
    stop: {},
    container: undefined,
    done: false,
    failure: undefined,
  }
}

// ---- events ----------------------------------------------------------------------------------------------

export function stepAnswer(state: State, frame: Frame): ModelDelta[] {
  if (state.done || state.failure) return []
  const event = readEvent(state, frame)
  const deltas = event === undefined ? [] : takeEvent(state, event)
  if (deltas.length > 0) state.shown = true
  return deltas
}

/** Text that is no object (a gateway's `[DONE]`) says nothing; an object torn apart means lost words. */
function readEvent(state: State, frame: Frame): JsonObject | undefined {
  if (!frame.data.startsWith('{') && !frame.data.trimStart().startsWith('{')) return undefined
  try {
    const event: unknown = JSON.parse(frame.data)
    if (!isJsonObject(event)) return undefined
    return typeof event['type'] === 'string' || frame.event === undefined
      ? event
      : { ...event, type: frame.event }
  } catch {
    state.failure = {
      code: 'model_failed',
      message: 'Anthropic sent an event that is not JSON.',
      retry: true,
    }
    return undefined
  }
}

function takeEvent(state: State, event: JsonObject): ModelDelta[] {
  switch (event['type']) {
    case 'message':
      return takeWhole(state, event)
    case 'message_start':
      return startMessage(state, objectOf(event['message']))
    case 'content_block_start':
      return openBlock(state, indexOf(event) ?? state.blocks.length, objectOf(event['content_block']))
    case 'content_block_delta':
      return takeDelta(blockAt(state, event), objectOf(event['delta']))
    case 'content_block_stop':
      return closeBlock(state, event)
    case 'message_delta':
      takeUsage(state, event['usage'])
      takeStop(state, objectOf(event['delta']))
      return []
    case 'message_stop':
      state.done = true
      return []
    case 'error':
      state.failure = failureOfEvent(objectOf(event['error']))
      return []
    default:
      return []
  }
}

/** A gateway that starts over in mid-stream says so by a second start: what was shown is then void. */
function startMessage(state: State, message: JsonObject): ModelDelta[] {
  const again = state.shown
  state.blocks = []
  state.open.clear()
  state.calls = 0
  state.stop = {}
  takeUsage(state, message['usage'])
  takeStop(state, message)
  return again ? [{ type: 'reset' }] : []
}

function takeWhole(state: State, message: JsonObject): ModelDelta[] {
  const deltas = startMessage(state, message)
  for (const [index, block] of listOf(message['content']).entries()) {
    deltas.push(...openBlock(state, index, objectOf(block)), ...closeBlock(state, { index }))
  }
  state.done = true
  return deltas
}

function takeUsage(state: State, usage: Json | undefined): void {
  for (const [key, value] of Object.entries(objectOf(usage))) if (value !== null) state.usage[key] = value
}

/** A delta that only carries usage has no reason and must not erase one. */
function takeStop(state: State, delta: JsonObject): void {
  if (typeof delta['stop_reason'] === 'string') state.stop = delta
  if (isJsonObject(delta['container'])) state.container = delta['container']
}

// ---- blocks ----------------------------------------------------------------------------------------------

function openBlock(state: State, index: number, start: JsonObject): ModelDelta[] {
  const type = stringOf(start['type'])
  const text =
    type === 'text' ? stringOf(start['text']) : type === 'thinking' ? stringOf(start['thinking']) : ''
  const block: Block = {
    type,
    start,
    text,
    signature: stringOf(start['signature']),
    citations: [...listOf(start['citations'])],
    closed: false,
    odd: false,
  }
  state.blocks.push(block)
  state.open.set(index, block)
  if (type === 'tool_use') return [openCall(state, block, stringOf(start['name']))]
  return text === '' ? [] : [{ type: type === 'text' ? 'text' : 'thinking', text }]
}

function openCall(state: State, block: Block, wire: string): ModelDelta {
  const form = state.texts.has(wire) ? 'text' : 'json'
  const call: Call = {
    index: state.calls++,
    name: state.names.get(wire) ?? wire,
    form,
    shown: '',
    ...(form === 'text' && { unwrapper: textUnwrapper() }),
    unwrapped: false,
  }
  block.call = call
  return { type: 'call', index: call.index, name: call.name, form }
}

function takeDelta(block: Block | undefined, delta: JsonObject): ModelDelta[] {
  if (block === undefined) return []
  switch (delta['type']) {
    case 'text_delta':
      return addText(block, 'text', stringOf(delta['text']))
    case 'thinking_delta':
      return addText(block, 'thinking', stringOf(delta['thinking']))
    case 'signature_delta':
      block.signature = stringOf(delta['signature'])
      return []
    case 'citations_delta':
      if (delta['citation'] !== undefined) block.citations.push(delta['citation'])
      return []
    case 'input_json_delta':
      return addArguments(block, stringOf(delta['partial_json']))
    case 'compaction_delta': {
      const { type: _, ...told } = delta
      block.start = { ...block.start, ...told }
      return []
    }
    default:
      block.odd = true
      return []
  }
}

function addText(block: Block, type: 'text' | 'thinking', text: string): ModelDelta[] {
  block.text += text
  return text === '' ? [] : [{ type, text }]
}

function addArguments(block: Block, text: string): ModelDelta[] {
  block.text += text
  const { call } = block
  return call === undefined ? [] : showArguments(call, call.unwrapper ? call.unwrapper.push(text) : text)
}

function showArguments(call: Call, text: string): ModelDelta[] {
  if (text === '') return []
  call.shown += text
  return [{ type: 'arguments', index: call.index, text }]
}

/** Arguments that were not streamed stand in the opening, or there are none: `{}`. */
function closeBlock(state: State, event: JsonObject): ModelDelta[] {
  const block = blockAt(state, event)
  if (block === undefined) return []
  block.closed = true
  state.open.delete(indexOf(event) ?? -1)
  const { call } = block
  const untold = block.text === '' ? openingInput(block) : ''
  if (call === undefined) {
    if (isServerUse(block)) block.text += untold
    return block.type === 'text' ? [] : [blockDelta(state, block)]
  }
  const deltas = untold === '' ? [] : addArguments(block, untold)
  if (call.unwrapper) {
    const { rest, closed } = call.unwrapper.end()
    call.unwrapped = closed
    return [...deltas, ...showArguments(call, rest)]
  }
  return block.text === '' ? [...deltas, ...showArguments(call, NO_ARGUMENTS)] : deltas
}

function blockDelta(state: State, block: Block): ModelDelta {
  const data = ownBlock(block)
  return { type: 'block', ...(data && { native: { origin: state.origin, data } }) }
}

/** A block that is neither words nor a call, as it goes back to its maker; undefined when it is not whole. */
export function ownBlock(block: Block): JsonObject | undefined {
  const { type, start, text, signature } = block
  // A signature comes last: without one the thinking was cut off and cannot go back. With one it may well be empty.
  if (type === 'thinking') return signature === '' ? undefined : { ...start, thinking: text, signature }
  if (type === 'redacted_thinking') return start
  if (type === '' || !block.closed || block.odd) return undefined
  if (!isServerUse(block)) return signature === '' ? start : { ...start, signature }
  const input = parsed(text === '' ? NO_ARGUMENTS : text)
  return isJsonObject(input) ? { ...start, input } : undefined
}

/** Empty when the opening holds nothing either, as it does in every stream of the vendor itself. */
function openingInput(block: Block): string {
  const { input } = block.start
  if (input === undefined || (isJsonObject(input) && Object.keys(input).length === 0)) return ''
  return JSON.stringify(input)
}

export function isServerUse(block: { type?: unknown }): boolean {
  return block.type === 'server_tool_use' || block.type === 'mcp_tool_use'
}

function blockAt(state: State, event: JsonObject): Block | undefined {
  const index = indexOf(event)
  if (index !== undefined) return state.open.get(index)
  const last = state.blocks.at(-1)
  return last?.closed ? undefined : last
}

function indexOf(event: JsonObject): number | undefined {
  return typeof event['index'] === 'number' ? event['index'] : undefined
}

function objectOf(value: Json | undefined): JsonObject {
  return isJsonObject(value) ? value : {}
}

function listOf(value: Json | undefined): readonly Json[] {
  return Array.isArray(value) ? value : []
}

function parsed(text: string): Json | undefined {
  try {
    return JSON.parse(text) as Json // JSON text yields nothing but Json
  } catch {
    return undefined
  }
}

function stringOf(value: Json | undefined): string {
  return typeof value === 'string' ? value : ''
}
