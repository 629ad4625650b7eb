// The tools of a Messages request and the choice among them. Tools with a schema are the client's own; vendor-tools.ts
// knows those that the vendor defines. Blocks in the messages may add and remove tools: the final list counts.
import * as says from '../../apis/anthropic/wordings.ts'
import type { Ask } from '../../language/events.ts'
import type { ToolDeclaration } from '../../language/tools.ts'
import { isAbsent, names, optional } from '../../lib/json/fields.ts'
import type { Json, JsonObject } from '../../lib/json/index.ts'
import { clientTool } from '../own-tools.ts'
import { type ClientHosted, ifObject, keepTools, type ModelTarget, originFor } from '../stateless/index.ts'
import { toolNameRule } from './decode-blocks.ts'
import type { ToolChange } from './decode-messages.ts'
import { vendorTool } from './vendor-tools.ts'
import { anthropicRefusal, flag, messagesTexts, object, objects, readTag, text } from './wordings.ts'

/** `name`: empty for a set of tools. */
export type PlacedHosted = ClientHosted & { path: string; name: string }
export type MessagesTools = { clientTools: ToolDeclaration[]; hosted: PlacedHosted[] }

/**
 * A tool of the request. `key`: the name of a tool; of a set the server that it is for, or its type. One that was removed may
 * be added again.
 */
type GivenTool = { key: string; client?: ToolDeclaration; hosted?: PlacedHosted; removed?: true }

export function decodeMessagesTools(
  value: Json | undefined,
  changes: readonly ToolChange[],
  target: ModelTarget,
): MessagesTools {
  const isVendors = originFor(target, 'anthropic') !== undefined
  const given = isAbsent(value) ? [] : (isVendors ? vendorsTools : othersTools)(value)
  const tools = changes.reduce((before, change) => changed(before, change, isVendors), given)
  const offered = tools.filter(({ removed }) => !removed)
  return {
    clientTools: offered.flatMap(({ client }) => client ?? []),
    hosted: offered.flatMap(({ hosted }) => hosted ?? []),
  }
}

/** For a model of this vendor, and for any other: that one is given some of the vendor's tools as the client's. */
const vendorsTools = keepTools(value => readTools(value, true))
const othersTools = keepTools(value => readTools(value, false))

function readTools(value: Json, isVendors: boolean): readonly GivenTool[] {
  const given = objects(value, 'tools', (tool, at) => readTool(tool, at, isVendors))
  const declaredNames = given
    .map(({ client, hosted }) => client?.name ?? hosted?.name ?? '')
    .filter(name => name !== '')
  if (new Set(declaredNames).size < declaredNames.length) throw anthropicRefusal(says.repeatedTool)
  return given
}

function readTool(tool: JsonObject, at: string, isVendors: boolean): GivenTool {
  if (isAbsent(tool['type']) || tool['type'] === 'custom') {
    const client = decodeMessagesTool(tool, at)
    return { key: client.name, client }
  }
  const type = text(tool['type'], `${at}.type`)
  const known = vendorTool(type)
  if (!known) throw anthropicRefusal(messagesTexts.toolNotOffered(at, type))
  const { purpose, plain } = known
  const isSet = purpose === 'mcp' || type.includes('_toolset_')
  const name = isSet ? '' : text(tool['name'], `${at}.name`, toolNameRule)
  const server = purpose === 'mcp' ? text(tool['mcp_server_name'], `${at}.mcp_server_name`) : undefined
  const key = server === undefined ? name || type : toolsetKey(server)
  if (!plain || isVendors)
    return { key, hosted: { declaration: tool, purpose, protocol: 'anthropic', path: at, name } }
  const isDeferred = optional(tool['defer_loading'], `${at}.defer_loading`, flag)
  return { key, client: { ...plain(name), ...(isDeferred && { deferred: true }) } }
}

const declaredFields = names('cache_control eager_input_streaming allowed_callers input_examples')

function decodeMessagesTool(tool: JsonObject, at: string): ToolDeclaration {
  const path = `${at}.custom`
  const name = text(tool['name'], `${path}.name`, toolNameRule)
  const schema = object(tool['input_schema'], `${path}.input_schema`)
  const description = optional(tool['description'], `${path}.description`, text) ?? ''
  const strict = optional(tool['strict'], `${path}.strict`, flag)
  const fields = Object.fromEntries(
    Object.entries(tool).filter(([key, value]) => declaredFields.has(key) && value !== null),
  )
  const isDeferred = optional(tool['defer_loading'], `${path}.defer_loading`, flag)
  return {
    ...clientTool(name, description, { form: 'json', schema, ...(strict && { strict }) }),
    ...(isDeferred && { deferred: true }),
    ...(Object.keys(fields).length > 0 && { fields: { anthropic: fields } }),
  }
}

// ---- additions and removals -----------------------------------------------------------------------------------

const changeKinds = [
  'tool_reference',
  'tool_definition',
  'mcp_tool_reference',
  'mcp_toolset_reference',
] as const

/** The tools after a change. An added tool stands at the end. */
function changed(before: readonly GivenTool[], change: ToolChange, isVendors: boolean): readonly GivenTool[] {
  const { adds, tool, path } = change
  const kind = readTag(
    tool,
    path,
    adds ? changeKinds : changeKinds.filter(each => each !== 'tool_definition'),
  )
  if (kind === 'tool_definition') {
    const at = `${path}.definition`
    const defined = readTool(object(tool['definition'], at), at, isVendors)
    return [...before.filter(({ key }) => key !== defined.key), defined]
  }
  const isTool = kind === 'tool_reference'
  const server = isTool ? '' : toolsetKey(text(tool['server_name'], `${path}.server_name`))
  const name = kind === 'mcp_toolset_reference' ? '' : text(tool['name'], `${path}.name`)
  const key = isTool ? name : server
  const isMember = kind === 'mcp_tool_reference'
  const isMeant = (each: GivenTool): boolean => each.key === key && !(isMember && each.removed)
  if (!before.some(isMeant)) throw anthropicRefusal(messagesTexts.unknownChange(path, key))
  if (isMember)
    return before.map(each =>
      each.hosted && isMeant(each) ? { ...each, hosted: withEnabled(each.hosted, name, adds) } : each,
    )
  const moved = before.filter(isMeant).map(adds ? loaded : (each): GivenTool => ({ ...each, removed: true }))
  return [...before.filter(each => !isMeant(each)), ...moved]
}

const toolsetKey = (server: string): string => `MCP server ${server}`

/** A tool that is added by its name is loaded: it is no longer removed or deferred. */
function loaded(tool: GivenTool): GivenTool {
  const { removed: _, client, ...rest } = tool
  if (!client) return rest
  const { deferred: __, ...declared } = client
  return { ...rest, client: declared }
}

/** One tool of a set, by its name there. */
function withEnabled(toolset: PlacedHosted, name: string, enabled: boolean): PlacedHosted {
  const { declaration } = toolset
  const configs = ifObject(declaration['configs']) ?? {}
  const changedConfigs = { ...configs, [name]: { ...ifObject(configs[name]), enabled } }
  return { ...toolset, declaration: { ...declaration, configs: changedConfigs } }
}

// ---- the choice -----------------------------------------------------------------------------------------------

export function decodeMessagesChoice(
  value: Json | undefined,
  { clientTools, hosted }: MessagesTools,
  target: ModelTarget,
): Pick<Ask, 'choice' | 'parallel'> {
  if (isAbsent(value)) return {}
  const given = object(value, 'tool_choice')
  const at = 'tool_choice.disable_parallel_tool_use'
  const isSingle = optional(given['disable_parallel_tool_use'], at, flag)
  const parallel = isSingle ? { parallel: false } : {}
  const type = readTag(given, 'tool_choice', ['auto', 'any', 'tool', 'none'])
  if (type !== 'tool') return { choice: type === 'any' ? 'required' : type, ...parallel }
  const tool = text(given['name'], 'tool_choice.tool.name')
  if (clientTools.some(each => each.name === tool)) return { choice: { tool }, ...parallel }
  if (!hosted.some(each => each.name === tool)) throw anthropicRefusal(messagesTexts.noSuchTool(tool))
  // Another vendor's tool of the same purpose has another name, and some vendors cannot be made to use it.
  return { choice: originFor(target, 'anthropic') ? { tool } : 'auto', ...parallel }
}
