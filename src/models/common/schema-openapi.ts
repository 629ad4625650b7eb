// JSON Schema for vendors that take the OpenAPI subset: one type per node, enums of strings, `nullable` for null, no
// references. Keywords outside the subset are described in words where possible, and recorded as lost. The runtime's own
// check still enforces them.

import { isJsonObject, type Json, type JsonObject } from '../../lib/json/index.ts'
import {
  followRef,
  lose,
  modernise,
  readTypes,
  resolveRef,
  schemasIn,
  splitRef,
  stringsIn,
  visitNode,
  type Walk,
  wordSet,
} from './schema-refs.ts'
import { mergeObjects } from './schema-root.ts'

export type OpenApiRules = {
  stringFormats: ReadonlySet<string>
  numberFormats: ReadonlySet<string>
  /** Enums with more values are said in words. */
  maxEnum: number
  /** Bounds of arrays and numbers are kept. Each multiplies the states that the vendor has to build. */
  bounds: boolean
}

/** Where a node is. `refs`: the targets of the references that led to it, to find those that lead back. */
type Cursor = { walk: Walk; rules: OpenApiRules; path: string; depth: number; refs: readonly Json[] }

/** `root` is an object schema. */
export function toOpenApi(walk: Walk, root: JsonObject, rules: OpenApiRules): JsonObject {
  const at: Cursor = { walk, rules, path: '', depth: 0, refs: [walk.root] }
  const schema = ofType(at, modernise(root), 'object')
  schema['type'] = 'object'
  schema['properties'] ??= {}
  return schema
}

function toOpenApiNode(at: Cursor, node: Json): JsonObject {
  const { walk } = at
  if (node === true || !visitNode(walk, at.path, at.depth)) return {}
  if (!isJsonObject(node)) {
    lose(walk, at.path, node === false ? 'no value passes here, which cannot be said' : 'is no schema')
    return {}
  }
  const found = splitRef(node)
  if (found !== undefined) return convertRef(at, found.ref, found.beside)
  const whole = mergeBranches(at, modernise(node))
  if (hasOnlyAlternatives(whole)) return alternatives(at, whole)
  if ('const' in whole || Array.isArray(whole['enum'])) return values(at, whole)
  const types = readTypes(whole) ?? guessTypes(whole)
  const named = types.filter(type => type !== 'null')
  const nullable = named.length < types.length || whole['nullable'] === true
  if (named.length === 0) return types.length > 0 ? { type: 'null' } : annotated({}, whole)
  if (named.length === 1) return withNull(ofType(at, whole, named[0]!), nullable)
  return { anyOf: named.map(type => withNull(ofType(at, whole, type), nullable)) }
}

function convertRef(at: Cursor, ref: Json, siblings: JsonObject): JsonObject {
  const { walk } = at
  const target = resolveRef(walk.root, ref)
  if (target === undefined || at.refs.includes(target)) {
    const why = target === undefined ? 'leads nowhere' : 'comes back to itself and is cut'
    lose(walk, at.path, `the reference ${JSON.stringify(ref)} ${why}; anything passes here`)
    return annotated({}, siblings)
  }
  const { description, title, default: value } = siblings
  const notes: JsonObject = {
    ...(description !== undefined && { description }),
    ...(title !== undefined && { title }),
    ...(value !== undefined && { default: value }),
  }
  return toOpenApiNode(through(at, target), isJsonObject(target) ? { ...target, ...notes } : target)
}

/** `allOf` is merged into the node itself, `oneOf` becomes `anyOf`. */
function mergeBranches(at: Cursor, node: JsonObject): JsonObject {
  const { walk } = at
  const { allOf, oneOf, ...rest } = node
  let whole: JsonObject = rest
  for (const branch of schemasIn(allOf)) {
    if (!visitNode(walk, at.path, at.depth)) break
    const target = followRef(walk.root, branch)
    if (!isJsonObject(target) || at.refs.includes(target))
      lose(walk, at.path, 'a part of "allOf" is left out')
    else whole = mergeObjects(whole, mergeBranches(through(at, target), modernise(target)))
  }
  if (Array.isArray(oneOf) && whole['anyOf'] === undefined) whole = { ...whole, anyOf: oneOf }
  else if (Array.isArray(oneOf)) lose(walk, at.path, '"oneOf" beside "anyOf" is left out')
  return whole
}

function through(at: Cursor, target: Json): Cursor {
  return { ...at, depth: at.depth + 1, refs: [...at.refs, target] }
}

function inside(at: Cursor, name: string): Cursor {
  return { ...at, path: at.path === '' ? name : `${at.path}/${name}`, depth: at.depth + 1 }
}

/** A node with a type of its own keeps that and loses its alternatives. */
function hasOnlyAlternatives(node: JsonObject): boolean {
  const own = ['type', 'properties', 'items', 'enum', 'const', 'prefixItems'].some(keyword => keyword in node)
  return Array.isArray(node['anyOf']) && !own
}

function alternatives(at: Cursor, node: JsonObject): JsonObject {
  const branches = schemasIn(node['anyOf'])
  const converted = branches
    .map((branch, index) => toOpenApiNode(inside(at, `anyOf/${index}`), branch))
    .flatMap(branch => schemasIn(branch['anyOf'] ?? [branch]).filter(isJsonObject))
  const real = converted.filter(branch => branch['type'] !== 'null')
  const nullable = real.length < converted.length || node['nullable'] === true
  if (real.length === 0) return converted.length > 0 ? { type: 'null' } : annotated({}, node)
  if (real.length === 1) return withNull(annotated(real[0]!, node), nullable)
  // Nothing may stand beside `anyOf`, so each alternative gets the description of the whole.
  return { anyOf: real.map(branch => withNull(annotated(branch, node), nullable)) }
}

function values(at: Cursor, node: JsonObject): JsonObject {
  const { const: constant, enum: list, ...rest } = node
  const all = 'const' in node ? [constant ?? null] : Array.isArray(list) ? list : []
  const groups = new Map<string, Json[]>()
  for (const value of all) {
    const type = typeOfValue(value)
    groups.set(type, [...(groups.get(type) ?? []), value])
  }
  const nullable = groups.delete('null') || node['nullable'] === true
  if (groups.size === 0) return { type: 'null' }
  const schemas = [...groups].map(([type, group]) => withNull(ofValues(at, rest, type, group), nullable))
  return schemas.length === 1 ? schemas[0]! : { anyOf: schemas }
}

function ofValues(at: Cursor, node: JsonObject, type: string, group: Json[]): JsonObject {
  const { rules } = at
  const texts = stringsIn(group).filter(text => text !== '')
  if (type === 'string' && texts.length === group.length && texts.length <= rules.maxEnum)
    return { ...annotated({ type }, node), enum: texts }
  const [only] = group
  if (typeof only === 'number' && group.length === 1 && rules.bounds)
    return { ...annotated({ type }, node), minimum: only, maximum: only }
  const shown = group.slice(0, 50).map(value => JSON.stringify(value))
  const hint = `One of: ${shown.join(', ')}${group.length > shown.length ? ', …' : ''}.`
  return ofType(at, { ...inWords(at, node, 'its list of values is said in words only', hint), type }, type)
}

function typeOfValue(value: Json): string {
  if (value === null) return 'null'
  if (Array.isArray(value)) return 'array'
  if (typeof value === 'number') return Number.isInteger(value) ? 'integer' : 'number'
  return typeof value
}

/** Keywords that tell the type of a node without one. */
const TYPICAL: readonly (readonly [type: string, keywords: ReadonlySet<string>])[] = [
  ['object', wordSet('properties required additionalProperties')],
  ['array', wordSet('items prefixItems minItems')],
  ['string', wordSet('pattern minLength maxLength format')],
  ['number', wordSet('minimum maximum multipleOf')],
]

function guessTypes(node: JsonObject): string[] {
  const found = TYPICAL.find(([, keywords]) => Object.keys(node).some(keyword => keywords.has(keyword)))
  return found ? [found[0]] : []
}

// ---- one type --------------------------------------------------------------------------------------------

const UNSUPPORTED = [
  ...wordSet('not if then else patternProperties propertyNames dependentRequired dependentSchemas'),
  ...wordSet('unevaluatedItems unevaluatedProperties contains anyOf'),
]

function ofType(at: Cursor, node: JsonObject, type: string): JsonObject {
  for (const keyword of UNSUPPORTED) if (keyword in node) lose(at.walk, at.path, `"${keyword}" is left out`)
  if (type === 'object') return objectSchema(at, node)
  if (type === 'array') return arraySchema(at, node)
  if (type === 'string') return stringSchema(at, node)
  if (type === 'number' || type === 'integer') return numberSchema(at, node, type)
  return annotated({ type }, node)
}

function objectSchema(at: Cursor, node: JsonObject): JsonObject {
  const declared = isJsonObject(node['properties']) ? Object.entries(node['properties']) : []
  const entries = declared
    .filter(([, child]) => child !== false)
    .map(([name, child]): [string, JsonObject] => [name, toOpenApiNode(inside(at, name), child)])
  if (isJsonObject(node['additionalProperties']))
    lose(at.walk, at.path, 'what further properties may hold is left out')
  if (entries.length === 0 && at.depth > 0) {
    const loss = 'an object of no named properties is sent without a type'
    return annotated({}, inWords(at, node, loss, 'A JSON object.'))
  }
  const schema = annotated({ type: 'object', properties: Object.fromEntries(entries) }, node)
  const names = new Set(entries.map(([name]) => name))
  const required = stringsIn(node['required'])
  const known = required.filter(name => names.has(name))
  if (known.length < required.length)
    lose(at.walk, at.path, 'it demands a property that it does not describe')
  if (known.length > 0) schema['required'] = known
  if (at.rules.bounds) copyCounts(schema, node, ['minProperties', 'maxProperties'])
  return schema
}

function arraySchema(at: Cursor, node: JsonObject): JsonObject {
  const tuple = schemasIn(node['prefixItems'])
  let source = node
  if (tuple.length > 0) {
    const hint = `The first ${tuple.length} items each have a meaning of their own.`
    source = inWords(at, source, 'the order of the items is said in words only', hint)
  }
  const rest = node['items'] === undefined || typeof node['items'] === 'boolean' ? [] : [node['items']]
  const kinds = [...tuple, ...rest]
  const items = kinds.length === 1 ? kinds[0]! : kinds.length === 0 ? true : { anyOf: kinds }
  if (node['uniqueItems'] === true)
    source = inWords(at, source, '"uniqueItems" is said in words only', 'No two items are equal.')
  const schema = annotated({ type: 'array', items: toOpenApiNode(inside(at, 'items'), items) }, source)
  if (at.rules.bounds) copyCounts(schema, node, ['minItems', 'maxItems'])
  return schema
}

function stringSchema(at: Cursor, node: JsonObject): JsonObject {
  const { format, pattern } = node
  let source = node
  const keep: JsonObject = { type: 'string' }
  if (typeof format === 'string') {
    if (at.rules.stringFormats.has(format)) keep['format'] = format
    else {
      const loss = `the format ${JSON.stringify(format)} is said in words only`
      source = inWords(at, source, loss, `Format: ${format}.`)
    }
  }
  if (typeof pattern === 'string') {
    if (pattern.length <= 200 && !/\(\?|\\[1-9]/.test(pattern)) keep['pattern'] = pattern
    else {
      const hint = `Matches the regular expression ${pattern.slice(0, 500)}`
      source = inWords(at, source, '"pattern" is said in words only', hint)
    }
  }
  copyCounts(keep, node, ['minLength', 'maxLength'])
  return annotated(keep, source)
}

function numberSchema(at: Cursor, node: JsonObject, type: string): JsonObject {
  const keep: JsonObject = { type }
  const hints: string[] = []
  for (const [bound, exclusive, step] of [
    ['minimum', 'exclusiveMinimum', 1],
    ['maximum', 'exclusiveMaximum', -1],
  ] as const) {
    const plain = node[bound]
    const open = node[exclusive]
    if (typeof plain === 'number') keep[bound] = plain
    if (typeof open !== 'number') continue
    if (type === 'integer') keep[bound] = step === 1 ? Math.floor(open) + 1 : Math.ceil(open) - 1
    else {
      keep[bound] = open
      hints.push(`Not equal to ${open}.`)
    }
  }
  if (typeof node['multipleOf'] === 'number') hints.push(`A multiple of ${node['multipleOf']}.`)
  if (!at.rules.bounds && ('minimum' in keep || 'maximum' in keep)) {
    const { minimum, maximum } = keep
    if (minimum !== undefined) hints.push(`At least ${JSON.stringify(minimum)}.`)
    if (maximum !== undefined) hints.push(`At most ${JSON.stringify(maximum)}.`)
    delete keep['minimum']
    delete keep['maximum']
  }
  const { format } = node
  if (typeof format === 'string' && at.rules.numberFormats.has(format)) keep['format'] = format
  if (hints.length === 0) return annotated(keep, node)
  return annotated(keep, inWords(at, node, 'a bound of the number is said in words only', hints.join(' ')))
}

// ---- helpers ---------------------------------------------------------------------------------------------

function copyCounts(schema: JsonObject, node: JsonObject, keywords: readonly string[]): void {
  for (const keyword of keywords) {
    const value = node[keyword]
    if (typeof value === 'number' && Number.isInteger(value) && value >= 0) schema[keyword] = value
  }
}

/** Adds the title, description and default of `node` where `schema` has none of its own. */
function annotated(schema: JsonObject, node: JsonObject): JsonObject {
  const next: JsonObject = { ...schema }
  for (const keyword of ['title', 'description'])
    if (typeof node[keyword] === 'string' && next[keyword] === undefined) next[keyword] = node[keyword]
  if (node['default'] !== undefined && next['default'] === undefined) next['default'] = node['default']
  return next
}

/** A rule that the subset has no keyword for, as a hint in the description. */
function inWords(at: Cursor, node: JsonObject, loss: string, hint: string): JsonObject {
  lose(at.walk, at.path, loss)
  const said = typeof node['description'] === 'string' ? `${node['description']} ` : ''
  return { ...node, description: said + hint }
}

function withNull(schema: JsonObject, nullable: boolean): JsonObject {
  return nullable && schema['type'] !== undefined ? { ...schema, nullable: true } : schema
}
