/**
 * A scripted turn as a whole Response object: its output items with their ids and seals, its status, and
 * every field that the real object has. Streaming is made from this object in `responses-stream.ts`.
 */
import { isObject, type Json, textOf } from '../openai/refusals.ts'
import { countTokens } from '../openai/usage.ts'
import {
  argumentsText,
  type NeutralStop,
  type ScriptedCall,
  type ScriptedTurn,
  stopOf,
  thinkingOf,
} from '../script.ts'
import { mintId } from '../seal.ts'
import { type ResponsesMemory, sealReasoning } from './memory.ts'
import { echoTools, namespaceOf } from './tools.ts'

export type ResponsesContext = {
  turn: ScriptedTurn
  body: Json
  rawText: string
  memory: ResponsesMemory
  organisation: string | null
  /** What the ids of this response are made from; no other response has the same. */
  salt: string
  now: number
}

const OWN_STOPS: Record<string, NeutralStop> = {
  completed: 'end',
  max_output_tokens: 'length',
  incomplete: 'length',
  content_filter: 'filter',
}

const ID_PREFIXES: Record<string, string> = {
  message: 'msg_',
  reasoning: 'rs_',
  function_call: 'fc_',
  custom_tool_call: 'ctc_',
  web_search_call: 'ws_',
  file_search_call: 'fs_',
  code_interpreter_call: 'ci_',
  image_generation_call: 'ig_',
  computer_call: 'cu_',
  mcp_list_tools: 'mcpl_',
  mcp_approval_request: 'mcpr_',
  mcp_call: 'mcp_',
  tool_search_call: 'tsc_',
  tool_search_output: 'tso_',
  program: 'prog_',
  program_output: 'prout_',
}

/** The response in its final state. A scripted `raw` object overrides fields; a raw list gives output items. */
export function answerResponses(context: ResponsesContext): Json {
  const { turn, body, salt, now } = context
  const stop = stopOf(turn, OWN_STOPS)
  const reason = stop === 'filter' ? 'content_filter' : 'max_output_tokens'
  const incomplete = stop === 'length' || stop === 'context' || stop === 'filter'
  const output = outputItems(context)
  const made: Json = {
    id: mintId('resp_', 0, salt),
    object: 'response',
    created_at: now,
    completed_at: incomplete ? null : now,
    status: incomplete ? 'incomplete' : 'completed',
    error: null,
    incomplete_details: incomplete ? { reason } : null,
    output,
    usage: usageOf(context),
    tool_usage: toolUsageOf(output),
    ...settingsOf(body),
  }
  const override = wholeResponse(turn.raw)
  return override === null ? made : { ...made, ...override, output: withIds(override, made, context) }
}

/** What the response says back of the request, with the defaults filled in. */
function settingsOf(body: Json): Json {
  const reasoning = isObject(body['reasoning']) ? body['reasoning'] : {}
  const text = isObject(body['text']) ? body['text'] : {}
  return {
    access_programs: null,
    background: body['background'] ?? false,
    conversation: null,
    instructions: body['instructions'] ?? null,
    max_output_tokens: body['max_output_tokens'] ?? null,
    max_tool_calls: body['max_tool_calls'] ?? null,
    metadata: body['metadata'] ?? {},
    model: body['model'] ?? 'unnamed',
    moderation: null,
    parallel_tool_calls: body['parallel_tool_calls'] ?? true,
    previous_response_id: body['previous_response_id'] ?? null,
    prompt: body['prompt'] ?? null,
    prompt_cache_key: body['prompt_cache_key'] ?? null,
    prompt_cache_options: { mode: 'implicit', ttl: '30m' },
    prompt_cache_retention: body['prompt_cache_retention'] ?? null,
    reasoning: { effort: null, summary: null, ...reasoning },
    safety_identifier: body['safety_identifier'] ?? null,
    service_tier: 'default',
    store: body['store'] ?? true,
    temperature: body['temperature'] ?? 1,
    text: { verbosity: 'medium', ...text, format: text['format'] ?? { type: 'text' } },
    tool_choice: body['tool_choice'] ?? 'auto',
    tools: echoTools(body['tools']),
    top_logprobs: body['top_logprobs'] ?? 0,
    top_p: body['top_p'] ?? 1,
    truncation: body['truncation'] ?? 'disabled',
    user: body['user'] ?? null,
  }
}

function usageOf({ turn, rawText }: ResponsesContext): Json {
  const counts = countTokens(turn, rawText)
  return {
    input_tokens: counts.input,
    input_tokens_details: { cached_tokens: counts.cached, cache_write_tokens: 0 },
    output_tokens: counts.output,
    output_tokens_details: { reasoning_tokens: counts.reasoning },
    total_tokens: counts.input + counts.output,
  }
}

function toolUsageOf(output: Json[]): Json {
  const none = { image_tokens: 0, text_tokens: 0 }
  return {
    image_gen: { input_tokens: 0, input_tokens_details: none, output_tokens: 0, total_tokens: 0 },
    web_search: { num_requests: output.filter(item => item['type'] === 'web_search_call').length },
  }
}

/** Thinking, then items in the vendor's own shape, then text, then calls: the order in which the model says things. */
function outputItems(context: ResponsesContext): Json[] {
  const { turn } = context
  const calls = turn.calls ?? []
  const items: Json[] = [
    ...(turn.thinking === undefined ? [] : [{ type: 'reasoning', summary: summaryOf(turn) }]),
    ...rawItems(turn.native),
    ...rawItems(turn.raw),
    ...messageItems(turn, calls.length > 0),
    ...calls.map(call => callItem(call, context)),
  ]
  return items.map((item, at) => finished(item, at, context))
}

function summaryOf(turn: ScriptedTurn): Json[] {
  const text = thinkingOf(turn)?.text ?? ''
  return text === '' ? [] : [{ type: 'summary_text', text }]
}

function messageItems(turn: ScriptedTurn, callsFollow: boolean): Json[] {
  const content: Json[] = []
  if (turn.text !== undefined) {
    content.push({ type: 'output_text', annotations: [], logprobs: [], text: turn.text })
  }
  if (turn.refusal !== undefined) content.push({ type: 'refusal', refusal: turn.refusal })
  if (content.length === 0) return []
  const phase = callsFollow ? 'commentary' : 'final_answer'
  return [{ type: 'message', status: 'completed', role: 'assistant', phase, content }]
}

function callItem(call: ScriptedCall, { body }: ResponsesContext): Json {
  const namespace = namespaceOf(call.name, offeredTools(body))
  const status = call.cut === true ? 'incomplete' : 'completed'
  const shared = { status, ...(call.id === undefined ? {} : { call_id: call.id }), name: call.name }
  const owner = namespace === undefined ? {} : { namespace }
  return call.custom === true
    ? { type: 'custom_tool_call', ...shared, ...owner, input: argumentsText(call) }
    : { type: 'function_call', ...shared, ...owner, arguments: argumentsText(call) }
}

/** Tools of the request itself, and those that the conversation brought in later. */
function offeredTools(body: Json): Json[] {
  const input: unknown[] = Array.isArray(body['input']) ? body['input'] : []
  const lists = [body['tools'], ...input.map(item => (isObject(item) ? item['tools'] : undefined))]
  return lists.flatMap(list => (Array.isArray(list) ? list.filter(isObject) : []))
}

/** Gives an item its ids, and reasoning its encrypted content when the caller asked for that. */
function finished(item: Json, at: number, context: ResponsesContext): Json {
  const { salt, body, memory, organisation, turn } = context
  const type = textOf(item['type'])
  const id = typeof item['id'] === 'string' ? item['id'] : mintId(ID_PREFIXES[type] ?? 'item_', at, salt)
  const { id: _, type: __, ...rest } = item
  const named: Json = { id, type, ...rest }
  const isCall = type === 'function_call' || type === 'custom_tool_call'
  if (isCall && named['call_id'] === undefined) named['call_id'] = mintId('call_', at, salt)
  const include: unknown[] = Array.isArray(body['include']) ? body['include'] : []
  if (type !== 'reasoning' || !include.includes('reasoning.encrypted_content')) return named
  const scripted = item['encrypted_content'] ?? thinkingOf(turn)?.encrypted
  if (typeof scripted === 'string') memory.scriptedTokens.set(scripted, id)
  named['encrypted_content'] = scripted ?? sealReasoning(id, organisation)
  return named
}

function withIds(override: Json, made: Json, context: ResponsesContext): unknown {
  const output = override['output']
  if (!Array.isArray(output)) return made['output']
  return output.filter(isObject).map((item, at) => finished(item, at, context))
}

/** A raw object that is a response (or fields of one), as against an output item, which has another type. */
function wholeResponse(raw: unknown): Json | null {
  return isObject(raw) && typeof raw['type'] !== 'string' ? raw : null
}

function rawItems(raw: unknown): Json[] {
  if (Array.isArray(raw)) return raw.filter(isObject)
  return isObject(raw) && typeof raw['type'] === 'string' ? [raw] : []
}
