// JSON Schema for vendors that take JSON Schema: 2020-12, references only into the root's `$defs`, nothing that a strict
// reader of the metaschema refuses, and only the keywords that the vendor knows. Whether the result may be used in a strict
// mode is decided in schema-strict.ts.

import { isJsonObject, type Json, type JsonObject } from '../../lib/json/index.ts'
import { isEmptyObject } from './json-read.ts'
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

/** Keywords by the kind of their value. */
const KEYWORDS = {
  text: 'title description format pattern contentEncoding contentMediaType',
  flag: 'deprecated readOnly writeOnly uniqueItems',
  list: 'examples enum',
  any: 'default const',
  number: 'minimum maximum exclusiveMinimum exclusiveMaximum multipleOf',
  count: 'minLength maxLength minItems maxItems minContains maxContains minProperties maxProperties',
  names: 'required propertyOrdering',
  nameMap: 'dependentRequired',
  schema:
    'items contains additionalProperties propertyNames unevaluatedItems unevaluatedProperties not if then else',
  schemas: 'prefixItems anyOf oneOf allOf',
  map: 'properties patternProperties dependentSchemas',
}

type KeywordKind = keyof typeof KEYWORDS

const KIND_OF_KEYWORD: ReadonlyMap<string, KeywordKind> = new Map(
  // The keys of the record above, and no others.
  (Object.keys(KEYWORDS) as KeywordKind[]).flatMap(kind =>
    KEYWORDS[kind].split(' ').map((keyword): [string, KeywordKind] => [keyword, kind]),
  ),
)

const ANNOTATIONS = wordSet(
  'default examples deprecated readOnly writeOnly title contentEncoding contentMediaType',
)

export type JsonRules = {
  /** Absent: all of JSON Schema 2020-12. */
  keywords?: ReadonlySet<string>
  /** A reference must stand alone. */
  bareRefs?: boolean
}

type Conversion = {
  walk: Walk
  rules: JsonRules
  names: Map<Json, string>
  queue: { name: string; target: Json }[]
}

/** `root` is an object schema. References are followed in the schema that the walk was started with. */
export function toJsonSchema(walk: Walk, root: JsonObject, rules: JsonRules): JsonObject {
  const conversion: Conversion = { walk, rules, names: new Map(), queue: [] }
  const schema = toSchema(conversion, root, '', 0)
  const definitions: [string, JsonObject][] = []
  for (let next = conversion.queue.shift(); next !== undefined; next = conversion.queue.shift())
    definitions.push([next.name, toSchema(conversion, next.target, `$defs/${next.name}`, 0)])
  if (definitions.length > 0) schema['$defs'] = Object.fromEntries(definitions)
  return schema
}

function toSchema(conversion: Conversion, node: Json, path: string, depth: number): JsonObject {
  const { walk, rules } = conversion
  if (node === true || !visitNode(walk, path, depth)) return {}
  if (node === false) return allows(rules, 'not') ? { not: {} } : refuseNothing(walk, path)
  if (!isJsonObject(node)) {
    lose(walk, path, 'is no schema; anything passes here')
    return {}
  }
  const found = splitRef(node)
  if (found !== undefined) return convertRef(conversion, found.ref, found.beside, path, depth)
  const source = withKnownKeywords(conversion, modernise(node), path)
  const entries: [string, Json][] = []
  const types = readTypes(source)
  if (types !== undefined) entries.push(['type', types.length === 1 ? types[0]! : types])
  for (const [keyword, value] of Object.entries(source)) {
    const kind = KIND_OF_KEYWORD.get(keyword)
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
  // Without its patterns, a closed object would refuse the properties that they allow.
  if ('patternProperties' in source && !allows(rules, 'patternProperties'))
    delete schema['additionalProperties']
  if (types?.includes('array') && !('items' in schema) && !('prefixItems' in schema)) schema['items'] = {}
  return schema
}

function allows(rules: JsonRules, keyword: string): boolean {
  return rules.keywords === undefined || rules.keywords.has(keyword)
}

function refuseNothing(walk: Walk, path: string): JsonObject {
  lose(walk, path, 'no value passes here, which cannot be said')
  return {}
}

/** Replaces keywords that the dialect lacks by equivalent ones that it has. */
function withKnownKeywords(conversion: Conversion, node: JsonObject, path: string): JsonObject {
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
    for (const branch of schemasIn(allOf)) {
      const target = followRef(walk.root, branch)
      if (isJsonObject(target)) next = mergeObjects(next, target)
    }
    lose(walk, path, '"allOf" is merged')
  }
  return next
}

function convertRef(
  conversion: Conversion,
  ref: Json,
  siblings: JsonObject,
  path: string,
  depth: number,
): JsonObject {
  const { walk, rules } = conversion
  const target = resolveRef(walk.root, ref)
  if (target === undefined)
    lose(walk, path, `the reference ${JSON.stringify(ref)} leads nowhere; anything passes here`)
  const beside = isEmptyObject(siblings) ? {} : toSchema(conversion, siblings, path, depth + 1)
  if (target === undefined) return beside
  const pointer: JsonObject = { $ref: `#/$defs/${definitionName(conversion, target, ref)}` }
  if (rules.bareRefs !== true) return { ...pointer, ...beside }
  const { description: _, title: _t, ...demands } = beside
  if (!isEmptyObject(demands)) lose(walk, path, 'what stands beside a reference is left out')
  return pointer
}

function definitionName(conversion: Conversion, target: Json, ref: Json): string {
  const known = conversion.names.get(target)
  if (known !== undefined) return known
  const last = typeof ref === 'string' ? (ref.split(/[/#]/).pop() ?? '') : ''
  const stem = last.replace(/[^a-zA-Z0-9_]/g, '_').slice(0, 40) || 'root'
  const taken = new Set(conversion.names.values())
  let name = stem
  for (let count = 2; taken.has(name); count++) name = `${stem}_${count}`
  conversion.names.set(target, name)
  conversion.queue.push({ name, target })
  return name
}

function convertValue(
  conversion: Conversion,
  keyword: string,
  kind: KeywordKind,
  value: Json,
  path: string,
  depth: number,
): Json | undefined {
  const at = path === '' ? keyword : `${path}/${keyword}`
  switch (kind) {
    case 'schema':
      if (typeof value === 'boolean')
        return keyword === 'items' ? toSchema(conversion, value, at, depth + 1) : value
      return isJsonObject(value) ? toSchema(conversion, value, at, depth + 1) : undefined
    case 'schemas': {
      const list = schemasIn(value).map((item, index) =>
        toSchema(conversion, item, `${at}/${index}`, depth + 1),
      )
      return list.length === 0 ? undefined : list
    }
    case 'map':
      if (!isJsonObject(value)) return undefined
      return Object.fromEntries(
        Object.entries(value)
          .filter(([name]) => keyword !== 'patternProperties' || compiles(name))
          .map(([name, item]) => [name, toSchema(conversion, item, `${at}/${name}`, depth + 1)]),
      )
    case 'names':
      return Array.isArray(value) ? stringsIn(value) : undefined
    case 'nameMap':
      if (!isJsonObject(value)) return undefined
      return Object.fromEntries(Object.entries(value).map(([name, names]) => [name, stringsIn(names)]))
    default:
      return isPlainValue(keyword, kind, value) ? value : undefined
  }
}

function isPlainValue(keyword: string, kind: KeywordKind, value: Json): boolean {
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
