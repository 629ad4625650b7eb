// The cheap half of taking in a JSON Schema: budgets, references and shapes that would make validation
// explode, found by one bounded walk with nothing compiled. Thousands of schemas can pass here at start-up.
// Whether the keywords themselves are well written is left to the compiler, which judges by the metaschema.

import { isJsonObject, type Json, type JsonObject } from './json.ts'

const MAX_PATH = 200

export class SchemaError extends Error {
  override readonly name = 'SchemaError'
  /** JSON Pointer into the schema; empty for the schema as a whole. */
  readonly path: string

  constructor(path: string, message: string) {
    const shown = path.length > MAX_PATH ? `${path.slice(0, MAX_PATH).toWellFormed()}…` : path
    super(path === '' ? message : `${message} (at ${shown})`)
    this.path = shown
  }
}

export type Dialect = '2020-12' | '2019-09' | 'draft-07' | 'draft-06'

export const SCHEMA_LIMITS = {
  bytes: 256 * 1024,
  depth: 64,
  subschemas: 5_000,
  /** Alternatives under oneOf, anyOf and allOf, all added up. */
  branches: 1_000,
  /** Subschemas that one value may be tried against once local references are followed. */
  expansion: 10_000,
  patternChars: 4_096,
} as const

const MAX_NODES = SCHEMA_LIMITS.bytes / 2

/** Throws SchemaError; returns nothing, as there is nothing to keep. */
export function inspectSchema(schema: Json): void {
  if (typeof schema === 'boolean') return
  if (!isJsonObject(schema)) {
    throw new SchemaError('', 'A JSON Schema must be an object, or true or false.')
  }
  dialectOf(schema)
  const walk: Walk = { nodes: 0, bytes: 0, subschemas: 0, branches: 0, ids: [], refs: [] }
  walkSchema(schema, '', 1, walk)
  checkReferences(walk)
  if (walk.refs.length > 0 || walk.branches > 0) checkExpansion(schema)
}

export function dialectOf(schema: JsonObject): Dialect {
  const declared = schema['$schema']
  if (declared === undefined) return '2020-12'
  if (typeof declared !== 'string') throw new SchemaError('/$schema', '$schema must be a string.')
  const found = /^https?:\/\/json-schema\.org\/(?:draft\/(2020-12|2019-09)|(draft-0[67]))\/schema#?$/.exec(
    declared,
  )
  const dialect = found?.[1] ?? found?.[2]
  if (dialect === undefined) {
    throw new SchemaError(
      '/$schema',
      `The dialect ${quote(declared)} is not supported. Use JSON Schema 2020-12, 2019-09, draft-07 or draft-06.`,
    )
  }
  return dialect as Dialect // the expression above admits exactly the four names
}

// ---------------------------------------------------------------------------------------------------------
// The walk

type Reference = { ref: string; path: string; base: string }
type Walk = {
  nodes: number
  bytes: number
  subschemas: number
  branches: number
  ids: string[]
  refs: Reference[]
}

const ONE = new Set([
  'additionalItems',
  'additionalProperties',
  'contains',
  'contentSchema',
  'else',
  'if',
  'items',
  'not',
  'propertyNames',
  'then',
  'unevaluatedItems',
  'unevaluatedProperties',
])
const LIST = new Set(['allOf', 'anyOf', 'oneOf', 'prefixItems', 'items'])
const BRANCHING = new Set(['allOf', 'anyOf', 'oneOf'])
const MAP = new Set([
  '$defs',
  'definitions',
  'dependencies',
  'dependentSchemas',
  'patternProperties',
  'properties',
])
const DATA = new Set(['const', 'default', 'enum', 'examples', 'example', 'required', 'type'])

function walkSchema(schema: Json, path: string, depth: number, walk: Walk, base = ''): void {
  if (!isJsonObject(schema)) {
    walkData(schema, path, depth, walk)
    return
  }
  enter(path, depth, walk, 2)
  if (++walk.subschemas > SCHEMA_LIMITS.subschemas) {
    throw new SchemaError(path, `The schema has more than ${SCHEMA_LIMITS.subschemas} subschemas. Split it.`)
  }
  const here = noteIdentity(schema, path, base, walk)
  for (const [keyword, value] of Object.entries(schema)) {
    count(walk, keyword.length + 4)
    const at = pointer(path, keyword)
    if (LIST.has(keyword) && Array.isArray(value)) {
      if (BRANCHING.has(keyword)) countBranches(value.length, at, walk)
      enter(at, depth + 1, walk, 2)
      for (const [i, item] of value.entries()) walkSchema(item, `${at}/${i}`, depth + 2, walk, here)
    } else if (ONE.has(keyword)) {
      walkSchema(value, at, depth + 1, walk, here)
    } else if (MAP.has(keyword) && isJsonObject(value)) {
      walkMap(keyword, value, at, depth + 1, walk, here)
    } else if (DATA.has(keyword) || typeof value !== 'object') {
      walkData(value, at, depth + 1, walk)
    } else {
      // A reference may point into a keyword that we do not know: what lies there counts as schemas.
      walkUnknown(value, at, depth + 1, walk, here)
    }
  }
}

function walkMap(
  keyword: string,
  map: JsonObject,
  path: string,
  depth: number,
  walk: Walk,
  base: string,
): void {
  enter(path, depth, walk, 2)
  for (const [name, value] of Object.entries(map)) {
    count(walk, name.length + 4)
    if (keyword === 'properties' && name === '__proto__') {
      throw new SchemaError(path, 'A property named "__proto__" cannot be declared. Rename it.')
    }
    if (keyword === 'patternProperties') checkPattern(name, path)
    walkSchema(value, pointer(path, name), depth + 1, walk, base)
  }
}

function walkUnknown(value: Json, path: string, depth: number, walk: Walk, base: string): void {
  if (!Array.isArray(value)) {
    walkSchema(value, path, depth, walk, base)
    return
  }
  enter(path, depth, walk, 2)
  for (const [i, item] of value.entries()) walkUnknown(item, `${path}/${i}`, depth + 1, walk, base)
}

function walkData(value: Json, path: string, depth: number, walk: Walk): void {
  enter(path, depth, walk, typeof value === 'string' ? value.length + 2 : 2)
  if (typeof value !== 'object' || value === null) return
  if (Array.isArray(value)) {
    for (const item of value) walkData(item, path, depth + 1, walk)
    return
  }
  for (const [key, item] of Object.entries(value)) {
    count(walk, key.length + 4)
    walkData(item, path, depth + 1, walk)
  }
}

/** Depth is checked on the way in, so a schema that contains itself ends here and not in the stack. */
function enter(path: string, depth: number, walk: Walk, bytes: number): void {
  if (depth > SCHEMA_LIMITS.depth) {
    throw new SchemaError(path, `The schema nests deeper than ${SCHEMA_LIMITS.depth} levels. Use $defs.`)
  }
  if (++walk.nodes > MAX_NODES) throw tooLarge()
  count(walk, bytes)
}

function count(walk: Walk, bytes: number): void {
  walk.bytes += bytes
  if (walk.bytes > SCHEMA_LIMITS.bytes) throw tooLarge()
}

function tooLarge(): SchemaError {
  return new SchemaError('', `The schema is larger than ${SCHEMA_LIMITS.bytes} bytes. Shorten it.`)
}

function countBranches(added: number, path: string, walk: Walk): void {
  walk.branches += added
  if (walk.branches <= SCHEMA_LIMITS.branches) return
  throw new SchemaError(
    path,
    `The schema has more than ${SCHEMA_LIMITS.branches} oneOf/anyOf/allOf branches. Use enum or fewer branches.`,
  )
}

function noteIdentity(schema: JsonObject, path: string, base: string, walk: Walk): string {
  if (schema['$async'] !== undefined) {
    throw new SchemaError(pointer(path, '$async'), 'Asynchronous schemas are not supported. Drop $async.')
  }
  if (typeof schema['pattern'] === 'string') checkPattern(schema['pattern'], pointer(path, 'pattern'))
  let here = base
  const id = schema['$id']
  if (typeof id === 'string' && !id.startsWith('#')) {
    here = withoutFragment(resolve(id, base))
    walk.ids.push(here)
  }
  for (const keyword of ['$ref', '$dynamicRef', '$recursiveRef']) {
    const ref = schema[keyword]
    if (typeof ref === 'string') walk.refs.push({ ref, path: pointer(path, keyword), base: here })
  }
  return here
}

function checkPattern(pattern: string, path: string): void {
  if (pattern.length <= SCHEMA_LIMITS.patternChars) return
  throw new SchemaError(
    path,
    `A pattern is longer than ${SCHEMA_LIMITS.patternChars} characters. Shorten it.`,
  )
}

// ---------------------------------------------------------------------------------------------------------
// References

function checkReferences(walk: Walk): void {
  const known = new Set(walk.ids)
  for (const { ref, path, base } of walk.refs) {
    if (ref.startsWith('#') || ref === '') continue
    const target = withoutFragment(resolve(ref, base))
    if (known.has(target)) continue
    throw new SchemaError(
      path,
      `The reference ${quote(ref)} points outside this schema, and nothing is fetched. Put its target under $defs.`,
    )
  }
}

const NOWHERE = 'schema:/'

function resolve(uri: string, base: string): string {
  const url = URL.parse(uri, base === '' ? NOWHERE : base)
  return url === null ? uri : url.href
}

function withoutFragment(uri: string): string {
  const hash = uri.indexOf('#')
  return hash < 0 ? uri : uri.slice(0, hash)
}

/** What an in-document reference points at; undefined when only the compiler can tell. */
function targetOf(root: JsonObject, ref: string): Json | undefined {
  if (ref === '#' || ref === '') return root
  if (!ref.startsWith('#/')) return undefined
  let here: Json | undefined = root
  for (const token of ref.slice(2).split('/')) {
    if (typeof here !== 'object' || here === null) return undefined
    const key = decodeToken(token)
    here = Object.hasOwn(here, key) ? (here as JsonObject)[key] : undefined // arrays are read by index too
  }
  return here
}

function decodeToken(token: string): string {
  const plain = token.replaceAll('~1', '/').replaceAll('~0', '~')
  try {
    return decodeURIComponent(plain)
  } catch {
    return plain
  }
}

// ---------------------------------------------------------------------------------------------------------
// Expansion: how many subschemas a single value can meet. Only keywords that apply to the same value count,
// as those multiply with no data to slow them down: twenty definitions that each try the next one twice
// are a million checks.

function checkExpansion(root: JsonObject): void {
  const known = new Map<JsonObject, number>()
  const open = new Set<JsonObject>()

  const weigh = (schema: Json | undefined, path: string): number => {
    if (!isJsonObject(schema)) return 1
    const before = known.get(schema)
    if (before !== undefined) return before
    if (open.has(schema)) {
      throw new SchemaError(path, 'A reference leads back to itself without entering the value: no end.')
    }
    open.add(schema)
    let weight = 1
    for (const [next, at] of inPlace(root, schema, path)) weight += weigh(next, at)
    open.delete(schema)
    if (weight > SCHEMA_LIMITS.expansion) {
      throw new SchemaError(
        path,
        `Followed through its references, the schema tries one value against more than ${SCHEMA_LIMITS.expansion} subschemas. Use fewer alternatives.`,
      )
    }
    known.set(schema, weight)
    return weight
  }

  const pending: [Json, string][] = [[root, '']]
  for (let entry = pending.pop(); entry !== undefined; entry = pending.pop()) {
    const [value, path] = entry
    if (typeof value !== 'object' || value === null) continue
    if (isJsonObject(value)) weigh(value, path)
    for (const [key, item] of Object.entries(value)) {
      if (!DATA.has(key)) pending.push([item, pointer(path, key)])
    }
  }
}

function* inPlace(root: JsonObject, schema: JsonObject, path: string): Generator<[Json | undefined, string]> {
  const ref = schema['$ref'] ?? schema['$dynamicRef']
  if (typeof ref === 'string') yield [targetOf(root, ref), pointer(path, '$ref')]
  for (const keyword of ['allOf', 'anyOf', 'oneOf']) {
    const list = schema[keyword]
    if (!Array.isArray(list)) continue
    for (const [i, item] of list.entries()) yield [item, `${path}/${keyword}/${i}`]
  }
  for (const keyword of ['if', 'then', 'else', 'not']) {
    if (schema[keyword] !== undefined) yield [schema[keyword], pointer(path, keyword)]
  }
  const dependent = schema['dependentSchemas'] ?? schema['dependencies']
  if (!isJsonObject(dependent)) return
  for (const [name, item] of Object.entries(dependent)) yield [item, `${path}/dependentSchemas/${name}`]
}

// ---------------------------------------------------------------------------------------------------------

export function pointer(path: string, key: string): string {
  return `${path}/${key.replaceAll('~', '~0').replaceAll('/', '~1')}`
}

/** Names and values come from outside: they are quoted, and never long. */
export function quote(value: unknown, maxChars = 80): string {
  const text = JSON.stringify(value) ?? String(value)
  return text.length > maxChars ? `${text.slice(0, maxChars).toWellFormed()}…` : text
}
