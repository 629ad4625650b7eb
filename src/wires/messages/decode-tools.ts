// The tools of a Messages request and the choice among them. Tools with a schema are the client's own; vendor-tools.ts knows
// those that the vendor defines. Blocks in the messages may add and remove tools: what holds is what they leave at the end.
import * as says from '../../apis/anthropic/wordings.ts'
import type { Ask } from '../../language/events.ts'
import type { ToolDeclaration } from '../../language/tools.ts'
import type { Json, JsonObject } from '../../lib/json/index.ts'
import { isAbsent, names, optional } from '../fields.ts'
import { clientTool } from '../own-tools.ts'
import { type ClientHosted, ifObject, type ModelTarget, originFor } from '../stateless/index.ts'
import { toolNameRule } from './decode-blocks.ts'
import type { ToolChange } from './decode-messages.ts'
import { vendorTool } from './vendor-tools.ts'
import { anthropicRefusal, flag, messagesTexts, object, objects, tagOf, text } from './wordings.ts'

/** `name`: empty for a set of tools. `key`: the name of a tool; of a set the server that it is for, or its type. */
export type PlacedHosted = ClientHosted & { path: string; name: string; key: string }
export type MessagesTools = { clientTools: ToolDeclaration[]; hosted: PlacedHosted[] }

export function decodeMessagesTools(
  value: Json | undefined,
  changes: readonly ToolChange[],
  target: ModelTarget,
): MessagesTools {
  const tools: MessagesTools = { clientTools: [], hosted: [] }
  if (!isAbsent(value)) objects(value, 'tools', (tool, at) => addTool(tools, tool, at, target))
  const given = toolNames(tools)
  if (new Set(given).size < given.length) throw anthropicRefusal(says.repeatedTool)
  return changes.reduce((before, change) => changed(before, change, target), tools)
}

function toolNames({ clientTools, hosted }: MessagesTools): string[] {
  return [...clientTools, ...hosted].map(tool => tool.name).filter(name => name !== '')
}

function addTool(tools: MessagesTools, tool: JsonObject, at: string, target: ModelTarget): void {
  if (isAbsent(tool['type']) || tool['type'] === 'custom') {
    tools.clientTools.push(decodeMessagesTool(tool, at))
    return
  }
  const type = text(tool['type'], `${at}.type`)
  const known = vendorTool(type)
  if (!known) throw anthropicRefusal(messagesTexts.toolNotOffered(at, type))
  const { purpose, plain } = known
  const isSet = purpose === 'mcp' || type.includes('_toolset_')
  const name = isSet ? '' : text(tool['name'], `${at}.name`, toolNameRule)
  const server = purpose === 'mcp' ? text(tool['mcp_server_name'], `${at}.mcp_server_name`) : undefined
  const key = server === undefined ? name || type : toolsetKey(server)
  if (plain && originFor(target, 'anthropic') === undefined) {
    const isDeferred = optional(tool['defer_loading'], `${at}.defer_loading`, flag)
    tools.clientTools.push({ ...plain(name), ...(isDeferred && { deferred: true }) })
  } else tools.hosted.push({ declaration: tool, purpose, protocol: 'anthropic', path: at, name, key })
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

/** `removed`: they may be added again. */
type ChangedTools = MessagesTools & { removed?: MessagesTools }

const changeKinds = [
  'tool_reference',
  'tool_definition',
  'mcp_tool_reference',
  'mcp_toolset_reference',
] as const

function changed(before: ChangedTools, { adds, tool, path }: ToolChange, target: ModelTarget): ChangedTools {
  const kind = tagOf(tool, path, adds ? changeKinds : changeKinds.filter(each => each !== 'tool_definition'))
  if (kind === 'tool_definition') {
    const at = `${path}.definition`
    const defined: MessagesTools = { clientTools: [], hosted: [] }
    addTool(defined, object(tool['definition'], at), at, target)
    const keys = new Set([...defined.clientTools, ...defined.hosted].map(keyOf))
    return {
      ...before,
      ...joined(
        picked(before, key => !keys.has(key)),
        defined,
      ),
    }
  }
  if (kind === 'tool_reference') return moved(before, text(tool['name'], `${path}.name`), adds, path)
  const server = toolsetKey(text(tool['server_name'], `${path}.server_name`))
  if (kind === 'mcp_toolset_reference') return moved(before, server, adds, path)
  const name = text(tool['name'], `${path}.name`)
  if (!before.hosted.some(each => keyOf(each) === server))
    throw anthropicRefusal(messagesTexts.unknownChange(path, server))
  const hosted = before.hosted.map(each => (keyOf(each) === server ? withEnabled(each, name, adds) : each))
  return { ...before, hosted }
}

const toolsetKey = (server: string): string => `MCP server ${server}`

function keyOf(tool: ToolDeclaration | PlacedHosted): string {
  return 'key' in tool ? tool.key : tool.name
}

function picked({ clientTools, hosted }: MessagesTools, isWanted: (key: string) => boolean): MessagesTools {
  return {
    clientTools: clientTools.filter(tool => isWanted(keyOf(tool))),
    hosted: hosted.filter(tool => isWanted(keyOf(tool))),
  }
}

function joined(first: MessagesTools, second: MessagesTools): MessagesTools {
  return {
    clientTools: [...first.clientTools, ...second.clientTools],
    hosted: [...first.hosted, ...second.hosted],
  }
}

/** Adds a tool that was declared before, or removes it. */
function moved(before: ChangedTools, key: string, adds: boolean, path: string): ChangedTools {
  const { removed = { clientTools: [], hosted: [] } } = before
  const [there, away] = [picked(before, each => each === key), picked(removed, each => each === key)]
  const found = joined(there, away)
  if (found.clientTools.length + found.hosted.length === 0)
    throw anthropicRefusal(messagesTexts.unknownChange(path, key))
  const others = picked(before, each => each !== key)
  const gone = picked(removed, each => each !== key)
  if (!adds) return { ...others, removed: joined(gone, found) }
  // Whoever adds a tool by its name has loaded it.
  const clientTools = found.clientTools.map(tool => {
    const { deferred: _, ...loaded } = tool
    return loaded
  })
  return { ...joined(others, { ...found, clientTools }), removed: gone }
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
  const type = tagOf(given, 'tool_choice', ['auto', 'any', 'tool', 'none'])
  if (type !== 'tool') return { choice: type === 'any' ? 'required' : type, ...parallel }
  const tool = text(given['name'], 'tool_choice.tool.name')
  if (clientTools.some(each => each.name === tool)) return { choice: { tool }, ...parallel }
  if (!hosted.some(each => each.name === tool)) throw anthropicRefusal(messagesTexts.noSuchTool(tool))
  // Another vendor's tool of the same purpose has another name, and some vendors cannot be made to use it.
  return { choice: originFor(target, 'anthropic') ? { tool } : 'auto', ...parallel }
}
