// JSON Schema for vendors that take the OpenAPI subset: one type per node, enums of strings, `nullable` for null,
// no references. What the subset lacks is said in the description where words can say it, and is reported as
// lost; the runtime's own check still holds the model to it.

import { isJsonObject, type Json, type JsonObject } from '../../lib/json.ts'
import {
  lose,
  modern,
  objectsIn,
  refOf,
  resolveRef,
  spend,
  stringsIn,
  typesOf,
  type Walk,
} from './schema-refs.ts'
import { mergeObjects } from './schema-root.ts'

export type OpenApiRules = {
  stringFormats: ReadonlySet<string>
  numberFormats: ReadonlySet<string>
  /** Enums with more values are said in words. */
  maxEnum: number
  /** Bounds of arrays and numbers are kept; each multiplies the states that the vendor has to build. */
  bounds: boolean
}

type Place = { path: string; depth: number; refs: readonly Json[] }
type Context = { walk: Walk; rules: OpenApiRules }

/** `root` is an object schema. A root without properties has none in the result: such a vendor wants no parameters then. */
export function toOpenApi(walk: Walk, root: JsonObject, rules: OpenApiRules): JsonObject {
  const context: Context = { walk, rules }
  const place: Place = { path: '', depth: 0, refs: [walk.root] }
  const node = modern(root)
  const schema = ofType(context, node, 'object', place)
  schema['type'] = 'object'
  schema['properties'] ??= {}
  return schema
}

function convert(context: Context, node: Json, place: Place): JsonObject {
  const { walk } = context
  if (node === true || !spend(walk, place.path, place.depth)) return {}
  if (!isJsonObject(node)) {
    lose(walk, place.path, node === false ? 'no value passes here, which cannot be said' : 'is no schema')
    return {}
  }
  const ref = refOf(node)
  if (ref !== undefined) return convertRef(context, node, ref, place)
  const whole = merged(context, modern(node), place)
  if (isLeafless(whole)) return alternatives(context, whole, place)
  if ('const' in whole || Array.isArray(whole['enum'])) return values(context, whole, place)
  const types = typesOf(whole) ?? guessTypes(whole)
  const named = types.filter(type => type !== 'null')
  const nullable = named.length < types.length || whole['nullable'] === true
  if (named.length === 0) return types.length > 0 ? { type: 'null' } : annotated({}, whole)
  if (named.length === 1) return withNull(ofType(context, whole, named[0]!, place), nullable)
  return { anyOf: named.map(type => withNull(ofType(context, whole, type, place), nullable)) }
}

function convertRef(context: Context, node: JsonObject, ref: Json, place: Place): JsonObject {
  const { walk } = context
  const { $ref: _r, $recursiveRef: _c, $dynamicRef: _d, ...siblings } = node
  const target = resolveRef(walk.root, ref)
  if (target === undefined || place.refs.includes(target)) {
    const why = target === undefined ? 'leads nowhere' : 'comes back to itself and is cut'
    lose(walk, place.path, `the reference ${JSON.stringify(ref)} ${why}; anything passes here`)
    return annotated({}, siblings)
  }
  const inside: Place = { ...place, depth: place.depth + 1, refs: [...place.refs, target] }
  const base = isJsonObject(target) ? { ...target, ...annotationsOf(siblings) } : target
  return convert(context, base, inside)
}

function annotationsOf(node: JsonObject): JsonObject {
  const { description, title, default: value } = node
  return {
    ...(description === undefined ? {} : { description }),
    ...(title === undefined ? {} : { title }),
    ...(value === undefined ? {} : { default: value }),
  }
}

/** `allOf` is folded into the node itself, `oneOf` becomes `anyOf`. */
function merged(context: Context, node: JsonObject, place: Place): JsonObject {
  const { walk } = context
  const { allOf, oneOf, ...rest } = node
  let whole: JsonObject = rest
  for (const branch of objectsIn(allOf)) {
    if (!spend(walk, place.path, place.depth)) break
    const ref = isJsonObject(branch) ? refOf(branch) : undefined
    const target = ref === undefined ? branch : resolveRef(walk.root, ref)
    if (!isJsonObject(target) || place.refs.includes(target))
      lose(walk, place.path, 'a part of "allOf" is left out')
    else
      whole = mergeObjects(
        whole,
        merged({ walk, rules: context.rules }, modern(target), deeper(place, target)),
      )
  }
  if (Array.isArray(oneOf) && whole['anyOf'] === undefined) whole = { ...whole, anyOf: oneOf }
  else if (Array.isArray(oneOf)) lose(walk, place.path, '"oneOf" beside "anyOf" is left out')
  return whole
}

function deeper(place: Place, target: JsonObject): Place {
  return { ...place, depth: place.depth + 1, refs: [...place.refs, target] }
}

/** The node says what it is by its alternatives alone. Where it has a type of its own, that is what is kept. */
function isLeafless(node: JsonObject): boolean {
  const own = ['type', 'properties', 'items', 'enum', 'const', 'prefixItems'].some(keyword => keyword in node)
  return Array.isArray(node['anyOf']) && !own
}

function alternatives(context: Context, node: JsonObject, place: Place): JsonObject {
  const branches = objectsIn(node['anyOf'])
  const inside = { ...place, depth: place.depth + 1 }
  const converted = branches
    .map((branch, index) => convert(context, branch, { ...inside, path: `${place.path}/anyOf/${index}` }))
    .flatMap(branch => objectsIn(branch['anyOf'] ?? [branch]).filter(isJsonObject))
  const real = converted.filter(branch => branch['type'] !== 'null')
  const nullable = real.length < converted.length || node['nullable'] === true
  if (real.length === 0) return converted.length > 0 ? { type: 'null' } : annotated({}, node)
  if (real.length === 1) return withNull(annotated(real[0]!, node), nullable)
  // Beside `anyOf` nothing may stand, so what describes the whole is said of each.
  return { anyOf: real.map(branch => withNull(annotated(branch, node), nullable)) }
}

function values(context: Context, node: JsonObject, place: Place): JsonObject {
  const { const: constant, enum: list, ...rest } = node
  const all = 'const' in node ? [constant ?? null] : Array.isArray(list) ? list : []
  const groups = new Map<string, Json[]>()
  for (const value of all) {
    const type = typeOfValue(value)
    groups.set(type, [...(groups.get(type) ?? []), value])
  }
  const nullable = groups.delete('null') || node['nullable'] === true
  if (groups.size === 0) return { type: 'null' }
  const schemas = [...groups].map(([type, group]) =>
    withNull(ofValues(context, rest, type, group, place), nullable),
  )
  return schemas.length === 1 ? schemas[0]! : { anyOf: schemas }
}

function ofValues(context: Context, node: JsonObject, type: string, group: Json[], place: Place): JsonObject {
  const { walk, rules } = context
  const texts = stringsIn(group).filter(text => text !== '')
  if (type === 'string' && texts.length === group.length && texts.length <= rules.maxEnum)
    return { ...annotated({ type }, node), enum: texts }
  const [only] = group
  if (typeof only === 'number' && group.length === 1 && rules.bounds)
    return { ...annotated({ type }, node), minimum: only, maximum: only }
  lose(walk, place.path, 'its list of values is said in words only')
  const shown = group.slice(0, 50).map(value => JSON.stringify(value))
  const hint = `One of: ${shown.join(', ')}${group.length > shown.length ? ', …' : ''}.`
  return ofType(context, { ...withHint(node, hint), type }, type, place)
}

function typeOfValue(value: Json): string {
  if (value === null) return 'null'
  if (Array.isArray(value)) return 'array'
  if (typeof value === 'number') return Number.isInteger(value) ? 'integer' : 'number'
  return typeof value
}

function guessTypes(node: JsonObject): string[] {
  if ('properties' in node || 'required' in node || 'additionalProperties' in node) return ['object']
  if ('items' in node || 'prefixItems' in node || 'minItems' in node) return ['array']
  if ('pattern' in node || 'minLength' in node || 'maxLength' in node || 'format' in node) return ['string']
  if ('minimum' in node || 'maximum' in node || 'multipleOf' in node) return ['number']
  return []
}

// ---- one type --------------------------------------------------------------------------------------------

const NEVER_SAID = [
  'not',
  'if',
  'then',
  'else',
  'patternProperties',
  'propertyNames',
  'dependentRequired',
  'dependentSchemas',
  'unevaluatedItems',
  'unevaluatedProperties',
  'contains',
  'anyOf',
]

function ofType(context: Context, node: JsonObject, type: string, place: Place): JsonObject {
  for (const keyword of NEVER_SAID)
    if (keyword in node) lose(context.walk, place.path, `"${keyword}" is left out`)
  if (type === 'object') return objectOf(context, node, place)
  if (type === 'array') return arrayOf(context, node, place)
  if (type === 'string') return stringOf(context, node, place)
  if (type === 'number' || type === 'integer') return numberOf(context, node, type, place)
  return annotated({ type }, node)
}

function objectOf(context: Context, node: JsonObject, place: Place): JsonObject {
  const declared = isJsonObject(node['properties']) ? Object.entries(node['properties']) : []
  const entries = declared
    .filter(([, child]) => child !== false)
    .map(([name, child]): [string, JsonObject] => [
      name,
      convert(context, child, { ...place, path: join(place.path, name), depth: place.depth + 1 }),
    ])
  if (isJsonObject(node['additionalProperties']))
    lose(context.walk, place.path, 'what further properties may hold is left out')
  if (entries.length === 0 && place.depth > 0) {
    lose(context.walk, place.path, 'an object of no named properties is sent without a type')
    return annotated({}, withHint(node, 'A JSON object.'))
  }
  const schema = annotated({ type: 'object', properties: Object.fromEntries(entries) }, node)
  const names = new Set(entries.map(([name]) => name))
  const required = stringsIn(node['required'])
  const known = required.filter(name => names.has(name))
  if (known.length < required.length)
    lose(context.walk, place.path, 'it demands a property that it does not describe')
  if (known.length > 0) schema['required'] = known
  if (context.rules.bounds) copyCounts(schema, node, ['minProperties', 'maxProperties'])
  return schema
}

function arrayOf(context: Context, node: JsonObject, place: Place): JsonObject {
  const inside: Place = { ...place, path: join(place.path, 'items'), depth: place.depth + 1 }
  const tuple = objectsIn(node['prefixItems'])
  let source = node
  if (tuple.length > 0) {
    lose(context.walk, place.path, 'the order of the items is said in words only')
    source = withHint(node, `The first ${tuple.length} items each have a meaning of their own.`)
  }
  const rest = node['items'] === undefined || typeof node['items'] === 'boolean' ? [] : [node['items']]
  const kinds = [...tuple, ...rest]
  const items = kinds.length === 1 ? kinds[0]! : kinds.length === 0 ? true : { anyOf: kinds }
  if (node['uniqueItems'] === true) {
    lose(context.walk, place.path, '"uniqueItems" is said in words only')
    source = withHint(source, 'No two items are equal.')
  }
  const schema = annotated({ type: 'array', items: convert(context, items, inside) }, source)
  if (context.rules.bounds) copyCounts(schema, node, ['minItems', 'maxItems'])
  return schema
}

function stringOf(context: Context, node: JsonObject, place: Place): JsonObject {
  const { format, pattern } = node
  let source = node
  const keep: JsonObject = { type: 'string' }
  if (typeof format === 'string') {
    if (context.rules.stringFormats.has(format)) keep['format'] = format
    else {
      lose(context.walk, place.path, `the format ${JSON.stringify(format)} is said in words only`)
      source = withHint(source, `Format: ${format}.`)
    }
  }
  if (typeof pattern === 'string') {
    if (pattern.length <= 200 && !/\(\?|\\[1-9]/.test(pattern)) keep['pattern'] = pattern
    else {
      lose(context.walk, place.path, '"pattern" is said in words only')
      source = withHint(source, `Matches the regular expression ${pattern.slice(0, 500)}`)
    }
  }
  copyCounts(keep, node, ['minLength', 'maxLength'])
  return annotated(keep, source)
}

function numberOf(context: Context, node: JsonObject, type: string, place: Place): JsonObject {
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
  if (!context.rules.bounds && ('minimum' in keep || 'maximum' in keep)) {
    const { minimum, maximum } = keep
    if (minimum !== undefined) hints.push(`At least ${JSON.stringify(minimum)}.`)
    if (maximum !== undefined) hints.push(`At most ${JSON.stringify(maximum)}.`)
    delete keep['minimum']
    delete keep['maximum']
  }
  if (hints.length > 0) lose(context.walk, place.path, 'a bound of the number is said in words only')
  const { format } = node
  if (typeof format === 'string' && context.rules.numberFormats.has(format)) keep['format'] = format
  return annotated(keep, hints.length === 0 ? node : withHint(node, hints.join(' ')))
}

// ---- small parts -----------------------------------------------------------------------------------------

function copyCounts(schema: JsonObject, node: JsonObject, keywords: readonly string[]): void {
  for (const keyword of keywords) {
    const value = node[keyword]
    if (typeof value === 'number' && Number.isInteger(value) && value >= 0) schema[keyword] = value
  }
}

/** What describes `node` is added to `schema`, which keeps its own words where it has them. */
function annotated(schema: JsonObject, node: JsonObject): JsonObject {
  const next: JsonObject = { ...schema }
  for (const keyword of ['title', 'description'])
    if (typeof node[keyword] === 'string' && next[keyword] === undefined) next[keyword] = node[keyword]
  if (node['default'] !== undefined && next['default'] === undefined) next['default'] = node['default']
  return next
}

function withHint(node: JsonObject, hint: string): JsonObject {
  const said = typeof node['description'] === 'string' ? `${node['description']} ` : ''
  return { ...node, description: said + hint }
}

function withNull(schema: JsonObject, nullable: boolean): JsonObject {
  return nullable && schema['type'] !== undefined ? { ...schema, nullable: true } : schema
}

function join(path: string, step: string): string {
  return path === '' ? step : `${path}/${step}`
}
