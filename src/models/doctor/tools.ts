// Repairs of tool declarations and tool choices, which differ between the vendors only in form. Declarations and choices
// in any vendor's form can be read; each vendor's file says how to write its own.

import { isJsonObject, type Json, type JsonObject } from '../../lib/json.ts'
import { type Dialect, toDialect } from '../common/schema-dialect.ts'
import { type NameRule, wireNames } from '../common/wire-names.ts'
import {
  asText,
  type FieldRef,
  fieldRef,
  objectsOf,
  quoted,
  type Repair,
  type Report,
  renameAll,
} from './repair.ts'

// ---- declarations ------------------------------------------------------------------------------------------

export type ForeignTool = { name: string; description?: string; schema?: JsonObject }

export const emptySchema = (): JsonObject => ({ type: 'object', properties: {} })

/** `lost`: what the dialect cannot say. A schema that it cannot say at all becomes an empty one. */
export function inDialect(
  given: JsonObject,
  dialect: Dialect,
): { schema: JsonObject; lost: readonly string[] } {
  const adapted = toDialect(given, dialect)
  return 'unusable' in adapted ? { schema: emptySchema(), lost: [adapted.unusable] } : adapted
}

/** A declaration in any vendor's form; undefined for a tool that a vendor runs. */
function readTool(tool: JsonObject): ForeignTool[] | undefined {
  const declared = tool['functionDeclarations'] ?? tool['function_declarations']
  if (Array.isArray(declared)) return objectsOf(declared).map(readDeclaration)
  if (isJsonObject(tool['function'])) return [readDeclaration(tool['function'])]
  const isPlain = tool['type'] === undefined || tool['type'] === 'custom' || tool['type'] === 'function'
  return isPlain && asText(tool['name']) !== '' ? [readDeclaration(tool)] : undefined
}

function readDeclaration(tool: JsonObject): ForeignTool {
  const { name, description } = tool
  const keys = ['parameters', 'input_schema', 'parametersJsonSchema', 'parameters_json_schema']
  const schema = keys.map(key => tool[key]).find(isJsonObject)
  return {
    name: asText(name),
    ...(typeof description === 'string' && { description }),
    ...(schema && { schema }),
  }
}

/** Name, description, and the schema under the vendor's key. */
export function declarationFields({ schema, ...named }: ForeignTool, schemaKey: string): JsonObject {
  return { ...named, ...(schema && { [schemaKey]: schema }) }
}

/** `isOwn`: the declaration is in this vendor's form, right or wrong. */
export function rewriteTools(
  isOwn: (tool: JsonObject) => boolean,
  write: (tool: ForeignTool) => JsonObject,
): Repair['apply'] {
  return (body, report) => {
    if (!Array.isArray(body['tools'])) return
    body['tools'] = objectsOf(body['tools']).flatMap(tool => {
      const read = isOwn(tool) ? undefined : readTool(tool)
      if (read === undefined) return [tool]
      for (const { name } of read) report(`Wrote the tool ${quoted(name)} in this vendor's form.`)
      return read.map(write)
    })
  }
}

/** Drops tools of types that the vendor refuses. `pattern` finds their index in a finding. */
export function dropTools(pattern: RegExp): Repair['apply'] {
  return (body, report, findings) => {
    const wrong = new Set(findings.flatMap(({ message, param }) => pattern.exec(param ?? message)?.[1] ?? []))
    const kept = objectsOf(body['tools']).filter((tool, at) => {
      if (!wrong.has(String(at))) return true
      const name = asText(tool['name']) || asText(tool['type'])
      report(`Dropped the tool ${quoted(name)}, which this API does not have.`)
      return false
    })
    body['tools'] = kept
    if (kept.length === 0) delete body['tools']
  }
}

/** Renames the tools whose names the vendor refuses, in declarations and uses alike. */
export function renameTools(
  rule: NameRule,
  declared: (body: JsonObject) => JsonObject[],
  used: (body: JsonObject) => FieldRef[],
): Repair['apply'] {
  return (body, report) => {
    const refs = declared(body).flatMap(tool => fieldRef(tool, 'name'))
    const names = wireNames(
      declared(body).map(tool => asText(tool['name'])),
      rule,
    )
    renameAll([...refs, ...used(body)], names.toWire, (old, name) =>
      report(`Renamed the tool ${quoted(old)} to ${name} everywhere.`),
    )
  }
}

/** Keeps the first of several tools with one name. */
export function withoutDuplicates(tools: readonly JsonObject[], report: Report): JsonObject[] {
  const seen = new Set<string>()
  return tools.filter(tool => {
    const name = asText(tool['name'])
    if (name === '' || !seen.has(name)) return seen.add(name)
    report(`Dropped the second tool named ${quoted(name)}.`)
    return false
  })
}

// ---- choices -----------------------------------------------------------------------------------------------

export type ForeignChoice = 'auto' | 'none' | 'required' | { tool: string }

const CHOICES: Readonly<Record<string, ForeignChoice>> = {
  auto: 'auto',
  none: 'none',
  any: 'required',
  required: 'required',
}

/** A tool choice in any vendor's form; undefined if it is in none. */
export function readChoice(choice: Json | undefined): ForeignChoice | undefined {
  if (typeof choice === 'string') return CHOICES[choice]
  if (!isJsonObject(choice)) return undefined
  const named = [choice, choice['function'], choice['custom']].filter(isJsonObject)
  const name = named.map(each => asText(each['name'])).find(each => each !== '')
  return name === undefined ? CHOICES[asText(choice['type'])] : { tool: name }
}

/** Writes the choice in this vendor's form, or drops it if it names a tool that is not offered. */
export function rewriteChoice(
  body: JsonObject,
  names: readonly string[],
  write: (choice: ForeignChoice) => Json | undefined,
  report: Report,
): void {
  const given = body['tool_choice']
  const wanted = readChoice(given)
  const isOffered = typeof wanted !== 'object' || names.includes(wanted.tool)
  const written = wanted === undefined || names.length === 0 || !isOffered ? undefined : write(wanted)
  if (written !== undefined && JSON.stringify(written) !== JSON.stringify(given)) {
    body['tool_choice'] = written
    report('Wrote the tool choice in this vendor\u2019s form.')
  } else if (given !== undefined) {
    delete body['tool_choice']
    report('Dropped `tool_choice`: this API has no such choice, or the tool is not offered.')
  }
}
