// Which JSON schemas Anthropic accepts for a tool: the ordinary rules, and those of `strict: true`.
// Pure functions over schemas, apart from the rest of the request, since schema converters are tested with them.
import { Ajv2020 } from 'ajv/dist/2020.js'
import type { Rejection, Rejections } from '../script.ts'
import { asList, asRecord, asRecords, asString, isRecord, type JsonRecord } from '../shape.ts'
import { anthropicError, fieldRequired, inputShouldBe, withRule } from './refusals.ts'

const STRICT_LIMITS = { tools: 20, optional: 24, unions: 16, characters: 60_000 } as const

const PROPERTY_KEY = /^[a-zA-Z0-9_.-]{1,64}$/
const ajv = new Ajv2020({ strict: false, validateFormats: false, logger: false })

/** Problems of one tool's `input_schema`. `at` is the tool's place, e.g. `tools.0.custom`. */
export function checkInputSchema(schema: unknown, at = 'tools.0.custom'): Rejection[] {
  return [...inputSchemaProblems(schema, `${at}.input_schema`)]
}

function* inputSchemaProblems(schema: unknown, path: string): Rejections {
  if (schema === undefined) return yield fieldRequired('A-14', path)
  if (!isRecord(schema)) return yield inputShouldBe('A-14', path, 'an object')
  if (schema['type'] === undefined) return yield fieldRequired('A-14', `${path}.type`)
  if (schema['type'] !== 'object') return yield inputShouldBe('A-14', `${path}.type`, "'object'")
  if (['oneOf', 'allOf', 'anyOf'].some(key => key in schema)) {
    const message = `${path}: input_schema does not support oneOf, allOf, or anyOf at the top level`
    yield anthropicError('A-14', message)
  }
  if (!isDraft2020(schema)) {
    const message = `${path}: JSON schema is invalid. It must match JSON Schema draft 2020-12`
    yield anthropicError('A-14', message)
  }
  if (Object.keys(asRecord(schema['properties'])).some(key => !PROPERTY_KEY.test(key))) {
    const message = `${path}.properties: Property keys should match pattern '${PROPERTY_KEY.source}'`
    yield anthropicError('A-14', message)
  }
}

/** `$schema` is not judged: the name of an older dialect is accepted, its constructs are not. */
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
  const own = asString(node['$ref'])
  return [...(own.startsWith('#/') ? [own] : []), ...Object.values(node).flatMap(localRefs)]
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

type StrictTool = { schema: unknown; at: string }

/** Problems of the strict tools of a request, together: some limits are sums over all of them. */
export function checkStrictTools(tools: StrictTool[]): Rejection[] {
  return [...withRule('A-15', strictToolProblems(tools))]
}

function* strictToolProblems(tools: StrictTool[]): Iterable<string> {
  for (const { schema, at } of tools) {
    const [first] = strictProblems(schema)
    if (first !== undefined) yield `${at}: ${first}`
  }
  const sum = (count: (schema: unknown) => number): number =>
    tools.reduce((total, { schema }) => total + count(schema), 0)
  const optional = sum(schema => countParameters(schema).optional)
  const unions = sum(schema => countParameters(schema).unions)
  const characters = sum(schema => (JSON.stringify(schema) ?? '').length)
  if (tools.length > STRICT_LIMITS.tools) {
    yield `Too many strict tools (${tools.length}). The maximum number of strict tools supported is ${STRICT_LIMITS.tools}. Try reducing the number of tools marked as strict.`
  }
  if (optional > STRICT_LIMITS.optional) {
    yield `Schemas contains too many optional parameters (${optional}), which would make grammar compilation inefficient. Reduce the number of optional parameters in your tool schemas (limit: ${STRICT_LIMITS.optional}).`
  }
  if (unions > STRICT_LIMITS.unions) {
    yield `Schemas contains too many parameters with union types (${unions} parameters with type arrays or anyOf). Reduce the number of union-typed parameters in your tool schemas (limit: ${STRICT_LIMITS.unions}).`
  }
  // The service compiles a grammar. The double can only bound the text that it would be compiled from.
  if (characters > STRICT_LIMITS.characters) {
    yield 'The compiled grammar is too large, which would cause performance issues. Simplify your tool schemas or reduce the number of strict tools.'
  }
}

const NUMBER_BOUNDS = ['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum', 'multipleOf']
const UNSUPPORTED: Readonly<Record<string, readonly string[]>> = {
  integer: NUMBER_BOUNDS,
  number: NUMBER_BOUNDS,
  string: ['minLength', 'maxLength'],
  array: ['maxItems', 'uniqueItems', 'contains', 'prefixItems'],
  object: ['minProperties', 'maxProperties', 'patternProperties', 'propertyNames'],
}

function* strictProblems(node: unknown): Iterable<string> {
  if (!isRecord(node)) return
  const type = asString(node['type'])
  if ((type === 'object' || isRecord(node['properties'])) && node['additionalProperties'] !== false) {
    yield "For 'object' type, 'additionalProperties' must be explicitly set to false"
  }
  const unsupported = (UNSUPPORTED[type] ?? []).filter(key => key in node).sort()
  if (unsupported.length > 0) {
    yield `For '${type}' type, properties ${unsupported.join(', ')} are not supported`
  }
  if (type === 'array' && typeof node['minItems'] === 'number' && node['minItems'] > 1) {
    yield "For 'array' type, 'minItems' values other than 0 or 1 are not supported"
  }
  if (typeof node['$ref'] === 'string' && !node['$ref'].startsWith('#')) {
    yield "External '$ref' values are not supported"
  }
  for (const child of childSchemas(node)) yield* strictProblems(child)
}

/** Parameters are counted in every object of a schema, not at the top alone. */
function countParameters(node: unknown): { optional: number; unions: number } {
  const total = { optional: 0, unions: 0 }
  if (!isRecord(node)) return total
  const required = asList(node['required'])
  for (const [name, value] of Object.entries(asRecord(node['properties']))) {
    if (!required.includes(name)) total.optional += 1
    if (isRecord(value) && (Array.isArray(value['type']) || 'anyOf' in value)) total.unions += 1
  }
  for (const child of childSchemas(node)) {
    const inner = countParameters(child)
    total.optional += inner.optional
    total.unions += inner.unions
  }
  return total
}

function childSchemas(node: JsonRecord): JsonRecord[] {
  const maps = ['properties', '$defs', 'definitions'].map(key => Object.values(asRecord(node[key])))
  const lists = ['anyOf', 'allOf', 'oneOf', 'prefixItems'].map(key => asList(node[key]))
  return [...maps, ...lists, [node['items']]].flatMap(asRecords)
}
