// Turns a server's list of tools into our declarations. None of it is trusted: a tool that cannot be offered is left out
// with a warning and does not affect the others, and the server's hints decide nothing unless the operator trusts them.
// Hints are part of the description, for the model and the approver, so a changed hint makes a changed tool.

import type { Tool } from '../../engine/ports/index.ts'
import { type FlowLabels, labelProblem, takeLabels } from '../../language/flow.ts'
import type { ToolDeclaration, ToolKind } from '../../language/tools.ts'
import { loopTurn } from '../../lib/async/loop-turns.ts'
import { sha256 } from '../../lib/json/hash.ts'
import { isJsonObject, type Json, type JsonObject } from '../../lib/json/index.ts'
import { roughSize } from '../../lib/json/plain.ts'
import { checkDeclaredSchema } from '../../lib/schema/declared.ts'
import { errorMessage } from '../../lib/text/error-message.ts'
import { cutUtf8, printable } from '../../lib/text/index.ts'

type DeclaredTool = Omit<Tool, 'run'> & { input: { form: 'json'; schema: JsonObject } }
/** `raw`: the tool's name on the server. `asTask`: it must be called as a task (2025-11-25). */
export type Listed = { raw: string; asTask: boolean; declared: DeclaredTool }

type DeclareOptions = {
  server: string
  identity: string
  trust: Tool['trust']
  trustAnnotations: boolean
  /** The operator's labels, by the tool's name on the server. */
  flow?: Readonly<Record<string, FlowLabels>>
  exposed: boolean
  timeoutMs: number
  outputLimit: number
  /** Over HTTP, parameters may be sent as headers, so their header names are checked. */
  http: boolean
}

const maxName = 128
const maxWords = 4096

/** About how many bytes of JSON one definition may have, and all of a server together. */
const mostBytes = 256 * 1024
const mostBytesTogether = 4 * 1024 * 1024
/** After this many tools the event loop gets a turn for other work. */
const atOnce = 20

/** Of two tools with the same name the second is left out. */
export async function declareTools(
  tools: readonly unknown[],
  options: DeclareOptions,
  taken: ReadonlySet<string>,
  warn: (words: string) => void,
): Promise<Listed[]> {
  const listed = new Map<string, Listed>()
  let bytes = 0
  for (const [index, tool] of tools.entries()) {
    if (index > 0 && index % atOnce === 0) await loopTurn()
    try {
      const size = roughSize(tool)
      if (size > mostBytes) throw new Error(`its definition has more than ${mostBytes / 1024} KiB`)
      if (bytes + size > mostBytesTogether)
        throw new Error(`the definitions of the server have more than ${mostBytesTogether / 1024 / 1024} MiB`)
      bytes += size
      const one = declareTool(tool, options, words =>
        warn(`The tool ${shownName(tool, index)} of the MCP server "${options.server}": ${words}`),
      )
      const { name } = one.declared
      if (listed.has(name)) throw new Error(`the name "${name}" is taken by a tool of the same server`)
      if (taken.has(name)) throw new Error(`the name "${name}" is taken by another tool`)
      listed.set(name, one)
    } catch (error) {
      const problem = errorMessage(error)
      warn(`The tool ${shownName(tool, index)} of the MCP server "${options.server}" is left out: ${problem}`)
    }
  }
  return [...listed.values()]
}

function shownName(tool: unknown, index: number): string {
  const name = isJsonObject(tool) && typeof tool['name'] === 'string' ? tool['name'] : `number ${index + 1}`
  return printable(name, 80)
}

function declareTool(tool: unknown, options: DeclareOptions, warn: (words: string) => void): Listed {
  if (!isJsonObject(tool)) throw new Error('it is not an object')
  const { name: raw, title, description, inputSchema, outputSchema, annotations, execution } = tool
  if (typeof raw !== 'string' || !/^[A-Za-z0-9_.-]{1,128}$/.test(raw))
    throw new Error('a name has 1 to 128 letters, digits and _ - .')
  const given = checkedSchema(inputSchema, 'input', warn)
  const { schema: input, labels } = takeLabels(given)
  if (options.http) checkHeaders(input)
  const hints = isJsonObject(annotations) ? annotations : {}
  const { trustAnnotations } = options
  const readOnly = trustAnnotations && hints['readOnlyHint'] === true
  const flow = readFlow(raw, hints, labels, options, warn)
  const shownTitle = typeof title === 'string' ? title : hints['title']
  return {
    raw,
    asTask: isJsonObject(execution) && execution['taskSupport'] === 'required',
    declared: {
      name: offeredName(options.server, raw),
      ...(typeof shownTitle === 'string' && shownTitle !== '' && { title: printable(shownTitle, 120) }),
      description: fullDescription(typeof description === 'string' ? description : '', raw, hints, options),
      input: { form: 'json', schema: input },
      ...(outputSchema !== undefined && { output: checkedSchema(outputSchema, 'output', warn) }),
      kind: hintedKind(hints),
      readOnly,
      idempotent: readOnly || (trustAnnotations && hints['idempotentHint'] === true),
      destructive: !readOnly && !(trustAnnotations && hints['destructiveHint'] === false),
      ...(flow && { flow }),
      side: 'server',
      server: options.identity,
      exposed: options.exposed,
      trust: options.trust,
      timeoutMs: options.timeoutMs,
      retries: 0,
      outputLimit: options.outputLimit,
    },
  }
}

/**
 * What the operator says of a tool, and what the server says of it where it is trusted to. Any other server's word counts
 * only where it makes the tool less trusted.
 */
function readFlow(
  raw: string,
  hints: JsonObject,
  labels: JsonObject | undefined,
  { trustAnnotations, flow = {} }: DeclareOptions,
  warn: (words: string) => void,
): FlowLabels | undefined {
  const own = Object.hasOwn(flow, raw) ? flow[raw] : undefined
  const read: FlowLabels = {
    ...(hints['destructiveHint'] === true && { destroys: true }),
    ...(trustAnnotations && { stated: true, ...checkedLabels(labels, warn) }),
    ...own,
  }
  return Object.keys(read).length === 0 ? undefined : read
}

function checkedLabels(labels: JsonObject | undefined, warn: (words: string) => void): FlowLabels {
  const problem = labels && labelProblem(labels)
  if (problem !== undefined) warn(`it ${problem}, so that its labels are not used`)
  // They were checked above.
  return problem === undefined ? ((labels ?? {}) as FlowLabels) : {}
}

/** `server__tool`. A name that is too long is cut and ends in a hash of the whole, so that it stays unique. */
function offeredName(server: string, raw: string): string {
  const name = `${server}__${raw}`
  return name.length <= maxName ? name : `${name.slice(0, maxName - 9)}_${sha256(name).slice(0, 8)}`
}

function fullDescription(text: string, raw: string, hints: JsonObject, options: DeclareOptions): string {
  const words = cutUtf8(text.toWellFormed().trim(), maxWords).text || `The tool "${raw}".`
  const hintText = hintWords(hints)
  const claims = hintText === '' ? '' : `; it calls the tool ${hintText}`
  return `${words}\n[MCP server "${options.server}"${claims}]`
}

/** The server's own description of a tool. */
export function ownDescription({ description }: ToolDeclaration): string {
  return description.replace(/\n\[MCP server "[^\n]*\]$/, '')
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

function checkedSchema(
  schema: Json | undefined,
  which: 'input' | 'output',
  warn: (words: string) => void,
): JsonObject {
  if (!isJsonObject(schema)) throw new Error(`its ${which} schema is missing or not an object`)
  for (const words of checkDeclaredSchema(schema).warnings) warn(`its ${which} schema: ${words}`)
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
