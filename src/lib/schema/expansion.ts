// How many subschemas a single value can be checked against, followed through references. Only keywords that apply to the
// same value count, because they multiply however small the value is: twenty definitions that each try the next one twice
// make a million checks.

import { isJsonObject, type Json, type JsonObject } from '../json/index.ts'
import { keywordForm, SchemaError } from './keywords.ts'
import { findTarget, pointer } from './pointers.ts'

/** Throws SchemaError if there are more than `most`, or no end. */
export function checkExpansion(root: JsonObject, most: number): void {
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
    if (weight > most) {
      throw new SchemaError(
        path,
        `Followed through its references, the schema tries one value against more than ${most} subschemas. Use fewer alternatives.`,
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
      if (keywordForm(key) !== 'data') pending.push([item, pointer(path, key)])
    }
  }
}

function* inPlace(root: JsonObject, schema: JsonObject, path: string): Generator<[Json | undefined, string]> {
  const ref = schema['$ref'] ?? schema['$dynamicRef']
  if (typeof ref === 'string') yield [findTarget(root, ref), pointer(path, '$ref')]
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
