/**
 * A finished Response as the stream of events that led to it, in the vendor's order and numbered without
 * gaps. Everything is derived from the response, so that added, done and completed always agree on ids.
 */

import { isObject, type Json, textOf } from '../openai/refusals.ts'
import { padding } from '../openai-chat/answer.ts'
import { type Frame, pieces } from '../script.ts'
import { outputOf } from './memory.ts'

export type StreamOptions = {
  chunk?: number | undefined
  obfuscate: boolean
  queued: boolean
  /** The last call's arguments break off: neither they nor their item are ever declared done. */
  omitArgumentsDone: boolean
}

type Mark = NonNullable<Frame['mark']>
type Event = { type: string; fields: Json; mark?: Mark }

const event = (type: string, fields: Json, mark?: Mark): Event =>
  mark === undefined ? { type, fields } : { type, fields, mark }

export function streamResponse(response: Json, options: StreamOptions): Frame[] {
  const shown = options.omitArgumentsDone ? withBrokenCall(response) : response
  const output = outputOf(shown)
  const broken = options.omitArgumentsDone ? lastCallAt(output) : -1
  const events = [
    event('response.created', { response: inProgress(shown, options.queued ? 'queued' : 'in_progress') }),
    ...(options.queued ? [event('response.queued', { response: inProgress(shown, 'queued') })] : []),
    event('response.in_progress', { response: inProgress(shown, 'in_progress') }),
    ...output.flatMap((item, at) => itemEvents(item, at, options.chunk, at === broken)),
    event(terminalType(shown), { response: shown }, 'terminal'),
  ]
  return events.map((one, sequence) => frameOf(one, sequence, options.obfuscate))
}

function frameOf({ type, fields, mark }: Event, sequence: number, obfuscate: boolean): Frame {
  const pad = obfuscate && type.endsWith('.delta') ? { obfuscation: padding(`${type}${sequence}`) } : {}
  const data = JSON.stringify({ type, sequence_number: sequence, ...fields, ...pad })
  return mark === undefined ? { event: type, data } : { event: type, data, mark }
}

export function inProgress(response: Json, status: 'queued' | 'in_progress' | 'cancelled'): Json {
  return {
    ...response,
    status,
    output: [],
    usage: null,
    completed_at: null,
    error: null,
    incomplete_details: null,
  }
}

function terminalType(response: Json): string {
  const status = response['status']
  return status === 'failed' || status === 'incomplete' ? `response.${status}` : 'response.completed'
}

function lastCallAt(output: Json[]): number {
  return output.findLastIndex(item => item['type'] === 'function_call' || item['type'] === 'custom_tool_call')
}

function withBrokenCall(response: Json): Json {
  const output = outputOf(response)
  const at = lastCallAt(output)
  const call = output[at]
  if (call === undefined) return response
  const field = call['type'] === 'function_call' ? 'arguments' : 'input'
  const text = textOf(call[field])
  const half = text.slice(0, Math.max(1, Math.floor(text.length / 2)))
  return { ...response, output: output.with(at, { ...call, [field]: half, status: 'in_progress' }) }
}

/** One output item from `added` to `done`; a broken one never gets there. */
function itemEvents(item: Json, at: number, chunk: number | undefined, broken: boolean): Event[] {
  const place = { output_index: at, item_id: item['id'] }
  const inside = bodyEvents(item, place, chunk)
  const isCall = ['function_call', 'custom_tool_call', 'mcp_call'].includes(textOf(item['type']))
  const added = event(
    'response.output_item.added',
    { output_index: at, item: opening(item) },
    isCall ? 'call-start' : undefined,
  )
  const cut = item['status'] === 'incomplete' && isCall
  const shown = broken || cut ? inside.filter(one => one.type.endsWith('.delta')) : inside
  if (broken) return [added, ...shown]
  return [added, ...shown, event('response.output_item.done', { output_index: at, item })]
}

/** The item as it is first shown: open, without the text that the next events bring. */
function opening(item: Json): Json {
  const status = 'status' in item ? { status: 'in_progress' } : {}
  switch (item['type']) {
    case 'message':
      return { ...item, ...status, content: [] }
    case 'reasoning':
      return { ...item, ...status, summary: [], ...partialSeal(item['encrypted_content']) }
    case 'function_call':
      return { ...item, ...status, arguments: '' }
    case 'custom_tool_call':
      return { ...item, ...status, input: '' }
    case 'code_interpreter_call':
      return { ...item, ...status, code: '', outputs: null }
    case 'mcp_call':
      return { ...item, ...status, arguments: '', output: null, error: null }
    case 'mcp_list_tools':
      return { ...item, ...status, tools: [] }
    default:
      return { ...item, ...status }
  }
}

/** what `added` shows of encrypted content is not whole, and cannot be used. */
function partialSeal(token: unknown): Json {
  return typeof token === 'string' ? { encrypted_content: token.slice(0, Math.ceil(token.length / 2)) } : {}
}

type Place = { output_index: number; item_id: unknown }

function bodyEvents(item: Json, place: Place, chunk: number | undefined): Event[] {
  switch (item['type']) {
    case 'message':
      return contentOf(item).flatMap((part, at) => partEvents(part, { ...place, content_index: at }, chunk))
    case 'reasoning':
      return reasoningEvents(item, place, chunk)
    case 'function_call':
      return textEvents('response.function_call_arguments', item['arguments'], place, chunk, {
        name: item['name'],
        arguments: item['arguments'],
      })
    case 'custom_tool_call':
      return textEvents('response.custom_tool_call_input', item['input'], place, chunk, {
        input: item['input'],
      })
    case 'mcp_call':
      return mcpCallEvents(item, place, chunk)
    case 'mcp_list_tools':
      return hostedEvents('mcp_list_tools', place, [], failed(item))
    case 'web_search_call':
    case 'file_search_call':
      return hostedEvents(textOf(item['type']), place, ['searching'], failed(item))
    case 'image_generation_call':
      return hostedEvents('image_generation_call', place, ['generating'], failed(item))
    case 'code_interpreter_call':
      return codeEvents(item, place, chunk)
    default:
      return []
  }
}

/** `….delta` for each piece, then one `….done` with the whole. */
function textEvents(
  type: string,
  text: unknown,
  place: Json,
  chunk: number | undefined,
  whole: Json,
): Event[] {
  const isArguments = /arguments|input/.test(type)
  const deltas = pieces(textOf(text), chunk).map(delta =>
    event(`${type}.delta`, { ...place, delta }, isArguments ? 'arguments' : undefined),
  )
  return [...deltas, event(`${type}.done`, { ...place, ...whole })]
}

function contentOf(item: Json): Json[] {
  return Array.isArray(item['content']) ? item['content'].filter(isObject) : []
}

function partEvents(part: Json, place: Json, chunk: number | undefined): Event[] {
  const isRefusal = part['type'] === 'refusal'
  const field = isRefusal ? 'refusal' : 'text'
  const empty = isRefusal ? { ...part, refusal: '' } : { ...part, text: '', annotations: [] }
  const extra = isRefusal ? {} : { logprobs: [] }
  const type = isRefusal ? 'response.refusal' : 'response.output_text'
  const annotations: unknown[] = Array.isArray(part['annotations']) ? part['annotations'] : []
  const said = textEvents(type, part[field], { ...place, ...extra }, chunk, { [field]: part[field] })
  const notes = annotations.map((annotation, at) =>
    event('response.output_text.annotation.added', { ...place, annotation_index: at, annotation }),
  )
  return [
    event('response.content_part.added', { ...place, part: empty }),
    ...said.slice(0, -1),
    ...notes,
    ...said.slice(-1),
    event('response.content_part.done', { ...place, part }),
  ]
}

function reasoningEvents(item: Json, place: Place, chunk: number | undefined): Event[] {
  const summary: Json[] = Array.isArray(item['summary']) ? item['summary'].filter(isObject) : []
  const shown = summary.flatMap((part, at) => {
    const where = { ...place, summary_index: at }
    return [
      event('response.reasoning_summary_part.added', { ...where, part: { ...part, text: '' } }),
      ...textEvents('response.reasoning_summary_text', part['text'], where, chunk, { text: part['text'] }),
      event('response.reasoning_summary_part.done', { ...where, part }),
    ]
  })
  const raw = contentOf(item).flatMap((part, at) =>
    textEvents('response.reasoning_text', part['text'], { ...place, content_index: at }, chunk, {
      text: part['text'],
    }),
  )
  return [...shown, ...raw]
}

function failed(item: Json): boolean {
  return item['status'] === 'failed' || (item['error'] !== undefined && item['error'] !== null)
}

function hostedEvents(type: string, place: Place, between: string[], isFailed: boolean): Event[] {
  const canFail = type.startsWith('mcp')
  const steps = ['in_progress', ...between, isFailed && canFail ? 'failed' : 'completed']
  return steps.map(step => event(`response.${type}.${step}`, { ...place }))
}

function mcpCallEvents(item: Json, place: Place, chunk: number | undefined): Event[] {
  const text = item['arguments']
  const [start, end] = hostedEvents('mcp_call', place, [], failed(item))
  const written = textEvents('response.mcp_call_arguments', text, place, chunk, { arguments: text })
  return [start!, ...written, end!]
}

function codeEvents(item: Json, place: Place, chunk: number | undefined): Event[] {
  const code = item['code']
  const [start, middle, end] = hostedEvents('code_interpreter_call', place, ['interpreting'], false)
  const written = textEvents('response.code_interpreter_call_code', code, place, chunk, { code })
  return [start!, ...written, middle!, end!]
}
