/**
 * What OpenAI demands of the JSON Schema of a tool: the strict-mode subset, and the few checks that a schema
 * outside strict mode must pass as well. It judges schemas only; which tools are strict is the endpoints'
 * business, because Chat defaults to no and Responses tries and falls back.
 */

import type { Rejection } from '../script.ts'
import { isObject, type Json, refuse, textOf } from './refusals.ts'

export type SchemaPlace = {
  /** The contract row to blame. */
  rule?: string
  /** The request path of the schema, as the vendor reports it in `param`. */
  param?: string | null
  /** What the schema belongs to; output formats are refused under another name and code. */
  subject?: 'function' | 'response_format'
}

const LIMITS = { properties: 5000, levels: 10, characters: 120_000, enumValues: 1000 } as const
const LONG_ENUM = { values: 250, characters: 15_000 } as const

const NOT_PERMITTED = [
  'allOf',
  'oneOf',
  'not',
  'if',
  'then',
  'else',
  'dependentRequired',
  'dependentSchemas',
  'patternProperties',
  'propertyNames',
  'unevaluatedProperties',
  'unevaluatedItems',
  'minProperties',
  'maxProperties',
  'contains',
  'minContains',
  'maxContains',
  'uniqueItems',
  'default',
]

const TOP_LEVEL_COMBINATORS = ['oneOf', 'anyOf', 'allOf', 'enum', 'not']

/** The strict subset. Null when the schema may be used with `strict: true`. */
export function checkStrictSchema(name: string, schema: unknown, place: SchemaPlace = {}): Rejection | null {
  const problem = rootProblem(schema) ?? (isObject(schema) ? strictProblem(schema) : null)
  return problem === null ? null : schemaRefusal(name, problem, place)
}

/** What is refused even without strict mode. Null when the schema may be used with `strict: false`. */
export function checkLooseSchema(name: string, schema: unknown, place: SchemaPlace = {}): Rejection | null {
  const problem = rootProblem(schema) ?? (isObject(schema) ? looseProblem(schema) : null)
  return problem === null ? null : schemaRefusal(name, problem, place)
}

function schemaRefusal(name: string, problem: string, place: SchemaPlace): Rejection {
  const subject = place.subject ?? 'function'
  const code = subject === 'function' ? 'invalid_function_parameters' : 'invalid_json_schema'
  const message = `Invalid schema for ${subject} '${name}': ${problem}`
  return refuse(place.rule ?? '2.4', message, place.param ?? null, code)
}

function rootProblem(schema: unknown): string | null {
  if (!isObject(schema)) return `${JSON.stringify(schema)} is not of type 'object', 'boolean'.`
  if (TOP_LEVEL_COMBINATORS.some(keyword => keyword in schema)) {
    return "schema must have type 'object' and not have 'oneOf'/'anyOf'/'allOf'/'enum'/'not' at the top level."
  }
  if (schema['type'] === 'object') return null
  const got = schema['type'] === undefined ? 'None' : textOf(schema['type'])
  return `schema must be a JSON Schema of 'type: "object"', got 'type: "${got}"'.`
}

type Tally = { properties: number; characters: number; enumValues: number }
type Visit = { root: Json; tally: Tally }
type Path = readonly string[]

function strictProblem(root: Json): string | null {
  const visit: Visit = { root, tally: { properties: 0, characters: 0, enumValues: 0 } }
  return strictAt(visit, root, [], 0) ?? tallyProblem(visit.tally)
}

function strictAt(visit: Visit, schema: unknown, path: Path, level: number): string | null {
  if (!isObject(schema)) return inContext(path, "schema must have a 'type' key.")
  const forbidden = NOT_PERMITTED.find(keyword => keyword in schema)
  if (forbidden !== undefined) return inContext(path, `'${forbidden}' is not permitted.`)
  if ('$ref' in schema) return refProblem(visit.root, schema['$ref'], path)
  if (!['type', 'anyOf', 'enum', 'const'].some(keyword => keyword in schema)) {
    return inContext(path, "schema must have a 'type' key.")
  }
  const nests = hasType(schema, 'object') || hasType(schema, 'array')
  const depth = nests ? level + 1 : level
  if (depth > LIMITS.levels) {
    return inContext(path, `schema exceeds the maximum nesting depth of ${LIMITS.levels} levels.`)
  }
  return (
    countValues(visit.tally, schema, path) ??
    (hasType(schema, 'object') ? objectProblem(visit, schema, path, depth) : null) ??
    (hasType(schema, 'array') ? arrayProblem(visit, schema, path, depth) : null) ??
    branchProblem(visit, schema, path, depth) ??
    definitionProblem(visit, schema, path)
  )
}

function objectProblem(visit: Visit, schema: Json, path: Path, level: number): string | null {
  if (schema['additionalProperties'] !== false) {
    return inContext(path, "'additionalProperties' is required to be supplied and to be false.")
  }
  const properties = isObject(schema['properties']) ? schema['properties'] : {}
  const required: unknown[] = Array.isArray(schema['required']) ? schema['required'] : []
  const names = Object.keys(properties)
  const complaint =
    "'required' is required to be supplied and to be an array including every key in properties."
  const unlisted = names.find(name => !required.includes(name))
  if (unlisted !== undefined) return inContext(path, `${complaint} Missing '${unlisted}'.`)
  const extra = required.find(name => typeof name !== 'string' || !names.includes(name))
  if (extra !== undefined)
    return inContext(path, `${complaint} Extra required key '${textOf(extra)}' supplied.`)
  visit.tally.properties += names.length
  for (const name of names) {
    visit.tally.characters += name.length
    const problem = strictAt(visit, properties[name], [...path, 'properties', name], level)
    if (problem !== null) return problem
  }
  return null
}

function arrayProblem(visit: Visit, schema: Json, path: Path, level: number): string | null {
  if (!('items' in schema)) return inContext(path, 'array schema missing items.')
  return strictAt(visit, schema['items'], [...path, 'items'], level)
}

function branchProblem(visit: Visit, schema: Json, path: Path, level: number): string | null {
  const branches: unknown[] = Array.isArray(schema['anyOf']) ? schema['anyOf'] : []
  for (const [index, branch] of branches.entries()) {
    const problem = strictAt(visit, branch, [...path, 'anyOf', String(index)], level)
    if (problem !== null) return problem
  }
  return null
}

function definitionProblem(visit: Visit, schema: Json, path: Path): string | null {
  for (const keyword of ['$defs', 'definitions']) {
    const definitions = schema[keyword]
    if (!isObject(definitions)) continue
    for (const [name, definition] of Object.entries(definitions)) {
      visit.tally.characters += name.length
      const problem = strictAt(visit, definition, [...path, keyword, name], 0)
      if (problem !== null) return problem
    }
  }
  return null
}

function countValues(tally: Tally, schema: Json, path: Path): string | null {
  if (typeof schema['const'] === 'string') tally.characters += schema['const'].length
  if (!Array.isArray(schema['enum'])) return null
  const values: unknown[] = schema['enum']
  const characters = values.reduce<number>(
    (sum, value) => sum + (typeof value === 'string' ? value.length : 0),
    0,
  )
  tally.enumValues += values.length
  tally.characters += characters
  if (values.length <= LONG_ENUM.values || characters <= LONG_ENUM.characters) return null
  return inContext(
    path,
    `an enum of more than ${LONG_ENUM.values} values may hold at most ${LONG_ENUM.characters} characters, got ${characters}.`,
  )
}

function tallyProblem(tally: Tally): string | null {
  if (tally.properties > LIMITS.properties) {
    return `schema may have at most ${LIMITS.properties} object properties in total, got ${tally.properties}.`
  }
  if (tally.enumValues > LIMITS.enumValues) {
    return `schema may have at most ${LIMITS.enumValues} enum values in total, got ${tally.enumValues}.`
  }
  if (tally.characters > LIMITS.characters) {
    return `the names, enum values and const values of a schema may hold at most ${LIMITS.characters} characters, got ${tally.characters}.`
  }
  return null
}

function refProblem(root: Json, ref: unknown, path: Path): string | null {
  if (ref === '#') return null
  const [, keyword, name] = /^#\/(\$defs|definitions)\/([^/]+)$/.exec(String(ref)) ?? []
  const definitions = keyword === undefined ? undefined : root[keyword]
  if (name !== undefined && isObject(definitions) && name in definitions) return null
  return inContext(path, 'reference can only point to definitions defined at the top level of the schema.')
}

function looseProblem(root: Json): string | null {
  if (!('properties' in root)) return inContext([], 'object schema missing properties.')
  return missingItems(root, [])
}

/** An array without `items` is refused wherever it stands; the search goes through every subschema. */
function missingItems(schema: unknown, path: Path): string | null {
  if (!isObject(schema)) return null
  const arrayType = typePath(schema, path)
  if (arrayType !== null && !('items' in schema) && !('prefixItems' in schema)) {
    return inContext(arrayType, 'array schema missing items.')
  }
  const children: [Path, unknown][] = [
    ...Object.entries(isObject(schema['properties']) ? schema['properties'] : {}).map(
      ([name, child]): [Path, unknown] => [[...path, 'properties', name], child],
    ),
    [[...path, 'items'], schema['items']],
    ...['anyOf', 'oneOf', 'allOf'].flatMap(keyword =>
      (Array.isArray(schema[keyword]) ? schema[keyword] : []).map(
        (child: unknown, index): [Path, unknown] => [[...path, keyword, String(index)], child],
      ),
    ),
  ]
  for (const [childPath, child] of children) {
    const problem = missingItems(child, childPath)
    if (problem !== null) return problem
  }
  return null
}

/** Where the vendor points when a type list contains `array`: at the entry of the list. */
function typePath(schema: Json, path: Path): Path | null {
  if (schema['type'] === 'array') return path
  const index = Array.isArray(schema['type']) ? schema['type'].indexOf('array') : -1
  return index < 0 ? null : [...path, 'type', String(index)]
}

function hasType(schema: Json, type: string): boolean {
  return schema['type'] === type || (Array.isArray(schema['type']) && schema['type'].includes(type))
}

/** The vendor prints the path as a Python tuple, which has a comma after a single element. */
function inContext(path: Path, problem: string): string {
  const quoted = path.map(step => `'${step}'`)
  return `In context=(${quoted.join(', ')}${quoted.length === 1 ? ',' : ''}), ${problem}`
}
