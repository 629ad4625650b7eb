// The rules of OpenAI for the JSON Schema of a tool: the strict-mode subset, and the few checks outside strict mode.
// It judges schemas only. Which tools are strict is the endpoints' business: Chat defaults to no, Responses tries
// strict mode and falls back.
import type { Rejection, Rejections } from '../script.ts'
import {
  asList,
  asRecord,
  asString,
  isAbsent,
  isRecord,
  type JsonRecord,
  shownText,
  wordList,
} from '../shape.ts'
import { openaiError } from './forms.ts'

type SchemaPlace = {
  /** The id of the rule that a bad schema breaks. */
  rule?: string
  /** The request path of the schema, as the vendor reports it in `param`. */
  param?: string | null
  /** The owner of the schema. Output formats are refused under another name and code. */
  subject?: 'function' | 'response_format'
}

const LIMITS = { properties: 5000, levels: 10, characters: 120_000, enumValues: 1000 } as const
const LONG_ENUM = { values: 250, characters: 15_000 } as const

const NOT_PERMITTED = wordList(`
  allOf oneOf not if then else dependentRequired dependentSchemas patternProperties propertyNames unevaluatedProperties
  unevaluatedItems minProperties maxProperties contains minContains maxContains uniqueItems default`)

const TOP_LEVEL_COMBINATORS = ['oneOf', 'anyOf', 'allOf', 'enum', 'not']

/** The strict subset. `null` when the schema may be used with `strict: true`. */
export function checkStrictSchema(name: string, schema: unknown, place: SchemaPlace = {}): Rejection | null {
  return firstRefusal(name, schema, strictProblems, place)
}

/** The checks outside strict mode. `null` when the schema may be used with `strict: false`. */
export function checkLooseSchema(name: string, schema: unknown, place: SchemaPlace = {}): Rejection | null {
  return firstRefusal(name, schema, looseProblems, place)
}

/** The parameters of a function tool, by the strict rules if it is a strict one. */
export function* checkToolParameters(rule: string, path: string, tool: JsonRecord): Rejections {
  if (isAbsent(tool['parameters'])) return
  const judge = tool['strict'] === true ? checkStrictSchema : checkLooseSchema
  const found = judge(shownText(tool['name']), tool['parameters'], { rule, param: `${path}.parameters` })
  if (found !== null) yield found
}

type Problems = Iterable<string>

function firstRefusal(
  name: string,
  schema: unknown,
  problemsOf: (schema: JsonRecord) => Problems,
  { rule = '2.4', param = null, subject = 'function' }: SchemaPlace,
): Rejection | null {
  const [rest] = isRecord(schema) ? problemsOf(schema) : []
  const problem = rootProblem(schema) ?? rest
  if (problem === undefined) return null
  const code = subject === 'function' ? 'invalid_function_parameters' : 'invalid_json_schema'
  return openaiError(rule, `Invalid schema for ${subject} '${name}': ${problem}`, param, code)
}

function rootProblem(schema: unknown): string | undefined {
  if (!isRecord(schema)) return `${JSON.stringify(schema)} is not of type 'object', 'boolean'.`
  if (TOP_LEVEL_COMBINATORS.some(keyword => keyword in schema)) {
    return "schema must have type 'object' and not have 'oneOf'/'anyOf'/'allOf'/'enum'/'not' at the top level."
  }
  if (schema['type'] === 'object') return undefined
  const got = schema['type'] === undefined ? 'None' : shownText(schema['type'])
  return `schema must be a JSON Schema of 'type: "object"', got 'type: "${got}"'.`
}

type Tally = { properties: number; characters: number; enumValues: number }
type Visit = { root: JsonRecord; tally: Tally }
type SchemaPath = readonly string[]

function* strictProblems(root: JsonRecord): Problems {
  const tally: Tally = { properties: 0, characters: 0, enumValues: 0 }
  yield* strictAt({ root, tally }, root, [], 0)
  if (tally.properties > LIMITS.properties) {
    yield `schema may have at most ${LIMITS.properties} object properties in total, got ${tally.properties}.`
  }
  if (tally.enumValues > LIMITS.enumValues) {
    yield `schema may have at most ${LIMITS.enumValues} enum values in total, got ${tally.enumValues}.`
  }
  if (tally.characters > LIMITS.characters) {
    yield `the names, enum values and const values of a schema may hold at most ${LIMITS.characters} characters, got ${tally.characters}.`
  }
}

function* strictAt(visit: Visit, schema: unknown, path: SchemaPath, level: number): Problems {
  if (!isRecord(schema)) return yield inContext(path, "schema must have a 'type' key.")
  const forbidden = NOT_PERMITTED.find(keyword => keyword in schema)
  if (forbidden !== undefined) yield inContext(path, `'${forbidden}' is not permitted.`)
  if ('$ref' in schema) return yield* refProblems(visit.root, schema['$ref'], path)
  if (!['type', 'anyOf', 'enum', 'const'].some(keyword => keyword in schema)) {
    yield inContext(path, "schema must have a 'type' key.")
  }
  const [isObject, isArray] = [hasType(schema, 'object'), hasType(schema, 'array')]
  const depth = isObject || isArray ? level + 1 : level
  if (depth > LIMITS.levels) {
    yield inContext(path, `schema exceeds the maximum nesting depth of ${LIMITS.levels} levels.`)
  }
  yield* valueProblems(visit.tally, schema, path)
  if (isObject) yield* objectProblems(visit, schema, path, depth)
  if (isArray && !('items' in schema)) yield inContext(path, 'array schema missing items.')
  if (isArray) yield* strictAt(visit, schema['items'], [...path, 'items'], depth)
  for (const [index, branch] of asList(schema['anyOf']).entries()) {
    yield* strictAt(visit, branch, [...path, 'anyOf', String(index)], depth)
  }
  for (const keyword of ['$defs', 'definitions']) {
    for (const [name, definition] of Object.entries(asRecord(schema[keyword]))) {
      visit.tally.characters += name.length
      yield* strictAt(visit, definition, [...path, keyword, name], 0)
    }
  }
}

function* objectProblems(visit: Visit, schema: JsonRecord, path: SchemaPath, level: number): Problems {
  if (schema['additionalProperties'] !== false) {
    yield inContext(path, "'additionalProperties' is required to be supplied and to be false.")
  }
  const properties = asRecord(schema['properties'])
  const required = asList(schema['required'])
  const names = Object.keys(properties)
  const complaint =
    "'required' is required to be supplied and to be an array including every key in properties."
  const unlisted = names.find(name => !required.includes(name))
  if (unlisted !== undefined) yield inContext(path, `${complaint} Missing '${unlisted}'.`)
  const extra = required.find(name => typeof name !== 'string' || !names.includes(name))
  if (extra !== undefined)
    yield inContext(path, `${complaint} Extra required key '${shownText(extra)}' supplied.`)
  visit.tally.properties += names.length
  for (const name of names) {
    visit.tally.characters += name.length
    yield* strictAt(visit, properties[name], [...path, 'properties', name], level)
  }
}

function* valueProblems(tally: Tally, schema: JsonRecord, path: SchemaPath): Problems {
  tally.characters += asString(schema['const']).length
  const values = asList(schema['enum'])
  const characters = values.map(asString).join('').length
  tally.enumValues += values.length
  tally.characters += characters
  if (values.length <= LONG_ENUM.values || characters <= LONG_ENUM.characters) return
  const problem = `an enum of more than ${LONG_ENUM.values} values may hold at most ${LONG_ENUM.characters} characters, got ${characters}.`
  yield inContext(path, problem)
}

function* refProblems(root: JsonRecord, ref: unknown, path: SchemaPath): Problems {
  if (ref === '#') return
  const [, keyword = '', name] = /^#\/(\$defs|definitions)\/([^/]+)$/.exec(String(ref)) ?? []
  if (name !== undefined && name in asRecord(root[keyword])) return
  yield inContext(path, 'reference can only point to definitions defined at the top level of the schema.')
}

function* looseProblems(root: JsonRecord): Problems {
  if (!('properties' in root)) yield inContext([], 'object schema missing properties.')
  yield* missingItems(root, [])
}

/** An array without `items` is refused in every subschema. */
function* missingItems(schema: unknown, path: SchemaPath): Problems {
  if (!isRecord(schema)) return
  const arrayType = typePath(schema, path)
  if (arrayType !== null && !('items' in schema) && !('prefixItems' in schema)) {
    yield inContext(arrayType, 'array schema missing items.')
  }
  for (const [name, child] of Object.entries(asRecord(schema['properties']))) {
    yield* missingItems(child, [...path, 'properties', name])
  }
  yield* missingItems(schema['items'], [...path, 'items'])
  for (const keyword of ['anyOf', 'oneOf', 'allOf']) {
    for (const [index, child] of asList(schema[keyword]).entries()) {
      yield* missingItems(child, [...path, keyword, String(index)])
    }
  }
}

/** Where the vendor points when a type list contains `array`: at the entry of the list. */
function typePath(schema: JsonRecord, path: SchemaPath): SchemaPath | null {
  if (schema['type'] === 'array') return path
  const index = asList(schema['type']).indexOf('array')
  return index < 0 ? null : [...path, 'type', String(index)]
}

function hasType(schema: JsonRecord, type: string): boolean {
  return schema['type'] === type || asList(schema['type']).includes(type)
}

/** The vendor prints the path as a Python tuple, which has a comma after a single element. */
function inContext(path: SchemaPath, problem: string): string {
  const quoted = path.map(step => `'${step}'`)
  return `In context=(${quoted.join(', ')}${quoted.length === 1 ? ',' : ''}), ${problem}`
}
