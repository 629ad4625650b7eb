// Fits a schema into a vendor's strict subset, where a tool or an answer was asked to be strict. Objects are closed, a
// property that may be absent becomes one that may be null, and bounds that the vendor does not know are said in words.
// The way back is in restore-values.ts; the restored value is always checked against the schema as declared. A keyword
// that does not fit the subset stays as it is, and strictProblem (schema-strict.ts) names it.

import { isJsonObject, type Json, type JsonObject } from '../../lib/json/index.ts'
import { mapSchemas } from '../../lib/schema/keywords.ts'
import { findTarget } from '../../lib/schema/pointers.ts'
import { readTypes, stringsIn, wordSet } from './schema-refs.ts'
import type { StrictRules } from './schema-strict.ts'

export type Fitted = {
  schema: JsonObject
  /** A value may have nulls for what is absent. */
  restores: boolean
  /** Bounds that the vendor does not enforce, in words. */
  loosened: string[]
}

/** `schema` is in the vendor's plain dialect, without notes. */
export function fitStrict(schema: JsonObject, rules: StrictRules): Fitted {
  const fitting: Fitting = { rules, root: schema, restores: false, loosened: [] }
  const fitted = fit(fitting, schema, '')
  return { schema: fitted, restores: fitting.restores, loosened: fitting.loosened }
}

type Fitting = { rules: StrictRules; root: JsonObject; restores: boolean; loosened: string[] }

const BOUNDS = wordSet(
  'minLength maxLength pattern format minimum maximum exclusiveMinimum exclusiveMaximum multipleOf minItems maxItems uniqueItems minProperties maxProperties',
)

function fit(fitting: Fitting, node: JsonObject, path: string): JsonObject {
  const next = withoutBounds(fitting, withAnyOf(fitting, node, path), path)
  const fitChild = (child: JsonObject, step: string): JsonObject =>
    fit(fitting, child, path === '' ? step : `${path}/${step}`)
  for (const [keyword, value] of Object.entries(next)) next[keyword] = mapSchemas(keyword, value, fitChild)
  return closeObject(fitting, next)
}

/** Exactly one of the alternatives holds; the vendor is told that one of them does. */
function withAnyOf({ rules, loosened }: Fitting, node: JsonObject, path: string): JsonObject {
  if (!Array.isArray(node['oneOf']) || rules.keywords.has('oneOf') || 'anyOf' in node) return { ...node }
  const { oneOf, ...rest } = node
  loosened.push(`${path || 'the root'}: "oneOf" is declared as "anyOf"`)
  return { ...rest, anyOf: oneOf }
}

function withoutBounds({ rules, loosened }: Fitting, node: JsonObject, path: string): JsonObject {
  const said: string[] = []
  for (const [keyword, value] of Object.entries(node)) {
    if (!BOUNDS.has(keyword) || isEnforced(keyword, value, rules)) continue
    delete node[keyword]
    loosened.push(`${path || 'the root'}: "${keyword}" is said in words`)
    // A library writes the limits of JavaScript's integers for every integer.
    if (Math.abs(Number(value)) !== Number.MAX_SAFE_INTEGER) said.push(`${keyword}: ${JSON.stringify(value)}`)
  }
  if (said.length === 0) return node
  const { description } = node
  const words = `(${said.join(', ')})`
  return { ...node, description: typeof description === 'string' ? `${description} ${words}` : words }
}

function isEnforced(keyword: string, value: Json, rules: StrictRules): boolean {
  if (!rules.keywords.has(keyword)) return false
  if (keyword === 'format') return typeof value === 'string' && rules.formats.has(value)
  return keyword !== 'minItems' || (typeof value === 'number' && value <= rules.maxMinItems)
}

function closeObject(fitting: Fitting, node: JsonObject): JsonObject {
  const { properties } = node
  if (!readTypes(node)?.includes('object') || !isJsonObject(properties)) return node
  const closed = node['additionalProperties'] === undefined ? { ...node, additionalProperties: false } : node
  if (!fitting.rules.allRequired) return closed
  const required = stringsIn(node['required'])
  const entries = Object.entries(properties).map(([name, child]): [string, Json] => {
    if (required.includes(name) || !isJsonObject(child) || acceptsNull(fitting.root, child))
      return [name, child]
    fitting.restores = true
    return [name, nullable(child)]
  })
  const names = Object.keys(properties)
  const missing = required.filter(name => !names.includes(name))
  return { ...closed, properties: Object.fromEntries(entries), required: [...names, ...missing] }
}

function nullable(schema: JsonObject): JsonObject {
  const { type, description, ...rest } = schema
  const isPlain = typeof type === 'string' && !('enum' in schema || 'const' in schema || 'anyOf' in schema)
  if (isPlain) return { ...schema, type: [type, 'null'] }
  const inner = type === undefined ? rest : { type, ...rest }
  const told = typeof description === 'string' ? { description } : {}
  return { ...told, anyOf: [inner, { type: 'null' }] }
}

/** Whether null is a value of the schema. A reference that cannot be followed here may lead to anything. */
export function acceptsNull(root: JsonObject, schema: Json | undefined, hops = 0): boolean {
  if (!isJsonObject(schema)) return schema === true
  if (hops > 32) return false
  const { $ref, enum: values, const: only, anyOf, oneOf, allOf } = schema
  const accepts = (child: Json): boolean => acceptsNull(root, child, hops + 1)
  if (typeof $ref === 'string' && !accepts(findTarget(root, $ref) ?? true)) return false
  const types = readTypes(schema)
  if (types !== undefined && !types.includes('null') && schema['nullable'] !== true) return false
  if (Array.isArray(values) && !values.includes(null)) return false
  if (only !== undefined && only !== null) return false
  if (Array.isArray(allOf) && !allOf.every(accepts)) return false
  return [anyOf, oneOf].every(branches => !Array.isArray(branches) || branches.some(accepts))
}
