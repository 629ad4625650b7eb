// The response object. Its fields about the request come from the session's settings and the turn's ask alone, so that
// it reads the same when it is answered and when it is fetched later.
import type { AgentInfo } from '../../engine/index.ts'
import type { Ask, Settings, Usage } from '../../language/events.ts'
import type { ToolChoice, ToolDeclaration } from '../../language/tools.ts'
import { isJsonObject, type Json, type JsonObject } from '../../lib/json/index.ts'
import { ownNames } from '../own-tools.ts'
import { protocol, wireName } from './decode.ts'
import type { CallNames } from './decode-tools.ts'
import type { OutputItem, ResponseStatus } from './schema.ts'

/** The part of a response that changes while it is made. */
export type ResponseState = {
  status: ResponseStatus
  completedAt: number | null
  error: { code: string; message: string } | null
  incomplete: string | null
  output: readonly OutputItem[]
  usage: Usage | null
}

export class ResponseWriter {
  readonly #id: string
  readonly #createdAt: number
  /** Written once: a stream sends it three times. */
  readonly #request: string

  constructor(id: string, createdAt: number, request: JsonObject) {
    this.#id = id
    this.#createdAt = createdAt
    this.#request = JSON.stringify(request).slice(1)
  }

  json({ status, completedAt, error, incomplete, output, usage }: ResponseState): string {
    const fields = {
      id: this.#id,
      object: 'response',
      created_at: Math.floor(this.#createdAt / 1000),
      completed_at: completedAt === null ? null : Math.floor(completedAt / 1000),
      status,
      error,
      incomplete_details: incomplete === null ? null : { reason: incomplete },
      output,
      usage: usage && encodeUsage(usage),
    }
    return `${JSON.stringify(fields).slice(0, -1)},${this.#request}`
  }
}

export function encodeUsage(usage: Usage): JsonObject {
  return {
    input_tokens: usage.input,
    input_tokens_details: { cache_write_tokens: usage.cacheWrite ?? 0, cached_tokens: usage.cacheRead ?? 0 },
    output_tokens: usage.output,
    output_tokens_details: { reasoning_tokens: usage.thinking ?? 0 },
    total_tokens: usage.input + usage.output,
  }
}

/** `conversation`: the session of a response that is stored. */
export function requestFields(
  agent: AgentInfo | undefined,
  settings: Pick<Settings, 'clientTools' | 'model' | 'wires'>,
  { choice, parallel, maxTokens, system, body }: Ask,
  conversation?: string,
): JsonObject {
  const own = ownNames(settings, wireName)
  const tools = settings.clientTools.filter(({ name }) => own?.includes(name) ?? true)
  const given = body?.[protocol] ?? nothing
  const note = settings.wires?.[wireName] ?? {}
  return {
    model: note['model'] ?? settings.model ?? agent?.name ?? 'default',
    instructions: system === undefined || system === '' ? null : system,
    tools: encodeTools(tools, note),
    tool_choice: encodeToolChoice(choice ?? agent?.choice ?? 'auto', tools, calledIn(note)),
    parallel_tool_calls: parallel ?? agent?.parallel ?? true,
    max_output_tokens: maxTokens ?? null,
    ...withDefaults(given, unlessGiven),
    ...(typeof given['user'] === 'string' && { user: given['user'] }),
    ...withDefaults(note['carried'] === true ? given : nothing, unlessCarried),
    reasoning: note['carried'] === true ? encodeReasoning(given['reasoning']) : null,
    text: encodeText(given['text'], note['carried'] === true),
    store: conversation !== undefined,
    background: note['background'] ?? false,
    previous_response_id: note['previous'] ?? null,
    ...(conversation !== undefined && { conversation: { id: note['conversation'] ?? conversation } }),
  }
}

/** Most requests give none of these fields. */
const nothing: JsonObject = {}

function withDefaults(
  given: JsonObject,
  defaults: Readonly<Record<string, Json>>,
): Readonly<Record<string, Json>> {
  if (given === nothing) return defaults
  const fields: JsonObject = {}
  for (const name in defaults) fields[name] = given[name] ?? defaults[name]!
  return fields
}

/** Fields that are repeated as the request gave them, with the API's default when it gave none. */
const unlessGiven: Readonly<Record<string, Json>> = {
  access_programs: null,
  max_tool_calls: null,
  metadata: {},
  safety_identifier: null,
  prompt_cache_key: null,
}

/** Fields that only a model of this protocol is given: for any other, the API's default. */
const unlessCarried: Readonly<Record<string, Json>> = {
  temperature: 1,
  top_p: 1,
  presence_penalty: 0,
  frequency_penalty: 0,
  top_logprobs: 0,
  truncation: 'disabled',
  service_tier: 'default',
}

function encodeReasoning(given: Json | undefined): Json {
  return isJsonObject(given) ? { effort: null, summary: null, ...given } : null
}

/** The form of the answer holds with every model; how long it is to be, only with one of this protocol. */
function encodeText(given: Json | undefined, isCarried: boolean): JsonObject {
  const { format, ...others } = isJsonObject(given) ? given : {}
  const shown = isJsonObject(format) ? format : { type: 'text' }
  const whole = shown['type'] === 'json_schema' ? { description: null, ...shown } : shown
  const strict = shown['type'] === 'json_schema' && { strict: shown['strict'] === true }
  return { format: { ...whole, ...strict }, ...(isCarried && others) }
}

/** The names of the tools in the request, as `decodeTools` noted them. */
export function calledIn(note: JsonObject): CallNames {
  // The note was made by `decodeRequest`.
  return (note['called'] ?? {}) as CallNames
}

/** As the request declared them. */
function encodeTools(tools: readonly ToolDeclaration[], note: JsonObject): JsonObject[] {
  const called = calledIn(note)
  const described = isJsonObject(note['namespaces']) ? note['namespaces'] : {}
  const encoded: JsonObject[] = []
  const spaces = new Map<string, JsonObject[]>()
  for (const tool of tools) {
    const known = Object.hasOwn(called, tool.name) ? called[tool.name] : undefined
    if (!known) encoded.push(encodeTool(tool))
    else if ('search' in known) encoded.push(encodeSearch(tool))
    else {
      const { namespace, name } = known
      let space = spaces.get(namespace)
      if (!space) {
        space = []
        spaces.set(namespace, space)
        const description = described[namespace] ?? ''
        encoded.push({ type: 'namespace', name: namespace, description, tools: space })
      }
      space.push(encodeTool({ ...tool, name }))
    }
  }
  return encoded
}

function encodeSearch({ description, input }: ToolDeclaration): JsonObject {
  const parameters = input.form === 'json' ? input.schema : {}
  return { type: 'tool_search', execution: 'client', description, parameters }
}

function encodeTool({ name, description, input }: ToolDeclaration): JsonObject {
  if (input.form === 'json')
    return { type: 'function', name, description, parameters: input.schema, strict: input.strict ?? null }
  const format = input.grammar ? { type: 'grammar', ...input.grammar } : { type: 'text' }
  return { type: 'custom', name, description, format }
}

function encodeToolChoice(choice: ToolChoice, tools: readonly ToolDeclaration[], called: CallNames): Json {
  if (typeof choice === 'string') return choice
  const reference = (name: string): JsonObject => {
    const own = tools.find(tool => tool.name === name)
    const known = Object.hasOwn(called, name) ? called[name] : undefined
    const shown = known && 'namespace' in known ? known : { name }
    return { type: own?.input.form === 'text' ? 'custom' : 'function', ...shown }
  }
  if ('tool' in choice) return reference(choice.tool)
  return { type: 'allowed_tools', mode: choice.mode, tools: choice.allowed.map(reference) }
}
