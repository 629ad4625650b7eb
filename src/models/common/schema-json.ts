// JSON Schema for vendors that take JSON Schema: 2020-12, references only into the root's `$defs`, nothing that
// a strict reader of the metaschema refuses, and of the keywords only those that the vendor knows.
// Whether the result may be used in a vendor's strict mode is judged in schema-strict.ts.

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

type Kind =
  | 'schema'
  | 'schemas'
  | 'map'
  | 'number'
  | 'count'
  | 'text'
  | 'flag'
  | 'names'
  | 'list'
  | 'any'
  | 'nameMap'

const KINDS: Readonly<Record<string, Kind>> = {
  title: 'text',
  description: 'text',
  default: 'any',
  examples: 'list',
  deprecated: 'flag',
  readOnly: 'flag',
  writeOnly: 'flag',
  enum: 'list',
  const: 'any',
  format: 'text',
  pattern: 'text',
  minLength: 'count',
  maxLength: 'count',
  minimum: 'number',
  maximum: 'number',
  exclusiveMinimum: 'number',
  exclusiveMaximum: 'number',
  multipleOf: 'number',
  items: 'schema',
  prefixItems: 'schemas',
  contains: 'schema',
  minItems: 'count',
  maxItems: 'count',
  minContains: 'count',
  maxContains: 'count',
  uniqueItems: 'flag',
  properties: 'map',
  patternProperties: 'map',
  additionalProperties: 'schema',
  propertyNames: 'schema',
  required: 'names',
  minProperties: 'count',
  maxProperties: 'count',
  dependentRequired: 'nameMap',
  dependentSchemas: 'map',
  unevaluatedItems: 'schema',
  unevaluatedProperties: 'schema',
  anyOf: 'schemas',
  oneOf: 'schemas',
  allOf: 'schemas',
  not: 'schema',
  if: 'schema',
  then: 'schema',
  else: 'schema',
  contentEncoding: 'text',
  contentMediaType: 'text',
  propertyOrdering: 'names',
}

const ANNOTATIONS = new Set([
  'default',
  'examples',
  'deprecated',
  'readOnly',
  'writeOnly',
  'title',
  'contentEncoding',
  'contentMediaType',
])

export type JsonRules = {
  /** Absent: all of JSON Schema 2020-12. */
  keywords?: ReadonlySet<string>
  /** Nothing may stand beside a reference. */
  bareRefs?: boolean
}

type Conversion = {
  walk: Walk
  rules: JsonRules
  names: Map<Json, string>
  queue: { name: string; target: Json }[]
}

/** `root` is an object schema; references are followed in the schema that the walk was started with. */
export function toJsonSchema(walk: Walk, root: JsonObject, rules: JsonRules): JsonObject {
  const conversion: Conversion = { walk, rules, names: new Map(), queue: [] }
  const schema = convert(conversion, root, '', 0)
  const definitions: [string, JsonObject][] = []
  for (let next = conversion.queue.shift(); next !== undefined; next = conversion.queue.shift())
    definitions.push([next.name, convert(conversion, next.target, `$defs/${next.name}`, 0)])
  if (definitions.length > 0) schema['$defs'] = Object.fromEntries(definitions)
  return schema
}

function convert(conversion: Conversion, node: Json, path: string, depth: number): JsonObject {
  const { walk, rules } = conversion
  if (node === true || !spend(walk, path, depth)) return {}
  if (node === false) return allows(rules, 'not') ? { not: {} } : nothing(walk, path)
  if (!isJsonObject(node)) {
    lose(walk, path, 'is no schema; anything passes here')
    return {}
  }
  const ref = refOf(node)
  if (ref !== undefined) return convertRef(conversion, node, ref, path, depth)
  const source = adapted(conversion, modern(node), path)
  const entries: [string, Json][] = []
  const types = typesOf(source)
  if (types !== undefined) entries.push(['type', types.length === 1 ? types[0]! : types])
  for (const [keyword, value] of Object.entries(source)) {
    const kind = Object.hasOwn(KINDS, keyword) ? KINDS[keyword] : undefined
    if (kind === undefined) continue
    if (!allows(rules, keyword)) {
      if (!ANNOTATIONS.has(keyword)) lose(walk, path, `"${keyword}" is left out`)
      continue
    }
    const converted = convertValue(conversion, keyword, kind, value, path, depth)
    if (converted === undefined) lose(walk, path, `"${keyword}" has no usable value and is left out`)
    else entries.push([keyword, converted])
  }
  const schema = Object.fromEntries(entries)
  // Without the patterns that it made an exception for, a closed object would refuse what was meant to pass.
  if ('patternProperties' in source && !allows(rules, 'patternProperties'))
    delete schema['additionalProperties']
  if (types?.includes('array') && !('items' in schema) && !('prefixItems' in schema)) schema['items'] = {}
  return schema
}

function allows(rules: JsonRules, keyword: string): boolean {
  return rules.keywords === undefined || rules.keywords.has(keyword)
}

function nothing(walk: Walk, path: string): JsonObject {
  lose(walk, path, 'no value passes here, which cannot be said')
  return {}
}

/** What the dialect lacks, said with what it has. */
function adapted(conversion: Conversion, node: JsonObject, path: string): JsonObject {
  const { rules, walk } = conversion
  let next = node
  if ('const' in next && !allows(rules, 'const')) {
    const { const: value, ...rest } = next
    next = { ...rest, enum: [value ?? null] }
  }
  if (Array.isArray(next['oneOf']) && !allows(rules, 'oneOf') && !('anyOf' in next)) {
    const { oneOf, ...rest } = next
    next = { ...rest, anyOf: oneOf ?? [] }
  }
  if (Array.isArray(next['allOf']) && !allows(rules, 'allOf')) {
    const { allOf, ...rest } = next
    next = rest
    for (const branch of objectsIn(allOf)) {
      const target =
        isJsonObject(branch) && refOf(branch) !== undefined ? resolveRef(walk.root, refOf(branch)) : branch
      if (isJsonObject(target)) next = mergeObjects(next, target)
    }
    lose(walk, path, '"allOf" is merged')
  }
  return next
}

function convertRef(
  conversion: Conversion,
  node: JsonObject,
  ref: Json,
  path: string,
  depth: number,
): JsonObject {
  const { walk, rules } = conversion
  const { $ref: _r, $recursiveRef: _c, $dynamicRef: _d, ...siblings } = node
  const target = resolveRef(walk.root, ref)
  if (target === undefined)
    lose(walk, path, `the reference ${JSON.stringify(ref)} leads nowhere; anything passes here`)
  const beside = Object.keys(siblings).length === 0 ? {} : convert(conversion, siblings, path, depth + 1)
  if (target === undefined) return beside
  const pointer: JsonObject = { $ref: `#/$defs/${definitionName(conversion, target, ref)}` }
  if (rules.bareRefs !== true) return { ...pointer, ...beside }
  const { description: _, title: _t, ...demands } = beside
  if (Object.keys(demands).length > 0) lose(walk, path, 'what stands beside a reference is left out')
  return pointer
}

function definitionName(conversion: Conversion, target: Json, ref: Json): string {
  const known = conversion.names.get(target)
  if (known !== undefined) return known
  const last = typeof ref === 'string' ? (ref.split(/[/#]/).pop() ?? '') : ''
  const stem = last.replace(/[^a-zA-Z0-9_]/g, '_').slice(0, 40) || 'root'
  const taken = new Set(conversion.names.values())
  let name = stem
  for (let turn = 2; taken.has(name); turn++) name = `${stem}_${turn}`
  conversion.names.set(target, name)
  conversion.queue.push({ name, target })
  return name
}

function convertValue(
  conversion: Conversion,
  keyword: string,
  kind: Kind,
  value: Json,
  path: string,
  depth: number,
): Json | undefined {
  const at = path === '' ? keyword : `${path}/${keyword}`
  switch (kind) {
    case 'schema':
      if (typeof value === 'boolean')
        return keyword === 'items' ? convert(conversion, value, at, depth + 1) : value
      return isJsonObject(value) ? convert(conversion, value, at, depth + 1) : undefined
    case 'schemas': {
      const list = objectsIn(value).map((item, index) =>
        convert(conversion, item, `${at}/${index}`, depth + 1),
      )
      return list.length === 0 ? undefined : list
    }
    case 'map':
      if (!isJsonObject(value)) return undefined
      return Object.fromEntries(
        Object.entries(value)
          .filter(([name]) => keyword !== 'patternProperties' || compiles(name))
          .map(([name, item]) => [name, convert(conversion, item, `${at}/${name}`, depth + 1)]),
      )
    case 'names':
      return Array.isArray(value) ? stringsIn(value) : undefined
    case 'nameMap':
      if (!isJsonObject(value)) return undefined
      return Object.fromEntries(Object.entries(value).map(([name, names]) => [name, stringsIn(names)]))
    default:
      return isPlain(keyword, kind, value) ? value : undefined
  }
}

function isPlain(keyword: string, kind: Kind, value: Json): boolean {
  if (kind === 'text') return typeof value === 'string' && (keyword !== 'pattern' || compiles(value))
  if (kind === 'flag') return typeof value === 'boolean'
  if (kind === 'list') return Array.isArray(value)
  if (kind === 'count') return typeof value === 'number' && Number.isInteger(value) && value >= 0
  if (kind === 'number') return typeof value === 'number' && (keyword !== 'multipleOf' || value > 0)
  return true
}

function compiles(pattern: string): boolean {
  try {
    new RegExp(pattern, 'u')
    return true
  } catch {
    return false
  }
}
