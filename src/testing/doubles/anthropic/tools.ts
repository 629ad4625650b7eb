// Rules of Anthropic about tools as they are declared: names, types, schemas, the tool choice, deferred loading,
// programmatic callers and MCP toolsets. The checks of schemas are pure functions, since schema converters are tested with
// them. `history.ts` checks the calls of tools.

import { Ajv2020 } from 'ajv/dist/2020.js'
import * as says from '../../../apis/anthropic/wordings.ts'
import type { Rejection, Rejections } from '../script.ts'
import { asList, asRecord, asRecords, asString, isRecord, type JsonRecord, ownEntry } from '../shape.ts'
import { extraInputs, refuse, refuseAll } from './refusals.ts'

export const NAME_PATTERN = /^[a-zA-Z0-9_-]{1,128}$/
const CUSTOM_KEYS =
  'type name description input_schema strict eager_input_streaming defer_loading allowed_callers input_examples cache_control'
const COMMON_KEYS = 'type name cache_control defer_loading allowed_callers strict'
const CLIENT_KEYS = `${COMMON_KEYS} input_examples`
const COMPUTER_KEYS = `${CLIENT_KEYS} display_width_px display_height_px display_number enable_zoom`
const WEB_KEYS = `${COMMON_KEYS} max_uses allowed_domains blocked_domains response_inclusion`
const WEB_FETCH_KEYS = `${WEB_KEYS} max_content_tokens citations url_sources use_cache`

type ToolKind = readonly [type: RegExp, name: string | null, keys: string]

/** Tools that Anthropic itself defines. A set of tools has no name. */
const TOOL_KINDS: readonly ToolKind[] = [
  [/^bash_(20241022|20250124)$/, 'bash', CLIENT_KEYS],
  [/^text_editor_(20250429|20250728)$/, 'str_replace_based_edit_tool', `${CLIENT_KEYS} max_characters`],
  [/^text_editor_(20241022|20250124)$/, 'str_replace_editor', CLIENT_KEYS],
  [/^memory_20250818$/, 'memory', CLIENT_KEYS],
  [/^computer_(20241022|20250124|20251124)$/, 'computer', COMPUTER_KEYS],
  [/^(computer|browser)_toolset_20260801$/, null, 'type cache_control configs'],
  [/^web_search_(20250305|20260209|20260318)$/, 'web_search', `${WEB_KEYS} user_location`],
  [/^web_fetch_(20250910|20260209|20260309|20260318)$/, 'web_fetch', WEB_FETCH_KEYS],
  [/^code_execution_(20250522|20250825|20260120|20260521)$/, 'code_execution', COMMON_KEYS],
  [/^tool_search_tool_regex(_20251119)?$/, 'tool_search_tool_regex', COMMON_KEYS],
  [/^tool_search_tool_bm25(_20251119)?$/, 'tool_search_tool_bm25', COMMON_KEYS],
  [/^advisor_20260301$/, 'advisor', `${COMMON_KEYS} model max_uses caching`],
  [/^mcp_toolset$/, null, 'type mcp_server_name cache_control configs default_config tools'],
]
/** The tags that the API names when it knows none that fits; it does not name them all. */
const SHOWN_TAGS = [
  'bash_20250124',
  'custom',
  'memory_20250818',
  'text_editor_20250728',
  'web_search_20260318',
]

const isCustom = ({ type }: JsonRecord): boolean => type === undefined || type === null || type === 'custom'

const toolKind = (tool: JsonRecord): ToolKind | undefined =>
  TOOL_KINDS.find(([type]) => type.test(asString(tool['type'])))

/** Whether a server tool of this block name (`web_search`, `bash_code_execution`, …) is declared. */
export function declaresServerTool(tools: unknown, name: string): boolean {
  const family = name.endsWith('code_execution') ? 'code_execution' : name
  return asRecords(tools).some(tool => toolKind(tool)?.[1] === family)
}

export function* checkAnthropicTools(body: JsonRecord): Rejections {
  const given = body['tools']
  if (given === undefined) return
  if (!Array.isArray(given)) return yield refuse('A-00', says.inputShouldBe('tools', 'a valid list'))
  for (const [at, tool] of given.entries()) yield* checkAnthropicTool(tool, `tools.${at}`)
  const tools = asRecords(given)
  const names = tools.flatMap(({ name }) => (typeof name === 'string' ? [name] : []))
  if (new Set(names).size !== names.length) yield refuse('A-08', says.repeatedTool)
  yield* checkStrictTools(
    given.flatMap((tool, at) => {
      const { strict, input_schema: schema } = asRecord(tool)
      const isStrict = strict === true && isCustom(tool) && isRecord(schema)
      return isStrict ? [{ schema, at: `tools.${at}.custom` }] : []
    }),
  )
  yield* refuseAll('A-TS', deferralProblems(tools))
  yield* refuseAll('A-PTC', callerProblems(tools, asRecord(body['tool_choice'])))
}

function* checkAnthropicTool(tool: unknown, path: string): Rejections {
  if (!isRecord(tool)) return yield refuse('A-00', says.inputShouldBe(path, 'an object'))
  if (isCustom(tool)) return yield* checkCustomTool(tool, `${path}.custom`)
  const type = asString(tool['type'])
  const kind = toolKind(tool)
  if (kind === undefined) return yield refuse('A-07', says.unexpectedTag(path, type, SHOWN_TAGS))
  const [, name, keys] = kind
  yield* extraInputs(tool, keys, `${path}.${type}`)
  if (name !== null && tool['name'] !== name)
    yield refuse('A-07', says.inputShouldBe(`${path}.${type}.name`, `'${name}'`))
}

function* checkCustomTool(tool: JsonRecord, path: string): Rejections {
  const { name, description } = tool
  if (name === undefined) yield refuse('A-07', says.fieldRequired(`${path}.name`))
  else if (!NAME_PATTERN.test(asString(name)))
    yield refuse('A-07', says.patternExpected(`${path}.name`, NAME_PATTERN))
  yield* checkInputSchema(tool['input_schema'], path)
  if (description !== undefined && typeof description !== 'string') {
    yield refuse('A-00', says.inputShouldBe(`${path}.description`, 'a valid string'))
  }
  yield* extraInputs(tool, CUSTOM_KEYS, path)
}

function* deferralProblems(tools: JsonRecord[]): Iterable<string> {
  const deferred = tools.filter(tool => tool['defer_loading'] === true)
  for (const tool of deferred) {
    const name = asString(tool['name'])
    if (asString(tool['type']).startsWith('tool_search_tool_')) {
      yield `Tool '${name}' cannot be deferred: a tool search tool must always be loaded.`
    }
    if (isRecord(tool['cache_control'])) {
      yield `Tool '${name}' cannot have both defer_loading=true and cache_control set. Tools with defer_loading cannot use prompt caching.`
    }
  }
  if (tools.length > 0 && deferred.length === tools.length) {
    yield 'All tools have defer_loading set. At least one tool must be non-deferred.'
  }
}

/** Programmatic tool calling: a tool that code may call has restrictions of its own. */
function* callerProblems(tools: JsonRecord[], choice: JsonRecord): Iterable<string> {
  const fromCode = tools.filter(tool =>
    asList(tool['allowed_callers']).some(caller => asString(caller).startsWith('code_execution_')),
  )
  if (fromCode.length === 0) return
  if (!tools.some(tool => /^code_execution_(20250825|2026)/.test(asString(tool['type'])))) {
    yield 'tools: `allowed_callers` names code execution, but no code execution tool was provided.'
  }
  for (const tool of fromCode) {
    const name = asString(tool['name'])
    if (tool['strict'] === true) {
      yield `tools: \`strict\` is not supported with programmatic tool calling (tool '${name}').`
    }
    if (choice['type'] === 'tool' && choice['name'] === name) {
      yield `tool_choice: tool '${name}' is called from code and cannot be forced.`
    }
  }
  if (choice['disable_parallel_tool_use'] === true) {
    yield 'tool_choice: `disable_parallel_tool_use` is not supported with programmatic tool calling.'
  }
}

const CHOICE_KEYS: Readonly<Record<string, string>> = {
  auto: 'type disable_parallel_tool_use',
  any: 'type disable_parallel_tool_use',
  tool: 'type name disable_parallel_tool_use',
  none: 'type',
}

export function* checkAnthropicChoice(body: JsonRecord): Rejections {
  const choice = body['tool_choice']
  if (choice === undefined) return
  if (!isRecord(choice)) return yield refuse('A-16', says.inputShouldBe('tool_choice', 'an object'))
  const type = asString(choice['type'])
  const keys = ownEntry(CHOICE_KEYS, type)
  if (keys === undefined)
    return yield refuse('A-16', says.unexpectedTag('tool_choice', type, Object.keys(CHOICE_KEYS)))
  yield* extraInputs(choice, keys, `tool_choice.${type}`)
  const name = choice['name']
  if (asList(body['tools']).length === 0) {
    yield refuse('A-16', 'tool_choice may only be specified while providing tools.')
  } else if (type === 'tool' && typeof name !== 'string')
    yield refuse('A-16', says.fieldRequired('tool_choice.tool.name'))
  else if (type === 'tool' && !asRecords(body['tools']).some(tool => tool['name'] === name)) {
    yield refuse('A-16', `Tool '${asString(name)}' not found in provided tools`)
  }
  const thinking = asRecord(body['thinking'])['type']
  if ((thinking === 'enabled' || thinking === 'adaptive') && (type === 'any' || type === 'tool')) {
    yield refuse('A-17', 'Thinking may not be enabled when tool_choice forces tool use.')
  }
}

/** Without the beta header the API knows neither the field, nor the tool, nor a block of the MCP connector. */
function* checkLockedMcp(body: JsonRecord, hasToolsets: boolean): Rejections {
  if (body['mcp_servers'] !== undefined) return yield refuse('A-28', says.extraInput('mcp_servers'))
  if (hasToolsets) return yield refuse('A-28', says.extraInput('tools.0.mcp_toolset'))
  for (const [index, message] of asRecords(body['messages']).entries()) {
    for (const [place, block] of asRecords(message['content']).entries()) {
      const type = asString(block['type'])
      if (!type.startsWith('mcp_tool_')) continue
      const tag = `Input tag '${type}' found using 'type' does not match any of the expected tags`
      yield refuse('A-MCP', `messages.${index}.content.${place}: ${tag}`)
    }
  }
}

/** The MCP connector: a beta field. Every server is used by exactly one toolset. */
export function* checkMcpConnector(body: JsonRecord, isUnlocked: boolean): Rejections {
  const toolsets = asRecords(body['tools']).filter(tool => tool['type'] === 'mcp_toolset')
  if (isUnlocked) yield* refuseAll('A-MCP', connectorProblems(body['mcp_servers'], toolsets))
  else yield* checkLockedMcp(body, toolsets.length > 0)
}

function* connectorProblems(given: unknown, toolsets: JsonRecord[]): Iterable<string> {
  if (given !== undefined && !Array.isArray(given)) return yield 'mcp_servers: Input should be a valid list'
  const servers = asRecords(given)
  const names = servers.map(server => asString(server['name']))
  if (new Set(names).size !== names.length) yield 'mcp_servers: MCP server names must be unique'
  for (const [at, server] of servers.entries()) {
    for (const field of ['type', 'name', 'url']) {
      if (typeof server[field] !== 'string') yield `mcp_servers.${at}.${field}: Field required`
    }
  }
  for (const name of toolsets.map(toolset => asString(toolset['mcp_server_name']))) {
    if (!names.includes(name)) {
      yield `tools: mcp_toolset names MCP server '${name}', which is not in mcp_servers`
    }
  }
  for (const name of names) {
    const uses = toolsets.filter(toolset => toolset['mcp_server_name'] === name).length
    if (uses !== 1) {
      yield `mcp_servers: MCP server '${name}' must be referenced by exactly one mcp_toolset, found ${uses}`
    }
  }
}

// ---- schemas ------------------------------------------------------------------------------------------------

const STRICT_LIMITS = { tools: 20, optional: 24, unions: 16, characters: 60_000 } as const

const PROPERTY_KEY = /^[a-zA-Z0-9_.-]{1,64}$/
const ajv = new Ajv2020({ strict: false, validateFormats: false, logger: false })

/** Problems of one tool's `input_schema`. `at` is the tool's place, e.g. `tools.0.custom`. */
export function checkInputSchema(schema: unknown, at = 'tools.0.custom'): Rejection[] {
  return [...inputSchemaProblems(schema, `${at}.input_schema`)]
}

function* inputSchemaProblems(schema: unknown, path: string): Rejections {
  if (schema === undefined) return yield refuse('A-14', says.fieldRequired(path))
  if (!isRecord(schema)) return yield refuse('A-14', says.inputShouldBe(path, 'an object'))
  if (schema['type'] === undefined) return yield refuse('A-14', says.fieldRequired(`${path}.type`))
  if (schema['type'] !== 'object') return yield refuse('A-14', says.inputShouldBe(`${path}.type`, "'object'"))
  if (['oneOf', 'allOf', 'anyOf'].some(key => key in schema)) {
    const message = `${path}: input_schema does not support oneOf, allOf, or anyOf at the top level`
    yield refuse('A-14', message)
  }
  if (!isDraft2020(schema)) {
    const message = `${path}: JSON schema is invalid. It must match JSON Schema draft 2020-12`
    yield refuse('A-14', message)
  }
  if (Object.keys(asRecord(schema['properties'])).some(key => !PROPERTY_KEY.test(key))) {
    const message = `${path}.properties: Property keys should match pattern '${PROPERTY_KEY.source}'`
    yield refuse('A-14', message)
  }
}

/** `$schema` is not judged: the name of an older dialect is accepted, its constructs are not. */
function isDraft2020(schema: JsonRecord): boolean {
  const { $schema: _, ...rest } = schema
  try {
    return ajv.validateSchema(rest) === true && localRefs(rest).every(ref => resolves(rest, ref))
  } catch {
    return false
  }
}

function localRefs(node: unknown): string[] {
  if (Array.isArray(node)) return node.flatMap(localRefs)
  if (!isRecord(node)) return []
  const own = asString(node['$ref'])
  return [...(own.startsWith('#/') ? [own] : []), ...Object.values(node).flatMap(localRefs)]
}

function resolves(root: JsonRecord, ref: string): boolean {
  let node: unknown = root
  for (const raw of ref.slice(2).split('/')) {
    const key = decodeURIComponent(raw).replaceAll('~1', '/').replaceAll('~0', '~')
    if (Array.isArray(node)) node = node[Number(key)]
    else if (isRecord(node)) node = node[key]
    else return false
  }
  return node !== undefined
}

type StrictTool = { schema: unknown; at: string }

/** Problems of the strict tools of a request, together: some limits are sums over all of them. */
export function checkStrictTools(tools: StrictTool[]): Rejection[] {
  return [...refuseAll('A-15', strictToolProblems(tools))]
}

function* strictToolProblems(tools: StrictTool[]): Iterable<string> {
  for (const { schema, at } of tools) {
    const [first] = everySchema(schema).flatMap(node => [...strictProblems(node)])
    if (first !== undefined) yield `${at}: ${first}`
  }
  // Parameters are counted in every object of a schema, not at the top alone.
  const parameters = tools.flatMap(({ schema }) => everySchema(schema).flatMap(listParameters))
  const optional = parameters.filter(({ isOptional }) => isOptional).length
  const unions = parameters.filter(({ isUnion }) => isUnion).length
  const characters = tools.map(({ schema }) => JSON.stringify(schema)).join('').length
  if (tools.length > STRICT_LIMITS.tools) {
    yield `Too many strict tools (${tools.length}). The maximum number of strict tools supported is ${STRICT_LIMITS.tools}. Try reducing the number of tools marked as strict.`
  }
  if (optional > STRICT_LIMITS.optional) {
    yield `Schemas contains too many optional parameters (${optional}), which would make grammar compilation inefficient. Reduce the number of optional parameters in your tool schemas (limit: ${STRICT_LIMITS.optional}).`
  }
  if (unions > STRICT_LIMITS.unions) {
    yield `Schemas contains too many parameters with union types (${unions} parameters with type arrays or anyOf). Reduce the number of union-typed parameters in your tool schemas (limit: ${STRICT_LIMITS.unions}).`
  }
  // The service compiles a grammar. The double can only bound the text that it would be compiled from.
  if (characters > STRICT_LIMITS.characters) {
    yield 'The compiled grammar is too large, which would cause performance issues. Simplify your tool schemas or reduce the number of strict tools.'
  }
}

const NUMBER_BOUNDS = ['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum', 'multipleOf']
const UNSUPPORTED: Readonly<Record<string, readonly string[]>> = {
  integer: NUMBER_BOUNDS,
  number: NUMBER_BOUNDS,
  string: ['minLength', 'maxLength'],
  array: ['maxItems', 'uniqueItems', 'contains', 'prefixItems'],
  object: ['minProperties', 'maxProperties', 'patternProperties', 'propertyNames'],
}

function* strictProblems(node: JsonRecord): Iterable<string> {
  const type = asString(node['type'])
  if ((type === 'object' || isRecord(node['properties'])) && node['additionalProperties'] !== false) {
    yield "For 'object' type, 'additionalProperties' must be explicitly set to false"
  }
  const unsupported = (UNSUPPORTED[type] ?? []).filter(key => key in node).sort()
  if (unsupported.length > 0) {
    yield `For '${type}' type, properties ${unsupported.join(', ')} are not supported`
  }
  if (type === 'array' && typeof node['minItems'] === 'number' && node['minItems'] > 1) {
    yield "For 'array' type, 'minItems' values other than 0 or 1 are not supported"
  }
  if (typeof node['$ref'] === 'string' && !node['$ref'].startsWith('#')) {
    yield "External '$ref' values are not supported"
  }
}

function listParameters({ properties, required }: JsonRecord): { isOptional: boolean; isUnion: boolean }[] {
  return Object.entries(asRecord(properties)).map(([name, value]) => ({
    isOptional: !asList(required).includes(name),
    isUnion: isRecord(value) && (Array.isArray(value['type']) || 'anyOf' in value),
  }))
}

/** A schema and all schemas in it. */
function everySchema(node: unknown): JsonRecord[] {
  if (!isRecord(node)) return []
  const maps = ['properties', '$defs', 'definitions'].map(key => Object.values(asRecord(node[key])))
  const lists = ['anyOf', 'allOf', 'oneOf', 'prefixItems'].map(key => asList(node[key]))
  return [node, ...[...maps, ...lists, [node['items']]].flat().flatMap(everySchema)]
}
