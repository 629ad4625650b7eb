// The cheap check of a JSON Schema: size limits, references, and shapes that would make validation explode. It is one
// bounded walk that compiles nothing, so that thousands of schemas can be inspected at start-up. Whether the keywords
// are valid is left to compile.ts, which uses the metaschema.

import { isJsonObject, type Json, type JsonObject } from '../json/index.ts'
import { type Dialect, findDialect, isBefore2019 } from './dialects.ts'
import { checkExpansion } from './expansion.ts'
import { keywordForm, notPlain, SchemaError } from './keywords.ts'
import { pointer } from './pointers.ts'
import { checkReferences, type References, resolveUri, withoutFragment } from './references.ts'

const SCHEMA_LIMITS = {
  bytes: 256 * 1024,
  depth: 64,
  subschemas: 5_000,
  /** Alternatives under oneOf, anyOf and allOf, in total. */
  branches: 1_000,
  /** Subschemas that one value may be checked against, local references included. */
  expansion: 10_000,
  references: 1_000,
  /** Of an `$id` or a reference. */
  uriChars: 2_048,
  patternChars: 4_096,
} as const

const DOLLAR = 0x24

/** Says what is wrong with a keyword or its value, or undefined. */
export type SlipOf = (keyword: string, value: Json, dialect: Dialect) => string | undefined

export type SchemaSize = { bytes: number; subschemas: number; references: number }

/** Throws SchemaError. With `slipOf`, the mistakes that it finds are refused too. */
export function inspectSchema(schema: Json, slipOf?: SlipOf): SchemaSize {
  if (typeof schema === 'boolean') return { bytes: 4, subschemas: 1, references: 0 }
  if (!isJsonObject(schema)) {
    throw new SchemaError('', 'A JSON Schema must be an object, or true or false.')
  }
  const walk: Walk = {
    ...{
      bytes: 0,
      subschemas: 0,
      branches: 0,
      trail: [],
      slipOf,
      isUnknown: false,
      dialect: findDialect(schema),
    },
    references: { ids: [], refs: [], anchors: [], dynamic: [] },
    noted: undefined,
  }
  walkSchema(schema, 1, walk, '')
  const { refs } = walk.references
  if (refs.length > 0) checkReferences(schema, walk.references)
  if (refs.length > 0 || walk.branches > 0) checkExpansion(schema, SCHEMA_LIMITS.expansion)
  if (walk.noted?.has('unevaluatedItems')) checkUnevaluatedItems(walk.noted, walk.dialect)
  return { bytes: walk.bytes, subschemas: walk.subschemas, references: refs.length }
}

// ---------------------------------------------------------------------------------------------------------
// The walk

type Walk = {
  bytes: number
  subschemas: number
  branches: number
  /** The keys and indexes that lead to the current value. Written out as a pointer only for an error. */
  trail: (string | number)[]
  references: References
  slipOf: SlipOf | undefined
  /** Inside an unknown keyword, whose value may not be meant as a schema. */
  isUnknown: boolean
  dialect: Dialect
  /** The keywords of EVALUATING that were seen. */
  noted: Set<string> | undefined
}

/** Keywords that decide which items of a list are evaluated. */
const EVALUATING: ReadonlySet<string> = new Set([
  ...['unevaluatedItems', 'contains', 'items', 'additionalItems', 'anyOf', 'oneOf', 'if', 'dependentSchemas'],
])

function noteEvaluating(keyword: string, value: Json, walk: Walk): void {
  // A list of "items" (before 2020-12) and `true` decide nothing that ajv gets wrong.
  if ((keyword === 'items' && Array.isArray(value)) || (keyword === 'unevaluatedItems' && value === true))
    return
  walk.noted ??= new Set()
  walk.noted.add(keyword)
}

/** Refuses what ajv would answer wrongly: it takes unevaluated items for evaluated ones. */
function checkUnevaluatedItems(noted: ReadonlySet<string>, dialect: Dialect): void {
  const isBranching = ['anyOf', 'oneOf', 'if', 'dependentSchemas'].some(keyword => noted.has(keyword))
  const contains = dialect === '2020-12' && noted.has('contains')
  if (!contains && !(isBranching && (noted.has('items') || noted.has('additionalItems')))) return
  throw new SchemaError(
    '',
    `"unevaluatedItems" cannot be used in a schema that has ${contains ? '"contains"' : '"items" and alternatives'}. Say with "prefixItems" and "items" which items there are.`,
  )
}

type Leaf = null | boolean | number | string
type Nested = Exclude<Json, Leaf>
function walkSchema(schema: Json, depth: number, walk: Walk, base: string): void {
  if (!isJsonObject(schema)) {
    if (walk.slipOf !== undefined && !walk.isUnknown && typeof schema !== 'boolean')
      throw new SchemaError(here(walk), 'A schema must be an object, or true or false.')
    walkData(schema, depth, walk)
    return
  }
  enter(depth, walk, 2)
  if (walk.slipOf !== undefined) checkPlain(schema, walk)
  if (++walk.subschemas > SCHEMA_LIMITS.subschemas) {
    throw new SchemaError(
      here(walk),
      `The schema has more than ${SCHEMA_LIMITS.subschemas} subschemas. Split it.`,
    )
  }
  let reserved = false
  let nested = false
  for (const keyword in schema) {
    const value = schema[keyword]
    if (value === undefined) continue
    addBytes(walk, keyword.length + 4)
    reserved ||= keyword.charCodeAt(0) === DOLLAR || (keyword === 'id' && walk.dialect === 'draft-04')
    if (EVALUATING.has(keyword)) noteEvaluating(keyword, value, walk)
    if (typeof value === 'object' && value !== null) nested = true
    else walkLeaf(keyword, value, depth + 1, walk)
  }
  const inside = reserved ? noteIdentity(schema, base, walk) : base
  if (!nested) return
  for (const keyword in schema) {
    const value = schema[keyword]
    if (typeof value !== 'object' || value === null) continue
    walk.trail.push(keyword)
    walkKeyword(keyword, value, depth + 1, walk, inside)
    walk.trail.pop()
  }
}

function walkLeaf(keyword: string, value: Leaf, depth: number, walk: Walk): void {
  const text = typeof value === 'string' ? value : ''
  addBytes(walk, text.length + 2)
  if (depth > SCHEMA_LIMITS.depth) throw tooDeep(pointer(here(walk), keyword))
  if (keyword === 'pattern' && text.length > SCHEMA_LIMITS.patternChars)
    throw longPattern(pointer(here(walk), keyword))
  const slip = slipAt(keyword, value, walk)
  if (slip !== undefined) throw new SchemaError(pointer(here(walk), keyword), slip)
}

function walkKeyword(keyword: string, value: Nested, depth: number, walk: Walk, base: string): void {
  const slip = slipAt(keyword, value, walk)
  if (slip !== undefined) throw new SchemaError(here(walk), slip)
  const form = keywordForm(keyword)
  if (Array.isArray(value) && (form === 'list' || form === 'branches' || form === 'either')) {
    if (form === 'branches') countBranches(value.length, walk)
    walkList(value, depth, walk, base)
  } else if (form === 'schema' || form === 'either') {
    walkSchema(value, depth, walk, base)
  } else if (form === 'map' && !Array.isArray(value)) {
    walkMap(keyword, value, depth, walk, base)
  } else if (form === 'data') {
    walkData(value, depth, walk)
  } else {
    const before = walk.isUnknown
    walk.isUnknown = true
    walkUnknown(value, depth, walk, base)
    walk.isUnknown = before
  }
}

function slipAt(keyword: string, value: Json, { slipOf, isUnknown, dialect }: Walk): string | undefined {
  return isUnknown ? undefined : slipOf?.(keyword, value, dialect)
}

/** A schema of some library is an instance of its class. Its members are no keywords. */
function checkPlain(schema: JsonObject, walk: Walk): void {
  const problem = notPlain(schema)
  if (problem !== undefined) throw new SchemaError(here(walk), problem)
}

function walkList(schemas: readonly Json[], depth: number, walk: Walk, base: string): void {
  enter(depth, walk, 2)
  for (const [index, schema] of schemas.entries()) {
    walk.trail.push(index)
    walkSchema(schema, depth + 1, walk, base)
    walk.trail.pop()
  }
}

function walkMap(keyword: string, map: JsonObject, depth: number, walk: Walk, base: string): void {
  enter(depth, walk, 2)
  if (walk.slipOf !== undefined) checkPlain(map, walk)
  for (const name in map) {
    if (!Object.hasOwn(map, name)) continue
    addBytes(walk, name.length + 4)
    if (keyword === 'properties' && name === '__proto__') {
      throw new SchemaError(here(walk), 'A property named "__proto__" cannot be declared. Rename it.')
    }
    if (keyword === 'patternProperties' && name.length > SCHEMA_LIMITS.patternChars)
      throw longPattern(here(walk))
    walk.trail.push(name)
    // Under `dependencies` a list holds property names, not schemas.
    if (keyword === 'dependencies' && Array.isArray(map[name])) walkData(map[name], depth + 1, walk)
    else walkSchema(map[name]!, depth + 1, walk, base)
    walk.trail.pop()
  }
}

function walkUnknown(value: Json, depth: number, walk: Walk, base: string): void {
  if (!Array.isArray(value)) {
    walkSchema(value, depth, walk, base)
    return
  }
  enter(depth, walk, 2)
  for (const [index, item] of value.entries()) {
    walk.trail.push(index)
    walkUnknown(item, depth + 1, walk, base)
    walk.trail.pop()
  }
}

function walkData(value: Json, depth: number, walk: Walk): void {
  enter(depth, walk, typeof value === 'string' ? value.length + 2 : 2)
  if (typeof value !== 'object' || value === null) return
  if (Array.isArray(value)) {
    for (const item of value) walkData(item, depth + 1, walk)
    return
  }
  for (const key in value) {
    if (!Object.hasOwn(value, key)) continue
    addBytes(walk, key.length + 4)
    walkData(value[key]!, depth + 1, walk)
  }
}

/** Checks the depth before descending, so that an object that contains itself cannot overflow the stack. */
function enter(depth: number, walk: Walk, bytes: number): void {
  if (depth > SCHEMA_LIMITS.depth) throw tooDeep(here(walk))
  addBytes(walk, bytes)
}

function tooDeep(path: string): SchemaError {
  return new SchemaError(path, `The schema nests deeper than ${SCHEMA_LIMITS.depth} levels. Use $defs.`)
}

function addBytes(walk: Walk, bytes: number): void {
  walk.bytes += bytes
  if (walk.bytes > SCHEMA_LIMITS.bytes)
    throw new SchemaError('', `The schema is larger than ${SCHEMA_LIMITS.bytes} bytes. Shorten it.`)
}

function here({ trail }: Walk): string {
  return trail.map(String).reduce(pointer, '')
}

function countBranches(added: number, walk: Walk): void {
  walk.branches += added
  if (walk.branches <= SCHEMA_LIMITS.branches) return
  throw new SchemaError(
    here(walk),
    `The schema has more than ${SCHEMA_LIMITS.branches} oneOf/anyOf/allOf branches. Use enum or fewer branches.`,
  )
}

function noteIdentity(schema: JsonObject, base: string, walk: Walk): string {
  const path = here(walk)
  if (schema['$async'] !== undefined) {
    throw new SchemaError(pointer(path, '$async'), 'Asynchronous schemas are not supported. Drop $async.')
  }
  let inside = base
  const { references, isUnknown } = walk
  const id = schema[walk.dialect === 'draft-04' ? 'id' : '$id']
  const isHidden = path !== '' && typeof schema['$ref'] === 'string' && isBefore2019(walk.dialect)
  if (typeof id === 'string' && !isHidden) {
    if (id.length > SCHEMA_LIMITS.uriChars) throw longUri(pointer(path, '$id'))
    if (id.startsWith('#')) references.anchors.push(id.slice(1))
    else {
      inside = withoutFragment(resolveUri(id, base))
      references.ids.push(inside)
    }
  }
  for (const keyword of ['$anchor', '$dynamicAnchor']) {
    const name = schema[keyword]
    if (typeof name === 'string') references.anchors.push(name)
  }
  const { $dynamicAnchor: name, $recursiveAnchor: isRecursive } = schema
  if (typeof name === 'string') references.dynamic.push({ name, base: inside })
  if (isRecursive === true) references.dynamic.push({ name: '', base: inside })
  for (const keyword of ['$ref', '$dynamicRef', '$recursiveRef']) {
    const ref = schema[keyword]
    if (typeof ref !== 'string') continue
    if (ref.length > SCHEMA_LIMITS.uriChars) throw longUri(pointer(path, keyword))
    const isDynamic = keyword !== '$ref'
    references.refs.push({ ref, path: pointer(path, keyword), base: inside, isUnknown, isDynamic })
    if (references.refs.length > SCHEMA_LIMITS.references)
      throw new SchemaError(
        path,
        `The schema has more than ${SCHEMA_LIMITS.references} references. Split it, or write out some of them.`,
      )
  }
  return inside
}

function longUri(path: string): SchemaError {
  return new SchemaError(
    path,
    `An identifier or reference is longer than ${SCHEMA_LIMITS.uriChars} characters. Shorten it.`,
  )
}

function longPattern(path: string): SchemaError {
  return new SchemaError(
    path,
    `A pattern is longer than ${SCHEMA_LIMITS.patternChars} characters. Shorten it.`,
  )
}
