// A request body, into what is asked of the engine. Every field is checked for its type, and fields that the API does not
// know are refused. Fields that only a vendor of this same protocol understands are carried to it as they are.

import {
  exclusiveParameters,
  missingParameter,
  noSuchAgent,
  refuseParameter,
  wrongParameterType,
} from '../../apis/openai/refusal.ts'
import type { AgentInfo } from '../../engine/index.ts'
import type { Ask } from '../../language/events.ts'
import type { AnswerFormat } from '../../language/format.ts'
import type { ToolDeclaration } from '../../language/tools.ts'
import { excerpt, isAbsent, names, optional } from '../../lib/json/fields.ts'
import { isJsonObject, type Json, type JsonObject } from '../../lib/json/index.ts'
import type { ServedDescription } from '../host.ts'
import { adviceFor, findTarget, ifObject, modelInfo, openaiFormat, targetFor } from '../stateless/index.ts'
import { type DeclaredTools, decodeChoice, decodeTools, programsTool } from './decode-tools.ts'
import { field, noSuchModel, unsupportedParameter } from './wordings.ts'

export const wireName = 'responses'
export const protocol = 'openai-responses'

/** The agents and models that a request may name, and the defaults for requests. */
type ResponsesCatalog = Pick<ServedDescription, 'agents' | 'models' | 'anyModel' | 'storesResponses'>

/** `serverTools`: the agents whose own tools may run in stored responses. The host has both. */
type Offers = { about: ResponsesCatalog; serverTools: ReadonlySet<string> }

export type ResponsesRequest = {
  agent: AgentInfo
  /** A configured model, in place of the agent's own. */
  model?: string
  clientTools: ToolDeclaration[]
  ask: Ask
  input: string | Json[] | undefined
  stream: boolean
  /** The response is kept: the request does not forbid it, or needs it. */
  stored: boolean
  /** The request says that the response is to be kept, so it goes on without its client. */
  goesOn: boolean
  background: boolean
  previous: string | undefined
  conversation: string | undefined
  /** The client carries the vendor data that the next request sends back. */
  carriesSealed: boolean
  /** Further fields of the request that the response repeats. */
  note: JsonObject
  /** The answer is to be a summary of the conversation, which the client sends in place of it from then on. */
  compacts: boolean
}

/** Checked, then carried to a vendor of this protocol. */
const carried: Readonly<Record<string, (value: Json, path: string) => Json>> = {
  temperature: field.number,
  top_p: field.number,
  top_logprobs: field.number,
  presence_penalty: field.number,
  frequency_penalty: field.number,
  truncation: (value, path) => field.oneOf(value, path, ['auto', 'disabled']),
  reasoning: field.object,
  text: decodeText,
  metadata: decodeMetadata,
  max_tool_calls: field.count,
  service_tier: field.text,
  safety_identifier: field.text,
  prompt_cache_key: field.text,
  prompt_cache_retention: field.text,
  prompt_cache_options: field.object,
  user: field.text,
  context_management: decodeManagement,
}

/** Parameters of known clients that are not the API's own. They change nothing, and are not repeated. */
const ignored = names('client_metadata')

const known = new Set([
  ...ignored,
  ...names(
    'model input instructions tools tool_choice parallel_tool_calls max_output_tokens stream stream_options store background previous_response_id conversation include agent_id routing',
  ),
  ...Object.keys(carried),
])

const unsupported = names('prompt moderation image access_programs')

/** Parameters of other APIs, and where this API has them. */
const moved: ReadonlyMap<string, string> = new Map([
  ['max_tokens', 'max_output_tokens'],
  ['max_completion_tokens', 'max_output_tokens'],
  ['messages', 'input'],
  ['response_format', 'text.format'],
  ['reasoning_effort', 'reasoning.effort'],
  ['functions', 'tools'],
  ['function_call', 'tool_choice'],
])

const includable = [
  'file_search_call.results',
  'web_search_call.results',
  'web_search_call.action.sources',
  'message.input_image.image_url',
  'computer_call_output.output.image_url',
  'code_interpreter_call.outputs',
  'reasoning.encrypted_content',
  'message.output_text.logprobs',
] as const

/** `routed`: the agent that the path names. `mayBeEmpty`: the request needs no input. */
export function decodeRequest(
  { about, serverTools }: Offers,
  given: JsonObject,
  routed: string | undefined,
  mayBeEmpty = false,
): ResponsesRequest {
  checkNames(given)
  const body = withUpdates(given)
  const { agent, model, shown } = decodeTarget(about, body, routed)
  const { origin } = (model === undefined ? agent.model : modelInfo(about, model)) ?? {}
  const isVendors = origin?.protocol === protocol
  if (!isVendors) refuseManagement(body['context_management'], shown)
  const state = decodeState(body, about.storesResponses)
  const include = decodeInclude(body['include'])
  optional(body['stream_options'], 'stream_options', field.object)
  const declared = decodeTools(body['tools'], body['input'])
  const { called, namespaces } = declared
  const { clientTools, hosted } = withPrograms(declared, isVendors)
  const isServer = state.stored && serverTools.has(agent.name)
  const offered = isServer ? agent.tools.filter(({ trust }) => trust !== 'deny') : []
  return {
    agent,
    ...(model !== undefined && { model }),
    clientTools,
    ask: {
      ...decodeAsk(body, clientTools, offered, include),
      ...(declared.vendorSearch && { vendorSearch: true }),
      ...hosted,
      ...(!isServer && { clientOnly: true as const }),
    },
    ...splitTrigger(decodeInput(body['input'], state, mayBeEmpty)),
    stream: optional(body['stream'], 'stream', field.flag) ?? false,
    ...state,
    carriesSealed: include.includes('reasoning.encrypted_content'),
    note: {
      model: shown,
      ...(state.background && { background: true }),
      ...(state.previous !== undefined && { previous: state.previous }),
      ...(state.conversation !== undefined && { conversation: state.conversation }),
      ...(Object.keys(called).length > 0 && { called, namespaces }),
      ...(isVendors && { carried: true }),
    },
  }
}

/**
 * A model of this vendor writes programs that call the client's tools. Any other calls them itself, which comes to the same.
 */
function withPrograms(
  { tools, programs }: DeclaredTools,
  isVendors: boolean,
): { clientTools: ToolDeclaration[]; hosted?: Pick<Ask, 'hosted'> } {
  if (!programs || !isVendors) return { clientTools: tools }
  const clientTools = tools.map(tool => {
    const allowed_callers = programs.callers.get(tool.name)
    return allowed_callers ? { ...tool, fields: { [protocol]: { allowed_callers } } } : tool
  })
  return { clientTools, hosted: { hosted: { [protocol]: [{ type: programsTool }] } } }
}

const updateFields = names('type id reasoning text')

/** Items of the input may change how the model answers. Each setting holds until a later item replaces it. */
function withUpdates(body: JsonObject): JsonObject {
  const input = Array.isArray(body['input']) ? body['input'] : []
  let whole = body
  for (const [index, item] of input.entries()) {
    if (!isJsonObject(item) || item['type'] !== 'configuration_update') continue
    const path = `input[${index}]`
    field.onlyKnown(item, updateFields, path)
    const reasoning = optional(item['reasoning'], `${path}.reasoning`, field.object)
    const text = optional(item['text'], `${path}.text`, decodeText)
    whole = {
      ...whole,
      ...(reasoning && { reasoning: { ...ifObject(whole['reasoning']), ...reasoning } }),
      ...(text && { text: { ...ifObject(whole['text']), ...ifObject(text) } }),
    }
  }
  return whole
}

/** A last item that asks for a summary is no part of the conversation. */
function splitTrigger(input: ResponsesRequest['input']): Pick<ResponsesRequest, 'input' | 'compacts'> {
  const last = Array.isArray(input) ? input.at(-1) : undefined
  if (!Array.isArray(input) || !isJsonObject(last) || last['type'] !== 'compaction_trigger')
    return { input, compacts: false }
  return { input: input.slice(0, -1), compacts: true }
}

function checkNames(body: JsonObject): void {
  for (const name in body) {
    const place = moved.get(name)
    if (place !== undefined)
      unsupportedParameter(name, ` In the Responses API, this parameter has moved to '${place}'.`)
    if (unsupported.has(name))
      refuseParameter(
        `Unsupported parameter: '${name}' is not supported by this server.`,
        name,
        'unsupported_parameter',
      )
  }
  field.onlyKnown(body, known, '')
}

// ---- the agent and the model ---------------------------------------------------------------------------------

/** `shown`: the name that the response gives as its model. */
type RequestTarget = { agent: AgentInfo; model?: string; shown: string }

function decodeTarget(
  catalog: ResponsesCatalog,
  body: JsonObject,
  routed: string | undefined,
): RequestTarget {
  const agentId = optional(body['agent_id'], 'agent_id', field.text)
  const routing = optional(body['routing'], 'routing', (value, path) =>
    field.oneOf(value, path, ['cheapest', 'fastest']),
  )
  if (agentId !== undefined && routing !== undefined) exclusiveParameters('agent_id', 'routing')
  const name = routed ?? agentId
  const asked = optional(body['model'], 'model', field.text)
  if (name === undefined) {
    if (asked === undefined) throw missingParameter('model')
    return targetByModel(catalog, asked)
  }
  const agent = catalog.agents.find(each => each.name === name)
  if (!agent) throw noSuchAgent(name)
  // A request that names its agent may give any model. A name that is not configured leaves the agent its own model.
  return asked !== undefined && Object.hasOwn(catalog.models, asked)
    ? { agent, model: asked, shown: asked }
    : { agent, shown: agent.name }
}

function targetByModel(catalog: ResponsesCatalog, asked: string): RequestTarget {
  const [first] = catalog.agents
  const isAny = (asked === 'auto' || asked === 'default') && !findTarget(catalog, asked)
  if (first && isAny) return { agent: first, shown: first.name }
  const found = targetFor(catalog, asked)
  if (found) return { ...found.request, agent: found.agent, shown: asked }
  throw noSuchModel(asked, adviceFor(catalog))
}

// ---- the response or conversation that it continues ------------------------------------------------------------

type ContinuedState = Pick<ResponsesRequest, 'stored' | 'goesOn' | 'background' | 'previous' | 'conversation'>

function decodeState(body: JsonObject, byDefault = true): ContinuedState {
  const previous = optional(body['previous_response_id'], 'previous_response_id', field.text)
  const conversation = optional(body['conversation'], 'conversation', (value, path) =>
    typeof value === 'string' ? value : field.text(field.object(value, path)['id'], `${path}.id`),
  )
  if (previous !== undefined && conversation !== undefined)
    exclusiveParameters('previous_response_id', 'conversation')
  const background = optional(body['background'], 'background', field.flag) ?? false
  const store = optional(body['store'], 'store', field.flag)
  if (background && store === false)
    refuseParameter("Background mode requires 'store' to be true.", 'background')
  // A conversation and a background response are always stored, others unless the request or the operator forbids it.
  const stored = (store ?? (byDefault || background)) || conversation !== undefined
  return { stored, goesOn: store === true || background, background, previous, conversation }
}

function decodeInput(
  value: Json | undefined,
  { previous, conversation }: ContinuedState,
  isOptional: boolean,
): ResponsesRequest['input'] {
  const mayBeEmpty = isOptional || previous !== undefined || conversation !== undefined
  if (isAbsent(value)) {
    if (mayBeEmpty) return undefined
    const message = 'One of "input" or "previous_response_id" or "conversation" must be provided.'
    return refuseParameter(message, 'input', 'missing_required_parameter')
  }
  if (typeof value === 'string') return field.text(value, 'input', { min: 1 })
  if (!Array.isArray(value)) throw wrongParameterType('input', 'one of a string or array of items', value)
  return field.list(value, 'input', mayBeEmpty ? {} : { min: 1 })
}

// ---- what is asked of the model ------------------------------------------------------------------------------

/** `offered`: the agent's own tools, where they may run. */
function decodeAsk(
  body: JsonObject,
  clientTools: readonly ToolDeclaration[],
  offered: readonly ToolDeclaration[],
  include: readonly string[],
): Ask {
  const own = offered.map(({ name }) => name)
  const choice = decodeChoice(body['tool_choice'], clientTools, own)
  const parallel = optional(body['parallel_tool_calls'], 'parallel_tool_calls', field.flag)
  const maxTokens = optional(body['max_output_tokens'], 'max_output_tokens', field.count)
  const maxCalls = optional(body['max_tool_calls'], 'max_tool_calls', field.count)
  const system = optional(body['instructions'], 'instructions', field.text)
  const fields = decodeCarried(body, include)
  const format = decodeFormat(fields)
  return {
    ...(choice !== undefined && { choice }),
    ...(parallel !== undefined && { parallel }),
    ...(maxTokens !== undefined && { maxTokens }),
    ...(maxCalls !== undefined && { maxCalls }),
    ...(system !== undefined && { system }),
    ...(format && { format }),
    ...(fields && { body: { [protocol]: fields } }),
  }
}

function decodeCarried(body: JsonObject, include: readonly string[]): JsonObject | undefined {
  const fields: JsonObject = {}
  for (const name in carried) {
    const value = body[name]
    if (value !== undefined && value !== null) fields[name] = carried[name]!(value, name)
  }
  // The model's adapter asks for encrypted reasoning in any case.
  const others = include.filter(value => value !== 'reasoning.encrypted_content')
  if (others.length > 0) fields['include'] = others
  return Object.keys(fields).length === 0 ? undefined : fields
}

/** The form of the answer, for a model of any vendor. The request's own `text` has been checked. */
function decodeFormat(fields: JsonObject | undefined): AnswerFormat | undefined {
  const format = ifObject(ifObject(fields?.['text'])?.['format'])
  return format && openaiFormat(format['type'], format)
}

function decodeInclude(value: Json | undefined): string[] {
  if (isAbsent(value)) return []
  return field.list(value, 'include').map((each, index) => field.oneOf(each, `include[${index}]`, includable))
}

function decodeText(value: Json, path: string): Json {
  const config = field.object(value, path)
  const { format } = config
  if (isAbsent(format)) return config
  const at = `${path}.format`
  const { type, name, schema } = field.object(format, at)
  const kind = field.oneOf(type ?? undefined, `${at}.type`, ['text', 'json_object', 'json_schema'])
  if (kind !== 'json_schema') return config
  // Some clients ask for JSON of any shape with a schema that they leave out.
  if (schema === undefined && name === undefined) return { ...config, format: { type: 'json_object' } }
  field.text(name, `${at}.name`)
  field.object(schema, `${at}.schema`)
  return config
}

/** Only the vendor itself can make its conversations short while it answers. */
function refuseManagement(value: Json | undefined, model: string): void {
  if (isAbsent(value) || field.list(value, 'context_management').length === 0) return
  refuseParameter(
    `Unsupported parameter: 'context_management' needs a model of OpenAI, and the model behind '${excerpt(model)}' is of another vendor. Make the conversation short with POST /v1/responses/compact instead.`,
    'context_management',
    'unsupported_parameter',
  )
}

function decodeManagement(value: Json, path: string): Json {
  return field.list(value, path).map((item, index) => {
    const at = `${path}[${index}]`
    const entry = field.object(item, at)
    field.oneOf(entry['type'] ?? undefined, `${at}.type`, ['compaction'])
    optional(entry['compact_threshold'], `${at}.compact_threshold`, field.count)
    return entry
  })
}

export function decodeMetadata(value: Json, path: string): JsonObject {
  const metadata = field.object(value, path)
  const entries = Object.entries(metadata)
  if (entries.length > 16)
    refuseParameter(
      `Invalid '${path}': too many properties. Expected at most 16.`,
      path,
      'object_above_max_properties',
    )
  for (const [key, each] of entries) {
    if (key.length > 64) refuseParameter(`Invalid '${path}': a key is longer than 64 characters.`, path)
    const at = `${path}.${key}`
    if (field.text(each, at).length > 512) refuseParameter(`Invalid '${at}': longer than 512 characters.`, at)
  }
  return metadata
}
