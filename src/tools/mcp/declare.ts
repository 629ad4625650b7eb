// From what a server says of its tools to what we offer. Everything here is the server's word: a tool that cannot be
// offered is left out with a warning and never takes the others with it, and hints decide nothing unless the
// operator trusts them. They are told to the model and to whoever approves, so that a changed hint is a changed tool.

import type { Tool } from '../../engine/ports.ts'
import type { ToolKind } from '../../language/tools.ts'
import { sha256 } from '../../lib/hash.ts'
import { isJsonObject, type Json, type JsonObject } from '../../lib/json.ts'
import { checkDeclaredSchema } from '../../lib/schema-declared.ts'
import { cutUtf8, printable, wellFormed } from '../../lib/text.ts'

export type Declared = Omit<Tool, 'run'> & { input: { form: 'json'; schema: JsonObject } }
/** `raw`: its name on the server. */
export type Listed = { raw: string; declared: Declared }

export type DeclareOptions = {
  server: string
  identity: string
  trust: Tool['trust']
  trustAnnotations: boolean
  exposed: boolean
  timeoutMs: number
  outputLimit: number
  /** Parameters may travel as headers, and have to be fit for it. */
  http: boolean
}

const maxName = 128
const maxWords = 4096

/** Names that are free of one another: of two tools with one name none replaces the other, the second is left out. */
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
      const reason = error instanceof Error ? error.message : String(error)
      warn(`The tool ${printable(name, 80)} of the MCP server "${options.server}" is left out: ${reason}`)
    }
  }
  return [...listed.values()]
}

function declareTool(tool: unknown, options: DeclareOptions): Listed {
  if (!isJsonObject(tool)) throw new Error('it is not an object')
  const { name: raw, title, description, inputSchema, outputSchema, annotations } = tool
  if (typeof raw !== 'string' || !/^[A-Za-z0-9_.-]{1,128}$/.test(raw))
    throw new Error('a name has 1 to 128 letters, digits and _ - .')
  const input = schemaOf(inputSchema, 'input')
  if (options.http) checkHeaders(input)
  const hints = isJsonObject(annotations) ? annotations : {}
  const believed = options.trustAnnotations
  const readOnly = believed && hints['readOnlyHint'] === true
  const shownTitle = typeof title === 'string' ? title : hints['title']
  return {
    raw,
    declared: {
      name: offeredName(options.server, raw),
      ...(typeof shownTitle === 'string' && shownTitle !== '' && { title: printable(shownTitle, 120) }),
      description: describe(typeof description === 'string' ? description : '', raw, hints, options),
      input: { form: 'json', schema: input },
      ...(outputSchema !== undefined && { output: schemaOf(outputSchema, 'output') }),
      kind: kindOf(hints),
      readOnly,
      idempotent: readOnly || (believed && hints['idempotentHint'] === true),
      destructive: !readOnly && !(believed && hints['destructiveHint'] === false),
      side: 'server',
      exposed: options.exposed,
      trust: options.trust,
      timeoutMs: options.timeoutMs,
      retries: 0,
      outputLimit: options.outputLimit,
    },
  }
}

/** `server__tool`; too long a name ends in a hash of the whole, so that two long names stay two. */
export function offeredName(server: string, raw: string): string {
  const name = `${server}__${raw}`
  return name.length <= maxName ? name : `${name.slice(0, maxName - 9)}_${sha256(name).slice(0, 8)}`
}

function describe(text: string, raw: string, hints: JsonObject, options: DeclareOptions): string {
  const words = cutUtf8(wellFormed(text).trim(), maxWords).text || `The tool "${raw}".`
  const told = hintWords(hints)
  const claims = told === '' ? '' : `; it calls the tool ${told}`
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

/** For icons and words only: no policy of ours trusts it, and rules by kind should not either. */
function kindOf(hints: JsonObject): ToolKind {
  return hints['readOnlyHint'] === true ? 'read' : 'other'
}

function schemaOf(schema: Json | undefined, which: 'input' | 'output'): JsonObject {
  if (!isJsonObject(schema)) throw new Error(`its ${which} schema is missing or not an object`)
  checkDeclaredSchema(schema)
  if (which === 'input' && schema['type'] !== 'object')
    throw new Error('its input schema must say "type": "object", since arguments are an object')
  return schema
}

const headerKey = 'x-mcp-header'
const token = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/

/** A parameter that is mirrored into a header: a plain value at a fixed place, under a name that is a header's. */
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
