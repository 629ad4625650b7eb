// Builds the Response object of a scripted turn: output items with ids and encrypted reasoning, the status, and every
// field that the real object has. `stream.ts` streams from this object.
import { countTokens } from '../openai/usage.ts'
import {
  type NeutralStop,
  type ScriptedCall,
  type ScriptedTurn,
  scriptedStop,
  scriptedText,
  thinkingOf,
} from '../script.ts'
import { mintId } from '../seal.ts'
import { asList, asRecord, asRecords, isRecord, type JsonRecord, shownText, wordList } from '../shape.ts'
import { type ResponsesMemory, sealReasoning } from './memory.ts'
import { idPrefix } from './messages.ts'
import { echoTools, namespaceOf } from './tools.ts'

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
  const thinking = thinkingOf(turn)
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
  const namespace = namespaceOf(call.name, offered)
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
  const scripted = item['encrypted_content'] ?? thinkingOf(turn)?.encrypted
  if (typeof scripted === 'string') memory.scriptedTokens.set(scripted, id)
  return { ...named, encrypted_content: scripted ?? sealReasoning(id, organisation) }
}
