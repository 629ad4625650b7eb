// A schema whose root is a plain object, which every vendor wants for a function's arguments. References are followed, and
// alternatives are merged into one object that takes any of them. The rules between alternatives are then only said in
// words; the runtime's own check still enforces them.

import { isJsonObject, type Json, type JsonObject } from '../../lib/json/index.ts'
import {
  lose,
  readTypes,
  resolveRef,
  schemasIn,
  splitRef,
  stringsIn,
  visitNode,
  type Walk,
} from './schema-refs.ts'

const MAX_ROOT_DEPTH = 16

/** Undefined when the arguments cannot be an object at all. */
export function objectRoot(walk: Walk, schema: JsonObject): JsonObject | undefined {
  const root = flattenRoot(walk, schema, 0)
  if (root === undefined) return undefined
  for (const keyword of ['enum', 'const', 'not'])
    if (keyword in root) {
      lose(walk, '', `"${keyword}" at the root is left out`)
      delete root[keyword]
    }
  root['type'] = 'object'
  if (!isJsonObject(root['properties'])) root['properties'] = {}
  return root
}

function flattenRoot(walk: Walk, node: Json, depth: number): JsonObject | undefined {
  if (node === true) return {}
  if (!isJsonObject(node) || depth > MAX_ROOT_DEPTH || !visitNode(walk, '', depth)) return undefined
  const found = splitRef(node)
  if (found !== undefined) {
    const target = resolveRef(walk.root, found.ref)
    const isLost = target === undefined || target === node
    if (isLost) lose(walk, '', `the reference ${JSON.stringify(found.ref)} leads nowhere`)
    const base = isLost ? {} : flattenRoot(walk, target, depth + 1)
    const own = flattenRoot(walk, found.beside, depth + 1)
    return base === undefined || own === undefined ? undefined : mergeObjects(base, own)
  }
  const types = readTypes(node)
  if (types !== undefined && !types.includes('object')) return undefined
  const { allOf, anyOf, oneOf, ...rest } = node
  let root: JsonObject = { ...rest }
  for (const branch of schemasIn(allOf)) {
    const flat = flattenRoot(walk, branch, depth + 1)
    if (flat === undefined) return undefined
    root = mergeObjects(root, flat)
  }
  for (const alternatives of [anyOf, oneOf]) {
    if (!Array.isArray(alternatives)) continue
    const flats = alternatives.map(branch => flattenRoot(walk, branch, depth + 1))
    const objects = flats.filter(flat => flat !== undefined)
    if (objects.length === 0) return undefined
    lose(walk, '', 'its alternatives are merged into one object')
    root = withAlternatives(root, objects)
  }
  return root
}

/** Both hold: their properties and required names are added up. */
export function mergeObjects(a: JsonObject, b: JsonObject): JsonObject {
  const merged: JsonObject = { ...b, ...a }
  const properties = joinProperties(a['properties'], b['properties'], 'allOf')
  if (properties !== undefined) merged['properties'] = properties
  const required = [...new Set([...stringsIn(a['required']), ...stringsIn(b['required'])])]
  if (required.length > 0) merged['required'] = required
  // Each side forbids what it does not name: together they would forbid one another's properties.
  if (a['additionalProperties'] !== b['additionalProperties']) delete merged['additionalProperties']
  return merged
}

/** One of them holds: a name is required if all require it, and a property is known if any knows it. */
function withAlternatives(base: JsonObject, alternatives: JsonObject[]): JsonObject {
  const merged: JsonObject = { ...base }
  let properties: JsonObject | undefined
  let required: string[] | undefined
  for (const branch of alternatives) {
    properties = joinProperties(properties, branch['properties'], 'anyOf') ?? properties
    const demands = stringsIn(branch['required'])
    required = required === undefined ? demands : required.filter(name => demands.includes(name))
  }
  const own = isJsonObject(base['properties']) ? base['properties'] : {}
  if (properties !== undefined)
    merged['properties'] = Object.fromEntries([...Object.entries(properties), ...Object.entries(own)])
  const demanded = [...new Set([...stringsIn(base['required']), ...(required ?? [])])]
  if (demanded.length > 0) merged['required'] = demanded
  else delete merged['required']
  const areClosed = alternatives.every(
    branch => branch['additionalProperties'] === false && !('patternProperties' in branch),
  )
  if (properties !== undefined && areClosed) merged['additionalProperties'] = false
  else if (properties !== undefined) delete merged['additionalProperties']
  const words = alternatives.map(describeAlternative).filter(text => text !== '')
  const said = typeof base['description'] === 'string' ? `${base['description']}\n` : ''
  if (words.length > 1) merged['description'] = `${said}Give one of: ${words.slice(0, 20).join('; or ')}.`
  return merged
}

function describeAlternative(branch: JsonObject): string {
  const names = stringsIn(branch['required'])
  const known =
    names.length > 0 || !isJsonObject(branch['properties']) ? names : Object.keys(branch['properties'])
  return known
    .slice(0, 20)
    .map(name => JSON.stringify(name))
    .join(' and ')
}

function joinProperties(
  a: Json | undefined,
  b: Json | undefined,
  keyword: 'anyOf' | 'allOf',
): JsonObject | undefined {
  if (!isJsonObject(a)) return isJsonObject(b) ? b : undefined
  if (!isJsonObject(b)) return a
  const joined = new Map(Object.entries(a))
  for (const [name, schema] of Object.entries(b)) {
    const known = joined.get(name)
    if (known === undefined) joined.set(name, schema)
    else if (JSON.stringify(known) !== JSON.stringify(schema))
      joined.set(name, { [keyword]: [known, schema] })
  }
  return Object.fromEntries(joined)
}
