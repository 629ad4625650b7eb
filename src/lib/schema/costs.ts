// Estimates the cost of a JSON Schema: to compile it, and to evaluate each of its subschemas. Each subschema is marked
// with its own weight, which the compiled code spends whenever it evaluates the subschema. So a check is charged for
// the value times the schema, however the two multiply: by recursion, alternatives, long lists or many names.

import { patternWeight } from '../grammar/index.ts'
import { isJsonObject, type Json, type JsonObject } from '../json/index.ts'
import { keywordForm, mapSchemas } from './keywords.ts'

/** The keyword that holds a subschema's weight. No schema uses this name by chance. */
export const WEIGHT = '$evaluation-weight'

/** Measured with ajv, in microseconds. */
export const LEAST_COMPILE_MICROS = 1_500
const COMPILE_SUBSCHEMA = 200
const COMPILE_DATA = 0.5
const COMPILE_PATTERN = 300
const COMPILE_PATTERN_WEIGHT = 20

/** A format is an expression of its own. */
const FORMAT_WEIGHT = 10
const DATA_PER_WEIGHT = 100
const SIZE_PER_WEIGHT = 16
const CHARS_PER_WEIGHT = 1_024
const MATCH_BASE = 0.4
const MATCH_STEP = 0.08
const ITEM = 0.5
const ITEM_CHAR = 0.02

type Weighed = { schema: Json; compileMicros: number }

/** A copy of the schema with its weights, and the cost of compiling it. */
export function weighSchema(schema: Json): Weighed {
  const weigher = new Weigher()
  return {
    schema: isJsonObject(schema) ? weigher.schema(schema) : schema,
    compileMicros: LEAST_COMPILE_MICROS + weigher.micros,
  }
}

class Weigher {
  micros = 0

  schema(schema: JsonObject): JsonObject {
    this.micros += COMPILE_SUBSCHEMA
    let weight = 1
    const members = Object.entries(schema).map(([keyword, value]): [string, Json] => {
      weight += this.#keyword(keyword, value)
      return [keyword, mapSchemas(keyword, value, inner => this.schema(inner))]
    })
    return { ...Object.fromEntries(members), [WEIGHT]: weight }
  }

  /** The weight that the keyword adds to its subschema. */
  #keyword(keyword: string, value: Json): number {
    if (keyword === 'pattern' && typeof value === 'string') this.#pattern(value)
    if (keyword === 'patternProperties' && isJsonObject(value))
      for (const pattern of Object.keys(value)) this.#pattern(pattern)
    if (keyword === 'format') return FORMAT_WEIGHT
    if (typeof value !== 'object' || value === null) return 0
    const form = keywordForm(keyword)
    if (form !== 'data' && form !== 'map') return 0
    const size = form === 'data' ? countValues(value) : Object.keys(value).length
    if (form === 'data') this.micros += size * COMPILE_DATA
    return Math.floor(size / DATA_PER_WEIGHT)
  }

  #pattern(pattern: string): void {
    this.micros += COMPILE_PATTERN + COMPILE_PATTERN_WEIGHT * patternWeight(pattern)
  }
}

function countValues(value: Json): number {
  let count = 0
  const pending: Json[] = [value]
  for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
    count += 1
    if (typeof next === 'object' && next !== null) for (const item of Object.values(next)) pending.push(item)
  }
  return count
}

// ---------------------------------------------------------------------------------------------------------

/** The cost of evaluating a subschema of this weight on the value, without its own subschemas. */
export function evaluationMicros(weight: number, value: unknown): number {
  if (typeof value === 'string') return weight * (1 + value.length / CHARS_PER_WEIGHT)
  if (typeof value !== 'object' || value === null) return weight
  if (Array.isArray(value)) return weight * (1 + value.length / SIZE_PER_WEIGHT)
  let size = 0
  for (const _ in value) size += 1
  return weight * (1 + size / SIZE_PER_WEIGHT)
}

export function matchMicros(program: number, text: string): number {
  return MATCH_BASE + MATCH_STEP * program * (text.length + 1)
}

/** The cost of comparing an item of a list, by its canonical text. */
export function itemMicros(text: string): number {
  return ITEM + ITEM_CHAR * text.length
}
