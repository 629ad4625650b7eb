// Reading a JSON Schema the way the rehearsal model needs it: local references followed, allOf joined, and a small
// check of whether a value fits. It judges only what the filler makes; the gate's full check comes later anyway.

import { isJsonObject, type Json, type JsonObject } from '../../lib/json.ts'
import { compileSchema, SchemaError, type Validator } from '../../lib/schema.ts'

const MAX_HOPS = 32

/** One schema without `$ref` and `allOf` at its top. `false` becomes a schema that nothing fits. */
export function flat(schema: Json | undefined, root: JsonObject, hops = 0): JsonObject {
  if (schema === false) return { not: {} }
  if (!isJsonObject(schema) || hops > MAX_HOPS) return {}
  const { $ref: ref, allOf, ...rest } = schema
  let joined: JsonObject = rest
  if (typeof ref === 'string') joined = join(flat(pointed(ref, root), root, hops + 1), joined)
  if (Array.isArray(allOf)) for (const part of allOf) joined = join(joined, flat(part, root, hops + 1))
  return joined
}

function pointed(ref: string, root: JsonObject): Json | undefined {
  if (!ref.startsWith('#')) return undefined
  let at: Json | undefined = root
  for (const key of ref.slice(1).split('/').slice(1)) {
    const name = decodeURIComponent(key).replaceAll('~1', '/').replaceAll('~0', '~')
    at = isJsonObject(at) && Object.hasOwn(at, name) ? at[name] : undefined
  }
  return at
}

export function join(a: JsonObject, b: JsonObject): JsonObject {
  const joined: JsonObject = { ...a, ...b }
  if (isJsonObject(a.properties) && isJsonObject(b.properties))
    joined.properties = { ...a.properties, ...b.properties }
  if (Array.isArray(a.required) && Array.isArray(b.required))
    joined.required = [...new Set([...a.required, ...b.required])]
  return joined
}

/** The alternatives of anyOf, oneOf or a list of types, each joined with what stands beside them; null last. */
export function variants(schema: JsonObject, root: JsonObject): JsonObject[] | undefined {
  const { anyOf, oneOf, ...base } = schema
  const list = Array.isArray(anyOf) ? anyOf : Array.isArray(oneOf) ? oneOf : undefined
  if (list !== undefined) {
    const rest = Array.isArray(anyOf) && oneOf !== undefined ? { ...base, oneOf } : base
    return list.map(branch => join(rest, flat(branch, root))).sort(nullLast)
  }
  if (Array.isArray(schema.type)) return schema.type.map(type => ({ ...schema, type })).sort(nullLast)
  return undefined
}

function nullLast(a: JsonObject, b: JsonObject): number {
  return Number(a.type === 'null') - Number(b.type === 'null')
}

export function typeOf(schema: JsonObject): string {
  if (typeof schema.type === 'string') return schema.type
  if (isJsonObject(schema.properties) || Array.isArray(schema.required)) return 'object'
  if (schema.items !== undefined || schema.prefixItems !== undefined) return 'array'
  const numeric = ['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum', 'multipleOf']
  return numeric.some(key => typeof schema[key] === 'number') ? 'number' : 'string'
}

export function propertiesOf(schema: JsonObject): [string, Json][] {
  return isJsonObject(schema.properties) ? Object.entries(schema.properties) : []
}

export function requiredOf(schema: JsonObject): string[] {
  return Array.isArray(schema.required) ? schema.required.filter(name => typeof name === 'string') : []
}

export function numberAt(schema: JsonObject, key: string): number | undefined {
  const value = schema[key]
  return typeof value === 'number' ? value : undefined
}

export function textAt(schema: JsonObject, key: string): string {
  const value = schema[key]
  return typeof value === 'string' ? value : ''
}

// ---- does it fit -----------------------------------------------------------------------------------------

export function fits(given: Json | undefined, value: Json, root: JsonObject, depth = 0): boolean {
  if (given === false) return false
  if (depth > MAX_HOPS) return true
  const schema = flat(given, root)
  const inner = (sub: Json | undefined) => fits(sub, value, root, depth + 1)
  if (schema.const !== undefined && !equal(schema.const, value)) return false
  if (Array.isArray(schema.enum) && !schema.enum.some(option => equal(option, value))) return false
  if (Array.isArray(schema.anyOf) && !schema.anyOf.some(inner)) return false
  if (Array.isArray(schema.oneOf) && schema.oneOf.filter(inner).length !== 1) return false
  if (schema.not !== undefined && inner(schema.not)) return false
  if (schema.type !== undefined && ![schema.type].flat().some(type => isOfType(value, type))) return false
  if (typeof value === 'number') return numberFits(schema, value)
  if (typeof value === 'string') return stringFits(schema, value)
  if (Array.isArray(value)) return arrayFits(schema, value, root, depth)
  return !isJsonObject(value) || objectFits(schema, value, root, depth)
}

function isOfType(value: Json, type: Json): boolean {
  if (type === 'integer') return Number.isInteger(value)
  if (type === 'null') return value === null
  if (type === 'array') return Array.isArray(value)
  return type === 'object' ? isJsonObject(value) : typeof value === type
}

function numberFits(schema: JsonObject, value: number): boolean {
  const step = numberAt(schema, 'multipleOf')
  return (
    value >= (numberAt(schema, 'minimum') ?? -Infinity) &&
    value <= (numberAt(schema, 'maximum') ?? Infinity) &&
    value > (numberAt(schema, 'exclusiveMinimum') ?? -Infinity) &&
    value < (numberAt(schema, 'exclusiveMaximum') ?? Infinity) &&
    (step === undefined || Number.isInteger(value / step))
  )
}

function stringFits(schema: JsonObject, value: string): boolean {
  const length = codePoints(value).length
  if (length < (numberAt(schema, 'minLength') ?? 0) || length > (numberAt(schema, 'maxLength') ?? Infinity))
    return false
  const { pattern, format } = schema
  return (
    (typeof pattern !== 'string' || passes('pattern', pattern, value)) &&
    (typeof format !== 'string' || passes('format', format, value))
  )
}

/** What JSON Schema counts as the length of a text. */
export function codePoints(text: string): string[] {
  return Array.from(text)
}

const MAX_CHECKS = 64
const checks = new Map<string, Validator>()

/** Patterns and formats go to the checker that runs in linear time. One that it refuses fits nothing. */
export function passes(keyword: 'pattern' | 'format', rule: string, value: string): boolean {
  const key = `${keyword} ${rule}`
  try {
    const check = checks.get(key) ?? compileSchema({ type: 'string', [keyword]: rule })
    if (checks.size >= MAX_CHECKS) checks.clear()
    checks.set(key, check)
    return check.check(value) === null
  } catch (error) {
    if (error instanceof SchemaError) return false
    throw error
  }
}

function arrayFits(schema: JsonObject, value: Json[], root: JsonObject, depth: number): boolean {
  if (value.length < (numberAt(schema, 'minItems') ?? 0)) return false
  if (value.length > (numberAt(schema, 'maxItems') ?? Infinity)) return false
  if (
    schema.uniqueItems === true &&
    value.some((item, at) => value.slice(0, at).some(other => equal(other, item)))
  )
    return false
  return value.every((item, at) => fits(itemAt(schema, at), item, root, depth + 1))
}

export function itemAt(schema: JsonObject, at: number): Json | undefined {
  const fixed = Array.isArray(schema.prefixItems) ? schema.prefixItems[at] : undefined
  return fixed ?? (Array.isArray(schema.items) ? schema.items[at] : schema.items)
}

function objectFits(schema: JsonObject, value: JsonObject, root: JsonObject, depth: number): boolean {
  const known = isJsonObject(schema.properties) ? schema.properties : {}
  if (requiredOf(schema).some(name => !Object.hasOwn(value, name))) return false
  if (Object.keys(value).length < (numberAt(schema, 'minProperties') ?? 0)) return false
  return Object.entries(value).every(([name, item]) =>
    Object.hasOwn(known, name)
      ? fits(known[name], item, root, depth + 1)
      : schema.patternProperties !== undefined || schema.additionalProperties !== false,
  )
}

export function equal(a: Json, b: Json): boolean {
  if (a === b) return true
  if (Array.isArray(a) && Array.isArray(b))
    return a.length === b.length && a.every((item, at) => equal(item, b[at]!))
  if (!isJsonObject(a) || !isJsonObject(b)) return false
  const keys = Object.keys(a)
  return (
    keys.length === Object.keys(b).length &&
    keys.every(key => Object.hasOwn(b, key) && equal(a[key]!, b[key]!))
  )
}
