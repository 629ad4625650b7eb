// Turns a server's list of tools into our declarations. None of it is trusted: a tool that cannot be offered is left out
// with a warning and does not affect the others, and the server's hints decide nothing unless the operator trusts them.
// Hints are part of the description, for the model and the approver, so a changed hint makes a changed tool.

import type { Tool } from '../../engine/ports.ts'
import type { ToolKind } from '../../language/tools.ts'
import { errorMessage } from '../../lib/error-message.ts'
import { sha256 } from '../../lib/hash.ts'
import { isJsonObject, type Json, type JsonObject } from '../../lib/json.ts'
import { checkDeclaredSchema } from '../../lib/schema-declared.ts'
import { cutUtf8, printable, wellFormed } from '../../lib/text.ts'

type DeclaredTool = Omit<Tool, 'run'> & { input: { form: 'json'; schema: JsonObject } }
/** `raw`: the tool's name on the server. `asTask`: it must be called as a task (2025-11-25). */
export type Listed = { raw: string; asTask: boolean; declared: DeclaredTool }

type DeclareOptions = {
  server: string
  identity: string
  trust: Tool['trust']
  trustAnnotations: boolean
  exposed: boolean
  timeoutMs: number
  outputLimit: number
  /** Over HTTP, parameters may be sent as headers, so their header names are checked. */
  http: boolean
}

const maxName = 128
const maxWords = 4096

/** Of two tools with the same name the second is left out. */
export function declareTools(
  tools: readonly unknown[],
  options: DeclareOptions,
  taken: ReadonlySet<string>,
  warn: (words: string) => void,
): Listed[] {
  const listed = new Map<string, Listed>()
  for (const [index, tool] of tools.entries()) {
    try {
      const one = declareTool(tool, options)
      const { name } = one.declared
      if (listed.has(name)) throw new Error(`the name "${name}" is taken by a tool of the same server`)
      if (taken.has(name)) throw new Error(`the name "${name}" is taken by another tool`)
      listed.set(name, one)
    } catch (error) {
      const name =
        isJsonObject(tool) && typeof tool['name'] === 'string' ? tool['name'] : `number ${index + 1}`
      const problem = errorMessage(error)
      warn(`The tool ${printable(name, 80)} of the MCP server "${options.server}" is left out: ${problem}`)
    }
  }
  return [...listed.values()]
}

function declareTool(tool: unknown, options: DeclareOptions): Listed {
  if (!isJsonObject(tool)) throw new Error('it is not an object')
  const { name: raw, title, description, inputSchema, outputSchema, annotations, execution } = tool
  if (typeof raw !== 'string' || !/^[A-Za-z0-9_.-]{1,128}$/.test(raw))
    throw new Error('a name has 1 to 128 letters, digits and _ - .')
  const input = checkedSchema(inputSchema, 'input')
  if (options.http) checkHeaders(input)
  const hints = isJsonObject(annotations) ? annotations : {}
  const { trustAnnotations } = options
  const readOnly = trustAnnotations && hints['readOnlyHint'] === true
  const shownTitle = typeof title === 'string' ? title : hints['title']
  return {
    raw,
    asTask: isJsonObject(execution) && execution['taskSupport'] === 'required',
    declared: {
      name: offeredName(options.server, raw),
      ...(typeof shownTitle === 'string' && shownTitle !== '' && { title: printable(shownTitle, 120) }),
      description: fullDescription(typeof description === 'string' ? description : '', raw, hints, options),
      input: { form: 'json', schema: input },
      ...(outputSchema !== undefined && { output: checkedSchema(outputSchema, 'output') }),
      kind: hintedKind(hints),
      readOnly,
      idempotent: readOnly || (trustAnnotations && hints['idempotentHint'] === true),
      destructive: !readOnly && !(trustAnnotations && hints['destructiveHint'] === false),
      side: 'server',
      exposed: options.exposed,
      trust: options.trust,
      timeoutMs: options.timeoutMs,
      retries: 0,
      outputLimit: options.outputLimit,
    },
  }
}

/** `server__tool`. A name that is too long is cut and ends in a hash of the whole, so that it stays unique. */
function offeredName(server: string, raw: string): string {
  const name = `${server}__${raw}`
  return name.length <= maxName ? name : `${name.slice(0, maxName - 9)}_${sha256(name).slice(0, 8)}`
}

function fullDescription(text: string, raw: string, hints: JsonObject, options: DeclareOptions): string {
  const words = cutUtf8(wellFormed(text).trim(), maxWords).text || `The tool "${raw}".`
  const hintText = hintWords(hints)
  const claims = hintText === '' ? '' : `; it calls the tool ${hintText}`
  return `${words}\n[MCP server "${options.server}" ${options.identity}${claims}]`
}

const hintNames = [
  ['readOnlyHint', 'read-only', 'not read-only'],
  ['destructiveHint', 'destructive', 'not destructive'],
  ['idempotentHint', 'idempotent', 'not idempotent'],
  ['openWorldHint', 'open to the world', 'closed to the world'],
] as const

function hintWords(hints: JsonObject): string {
  return hintNames
    .flatMap(([name, yes, no]) => (hints[name] === true ? [yes] : hints[name] === false ? [no] : []))
    .join(', ')
}

/** For display only. It is the server's claim, so policy rules should not depend on it. */
function hintedKind(hints: JsonObject): ToolKind {
  return hints['readOnlyHint'] === true ? 'read' : 'other'
}

function checkedSchema(schema: Json | undefined, which: 'input' | 'output'): JsonObject {
  if (!isJsonObject(schema)) throw new Error(`its ${which} schema is missing or not an object`)
  checkDeclaredSchema(schema)
  if (which === 'input' && schema['type'] !== 'object')
    throw new Error('its input schema must say "type": "object", since arguments are an object')
  return schema
}

const headerKey = 'x-mcp-header'
const token = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/

/** A parameter that is mirrored into a header must be a plain value at a fixed path, with a valid header name. */
function checkHeaders(schema: JsonObject): void {
  const names = new Set<string>()
  let reachable = 0
  const visit = (properties: Json | undefined): void => {
    if (!isJsonObject(properties)) return
    for (const property of Object.values(properties)) {
      if (!isJsonObject(property)) continue
      const header = property[headerKey]
      if (header !== undefined) {
        reachable += 1
        const { type } = property
        const plain = type === 'integer' || type === 'string' || type === 'boolean'
        if (typeof header !== 'string' || !token.test(header) || !plain || names.has(header.toLowerCase()))
          throw new Error(`its ${headerKey} ${JSON.stringify(header)} cannot be sent as a header`)
        names.add(header.toLowerCase())
      }
      visit(property['properties'])
    }
  }
  visit(schema['properties'])
  if (countKey(schema) > reachable)
    throw new Error(`it has an ${headerKey} on a parameter that is not always at the same place`)
}

function countKey(value: Json): number {
  if (typeof value !== 'object' || value === null) return 0
  let count = !Array.isArray(value) && value[headerKey] !== undefined ? 1 : 0
  for (const item of Object.values(value)) count += countKey(item)
  return count
}
