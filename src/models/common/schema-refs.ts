// Helpers of both schema converters: following a local reference, writing older drafts' keywords as 2020-12 does, and
// recording losses. Nothing here knows a vendor.

import { isJsonObject, type Json, type JsonObject } from '../../lib/json/index.ts'
import { listItems, numberBounds } from '../../lib/schema/older-drafts.ts'
import { findTarget } from '../../lib/schema/pointers.ts'

/** One conversion: the schema as declared, the losses so far, and how many nodes may still be visited. */
export type Walk = { root: JsonObject; lost: Set<string>; budget: number }

const MAX_LOSSES = 20
const MAX_SCHEMA_DEPTH = 80
const MAX_NODES = 20_000

export function startWalk(root: JsonObject): Walk {
  return { root, lost: new Set(), budget: MAX_NODES }
}

export function lose(walk: Walk, path: string, loss: string): void {
  if (walk.lost.size < MAX_LOSSES) walk.lost.add(`${path === '' ? 'the root' : path}: ${loss}`)
}

/** False when the schema is too deep or expands too far. */
export function visitNode(walk: Walk, path: string, depth: number): boolean {
  walk.budget--
  if (walk.budget >= 0 && depth <= MAX_SCHEMA_DEPTH) return true
  lose(walk, path.slice(0, 200), 'too deep or too large to be sent; anything passes here')
  return false
}

/** The target of a local reference; undefined when it has none, or is outside the schema. */
export function resolveRef(root: JsonObject, ref: Json | undefined): Json | undefined {
  if (typeof ref !== 'string' || !ref.startsWith('#')) return undefined
  return /^#(?:\/|$)/.test(ref) ? findTarget(root, ref) : findAnchor(root, ref.slice(1), 0)
}

/** The reference of a node and what stands beside it; undefined for a node without a reference. */
export function splitRef(node: JsonObject): { ref: Json; beside: JsonObject } | undefined {
  const { $ref, $recursiveRef, $dynamicRef, ...beside } = node
  const ref = $ref ?? $recursiveRef ?? $dynamicRef
  return ref === undefined ? undefined : { ref, beside }
}

/** A node, or the target of its reference. */
export function followRef(root: JsonObject, node: Json): Json | undefined {
  const found = isJsonObject(node) ? splitRef(node) : undefined
  return found === undefined ? node : resolveRef(root, found.ref)
}

function findAnchor(node: Json, name: string, depth: number): Json | undefined {
  if (depth > MAX_SCHEMA_DEPTH || typeof node !== 'object' || node === null) return undefined
  if (!Array.isArray(node) && (node['$anchor'] === name || node['$dynamicAnchor'] === name)) return node
  for (const child of Object.values(node)) {
    const found = findAnchor(child, name, depth + 1)
    if (found !== undefined) return found
  }
  return undefined
}

/** A node with keywords of older drafts in their 2020-12 spelling. The original is not changed. */
export function modernise(node: JsonObject): JsonObject {
  const old =
    Array.isArray(node['items']) ||
    typeof node['exclusiveMinimum'] === 'boolean' ||
    typeof node['exclusiveMaximum'] === 'boolean' ||
    'dependencies' in node
  if (!old) return node
  const next: JsonObject = { ...node }
  listItems(next)
  numberBounds(next)
  splitDependencies(next)
  return next
}

function splitDependencies(node: JsonObject): void {
  const { dependencies } = node
  delete node['dependencies']
  if (!isJsonObject(dependencies)) return
  const entries = Object.entries(dependencies)
  const required = entries.filter(([, value]) => Array.isArray(value))
  const schemas = entries.filter(([, value]) => !Array.isArray(value))
  if (required.length > 0) node['dependentRequired'] = Object.fromEntries(required)
  if (schemas.length > 0) node['dependentSchemas'] = Object.fromEntries(schemas)
}

const JSON_TYPES = wordSet('string number integer boolean object array null')

/** The types that a node names, each once; undefined when it names none. */
export function readTypes(node: JsonObject): string[] | undefined {
  const { type } = node
  const named = (Array.isArray(type) ? type : [type]).filter(
    (name): name is string => typeof name === 'string' && JSON_TYPES.has(name),
  )
  return named.length === 0 ? undefined : [...new Set(named)]
}

/** `key`: the name of a property or a definition, the index of an alternative. */
export type ChildSchema = { keyword: string; key?: string | number; child: Json }

/** What a converted schema holds: properties and definitions first, then alternatives and items. */
export function childSchemas(node: JsonObject): ChildSchema[] {
  const found: ChildSchema[] = []
  for (const keyword of ['properties', '$defs'])
    if (isJsonObject(node[keyword]))
      for (const [key, child] of Object.entries(node[keyword])) found.push({ keyword, key, child })
  for (const keyword of ['anyOf', 'allOf', 'oneOf', 'prefixItems'])
    if (Array.isArray(node[keyword]))
      for (const [key, child] of node[keyword].entries()) found.push({ keyword, key, child })
  if (node['items'] !== undefined) found.push({ keyword: 'items', child: node['items'] })
  return found
}

export function schemasIn(value: Json | undefined): Json[] {
  return Array.isArray(value) ? value.filter(item => isJsonObject(item) || typeof item === 'boolean') : []
}

export function stringsIn(value: Json | undefined): string[] {
  return Array.isArray(value) ? [...new Set(value.filter(item => typeof item === 'string'))] : []
}

export function wordSet(text: string): ReadonlySet<string> {
  return new Set(text.split(' '))
}
