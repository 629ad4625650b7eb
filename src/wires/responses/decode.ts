// A request body, into what is asked of the engine. Fields that only a vendor of this same protocol understands are
// carried to it as they are; everything is checked for its type, and what the API does not know is refused.
import type { Agent } from '../../engine/index.ts'
import type { Ask, Settings } from '../../language/events.ts'
import { isJsonObject, type Json, type JsonObject } from '../../lib/json.ts'
import type { WireHost } from '../host.ts'
import { decodeChoice, decodeTools } from './decode-tools.ts'
import { absent, count, flag, list, names, number, object, oneOf, optional, text } from './fields.ts'
import {
  missing,
  noSuchModel,
  Refusal,
  refuse,
  shown,
  unknownParameter,
  unsupportedValue,
  wrongType,
} from './refuse.ts'

export const door = 'responses'
export const protocol = 'openai-responses'

export type Asked = {
  agent: Agent
  settings: Settings & Ask
  input: string | Json[] | undefined
  stream: boolean
  /** It is kept: asked for, or needed for what was asked. */
  stored: boolean
  background: boolean
  previous: string | undefined
  conversation: string | undefined
  /** The client wants to carry what the model's maker needs back. */
  sealed: boolean
  /** What the response says of the request beside its settings. */
  note: JsonObject
}

/** Checked one by one, then carried to a vendor of this protocol. */
const carried: Readonly<Record<string, (value: Json, path: string) => Json>> = {
  temperature: number,
  top_p: number,
  top_logprobs: number,
  presence_penalty: number,
  frequency_penalty: number,
  truncation: (value, path) => oneOf(value, path, ['auto', 'disabled']),
  reasoning: object,
  text: decodeText,
  metadata: decodeMetadata,
  max_tool_calls: count,
  service_tier: text,
  safety_identifier: text,
  prompt_cache_key: text,
  prompt_cache_retention: text,
  prompt_cache_options: object,
  user: text,
}

const own = names(
  'model input instructions tools tool_choice parallel_tool_calls max_output_tokens stream stream_options store background previous_response_id conversation include agent_id routing',
)

const unsupported = names('prompt context_management moderation image access_programs')

/** Parameters of other APIs that callers bring along, and where this one has them. */
const moved: Readonly<Record<string, string>> = {
  max_tokens: 'max_output_tokens',
  max_completion_tokens: 'max_output_tokens',
  messages: 'input',
  response_format: 'text.format',
  reasoning_effort: 'reasoning.effort',
  functions: 'tools',
  function_call: 'tool_choice',
}

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

export function decodeRequest(host: WireHost, body: JsonObject, routed: string | undefined): Asked {
  for (const name in body) checkName(name)
  const target = decodeTarget(host, body, routed)
  const state = decodeState(body)
  const include = decodeInclude(body['include'])
  optional(body['stream_options'], 'stream_options', object)
  return {
    agent: target.agent,
    settings: decodeSettings(host, body, target, state.stored, include),
    input: decodeInput(body['input'], state),
    stream: optional(body['stream'], 'stream', flag) ?? false,
    ...state,
    sealed: include.includes('reasoning.encrypted_content'),
    note: {
      model: target.shown,
      ...(state.background && { background: true }),
      ...(state.previous !== undefined && { previous: state.previous }),
    },
  }
}

function checkName(name: string): void {
  if (own.has(name) || Object.hasOwn(carried, name)) return
  const instead = Object.hasOwn(moved, name) ? moved[name] : undefined
  if (instead !== undefined)
    refuse(
      `Unsupported parameter: '${name}'. In the Responses API, this parameter has moved to '${instead}'.`,
      name,
      'unsupported_parameter',
    )
  if (unsupported.has(name))
    refuse(`Unsupported parameter: '${name}' is not supported by this server.`, name, 'unsupported_parameter')
  unknownParameter(name)
}

// ---- whom it is for -------------------------------------------------------------------------------------------

/** `model`: a configured one, in place of the agent's own. */
type Target = { agent: Agent; shown: string; model?: string }

const anyone = names('auto default')

function decodeTarget(host: WireHost, body: JsonObject, routed: string | undefined): Target {
  const field = optional(body['agent_id'], 'agent_id', text)
  const routing = optional(body['routing'], 'routing', (value, path) =>
    oneOf(value, path, ['cheapest', 'fastest'] as const),
  )
  if (field !== undefined && routing !== undefined)
    refuse(
      "Mutually exclusive parameters: 'agent_id' and 'routing'. Ensure you are only providing one of them.",
      'agent_id',
      'mutually_exclusive_parameters',
    )
  const name = routed ?? field
  const asked = optional(body['model'], 'model', text)
  if (name === undefined) return byModel(host, asked ?? missing('model'))
  const agent = host.agents.find(each => each.name === name)
  if (!agent)
    throw new Refusal(`There is no agent '${shown(name)}'.`, 'agent_id', 'agent_not_found', 'not_found')
  // A request that says whom it is for may name any model: one that is not configured leaves the agent its own.
  return asked !== undefined && host.models.includes(asked)
    ? { agent, shown: asked, model: asked }
    : { agent, shown: agent.name }
}

/** An agent's name comes first; a configured model answers as the first agent. */
export function byModel(host: WireHost, asked: string): Target {
  const agent = host.agents.find(each => each.name === asked)
  if (agent) return { agent, shown: asked }
  const [first] = host.agents
  if (first && host.models.includes(asked)) return { agent: first, shown: asked, model: asked }
  if (first && anyone.has(asked)) return { agent: first, shown: first.name }
  throw noSuchModel(asked)
}

// ---- what it builds on ------------------------------------------------------------------------------------------

type State = Pick<Asked, 'stored' | 'background' | 'previous' | 'conversation'>

function decodeState(body: JsonObject): State {
  const previous = optional(body['previous_response_id'], 'previous_response_id', text)
  const conversation = optional(body['conversation'], 'conversation', (value, path) =>
    typeof value === 'string' ? value : text(object(value, path)['id'], `${path}.id`),
  )
  if (previous !== undefined && conversation !== undefined)
    refuse(
      "Mutually exclusive parameters: 'previous_response_id' and 'conversation'. Ensure you are only providing one of them.",
      'previous_response_id',
      'mutually_exclusive_parameters',
    )
  const background = optional(body['background'], 'background', flag) ?? false
  const store = optional(body['store'], 'store', flag)
  if (background && store === false)
    refuse("Background mode requires 'store' to be true.", 'background', 'invalid_value')
  const builds = previous !== undefined || conversation !== undefined
  if (builds && store === false)
    refuse(
      "What is continued here is kept: leave out 'store', or send the whole conversation in 'input'.",
      'store',
      'invalid_value',
    )
  return { stored: store === true || background || builds, background, previous, conversation }
}

function decodeInput(value: Json | undefined, { previous, conversation }: State): Asked['input'] {
  const builds = previous !== undefined || conversation !== undefined
  if (absent(value)) {
    if (builds) return undefined
    refuse(
      'One of "input" or "previous_response_id" or "conversation" must be provided.',
      'input',
      'missing_required_parameter',
    )
  }
  if (typeof value === 'string') {
    if (value !== '') return value
    refuse("Invalid 'input': empty string. Expected a string with minimum length 1.", 'input', 'empty_string')
  }
  if (!Array.isArray(value)) return wrongType('input', 'one of a string or array of items', value)
  if (value.length === 0 && !builds)
    refuse("Invalid 'input': empty array. Expected an array with minimum length 1.", 'input', 'empty_array')
  return value
}

// ---- what it asks for -------------------------------------------------------------------------------------------

function decodeSettings(
  host: WireHost,
  body: JsonObject,
  { agent, model }: Target,
  stored: boolean,
  include: readonly string[],
): Settings & Ask {
  const clientTools = decodeTools(body['tools'])
  const serverTools = stored && host.serverTools.has(agent.name)
  const offered = serverTools ? agent.tools.filter(tool => tool.trust !== 'deny').map(tool => tool.name) : []
  const choice = decodeChoice(body['tool_choice'], clientTools, offered)
  const parallel = optional(body['parallel_tool_calls'], 'parallel_tool_calls', flag)
  const maxTokens = optional(body['max_output_tokens'], 'max_output_tokens', count)
  const maxCalls = optional(body['max_tool_calls'], 'max_tool_calls', count)
  const system = optional(body['instructions'], 'instructions', text)
  const fields = decodeCarried(body, include)
  return {
    tools: null,
    options: {},
    clientTools,
    ...(model !== undefined && { model }),
    ...(choice !== undefined && { choice }),
    ...(parallel !== undefined && { parallel }),
    ...(maxTokens !== undefined && { maxTokens }),
    ...(maxCalls !== undefined && { maxCalls }),
    ...(system !== undefined && { system }),
    ...(fields && { body: { [protocol]: fields } }),
    ...(!serverTools && { clientOnly: true as const }),
  }
}

/** What goes into the session's settings, and what holds for the turn alone. */
export function splitAsk({ tools, options, clientTools, model, wires, ...ask }: Settings & Ask): {
  settings: Settings
  ask: Ask
} {
  return {
    settings: { tools, options, clientTools, ...(model !== undefined && { model }), ...(wires && { wires }) },
    ask,
  }
}

function decodeCarried(body: JsonObject, include: readonly string[]): JsonObject | undefined {
  const fields: JsonObject = {}
  for (const name in body) {
    const value = body[name]
    const read = Object.hasOwn(carried, name) ? carried[name] : undefined
    if (read && !absent(value)) fields[name] = read(value, name)
  }
  // The model's adapter asks for reasoning to be carried in any case.
  const others = include.filter(value => value !== 'reasoning.encrypted_content')
  if (others.length > 0) fields['include'] = others
  return Object.keys(fields).length === 0 ? undefined : fields
}

function decodeInclude(value: Json | undefined): string[] {
  if (absent(value)) return []
  return list(value, 'include').map((each, index) =>
    typeof each === 'string' && includable.some(known => known === each)
      ? each
      : unsupportedValue(`include[${index}]`, each, includable),
  )
}

function decodeText(value: Json, path: string): Json {
  const config = object(value, path)
  const { format } = config
  if (absent(format)) return config
  const at = `${path}.format`
  const kind = oneOf(object(format, at)['type'] ?? missing(`${at}.type`), `${at}.type`, [
    'text',
    'json_object',
    'json_schema',
  ] as const)
  if (kind !== 'json_schema' || !isJsonObject(format)) return config
  // Some clients ask for JSON of any shape by a schema that they leave out.
  if (format['schema'] === undefined && format['name'] === undefined)
    return { ...config, format: { type: 'json_object' } }
  text(format['name'], `${at}.name`)
  object(format['schema'], `${at}.schema`)
  return config
}

function decodeMetadata(value: Json, path: string): Json {
  const metadata = object(value, path)
  const entries = Object.entries(metadata)
  if (entries.length > 16)
    refuse(
      `Invalid '${path}': too many properties. Expected at most 16.`,
      path,
      'object_above_max_properties',
    )
  for (const [key, each] of entries) {
    if (key.length > 64) refuse(`Invalid '${path}': a key is longer than 64 characters.`, path)
    const at = `${path}.${key}`
    if (text(each, at).length > 512) refuse(`Invalid '${at}': longer than 512 characters.`, at)
  }
  return metadata
}
