/**
 * Which JSON schemas Anthropic takes for a tool: the ordinary rules and those of `strict: true`.
 * Pure functions over schemas, apart from the rest of the request, since down-converters are tested with them.
 */
import { Ajv2020 } from 'ajv/dist/2020.js'
import { isRecord, type JsonRecord, listOf, recordsOf } from '../shape.ts'

export type SchemaComplaint = { rule: 'A-14' | 'A-15'; message: string }

export const STRICT_LIMITS = { tools: 20, optional: 24, unions: 16, characters: 60_000 } as const

const PROPERTY_KEY = /^[a-zA-Z0-9_.-]{1,64}$/
const ajv = new Ajv2020({ strict: false, validateFormats: false, logger: false })

const a14 = (message: string): SchemaComplaint => ({ rule: 'A-14', message })
const a15 = (message: string): SchemaComplaint => ({ rule: 'A-15', message })

/** What is wrong with one tool's `input_schema`. `at` is the tool's place, e.g. `tools.0.custom`. */
export function checkInputSchema(schema: unknown, at = 'tools.0.custom'): SchemaComplaint[] {
  const path = `${at}.input_schema`
  if (schema === undefined) return [a14(`${path}: Field required`)]
  if (!isRecord(schema)) return [a14(`${path}: Input should be an object`)]
  if (schema['type'] === undefined) return [a14(`${path}.type: Field required`)]
  if (schema['type'] !== 'object') return [a14(`${path}.type: Input should be 'object'`)]
  const found: SchemaComplaint[] = []
  if (['oneOf', 'allOf', 'anyOf'].some(key => key in schema)) {
    found.push(a14(`${path}: input_schema does not support oneOf, allOf, or anyOf at the top level`))
  }
  if (!isDraft2020(schema)) {
    found.push(a14(`${path}: JSON schema is invalid. It must match JSON Schema draft 2020-12`))
  }
  const properties = schema['properties']
  if (isRecord(properties) && Object.keys(properties).some(key => !PROPERTY_KEY.test(key))) {
    found.push(a14(`${path}.properties: Property keys should match pattern '^[a-zA-Z0-9_.-]{1,64}$'`))
  }
  return found
}

/** `$schema` is left out: an older dialect's name is let pass, its constructs are not. */
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
  const own = typeof node['$ref'] === 'string' && node['$ref'].startsWith('#/') ? [node['$ref']] : []
  return [...own, ...Object.values(node).flatMap(localRefs)]
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

/** What is wrong with the strict tools of a request, together: some limits are summed over all of them. */
export function checkStrictTools(tools: { schema: unknown; at: string }[]): SchemaComplaint[] {
  const found = tools.flatMap(({ schema, at }) => {
    const [first] = strictProblems(schema)
    return first === undefined ? [] : [a15(`${at}: ${first}`)]
  })
  const counts = tools.map(tool => countParameters(tool.schema))
  const optional = counts.reduce((sum, count) => sum + count.optional, 0)
  const unions = counts.reduce((sum, count) => sum + count.unions, 0)
  const characters = tools.reduce((sum, tool) => sum + (JSON.stringify(tool.schema) ?? '').length, 0)
  if (tools.length > STRICT_LIMITS.tools) {
    found.push(
      a15(
        `Too many strict tools (${tools.length}). The maximum number of strict tools supported is ${STRICT_LIMITS.tools}. Try reducing the number of tools marked as strict.`,
      ),
    )
  }
  if (optional > STRICT_LIMITS.optional) {
    found.push(
      a15(
        `Schemas contains too many optional parameters (${optional}), which would make grammar compilation inefficient. Reduce the number of optional parameters in your tool schemas (limit: ${STRICT_LIMITS.optional}).`,
      ),
    )
  }
  if (unions > STRICT_LIMITS.unions) {
    found.push(
      a15(
        `Schemas contains too many parameters with union types (${unions} parameters with type arrays or anyOf). Reduce the number of union-typed parameters in your tool schemas (limit: ${STRICT_LIMITS.unions}).`,
      ),
    )
  }
  // The service compiles a grammar; the double can only bound the text that one would be compiled from.
  if (characters > STRICT_LIMITS.characters) {
    found.push(
      a15(
        'The compiled grammar is too large, which would cause performance issues. Simplify your tool schemas or reduce the number of strict tools.',
      ),
    )
  }
  return found
}

const UNSUPPORTED: Readonly<Record<string, readonly string[]>> = {
  integer: ['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum', 'multipleOf'],
  number: ['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum', 'multipleOf'],
  string: ['minLength', 'maxLength'],
  array: ['maxItems', 'uniqueItems', 'contains', 'prefixItems'],
  object: ['minProperties', 'maxProperties', 'patternProperties', 'propertyNames'],
}

function strictProblems(node: unknown): string[] {
  if (!isRecord(node)) return []
  const type = typeof node['type'] === 'string' ? node['type'] : ''
  const own: string[] = []
  if ((type === 'object' || isRecord(node['properties'])) && node['additionalProperties'] !== false) {
    own.push("For 'object' type, 'additionalProperties' must be explicitly set to false")
  }
  const unsupported = (UNSUPPORTED[type] ?? []).filter(key => key in node).sort()
  if (unsupported.length > 0) {
    own.push(`For '${type}' type, properties ${unsupported.join(', ')} are not supported`)
  }
  if (type === 'array' && typeof node['minItems'] === 'number' && node['minItems'] > 1) {
    own.push("For 'array' type, 'minItems' values other than 0 or 1 are not supported")
  }
  if (typeof node['$ref'] === 'string' && !node['$ref'].startsWith('#')) {
    own.push("External '$ref' values are not supported")
  }
  return [...own, ...children(node).flatMap(strictProblems)]
}

/** Parameters are counted in every object of a schema, not at the top alone. */
function countParameters(node: unknown): { optional: number; unions: number } {
  if (!isRecord(node)) return { optional: 0, unions: 0 }
  const total = { optional: 0, unions: 0 }
  const properties = node['properties']
  if (isRecord(properties)) {
    const required = listOf(node['required'])
    for (const [name, value] of Object.entries(properties)) {
      if (!required.includes(name)) total.optional += 1
      if (isRecord(value) && (Array.isArray(value['type']) || 'anyOf' in value)) total.unions += 1
    }
  }
  for (const child of children(node)) {
    const inner = countParameters(child)
    total.optional += inner.optional
    total.unions += inner.unions
  }
  return total
}

function children(node: JsonRecord): JsonRecord[] {
  const maps = ['properties', '$defs', 'definitions'].flatMap(key => {
    const map = node[key]
    return isRecord(map) ? recordsOf(Object.values(map)) : []
  })
  const lists = ['anyOf', 'allOf', 'oneOf', 'prefixItems'].flatMap(key => recordsOf(node[key]))
  const items = node['items']
  return [...maps, ...lists, ...(isRecord(items) ? [items] : [])]
}
