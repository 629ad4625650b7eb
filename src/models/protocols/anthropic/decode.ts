// Reading an answer of Anthropic Messages: a fold over stream events, in which a non-streaming answer is one event. It
// keeps arguments as the model wrote them, and blocks that only their maker understands as they came.

import type { ModelCall, ModelDelta } from '../../../engine/ports/index.ts'
import type { HostedPart, Origin, TextPart, ThinkingPart } from '../../../language/content.ts'
import type { Usage, VendorAnswer } from '../../../language/events.ts'
import { isJsonObject, type Json, type JsonObject, parseObject } from '../../../lib/json/index.ts'
import { GatheredText } from '../../../lib/text/gathered.ts'
import { printable } from '../../../lib/text/index.ts'
import {
  type AnswerStop,
  type ArgumentsEnd,
  CallArguments,
  type ModelPart,
  NO_ARGUMENTS,
  usageOfCounts,
  vendorAnswer,
  wholeAnswer,
  wholeCall,
} from '../../common/answer.ts'
import { passingFailure } from '../../common/failure.ts'
import { asCount, asList, asObject, asString, isEmptyObject, readJson } from '../../common/json-read.ts'
import { type BoundTool, boundTo } from '../../common/vendor-typed.ts'
import type { Frame, Halted, ModelFailure } from '../../protocol.ts'
import { isServerUse } from './context.ts'
import { streamFailure } from './failure.ts'

export type Reading = {
  origin: Origin
  /** Wire name → our name. */
  names: ReadonlyMap<string, string>
  /** Wire names of the text tools, which were declared as functions of one string. */
  textTools: ReadonlySet<string>
  /** Our tools that were declared in the vendor's form. */
  bound?: readonly BoundTool[]
  /** The vendor no longer has the container of the history. The answer says so, and later requests do not name it. */
  lostContainer?: true
  /** A summary of the conversation was asked for, and is the whole answer. */
  isSummary?: true
}

export type State = Reading & {
  blocks: Block[]
  /** The vendor's index → the block that is being sent. It counts all blocks, not only calls. */
  open: Map<number, Block>
  calls: number
  /** Deltas were given. */
  shown: boolean
  vendor: VendorAnswer | undefined
  usage: JsonObject
  stop: JsonObject
  container: JsonObject | undefined
  done: boolean
  failure: ModelFailure | undefined
}

type Block = {
  type: string
  /** The vendor's. */
  index: number
  start: JsonObject
  /** Text or thinking; of a server tool's use, its arguments. */
  text: GatheredText
  signature: string
  citations: Json[]
  closed: boolean
  /** It had deltas that this protocol does not know, so it cannot be given back whole. */
  odd: boolean
  call?: BlockCall
}

type BlockCall = { index: number; name: string; arguments: CallArguments }

export function initial(reading: Reading): State {
  return {
    ...reading,
    blocks: [],
    open: new Map(),
    calls: 0,
    shown: false,
    vendor: undefined,
    usage: {},
    stop: {},
    container: undefined,
    done: false,
    failure: undefined,
  }
}

// ---- events ----------------------------------------------------------------------------------------------

/** Text that is no object, such as a gateway's `[DONE]`, is ignored. An object that does not parse means lost text. */
export function step(state: State, { event: name = '', data }: Frame): ModelDelta[] {
  if (state.done || state.failure) return []
  if (!data.startsWith('{') && !data.trimStart().startsWith('{')) return []
  const event = readJson(data) as JsonObject | undefined // text that begins with a brace is an object, or no JSON
  if (event === undefined) {
    state.failure = passingFailure('Anthropic sent an event that is not JSON.')
    return []
  }
  const { type } = event
  // Nearly all events are these, and a map would hash the name of each anew.
  const handle =
    type === 'content_block_delta' ? takeDelta : HANDLERS.get(typeof type === 'string' ? type : name)
  const deltas = handle?.(state, event) ?? []
  if (deltas.length > 0) state.shown = true
  return deltas
}

type EventHandler = (state: State, event: JsonObject) => ModelDelta[] | undefined

const HANDLERS: ReadonlyMap<string, EventHandler> = new Map(
  Object.entries<EventHandler>({
    message: takeWhole,
    message_start: (state, event) => startMessage(state, asObject(event['message'])),
    content_block_start: openBlock,
    content_block_delta: takeDelta,
    content_block_stop: closeBlock,
    message_delta: endMessage,
    message_stop: state => {
      state.done = true
      return undefined
    },
    error: (state, event) => {
      state.failure = streamFailure(asObject(event['error']))
      return undefined
    },
  }),
)

/** A gateway that starts over in mid-stream sends a second start: the deltas so far are then void. */
function startMessage(state: State, message: JsonObject): ModelDelta[] {
  const again = state.shown
  state.blocks = []
  state.open.clear()
  state.calls = 0
  state.stop = {}
  state.vendor = vendorAnswer(message['id'], message['model'])
  takeEnd(state, message, message['usage'])
  return again ? [{ type: 'reset' }] : []
}

function takeWhole(state: State, message: JsonObject): ModelDelta[] {
  const deltas = startMessage(state, message)
  for (const [index, content_block] of asList(message['content']).entries())
    deltas.push(...openBlock(state, { index, content_block }), ...closeBlock(state, { index }))
  state.done = true
  return deltas
}

function endMessage(state: State, event: JsonObject): undefined {
  takeEnd(state, asObject(event['delta']), event['usage'])
}

/** A delta that only carries usage has no reason and must not erase one. */
function takeEnd(state: State, delta: JsonObject, usage: Json | undefined): void {
  const counts = asObject(usage)
  for (const key in counts) if (counts[key] != null) state.usage[key] = counts[key]
  if (typeof delta['stop_reason'] === 'string') state.stop = delta
  const { container } = delta
  if (container && isJsonObject(container)) state.container = container
}

// ---- blocks ----------------------------------------------------------------------------------------------

function openBlock(state: State, event: JsonObject): ModelDelta[] {
  const start = asObject(event['content_block'])
  const type = asString(start['type'])
  const text = type === 'text' || type === 'thinking' ? asString(start[type]) : ''
  const block: Block = {
    type,
    index: typeof event['index'] === 'number' ? event['index'] : state.blocks.length,
    start,
    text: new GatheredText(text),
    signature: asString(start['signature']),
    citations: [...asList(start['citations'])],
    closed: false,
    odd: false,
  }
  state.blocks.push(block)
  state.open.set(block.index, block)
  if (type === 'tool_use') return [openCall(state, block, asString(start['name']))]
  return text === '' ? [] : [{ type: type === 'text' ? 'text' : 'thinking', text }]
}

function openCall(state: State, block: Block, wire: string): ModelDelta {
  const bound = state.bound && boundTo(state.bound, block.start)
  const form = bound?.typed.form ?? (state.textTools.has(wire) ? 'text' : 'json')
  const name = bound?.tool.name ?? state.names.get(wire) ?? wire
  const index = state.calls++
  const translate = bound && translation(block, bound)
  block.call = { index, name, arguments: new CallArguments(form, form === 'text', translate) }
  return { type: 'call', index, name, form }
}

/** Arguments that are no JSON stay as they are, for the gate to refuse. */
function translation({ start }: Block, { typed }: BoundTool): ((raw: string) => string) | undefined {
  if (typed.read === undefined) return undefined
  return raw => {
    const input = parseObject(raw)
    return input === undefined ? raw : (typed.read?.({ ...start, input }) ?? raw)
  }
}

function takeDelta(state: State, event: JsonObject): ModelDelta[] {
  const block = blockFor(state, event)
  if (block === undefined) return []
  const delta = asObject(event['delta'])
  switch (delta['type']) {
    case 'text_delta':
      return addText(block, 'text', asString(delta['text']))
    case 'thinking_delta':
      return addText(block, 'thinking', asString(delta['thinking']))
    case 'signature_delta':
      block.signature = asString(delta['signature'])
      return []
    case 'citations_delta':
      if (delta['citation'] !== undefined) block.citations.push(delta['citation'])
      return []
    case 'input_json_delta':
      return addArguments(block, asString(delta['partial_json']))
    case 'compaction_delta': {
      const { type: _, ...fields } = delta
      block.start = { ...block.start, ...fields }
      return []
    }
    default:
      block.odd = true
      return []
  }
}

function addText(block: Block, type: 'text' | 'thinking', text: string): ModelDelta[] {
  block.text.add(text)
  return text === '' ? [] : [{ type, text }]
}

function addArguments(block: Block, fragment: string): ModelDelta[] {
  const { call } = block
  if (call === undefined) {
    block.text.add(fragment)
    return []
  }
  const text = call.arguments.push(fragment)
  return text === '' ? [] : [{ type: 'arguments', index: call.index, text }]
}

/** Arguments that were not streamed stand in the opening of the block, or there are none. */
function closeBlock(state: State, event: JsonObject): ModelDelta[] {
  const block = blockFor(state, event)
  if (block === undefined) return []
  block.closed = true
  state.open.delete(block.index)
  const { call } = block
  const streamed = call === undefined ? block.text.whole : call.arguments.raw
  const isOpening = streamed === '' && (call !== undefined || isServerUse(block))
  const deltas = isOpening ? addArguments(block, openingArguments(block)) : []
  if (call === undefined) return block.type === 'text' ? [] : [blockDelta(state, block)]
  const text = call.arguments.end()
  if (text !== '') deltas.push({ type: 'arguments', index: call.index, text })
  return deltas
}

function blockDelta(state: State, block: Block): ModelDelta {
  const data = nativeBlock(block)
  return { type: 'block', ...(data && { native: { origin: state.origin, data } }) }
}

/** A block that is neither text nor a call, as it goes back to its maker; undefined when it is not whole. */
function nativeBlock(block: Block): JsonObject | undefined {
  const { type, start, signature } = block
  const text = block.text.whole
  // The signature comes last: without it the thinking was cut and cannot go back. The thinking itself may be empty.
  if (type === 'thinking') return signature === '' ? undefined : { ...start, thinking: text, signature }
  if (type === 'redacted_thinking') return start
  if (type === '' || !block.closed || block.odd) return undefined
  if (!isServerUse(block)) return signature === '' ? start : { ...start, signature }
  const input = readJson(text === '' ? NO_ARGUMENTS : text)
  return isJsonObject(input) ? { ...start, input } : undefined
}

function openingArguments({ start: { input } }: Block): string {
  return input === undefined || (isJsonObject(input) && isEmptyObject(input)) ? '' : JSON.stringify(input)
}

function blockFor({ open, blocks }: State, { index }: JsonObject): Block | undefined {
  if (typeof index === 'number') return open.get(index)
  const last = blocks.at(-1)
  return last?.closed ? undefined : last
}

// ---- the answer ------------------------------------------------------------------------------------------

/** `compaction`: the server summarised the conversation and waits to be asked again, as after a paused turn. */
const STOPS: Readonly<Record<string, AnswerStop>> = {
  end_turn: 'end',
  stop_sequence: 'end',
  tool_use: 'calls',
  max_tokens: 'length',
  model_context_window_exceeded: 'length',
  pause_turn: 'pause',
  compaction: 'pause',
  refusal: 'refusal',
}
const SUMMARY_CHARS = 300

/** Searches, fetches and code in the vendor's own container may be repeated; calls of an MCP server may not. */
export function hasRun({ blocks }: State): boolean {
  return blocks.some(block => block.type === 'mcp_tool_use')
}

export function halt(state: State): Halted {
  if (state.failure) return { failure: state.failure }
  if (!state.done)
    return { failure: passingFailure('Anthropic closed the stream before the answer was whole.') }
  const warnings: string[] = []
  const reason = asString(state.stop['stop_reason'])
  const stop = reason === 'compaction' && state.isSummary ? 'end' : STOPS[reason]
  if (stop === undefined) warnings.push(`The model stopped for an unknown reason: ${printable(reason, 80)}.`)
  const parts: ModelPart[] = []
  const loads: string[] = []
  for (const block of state.blocks) {
    parts.push(...blockParts(state, block, stop, warnings))
    if (block.type === 'tool_search_tool_result') loads.push(...foundTools(state, block))
  }
  const details = state.stop['stop_details']
  const explanation = details ? asString(asObject(details)['explanation']) : ''
  if (explanation !== '') warnings.push(`The model refused: ${printable(explanation, SUMMARY_CHARS)}`)
  const { origin, lostContainer, vendor } = state
  const container = state.container ?? (lostContainer ? null : undefined)
  return {
    answer: wholeAnswer({
      parts,
      stop: readStop(stop, parts),
      origin,
      usage: readUsage(state.usage),
      continuity: container === undefined ? undefined : { origin, data: { container } },
      warnings,
      vendor,
      loads,
    }),
  }
}

/** Our names of the tools that the vendor's search found. */
function foundTools({ names }: State, { start }: Block): string[] {
  return asList(asObject(start['content'])['tool_references']).map(item => {
    const name = asString(asObject(item)['tool_name'])
    return names.get(name) ?? name
  })
}

/** An answer with calls waits for results, and one without never does, whatever reason it gives. */
function readStop(stop: AnswerStop | undefined, parts: readonly ModelPart[]): AnswerStop {
  for (const { type } of parts) if (type === 'call') return stop === 'length' ? 'length' : 'calls'
  return stop === undefined || stop === 'calls' ? 'end' : stop
}

function readUsage(usage: JsonObject): Usage | undefined {
  if (usage['input_tokens'] === undefined && usage['output_tokens'] === undefined) return undefined
  const cacheRead = asCount(usage['cache_read_input_tokens'])
  const cacheWrite = asCount(usage['cache_creation_input_tokens'])
  return usageOfCounts({
    // The vendor counts cached input separately.
    input: asCount(usage['input_tokens']) + cacheRead + cacheWrite,
    output: asCount(usage['output_tokens']),
    cacheRead,
    cacheWrite,
    thinking: asCount(asObject(usage['output_tokens_details'])['thinking_tokens']),
  })
}

function blockParts(
  state: State,
  block: Block,
  stop: AnswerStop | undefined,
  warnings: string[],
): ModelPart[] {
  switch (block.type) {
    case 'text':
      return block.text.whole === '' ? [] : [textPart(state, block)]
    case 'thinking':
    case 'redacted_thinking':
      return thinkingPart(state, block)
    case 'tool_use':
      return callPart(state, block, stop, warnings)
    default:
      return hostedPart(state, block, warnings)
  }
}

/** Citations hold encrypted indexes that the vendor wants back with the text. */
function textPart({ origin }: State, block: Block): TextPart {
  const { citations } = block
  const text = block.text.whole
  if (citations.length === 0) return { type: 'text', text }
  return { type: 'text', text, native: { origin, data: { citations } } }
}

function thinkingPart({ origin }: State, block: Block): ThinkingPart[] {
  const text = block.text.whole
  const data = nativeBlock(block)
  if (data === undefined) return text === '' ? [] : [{ type: 'thinking', text }]
  return [{ type: 'thinking', text, native: { origin, data } }]
}

function callPart(state: State, block: Block, stop: AnswerStop | undefined, warnings: string[]): ModelCall[] {
  const { call } = block
  if (call === undefined) return []
  const { name, arguments: args } = call
  if (stop === 'refusal') {
    warnings.push(`The call of "${printable(name, 128)}" was dropped: the model refused while making it.`)
    return []
  }
  const { id, caller, toolset_name } = block.start
  const data: JsonObject = {}
  if (caller !== undefined && caller !== null) data['caller'] = caller
  if (toolset_name !== undefined && toolset_name !== null) data['toolset_name'] = toolset_name
  const { form, text } = args
  const cut = args.isCut(endOfBlock(state, block, stop))
  const native = isEmptyObject(data) ? undefined : { origin: state.origin, data }
  return [wholeCall({ name, form, text }, cut, asString(id), native)]
}

/** The server closes the last block also when it ran out of tokens inside it. */
function endOfBlock(state: State, block: Block, stop: AnswerStop | undefined): ArgumentsEnd {
  if (!block.closed) return 'unclosed'
  return stop === 'length' && block === state.blocks.at(-1) ? 'length' : 'closed'
}

// ---- server tools ----------------------------------------------------------------------------------------

function hostedPart(state: State, block: Block, warnings: string[]): HostedPart[] {
  const data = nativeBlock(block)
  if (data === undefined) {
    warnings.push(`A block of the type "${printable(block.type, 80)}" came incomplete and was left out.`)
    return []
  }
  const summary = printable(summariseBlock(data), SUMMARY_CHARS)
  const native = { origin: state.origin, data }
  return [{ type: 'hosted', tool: hostedToolName(state, block), summary, native }]
}

function hostedToolName(state: State, block: Block): string {
  const answered = block.start['tool_use_id']
  const use = state.blocks.find(each => answered !== undefined && each.start['id'] === answered) ?? block
  const { name, server_name } = use.start
  if (typeof name !== 'string') return block.type.replace(/_tool_result$/, '')
  return typeof server_name === 'string' ? `${server_name}.${name}` : name
}

/** A line for people. The vendor gets the block itself. */
function summariseBlock(data: JsonObject): string {
  if (data['input'] !== undefined) return JSON.stringify(data['input'])
  const content = data['content']
  if (typeof content === 'string') return content
  if (Array.isArray(content)) return content.map(summariseItem).filter(Boolean).join('; ')
  return isJsonObject(content) ? summariseItem(content) : ''
}

function summariseItem(item: Json): string {
  if (!isJsonObject(item)) return ''
  for (const key of ['error_code', 'title', 'url', 'text', 'stdout', 'file_id', 'tool_name']) {
    const value = item[key]
    if (typeof value === 'string' && value !== '') return value
  }
  return asList(item['tool_references']).map(summariseItem).filter(Boolean).join(', ')
}
