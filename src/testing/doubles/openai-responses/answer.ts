// Builds the Response object of a scripted turn: output items with ids and encrypted reasoning, the status, and every field
// that the real object has. The stream is derived from this object, in the vendor's order and numbered without gaps.
import { countTokens, obfuscation } from '../openai/envelope.ts'
import {
  type DoubleFrame,
  jsonFrame,
  type NeutralStop,
  readThinking,
  type ScriptedCall,
  type ScriptedTurn,
  type StreamEvent,
  scriptedStop,
  scriptedText,
  splitText,
  streamEvent,
} from '../script.ts'
import { mintId } from '../seal.ts'
import {
  asList,
  asRecord,
  asRecords,
  isAbsent,
  isRecord,
  type JsonRecord,
  shownText,
  wordList,
} from '../shape.ts'
import { type ResponsesMemory, sealReasoning } from './history.ts'
import { echoTools, findNamespace, idPrefix } from './items.ts'

type ResponsesContext = {
  turn: ScriptedTurn
  body: JsonRecord
  rawText: string
  memory: ResponsesMemory
  organisation: string | null
  /** The ids of this response are made from it. No other response has the same. */
  salt: string
}

const OWN_STOPS: Record<string, NeutralStop> = {
  completed: 'end',
  max_output_tokens: 'length',
  incomplete: 'length',
  content_filter: 'filter',
}

/** The response in its final state. A scripted `raw` object overrides fields; a raw list gives output items. */
export function buildResponse(context: ResponsesContext): JsonRecord {
  const { turn, body, salt, rawText } = context
  const stop = scriptedStop(turn, OWN_STOPS)
  const reason = stop === 'filter' ? 'content_filter' : 'max_output_tokens'
  const isIncomplete = stop === 'length' || stop === 'context' || stop === 'filter'
  const output = outputItems(context)
  const now = Math.floor(Date.now() / 1000)
  const response: JsonRecord = {
    id: mintId('resp_', 0, salt),
    object: 'response',
    created_at: now,
    completed_at: isIncomplete ? null : now,
    status: isIncomplete ? 'incomplete' : 'completed',
    error: null,
    incomplete_details: isIncomplete ? { reason } : null,
    output,
    usage: responsesUsage(turn, rawText),
    tool_usage: toolUsage(output),
    ...echoSettings(body),
  }
  // A raw object with a `type` is an output item; one without overrides fields of the response.
  if (!isRecord(turn.raw) || typeof turn.raw['type'] === 'string') return response
  const raw = turn.raw['output']
  const items = Array.isArray(raw) ? asRecords(raw).map((item, at) => finishItem(item, at, context)) : output
  return { ...response, ...turn.raw, output: items }
}

const ECHOED = wordList(`
  instructions max_output_tokens max_tool_calls previous_response_id prompt prompt_cache_key prompt_cache_retention
  safety_identifier user`)

/** The settings of the request, with the vendor's defaults, as the response repeats them. */
function echoSettings(body: JsonRecord): JsonRecord {
  const text = asRecord(body['text'])
  return {
    ...Object.fromEntries(ECHOED.map(name => [name, body[name] ?? null])),
    access_programs: null,
    background: body['background'] ?? false,
    conversation: null,
    metadata: body['metadata'] ?? {},
    model: body['model'] ?? 'unnamed',
    moderation: null,
    parallel_tool_calls: body['parallel_tool_calls'] ?? true,
    prompt_cache_options: { mode: 'implicit', ttl: '30m' },
    reasoning: { effort: null, summary: null, ...asRecord(body['reasoning']) },
    service_tier: 'default',
    store: body['store'] ?? true,
    temperature: body['temperature'] ?? 1,
    text: { verbosity: 'medium', ...text, format: text['format'] ?? { type: 'text' } },
    tool_choice: body['tool_choice'] ?? 'auto',
    tools: echoTools(body['tools']),
    top_logprobs: body['top_logprobs'] ?? 0,
    top_p: body['top_p'] ?? 1,
    truncation: body['truncation'] ?? 'disabled',
  }
}

function responsesUsage(turn: ScriptedTurn, rawText: string): JsonRecord {
  const counts = countTokens(turn, rawText)
  return {
    input_tokens: counts.input,
    input_tokens_details: { cached_tokens: counts.cached, cache_write_tokens: 0 },
    output_tokens: counts.output,
    output_tokens_details: { reasoning_tokens: counts.reasoning },
    total_tokens: counts.input + counts.output,
  }
}

function toolUsage(output: JsonRecord[]): JsonRecord {
  const none = { image_tokens: 0, text_tokens: 0 }
  return {
    image_gen: { input_tokens: 0, input_tokens_details: none, output_tokens: 0, total_tokens: 0 },
    web_search: { num_requests: output.filter(item => item['type'] === 'web_search_call').length },
  }
}

/** In the order in which the model makes them: thinking, items in the vendor's own shape, text, calls. */
function outputItems(context: ResponsesContext): JsonRecord[] {
  const { turn, body } = context
  const calls = turn.calls ?? []
  const thinking = readThinking(turn)
  const summary = thinking?.text ? [{ type: 'summary_text', text: thinking.text }] : []
  const items: JsonRecord[] = [
    ...(thinking === undefined ? [] : [{ type: 'reasoning', summary }]),
    ...rawItems(turn.native),
    ...rawItems(turn.raw),
    ...messageItems(turn, calls.length > 0),
    ...calls.map(call => callItem(call, body)),
  ]
  return items.map((item, at) => finishItem(item, at, context))
}

function rawItems(raw: unknown): JsonRecord[] {
  return isRecord(raw) && typeof raw['type'] === 'string' ? [raw] : asRecords(raw)
}

function messageItems(turn: ScriptedTurn, callsFollow: boolean): JsonRecord[] {
  const content: JsonRecord[] = []
  if (turn.text !== undefined) {
    content.push({ type: 'output_text', annotations: [], logprobs: [], text: turn.text })
  }
  if (turn.refusal !== undefined) content.push({ type: 'refusal', refusal: turn.refusal })
  if (content.length === 0) return []
  const phase = callsFollow ? 'commentary' : 'final_answer'
  return [{ type: 'message', status: 'completed', role: 'assistant', phase, content }]
}

function callItem(call: ScriptedCall, body: JsonRecord): JsonRecord {
  // Tools of the request itself, and those that items of the input brought along.
  const offered = [body, ...asRecords(body['input'])].flatMap(({ tools }) => asRecords(tools))
  const namespace = findNamespace(call.name, offered)
  return {
    type: call.custom ? 'custom_tool_call' : 'function_call',
    status: call.cut ? 'incomplete' : 'completed',
    ...(call.id !== undefined && { call_id: call.id }),
    name: call.name,
    ...(namespace !== undefined && { namespace }),
    [call.custom ? 'input' : 'arguments']: scriptedText(call),
  }
}

/** Gives an item its ids, and reasoning its encrypted content when the caller asked for that. */
function finishItem(item: JsonRecord, at: number, context: ResponsesContext): JsonRecord {
  const { salt, body, memory, organisation, turn } = context
  const type = shownText(item['type'])
  const id = typeof item['id'] === 'string' ? item['id'] : mintId(`${idPrefix(type)}_`, at, salt)
  const { id: _, type: __, ...rest } = item
  const named: JsonRecord = { id, type, ...rest }
  const isCall = /^(?:function|shell|local_shell|apply_patch|computer)_call$|^custom_tool_call$/.test(type)
  if (isCall && named['call_id'] === undefined) named['call_id'] = mintId('call_', at, salt)
  const isEncrypted = asList(body['include']).includes('reasoning.encrypted_content')
  if (type !== 'reasoning' || !isEncrypted) return named
  const scripted = item['encrypted_content'] ?? readThinking(turn)?.encrypted
  if (typeof scripted === 'string') memory.scriptedTokens.set(scripted, id)
  return { ...named, encrypted_content: scripted ?? sealReasoning(id, organisation) }
}

// ---- the stream ---------------------------------------------------------------------------------------------

type StreamOptions = {
  chunk?: number | undefined
  obfuscate: boolean
  queued: boolean
  /** The last call's arguments break off: neither they nor their item are ever declared done. */
  omitArgumentsDone: boolean
}

const event = (type: string, fields: JsonRecord, mark?: DoubleFrame['mark']): StreamEvent =>
  streamEvent(`response.${type}`, fields, mark)

export function streamResponse(response: JsonRecord, options: StreamOptions): DoubleFrame[] {
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
