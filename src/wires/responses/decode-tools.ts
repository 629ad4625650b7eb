// The tools of a request and the choice among them, into ours, and back again for the response. Both forms of a function
// are taken: flat, as the Responses API has it, and nested under `function`. Only tools that the client runs can be
// declared: whatever else a request names is refused, so that no request makes the server reach out.

import type { Grammar, ToolChoice, ToolDeclaration } from '../../language/tools.ts'
import { isJsonObject, type Json, type JsonObject } from '../../lib/json.ts'
import { clientTool } from '../own-tools.ts'
import { absent, bounded, flag, list, names, object, oneOf, onlyKnown, optional, text } from './fields.ts'
import { missing, refuse, shown, unsupportedValue, wrongType } from './refuse.ts'

const kinds = ['function', 'custom'] as const
const flatFields = names(
  'type name description parameters strict defer_loading allowed_callers async output_schema',
)
const nestedFields = names('type function')
const innerFields = names('name description parameters strict')
const customFields = names('type name description format defer_loading allowed_callers async')
const longestName = 128

export function decodeTools(value: Json | undefined): ToolDeclaration[] {
  if (absent(value)) return []
  const seen = new Set<string>()
  return list(value, 'tools').map((item, index) => {
    const path = `tools[${index}]`
    const tool = decodeTool(object(item, path), path)
    if (seen.has(tool.name))
      refuse(`Invalid '${path}': the tool '${shown(tool.name)}' is declared twice.`, path, 'duplicate_tool')
    seen.add(tool.name)
    return tool
  })
}

function decodeTool(tool: JsonObject, path: string): ToolDeclaration {
  if (tool['type'] === undefined) missing(`${path}.type`)
  const kind = oneOf(tool['type'] ?? null, `${path}.type`, kinds)
  if (kind === 'custom') return decodeCustom(tool, path)
  if (tool['function'] === undefined) {
    onlyKnown(tool, flatFields, path)
    return decodeFunction(tool, path)
  }
  onlyKnown(tool, nestedFields, path)
  const inner = object(tool['function'], `${path}.function`)
  onlyKnown(inner, innerFields, `${path}.function`)
  return decodeFunction(inner, `${path}.function`)
}

function decodeFunction(tool: JsonObject, path: string): ToolDeclaration {
  const strict = optional(tool['strict'], `${path}.strict`, flag)
  const schema = optional(tool['parameters'], `${path}.parameters`, object) ?? {
    type: 'object',
    properties: {},
  }
  return declared(tool, path, { form: 'json', schema, ...(strict !== undefined && { strict }) })
}

function decodeCustom(tool: JsonObject, path: string): ToolDeclaration {
  onlyKnown(tool, customFields, path)
  const format = optional(tool['format'], `${path}.format`, object)
  if (
    !format ||
    oneOf(format['type'] ?? null, `${path}.format.type`, ['text', 'grammar'] as const) === 'text'
  )
    return declared(tool, path, { form: 'text' })
  const grammar: Grammar = {
    syntax: oneOf(format['syntax'] ?? null, `${path}.format.syntax`, ['lark', 'regex'] as const),
    definition: text(format['definition'], `${path}.format.definition`),
  }
  return declared(tool, path, { form: 'text', grammar })
}

function declared(tool: JsonObject, path: string, input: ToolDeclaration['input']): ToolDeclaration {
  refuseAsync(tool, path)
  const name = bounded(tool['name'], `${path}.name`, longestName)
  return clientTool(name, optional(tool['description'], `${path}.description`, text) ?? '', input)
}

/** Ways of calling that exist only where the vendor runs something itself. */
function refuseAsync(tool: JsonObject, path: string): void {
  for (const name of ['defer_loading', 'async'])
    if (tool[name] === true)
      refuse(`Unsupported parameter: '${path}.${name}'.`, `${path}.${name}`, 'unsupported_parameter')
}

// ---- the choice -----------------------------------------------------------------------------------------------

const choices = ['none', 'auto', 'required'] as const
const notOffered = (type: string): never =>
  refuse(`Tool choice '${type}' not found in 'tools' parameter.`, 'tool_choice')

/** Undefined when the request says nothing. `own`: names of the server's tools that are offered beside the client's. */
export function decodeChoice(
  value: Json | undefined,
  tools: readonly ToolDeclaration[],
  own: readonly string[],
): ToolChoice | undefined {
  if (absent(value)) return undefined
  const offered = new Set([...tools.map(tool => tool.name), ...own])
  if (typeof value === 'string') {
    const choice = oneOf(value, 'tool_choice', choices)
    if (choice === 'required' && offered.size === 0)
      refuse("Tool choice 'required' must be specified with 'tools' parameter.", 'tool_choice')
    return choice
  }
  if (!isJsonObject(value)) return wrongType('tool_choice', 'one of a tool choice object or string', value)
  if (value['type'] !== 'allowed_tools') return { tool: chosen(value, 'tool_choice', offered) }
  const inner = isJsonObject(value['allowed_tools']) ? value['allowed_tools'] : value
  const mode = oneOf(inner['mode'] ?? null, 'tool_choice.mode', ['auto', 'required'] as const)
  const allowed = list(inner['tools'], 'tool_choice.tools').map((item, index) =>
    chosen(object(item, `tool_choice.tools[${index}]`), `tool_choice.tools[${index}]`, offered),
  )
  return { allowed, mode }
}

function chosen(choice: JsonObject, path: string, offered: ReadonlySet<string>): string {
  const type = choice['type']
  if (type !== 'function' && type !== 'custom' && type !== 'mcp')
    return unsupportedValue(`${path}.type`, type, ['allowed_tools', 'function', 'custom', 'mcp'])
  const inner = choice['name'] === undefined && isJsonObject(choice[type]) ? choice[type] : choice
  const name = text(inner['name'], `${path}.name`)
  return offered.has(name) ? name : notOffered(type)
}

// ---- and back -------------------------------------------------------------------------------------------------

export function encodeTool({ name, description, input }: ToolDeclaration): JsonObject {
  if (input.form === 'json')
    return { type: 'function', name, description, parameters: input.schema, strict: input.strict ?? null }
  const format = input.grammar ? { type: 'grammar', ...input.grammar } : { type: 'text' }
  return { type: 'custom', name, description, format }
}

export function encodeChoice(choice: ToolChoice, tools: readonly ToolDeclaration[]): Json {
  if (typeof choice === 'string') return choice
  const reference = (name: string): JsonObject => {
    const own = tools.find(tool => tool.name === name)
    return { type: own?.input.form === 'text' ? 'custom' : 'function', name }
  }
  if ('tool' in choice) return reference(choice.tool)
  return { type: 'allowed_tools', mode: choice.mode, tools: choice.allowed.map(reference) }
}
