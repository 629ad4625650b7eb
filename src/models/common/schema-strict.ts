// Whether a schema may be used in a vendor's strict mode as it is. Strict mode binds the model to the schema while it
// writes, but takes only a part of JSON Schema. A schema outside that part is used without strict mode, unless it was asked
// to be strict: then it is fitted first (schema-fit.ts).

import { isJsonObject, type Json, type JsonObject } from '../../lib/json/index.ts'
import { childSchemas, readTypes, stringsIn } from './schema-refs.ts'

export type StrictRules = {
  keywords: ReadonlySet<string>
  /** Every property must be required. */
  allRequired: boolean
  formats: ReadonlySet<string>
  recursion: boolean
  maxMinItems: number
  limits: { depth: number; properties: number; enumValues: number; characters: number }
}

type Sizes = { properties: number; enumValues: number; characters: number }

/** Why a schema may not be strict; undefined when it may. `schema` is in the vendor's plain dialect. */
export function strictProblem(schema: JsonObject, rules: StrictRules): string | undefined {
  if (!rules.recursion && isRecursive(schema)) return 'it refers to itself'
  const count: Sizes = { properties: 0, enumValues: 0, characters: 0 }
  const problem = problemAt(schema, rules, count, '', 0)
  if (problem !== undefined) return problem
  for (const name of ['properties', 'enumValues', 'characters'] as const)
    if (count[name] > rules.limits[name]) return `it holds more than ${rules.limits[name]} ${name}`
  return undefined
}

function problemAt(
  node: Json,
  rules: StrictRules,
  count: Sizes,
  path: string,
  level: number,
): string | undefined {
  const at = path === '' ? 'the root' : path
  if (!isJsonObject(node)) return `${at} is no schema object`
  const foreign = Object.keys(node).find(keyword => !rules.keywords.has(keyword))
  if (foreign !== undefined) return `${at} has "${foreign}"`
  if ('$ref' in node) return undefined
  if (!('type' in node || 'anyOf' in node || 'enum' in node || 'const' in node)) return `${at} has no type`
  const types = readTypes(node) ?? []
  const depth = types.includes('object') || types.includes('array') ? level + 1 : level
  if (depth > rules.limits.depth) return `it nests deeper than ${rules.limits.depth} levels`
  return (
    valueProblem(node, rules, count, at) ??
    (types.includes('object') || 'properties' in node ? objectProblem(node, rules, count, at) : undefined) ??
    childProblem(node, rules, count, path, depth)
  )
}

function valueProblem(node: JsonObject, rules: StrictRules, count: Sizes, at: string): string | undefined {
  const { format, pattern, minItems } = node
  if (typeof format === 'string' && !rules.formats.has(format)) return `${at} has the format "${format}"`
  if (typeof pattern === 'string' && /\(\?[=!<]|\\[1-9]/.test(pattern))
    return `${at} has a pattern that looks around`
  if (typeof minItems === 'number' && minItems > rules.maxMinItems) return `${at} has "minItems"`
  const values = Array.isArray(node['enum']) ? node['enum'] : 'const' in node ? [node['const'] ?? null] : []
  const characters = values.reduce<number>(
    (sum, value) => sum + (typeof value === 'string' ? value.length : 0),
    0,
  )
  if (values.some(value => typeof value === 'object' && value !== null)) return `${at} has an enum of objects`
  if (values.length > 250 && characters > 15_000) return `${at} has too large an enum`
  count.enumValues += values.length
  count.characters += characters
  return undefined
}

function objectProblem(node: JsonObject, rules: StrictRules, count: Sizes, at: string): string | undefined {
  if (node['additionalProperties'] !== false) return `${at} allows properties that it does not name`
  const names = isJsonObject(node['properties']) ? Object.keys(node['properties']) : []
  const required = stringsIn(node['required'])
  const optional = rules.allRequired ? names.find(name => !required.includes(name)) : undefined
  if (optional !== undefined) return `${at} has the optional property "${optional}"`
  const unknown = required.find(name => !names.includes(name))
  if (unknown !== undefined) return `${at} demands "${unknown}", which it does not describe`
  count.properties += names.length
  count.characters += names.reduce((sum, name) => sum + name.length, 0)
  return undefined
}

function childProblem(
  node: JsonObject,
  rules: StrictRules,
  count: Sizes,
  path: string,
  level: number,
): string | undefined {
  for (const { keyword, key, child } of childSchemas(node)) {
    const step = key === undefined ? keyword : `${keyword}/${key}`
    const depth = keyword === '$defs' ? 0 : level
    const problem = problemAt(child, rules, count, path === '' ? step : `${path}/${step}`, depth)
    if (problem !== undefined) return problem
  }
  return undefined
}

/** References point only into the root's `$defs`, so a cycle is one between definitions. */
function isRecursive(schema: JsonObject): boolean {
  const definitions = isJsonObject(schema['$defs']) ? schema['$defs'] : {}
  const state = new Map<string, 'open' | 'done'>()
  const visit = (name: string): boolean => {
    if (state.get(name) === 'open') return true
    if (state.has(name)) return false
    state.set(name, 'open')
    const cyclic = refsIn(definitions[name] ?? null).some(visit)
    state.set(name, 'done')
    return cyclic
  }
  return Object.keys(definitions).some(visit)
}

function refsIn(node: Json): string[] {
  if (Array.isArray(node)) return node.flatMap(refsIn)
  if (!isJsonObject(node)) return []
  const own = typeof node['$ref'] === 'string' ? [node['$ref'].replace('#/$defs/', '')] : []
  return [...own, ...Object.entries(node).flatMap(([key, value]) => (key === 'enum' ? [] : refsIn(value)))]
}

/** The share of a strict tool in the sums that a vendor limits over all strict tools of a request. */
export function strictCost(schema: JsonObject): { optional: number; unions: number; characters: number } {
  const cost = { optional: 0, unions: 0, characters: JSON.stringify(schema).length }
  const visit = (node: Json): void => {
    if (!isJsonObject(node)) return
    const required = stringsIn(node['required'])
    for (const [name, child] of Object.entries(isJsonObject(node['properties']) ? node['properties'] : {})) {
      if (!required.includes(name)) cost.optional++
      if (isJsonObject(child) && (Array.isArray(child['type']) || 'anyOf' in child)) cost.unions++
    }
    for (const { child } of childSchemas(node)) visit(child)
  }
  visit(schema)
  return cost
}
