// The tools of a request and the choice among them, into ours. A function may be flat, as the Responses API has it, or
// nested under `function`. Only tools that the client runs can be declared. Any other tool is refused, so that no request
// makes the server reach out.
import type { ToolChoice, ToolDeclaration } from '../../language/tools.ts'
import { isJsonObject, type Json, type JsonObject } from '../../lib/json.ts'
import { excerpt, isAbsent, names, optional } from '../fields.ts'
import { refuseParameter, unsupportedParameterValue, wrongParameterType } from '../openai-refusal.ts'
import { clientTool } from '../own-tools.ts'
import { field, unsupportedParameter } from './wordings.ts'

const flatFields = names(
  'type name description parameters strict defer_loading allowed_callers async output_schema',
)
const nestedFields = names('type function')
const innerFields = names('name description parameters strict')
const customFields = names('type name description format defer_loading allowed_callers async')
/** Ways of calling that exist only where the vendor runs something itself. */
const vendorOnly = ['defer_loading', 'async']

export function decodeTools(value: Json | undefined): ToolDeclaration[] {
  if (isAbsent(value)) return []
  const seen = new Set<string>()
  return field.list(value, 'tools').map((item, index) => {
    const path = `tools[${index}]`
    const tool = decodeTool(field.object(item, path), path)
    if (seen.has(tool.name)) {
      const message = `Invalid '${path}': the tool '${excerpt(tool.name)}' is declared twice.`
      refuseParameter(message, path, 'duplicate_tool')
    }
    seen.add(tool.name)
    return tool
  })
}

function decodeTool(tool: JsonObject, path: string): ToolDeclaration {
  if (field.oneOf(tool['type'], `${path}.type`, ['function', 'custom']) === 'custom') {
    field.onlyKnown(tool, customFields, path)
    return declaredTool(tool, path, decodeFormat(tool['format'], `${path}.format`))
  }
  if (tool['function'] === undefined) {
    field.onlyKnown(tool, flatFields, path)
    return decodeFunction(tool, path)
  }
  field.onlyKnown(tool, nestedFields, path)
  const inner = field.object(tool['function'], `${path}.function`)
  field.onlyKnown(inner, innerFields, `${path}.function`)
  return decodeFunction(inner, `${path}.function`)
}

function decodeFunction(tool: JsonObject, path: string): ToolDeclaration {
  const strict = optional(tool['strict'], `${path}.strict`, field.flag)
  const given = optional(tool['parameters'], `${path}.parameters`, field.object)
  const schema = given ?? { type: 'object', properties: {} }
  return declaredTool(tool, path, { form: 'json', schema, ...(strict !== undefined && { strict }) })
}

function decodeFormat(value: Json | undefined, path: string): ToolDeclaration['input'] {
  const format = optional(value, path, field.object)
  if (!format || field.oneOf(format['type'] ?? null, `${path}.type`, ['text', 'grammar']) === 'text')
    return { form: 'text' }
  const syntax = field.oneOf(format['syntax'] ?? null, `${path}.syntax`, ['lark', 'regex'])
  return {
    form: 'text',
    grammar: { syntax, definition: field.text(format['definition'], `${path}.definition`) },
  }
}

function declaredTool(tool: JsonObject, path: string, input: ToolDeclaration['input']): ToolDeclaration {
  for (const name of vendorOnly) if (tool[name] === true) unsupportedParameter(`${path}.${name}`)
  const name = field.text(tool['name'], `${path}.name`, { min: 1, max: 128 })
  return clientTool(name, optional(tool['description'], `${path}.description`, field.text) ?? '', input)
}

// ---- the choice ----------------------------------------------------------------------------------------------

/** Undefined when the request says nothing. `own`: names of the server's tools that are offered beside the client's. */
export function decodeChoice(
  value: Json | undefined,
  tools: readonly ToolDeclaration[],
  own: readonly string[],
): ToolChoice | undefined {
  if (isAbsent(value)) return undefined
  const offered = new Set([...tools.map(tool => tool.name), ...own])
  if (typeof value === 'string') {
    const choice = field.oneOf(value, 'tool_choice', ['none', 'auto', 'required'])
    if (choice === 'required' && offered.size === 0)
      refuseParameter("Tool choice 'required' must be specified with 'tools' parameter.", 'tool_choice')
    return choice
  }
  if (!isJsonObject(value))
    throw wrongParameterType('tool_choice', 'one of a tool choice object or string', value)
  if (value['type'] !== 'allowed_tools') return { tool: chosenTool(value, 'tool_choice', offered) }
  const inner = isJsonObject(value['allowed_tools']) ? value['allowed_tools'] : value
  const mode = field.oneOf(inner['mode'] ?? null, 'tool_choice.mode', ['auto', 'required'])
  const allowed = field.list(inner['tools'], 'tool_choice.tools').map((item, index) => {
    const path = `tool_choice.tools[${index}]`
    return chosenTool(field.object(item, path), path, offered)
  })
  return { allowed, mode }
}

function chosenTool(choice: JsonObject, path: string, offered: ReadonlySet<string>): string {
  const { type } = choice
  if (type !== 'function' && type !== 'custom' && type !== 'mcp')
    throw unsupportedParameterValue(`${path}.type`, type, ['allowed_tools', 'function', 'custom', 'mcp'])
  const inner = choice['name'] === undefined && isJsonObject(choice[type]) ? choice[type] : choice
  const name = field.text(inner['name'], `${path}.name`)
  if (offered.has(name)) return name
  return refuseParameter(`Tool choice '${type}' not found in 'tools' parameter.`, 'tool_choice')
}
