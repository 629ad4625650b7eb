// Streams a finished Response as the events that led to it, in the vendor's order and numbered without gaps.
// Every event is derived from the response, so that added, done and completed agree on ids.
import { obfuscation } from '../openai/envelope.ts'
import { type Frame, jsonFrame, type StreamEvent, splitText, streamEvent } from '../script.ts'
import { asList, asRecords, isAbsent, type JsonRecord, shownText } from '../shape.ts'

type StreamOptions = {
  chunk?: number | undefined
  obfuscate: boolean
  queued: boolean
  /** The last call's arguments break off: neither they nor their item are ever declared done. */
  omitArgumentsDone: boolean
}

const event = (type: string, fields: JsonRecord, mark?: Frame['mark']): StreamEvent =>
  streamEvent(`response.${type}`, fields, mark)

export function streamResponse(response: JsonRecord, options: StreamOptions): Frame[] {
  const { chunk, obfuscate, queued, omitArgumentsDone } = options
  const shown = omitArgumentsDone ? withBrokenCall(response) : response
  const output = asRecords(shown['output'])
  const broken = omitArgumentsDone ? output.findLastIndex(isToolCall) : -1
  const { status } = shown
  const events = [
    event('created', { response: unfinished(shown, queued ? 'queued' : 'in_progress') }),
    ...(queued ? [event('queued', { response: unfinished(shown, 'queued') })] : []),
    event('in_progress', { response: unfinished(shown, 'in_progress') }),
    ...output.flatMap((item, at) => itemEvents(item, at, chunk, at === broken)),
    event(
      status === 'failed' || status === 'incomplete' ? status : 'completed',
      { response: shown },
      'terminal',
    ),
  ]
  return events.map(({ type, fields, mark }, sequence_number) => {
    const pad = obfuscate &&
      type.endsWith('.delta') && { obfuscation: obfuscation(`${type}${sequence_number}`) }
    return jsonFrame(type, { type, sequence_number, ...fields, ...pad }, mark)
  })
}

/** The response as it looks before it is finished. */
export function unfinished(response: JsonRecord, status: 'queued' | 'in_progress' | 'cancelled'): JsonRecord {
  const nothing = { usage: null, completed_at: null, error: null, incomplete_details: null }
  return { ...response, status, output: [], ...nothing }
}

const isToolCall = ({ type }: JsonRecord): boolean => type === 'function_call' || type === 'custom_tool_call'

function withBrokenCall(response: JsonRecord): JsonRecord {
  const output = asRecords(response['output'])
  const at = output.findLastIndex(isToolCall)
  const call = output[at]
  if (call === undefined) return response
  const field = call['type'] === 'function_call' ? 'arguments' : 'input'
  const text = shownText(call[field])
  const half = text.slice(0, Math.max(1, Math.floor(text.length / 2)))
  return { ...response, output: output.with(at, { ...call, [field]: half, status: 'in_progress' }) }
}

/** One output item from `added` to `done`. A broken one is never done. */
function itemEvents(
  item: JsonRecord,
  output_index: number,
  chunk: number | undefined,
  isBroken: boolean,
): StreamEvent[] {
  const content = contentEvents(item, { output_index, item_id: item['id'] }, chunk)
  const isCall = isToolCall(item) || item['type'] === 'mcp_call'
  const mark = isCall ? 'call-start' : undefined
  const added = event('output_item.added', { output_index, item: openingItem(item) }, mark)
  const isCut = item['status'] === 'incomplete' && isCall
  const shown = isBroken || isCut ? content.filter(({ type }) => type.endsWith('.delta')) : content
  return [added, ...shown, ...(isBroken ? [] : [event('output_item.done', { output_index, item })])]
}

/** The empty fields of an item when it is first shown. Later events bring the content. */
const OPENING_FIELDS: Record<string, JsonRecord> = {
  message: { content: [] },
  reasoning: { summary: [] },
  function_call: { arguments: '' },
  custom_tool_call: { input: '' },
  code_interpreter_call: { code: '', outputs: null },
  mcp_call: { arguments: '', output: null, error: null },
  mcp_list_tools: { tools: [] },
}

function openingItem(item: JsonRecord): JsonRecord {
  const { type, encrypted_content: token } = item
  // The encrypted content that `added` shows is not whole, and cannot be used.
  const half =
    typeof token === 'string' && type === 'reasoning' && token.slice(0, Math.ceil(token.length / 2))
  return {
    ...item,
    ...('status' in item && { status: 'in_progress' }),
    ...OPENING_FIELDS[shownText(type)],
    ...(half !== false && { encrypted_content: half }),
  }
}

/** The steps of hosted tools between their start and their end. */
const PROGRESS: Record<string, string[]> = {
  mcp_call: [],
  mcp_list_tools: [],
  code_interpreter_call: ['interpreting'],
  web_search_call: ['searching'],
  file_search_call: ['searching'],
  image_generation_call: ['generating'],
}

/** The events between `added` and `done` of one item. `place` names the item in each. */
function contentEvents(item: JsonRecord, place: JsonRecord, chunk: number | undefined): StreamEvent[] {
  const { name, arguments: args, input, code } = item
  const type = shownText(item['type'])
  const [start, ...rest] = progressEvents(item, type, place)
  switch (type) {
    case 'message':
      return asRecords(item['content']).flatMap((part, at) =>
        partEvents(part, { ...place, content_index: at }, chunk),
      )
    case 'reasoning':
      return reasoningEvents(item, place, chunk)
    case 'function_call':
      return textEvents('function_call_arguments', args, place, chunk, { name, arguments: args })
    case 'custom_tool_call':
      return textEvents('custom_tool_call_input', input, place, chunk, { input })
    case 'mcp_call':
      return [start!, ...textEvents('mcp_call_arguments', args, place, chunk, { arguments: args }), ...rest]
    case 'code_interpreter_call':
      return [start!, ...textEvents('code_interpreter_call_code', code, place, chunk, { code }), ...rest]
    default:
      return start === undefined ? [] : [start, ...rest]
  }
}

/** Only MCP items can end as failed. */
function progressEvents(item: JsonRecord, type: string, place: JsonRecord): StreamEvent[] {
  const between = PROGRESS[type]
  if (between === undefined) return []
  const isFailed = type.startsWith('mcp') && (item['status'] === 'failed' || !isAbsent(item['error']))
  const steps = ['in_progress', ...between, isFailed ? 'failed' : 'completed']
  return steps.map(step => event(`${type}.${step}`, { ...place }))
}

/** `….delta` for each piece, then one `….done` with the whole. */
function textEvents(
  type: string,
  text: unknown,
  place: JsonRecord,
  chunk: number | undefined,
  whole: JsonRecord,
): StreamEvent[] {
  const mark = /arguments|input/.test(type) ? 'arguments' : undefined
  const deltas = splitText(shownText(text), chunk).map(delta =>
    event(`${type}.delta`, { ...place, delta }, mark),
  )
  return [...deltas, event(`${type}.done`, { ...place, ...whole })]
}

function partEvents(part: JsonRecord, place: JsonRecord, chunk: number | undefined): StreamEvent[] {
  const isRefusal = part['type'] === 'refusal'
  const [type, field] = isRefusal ? ['refusal', 'refusal'] : ['output_text', 'text']
  const empty = isRefusal ? { ...part, refusal: '' } : { ...part, text: '', annotations: [] }
  const where = isRefusal ? place : { ...place, logprobs: [] }
  const written = textEvents(type, part[field], where, chunk, { [field]: part[field] })
  const notes = asList(part['annotations']).map((annotation, at) =>
    event('output_text.annotation.added', { ...place, annotation_index: at, annotation }),
  )
  return [
    event('content_part.added', { ...place, part: empty }),
    ...written.slice(0, -1),
    ...notes,
    ...written.slice(-1),
    event('content_part.done', { ...place, part }),
  ]
}

function reasoningEvents(item: JsonRecord, place: JsonRecord, chunk: number | undefined): StreamEvent[] {
  const summary = asRecords(item['summary']).flatMap((part, summary_index) => {
    const where = { ...place, summary_index }
    return [
      event('reasoning_summary_part.added', { ...where, part: { ...part, text: '' } }),
      ...textEvents('reasoning_summary_text', part['text'], where, chunk, { text: part['text'] }),
      event('reasoning_summary_part.done', { ...where, part }),
    ]
  })
  const content = asRecords(item['content']).flatMap(({ text }, content_index) =>
    textEvents('reasoning_text', text, { ...place, content_index }, chunk, { text }),
  )
  return [...summary, ...content]
}
