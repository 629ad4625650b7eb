// The tools of a request and the choice among them, into ours. A function may be flat, as the Responses API has it, or
// nested under `function`. The tools of a namespace become tools of their own, under both names; `CallNames` has what each
// is called on this wire. Only tools that the client runs can be declared, and the programs of a vendor that call them. Any
// other tool that a vendor would run is left out where clients declare it by habit, else refused: no request makes the
// server reach out.

import { refuseParameter, unsupportedParameterValue, wrongParameterType } from '../../apis/openai/refusal.ts'
import type { ToolChoice, ToolDeclaration } from '../../language/tools.ts'
import { excerpt, isAbsent, names, optional } from '../../lib/json/fields.ts'
import { isJsonObject, type Json, type JsonObject } from '../../lib/json/index.ts'
import { clientTool } from '../own-tools.ts'
import { keepTools } from '../stateless/index.ts'
import { field, unsupportedParameter } from './wordings.ts'

const flatFields = names(
  'type name description parameters strict defer_loading allowed_callers async output_schema',
)
const nestedFields = names('type function')
const innerFields = names('name description parameters strict')
const customFields = names('type name description format defer_loading allowed_callers async')
const namespaceFields = names('type name description tools')
const searchFields = names('type execution description parameters')
const programsFields = names('type')
export const programsTool = 'programmatic_tool_calling'

/** Some clients declare these to every server, and do without them. */
const leftOut: ReadonlySet<Json | undefined> = new Set([
  'web_search',
  'web_search_2025_08_26',
  'web_search_preview',
  'web_search_preview_2025_03_11',
  'image_generation',
])

/** A tool of a namespace, or the search for tools, which has a name of ours only. */
type CallName = { namespace: string; name: string } | { search: true }
/** By the name under which models know the tool. A tool that is not here has one name. */
export type CallNames = Readonly<Record<string, CallName>>

export type DeclaredTools = {
  tools: ToolDeclaration[]
  called: CallNames
  /** The descriptions of the namespaces, by name. */
  namespaces: Record<string, string>
  /** The vendor is to search the deferred ones. */
  vendorSearch?: true
  /** Programs that the vendor runs may call them. `callers`: who may, by the name of the tool, where the request says so. */
  programs?: { callers: ReadonlyMap<string, string[]> }
}

export const searchTool = 'tool_search'

/** The same for a tool that is declared and for a call of it. */
export function flatName(namespace: string, name: string): string {
  return namespace.endsWith('__') ? namespace + name : `${namespace}__${name}`
}

/**
 * `input`: its items may bring further tools. They stay on offer as long as the item is in the conversation, and replace
 * tools of the same name.
 */
export function decodeTools(value: Json | undefined, input?: Json): DeclaredTools {
  const items = (Array.isArray(input) ? input : []).entries().filter(([, item]) => bringsTools(item))
  const further = [...items]
  return further.length === 0 ? ownTools(value ?? null) : readTools(value, further)
}

/** Those of a request whose input brings none. */
const ownTools = keepTools(value => readTools(value, []))

const bringsTools = (item: Json): boolean =>
  isJsonObject(item) && (item['type'] === 'additional_tools' || item['type'] === 'tool_search_output')

/** `further`: the items that bring tools, by their index. */
function readTools(value: Json | undefined, further: readonly [number, Json][]): DeclaredTools {
  const reader = new ToolsReader()
  if (!isAbsent(value)) reader.take(field.list(value, 'tools'), 'tools')
  const own = new Set(reader.tools.keys())
  for (const [index, item] of further) {
    const { type, tools, call_id: call } = item as JsonObject // as `bringsTools` has found
    if (isAbsent(tools)) continue
    const path = `input[${index}].tools`
    // Tools that the client's own search found are declared at that place, if the model's vendor has a form for that.
    const isFound = type === 'tool_search_output' && !isAbsent(call)
    reader.take(field.list(tools, path), path, own, isFound)
  }
  return reader.done()
}

class ToolsReader {
  readonly tools = new Map<string, ToolDeclaration>()
  readonly #called: Record<string, CallName> = {}
  readonly #namespaces: Record<string, string> = {}
  readonly #found = new Set<string>()
  readonly #deferred = new Set<string>()
  readonly #callers = new Map<string, string[]>()
  #vendorSearch = false
  #programs = false

  /**
   * `replaceable`: names that were declared before. Undefined: none may be declared twice. `isFound`: a search of the
   * client's found them.
   */
  take(list: readonly Json[], path: string, replaceable?: ReadonlySet<string>, isFound = false): void {
    const before = new Set(isFound ? this.tools.keys() : [])
    this.#takeAll(list, path, replaceable)
    if (isFound) for (const name of this.tools.keys()) if (!before.has(name)) this.#found.add(name)
  }

  #takeAll(list: readonly Json[], path: string, replaceable?: ReadonlySet<string>): void {
    for (const [index, item] of list.entries()) {
      const at = `${path}[${index}]`
      const tool = field.object(item, at)
      const { type } = tool
      if (leftOut.has(type)) continue
      if (type === 'namespace') this.#takeNamespace(tool, at, replaceable)
      else if (type === 'tool_search') this.#takeSearch(tool, at)
      else if (type === programsTool) {
        field.onlyKnown(tool, programsFields, at)
        this.#programs = true
      } else this.#take(decodeTool(tool, at), tool, at, replaceable)
    }
  }

  /** Without a search a deferred tool could never be called, so it is on offer at once. */
  done(): DeclaredTools {
    const searches = this.#vendorSearch || this.tools.has(searchTool)
    const tools = [...this.tools.values()].map(tool => {
      const waits = this.#found.has(tool.name) || (searches && this.#deferred.has(tool.name))
      return waits ? { ...tool, deferred: true as const } : tool
    })
    return {
      tools,
      called: this.#called,
      namespaces: this.#namespaces,
      ...(this.#vendorSearch && { vendorSearch: true }),
      ...(this.#programs && { programs: { callers: this.#callers } }),
    }
  }

  #take(
    tool: ToolDeclaration,
    { defer_loading: isDeferred, allowed_callers: allowed }: JsonObject,
    path: string,
    replaceable?: ReadonlySet<string>,
  ): void {
    this.#add(tool, path, replaceable)
    const at = `${path}.allowed_callers`
    const callers = optional(allowed, at, field.list)?.map((each, index) =>
      field.oneOf(each, `${at}[${index}]`, ['direct', 'programmatic']),
    )
    if (callers && callers.length > 0) this.#callers.set(tool.name, callers)
    if (isDeferred === true) this.#deferred.add(tool.name)
  }

  #add(tool: ToolDeclaration, path: string, replaceable?: ReadonlySet<string>): void {
    if (this.tools.has(tool.name) && !replaceable) {
      const message = `Invalid '${path}': the tool '${excerpt(tool.name)}' is declared twice.`
      refuseParameter(message, path, 'duplicate_tool')
    }
    this.tools.set(tool.name, tool)
  }

  #takeNamespace(space: JsonObject, path: string, replaceable?: ReadonlySet<string>): void {
    field.onlyKnown(space, namespaceFields, path)
    const namespace = field.text(space['name'], `${path}.name`, { min: 1, max: 128 })
    this.#namespaces[namespace] = optional(space['description'], `${path}.description`, field.text) ?? ''
    field.objects(space['tools'], `${path}.tools`, (given, at) => {
      const { name, ...tool } = decodeTool(given, at)
      const flat = flatName(namespace, name)
      this.#take({ ...tool, name: flat }, given, at, replaceable)
      this.#called[flat] = { namespace, name }
    })
  }

  /** A client's own search is a tool that it runs. */
  #takeSearch(tool: JsonObject, path: string): void {
    field.onlyKnown(tool, searchFields, path)
    if (tool['execution'] !== 'client') {
      this.#vendorSearch = true
      return
    }
    const search = decodeFunction({ ...tool, name: searchTool }, path)
    this.#add({ ...search, name: searchTool, finds: true }, path)
    this.#called[searchTool] = { search: true }
  }
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
  if (tool['async'] === true) unsupportedParameter(`${path}.async`)
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
  const allowed = field.objects(inner['tools'], 'tool_choice.tools', (item, path) =>
    chosenTool(item, path, offered),
  )
  return { allowed, mode }
}

function chosenTool(choice: JsonObject, path: string, offered: ReadonlySet<string>): string {
  const { type } = choice
  if (type !== 'function' && type !== 'custom' && type !== 'mcp')
    throw unsupportedParameterValue(`${path}.type`, type, ['allowed_tools', 'function', 'custom', 'mcp'])
  const inner = choice['name'] === undefined && isJsonObject(choice[type]) ? choice[type] : choice
  const given = field.text(inner['name'], `${path}.name`)
  const namespace = optional(choice['namespace'], `${path}.namespace`, field.text)
  const name = namespace === undefined ? given : flatName(namespace, given)
  if (offered.has(name)) return name
  return refuseParameter(`Tool choice '${type}' not found in 'tools' parameter.`, 'tool_choice')
}
