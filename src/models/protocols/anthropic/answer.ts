// The whole answer of Anthropic Messages once its stream has ended: parts, the reason it stopped, what it cost, and
// what the vendor wants back. The fold that leads here is in anthropic-decode.ts.

import type { ModelAnswer, ModelCall } from '../../../engine/ports.ts'
import type { HostedPart, TextPart, ThinkingPart } from '../../../language/content.ts'
import type { Usage } from '../../../language/events.ts'
import { isJsonObject, type Json, type JsonObject } from '../../../lib/json.ts'
import { printable } from '../../../lib/text.ts'
import { type ArgumentsEnd, isCut } from '../../common/truncated.ts'
import type { Failure } from '../../protocol.ts'
import { type Block, ownBlock, type State } from './decode.ts'

type Stop = ModelAnswer['stop']
type Part = ModelAnswer['parts'][number]

/** `compaction`: the server has summed up the conversation and waits to be asked again, like a paused turn. */
const STOPS: Readonly<Record<string, Stop>> = {
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

export function haltAnswer(state: State): { answer: ModelAnswer } | { failure: Failure } {
  if (state.failure) return { failure: state.failure }
  if (!state.done) {
    const message = 'Anthropic closed the stream before the answer was whole.'
    return { failure: { code: 'model_failed', message, retry: true } }
  }
  const warnings: string[] = []
  const reason = typeof state.stop['stop_reason'] === 'string' ? state.stop['stop_reason'] : ''
  const told = STOPS[reason]
  if (told === undefined) warnings.push(`The model stopped for an unknown reason: ${printable(reason, 80)}.`)
  const parts = state.blocks.flatMap(block => partOf(state, block, told, warnings))
  const hasCalls = parts.some(part => part.type === 'call')
  const usage = usageOf(state.usage)
  return {
    answer: {
      parts,
      stop: stopOf(told, hasCalls),
      origin: state.origin,
      ...(usage && { usage }),
      ...(state.container && { continuity: { origin: state.origin, data: { container: state.container } } }),
      ...warned([...warnings, ...refusalWords(state.stop)]),
    },
  }
}

const warned = (warnings: string[]): { warnings?: string[] } => (warnings.length > 0 ? { warnings } : {})

/** Calls decide: an answer with calls waits for results, and one without never does, whatever it says. */
function stopOf(told: Stop | undefined, hasCalls: boolean): Stop {
  if (hasCalls) return told === 'length' ? 'length' : 'calls'
  return told === undefined || told === 'calls' ? 'end' : told
}

function refusalWords(stop: JsonObject): string[] {
  const details = stop['stop_details']
  if (!isJsonObject(details) || typeof details['explanation'] !== 'string') return []
  return [`The model refused: ${printable(details['explanation'], SUMMARY_CHARS)}`]
}

// ---- parts -----------------------------------------------------------------------------------------------

function partOf(state: State, block: Block, stop: Stop | undefined, warnings: string[]): Part[] {
  switch (block.type) {
    case 'text':
      return block.text === '' ? [] : [textPart(state, block)]
    case 'thinking':
    case 'redacted_thinking':
      return thinkingPart(state, block)
    case 'tool_use':
      return callPart(state, block, stop, warnings)
    default:
      return hostedPart(state, block, warnings)
  }
}

/** Citations hold encrypted places that the vendor wants back with the text. */
function textPart(state: State, block: Block): TextPart {
  if (block.citations.length === 0) return { type: 'text', text: block.text }
  const native = { origin: state.origin, data: { citations: block.citations } }
  return { type: 'text', text: block.text, native }
}

function thinkingPart(state: State, block: Block): ThinkingPart[] {
  const { text } = block
  const data = ownBlock(block)
  if (data === undefined) return text === '' ? [] : [{ type: 'thinking', text }]
  return [{ type: 'thinking', text, native: { origin: state.origin, data } }]
}

function callPart(state: State, block: Block, stop: Stop | undefined, warnings: string[]): ModelCall[] {
  const { call } = block
  if (call === undefined) return []
  if (stop === 'refusal') {
    warnings.push(
      `The call of "${printable(call.name, 128)}" was dropped: the model refused while making it.`,
    )
    return []
  }
  const { id, caller, toolset_name } = block.start
  const data: JsonObject = {}
  if (caller !== undefined && caller !== null) data['caller'] = caller
  if (toolset_name !== undefined && toolset_name !== null) data['toolset_name'] = toolset_name
  return [
    {
      type: 'call',
      name: call.name,
      form: call.form,
      text: call.shown,
      ...(isCut({ form: call.form, text: block.text }, endOf(state, block, stop)) && { cut: true as const }),
      ...(typeof id === 'string' && id !== '' && { nativeId: id }),
      ...(Object.keys(data).length > 0 && { native: { origin: state.origin, data } }),
    },
  ]
}

/** The server closes the last block also when it ran out of tokens inside it; the reason to stop tells them apart. */
function endOf(state: State, block: Block, stop: Stop | undefined): ArgumentsEnd {
  if (!block.closed) return 'unclosed'
  const isLast = block === state.blocks.at(-1)
  return stop === 'length' && isLast && block.call?.unwrapped !== true ? 'length' : 'closed'
}

function hostedPart(state: State, block: Block, warnings: string[]): HostedPart[] {
  const tool = hostedName(state, block)
  const data = ownBlock(block)
  if (data === undefined) {
    warnings.push(`A block of the type "${printable(block.type, 80)}" came incomplete and was left out.`)
    return []
  }
  const summary = printable(summaryOf(data), SUMMARY_CHARS)
  return [{ type: 'hosted', tool, summary, native: { origin: state.origin, data } }]
}

function hostedName(state: State, block: Block): string {
  const asked = block.start['tool_use_id']
  const use = state.blocks.find(each => asked !== undefined && each.start['id'] === asked) ?? block
  const { name, server_name } = use.start
  if (typeof name !== 'string') return block.type.replace(/_tool_result$/, '')
  return typeof server_name === 'string' ? `${server_name}.${name}` : name
}

/** A line for people. The vendor gets the block itself. */
function summaryOf(data: JsonObject): string {
  if (data['input'] !== undefined) return JSON.stringify(data['input'])
  const content = data['content']
  if (typeof content === 'string') return content
  if (Array.isArray(content)) return content.map(itemWords).filter(Boolean).join('; ')
  return isJsonObject(content) ? itemWords(content) : ''
}

function itemWords(item: Json): string {
  if (!isJsonObject(item)) return ''
  for (const key of ['error_code', 'title', 'url', 'text', 'stdout', 'file_id', 'tool_name']) {
    const value = item[key]
    if (typeof value === 'string' && value !== '') return value
  }
  const references = item['tool_references']
  return Array.isArray(references) ? references.map(itemWords).filter(Boolean).join(', ') : ''
}

// ---- usage -----------------------------------------------------------------------------------------------

/** The vendor counts cached input apart; `input` is all that was read, of which `cacheRead` and `cacheWrite` are parts. */
function usageOf(usage: JsonObject): Usage | undefined {
  const count = (key: string): number => (typeof usage[key] === 'number' ? usage[key] : 0)
  if (usage['input_tokens'] === undefined && usage['output_tokens'] === undefined) return undefined
  const cacheRead = count('cache_read_input_tokens')
  const cacheWrite = count('cache_creation_input_tokens')
  const details = usage['output_tokens_details']
  const thinking = isJsonObject(details) ? details['thinking_tokens'] : undefined
  return {
    input: count('input_tokens') + cacheRead + cacheWrite,
    output: count('output_tokens'),
    ...(cacheRead > 0 && { cacheRead }),
    ...(cacheWrite > 0 && { cacheWrite }),
    ...(typeof thinking === 'number' && { thinking }),
  }
}
