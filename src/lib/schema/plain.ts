// Checks values against plain schemas without ajv, whose loading and first compilation take longer than hundreds of turns. A
// schema is plain if it has no other keywords than those below, each with a value that the metaschemas of all dialects allow.
// This says only whether a value fits; what is wrong with one that does not, ajv says (compile.ts). A property test
// compares the two.

import type { Budget } from '../checks/budget.ts'
import { isJsonObject, type Json, type JsonObject } from '../json/index.ts'
import { evaluationMicros, WEIGHT, weighSchema } from './costs.ts'

export type PlainSchema = {
  weight: number
  types?: readonly string[]
  /** The values of `enum`, and that of `const`. */
  values?: readonly Json[]
  value?: { is: Json }
  required?: readonly string[]
  properties?: ReadonlyMap<string, PlainSchema>
  /** Of the properties that are not named. */
  others?: PlainSchema | false
  items?: PlainSchema
  bounds?: [Bound, number][]
}

type Bound = (typeof BOUNDS)[number]
const BOUNDS = [
  ...(['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum'] as const),
  ...(['minLength', 'maxLength', 'minItems', 'maxItems', 'minProperties', 'maxProperties'] as const),
] as const

/** Larger schemas are left to ajv, whose code is quicker and which takes no value of 100,000 nodes for them. */
const PLAIN_BYTES = 8_000

/** Undefined: the schema is not plain. `bytes`: its size, by the inspection that it has passed. */
export function readPlain(schema: Json, bytes: number): PlainSchema | undefined {
  if (!isJsonObject(schema) || bytes > PLAIN_BYTES) return undefined
  // The dialect was checked. A plain schema means the same in each of them.
  const { $schema: _, ...rest } = schema
  return readSchema(weighSchema(rest).schema)
}

function readSchema(schema: Json): PlainSchema | undefined {
  if (!isJsonObject(schema)) return undefined
  const plain: PlainSchema = { weight: 0 }
  for (const keyword of Object.keys(schema)) {
    const value = schema[keyword]
    if (value === undefined) continue
    const read = READ.get(keyword)
    if (read === undefined || !read(value, plain)) return undefined
  }
  return plain
}

/** Takes the keyword's value. False: it is not plain. */
type Read = (value: Json, plain: PlainSchema) => boolean

const TYPES = ['string', 'number', 'integer', 'boolean', 'null', 'object', 'array']

const isText: Read = value => typeof value === 'string'
const isBoolean: Read = value => typeof value === 'boolean'

const READ: ReadonlyMap<string, Read> = new Map<string, Read>([
  ['title', isText],
  ['description', isText],
  ['$comment', isText],
  ['default', () => true],
  ['examples', value => Array.isArray(value)],
  ['deprecated', isBoolean],
  ['readOnly', isBoolean],
  ['writeOnly', isBoolean],
  ['type', readTypes],
  ['enum', readValues],
  ['const', readOnlyValue],
  ['required', readRequired],
  ['properties', readProperties],
  ['additionalProperties', readOthers],
  ['items', readItems],
  [WEIGHT, readWeight],
  ...BOUNDS.map((bound): [string, Read] => [bound, (value, plain) => readBound(bound, value, plain)]),
])

function readTypes(value: Json, plain: PlainSchema): boolean {
  const types = Array.isArray(value) ? value : [value]
  if (types.length === 0 || !types.every(type => typeof type === 'string' && TYPES.includes(type)))
    return false
  plain.types = types as string[] // just checked
  return new Set(types).size === types.length
}

function readRequired(value: Json, plain: PlainSchema): boolean {
  if (!Array.isArray(value) || !value.every(name => typeof name === 'string')) return false
  plain.required = value
  return new Set(value).size === value.length
}

function readProperties(value: Json, plain: PlainSchema): boolean {
  if (!isJsonObject(value)) return false
  const properties = new Map<string, PlainSchema>()
  for (const name of Object.keys(value)) {
    const property = readSchema(value[name]!)
    if (property === undefined) return false
    properties.set(name, property)
  }
  plain.properties = properties
  return true
}

function readOthers(value: Json, plain: PlainSchema): boolean {
  if (value === true) return true
  const others = value === false ? value : readSchema(value)
  if (others === undefined) return false
  plain.others = others
  return true
}

function readBound(bound: Bound, value: Json, plain: PlainSchema): boolean {
  if (typeof value !== 'number' || !Number.isFinite(value)) return false
  const isCount = !bound.endsWith('imum')
  if (isCount && (!Number.isSafeInteger(value) || value < 0)) return false
  plain.bounds ??= []
  plain.bounds.push([bound, value])
  return true
}

function readValues(value: Json, plain: PlainSchema): boolean {
  if (!Array.isArray(value) || value.length === 0 || !value.every(isLeaf)) return false
  plain.values = value
  return new Set(value).size === value.length
}

function readOnlyValue(value: Json, plain: PlainSchema): boolean {
  plain.value = { is: value }
  return isLeaf(value)
}

function readItems(value: Json, plain: PlainSchema): boolean {
  const items = readSchema(value)
  if (items !== undefined) plain.items = items
  return items !== undefined
}

function readWeight(value: Json, plain: PlainSchema): boolean {
  plain.weight = Number(value)
  return true
}

function isLeaf(value: Json): boolean {
  return typeof value !== 'object' || value === null
}

// ---------------------------------------------------------------------------------------------------------

/** Charges the budget as the code that ajv makes does. Throws BudgetSpent. */
export function fitsPlain(plain: PlainSchema, value: unknown, budget: Budget): boolean {
  budget.spend(evaluationMicros(plain.weight, value))
  const { types, values, value: only, bounds } = plain
  if (types !== undefined && !types.some(type => isOfType(type, value))) return false
  // Compared by identity: an object is equal to no value of the list.
  if (values !== undefined && !values.includes(value as Json)) return false
  if (only !== undefined && only.is !== value) return false
  if (bounds !== undefined && !bounds.every(([bound, limit]) => isWithin(bound, limit, value))) return false
  if (typeof value !== 'object' || value === null) return true
  return Array.isArray(value) ? fitItems(plain, value, budget) : fitsProperties(plain, value, budget)
}

function isOfType(type: string, value: unknown): boolean {
  switch (type) {
    case 'null':
      return value === null
    case 'array':
      return Array.isArray(value)
    case 'object':
      return typeof value === 'object' && value !== null && !Array.isArray(value)
    case 'integer':
      // As ajv has it: infinity is an integer. No JSON holds it.
      return typeof value === 'number' && !(value % 1) && !Number.isNaN(value)
    default:
      return typeof value === type
  }
}

function isWithin(bound: Bound, limit: number, value: unknown): boolean {
  if (typeof value === 'number') return !bound.endsWith('imum') || isNumberWithin(bound, limit, value)
  if (typeof value === 'string')
    return !bound.endsWith('Length') || isCountWithin(bound, limit, countPoints(value))
  if (typeof value !== 'object' || value === null) return true
  if (Array.isArray(value)) return !bound.endsWith('Items') || isCountWithin(bound, limit, value.length)
  return !bound.endsWith('Properties') || isCountWithin(bound, limit, Object.keys(value).length)
}

function isNumberWithin(bound: Bound, limit: number, value: number): boolean {
  switch (bound) {
    case 'minimum':
      return value >= limit
    case 'maximum':
      return value <= limit
    case 'exclusiveMinimum':
      return value > limit
    default:
      return value < limit
  }
}

function isCountWithin(bound: Bound, limit: number, count: number): boolean {
  return bound.startsWith('min') ? count >= limit : count <= limit
}

/** A pair of surrogates is one character. */
function countPoints(text: string): number {
  let count = 0
  for (let at = 0; at < text.length; count++) at += text.codePointAt(at)! > 0xffff ? 2 : 1
  return count
}

function fitItems({ items }: PlainSchema, list: readonly unknown[], budget: Budget): boolean {
  if (items === undefined) return true
  for (let at = 0; at < list.length; at++) if (!fitsPlain(items, list[at], budget)) return false
  return true
}

function fitsProperties(
  { required, properties, others }: PlainSchema,
  value: object,
  budget: Budget,
): boolean {
  const members = value as JsonObject // any object is read by key
  if (required !== undefined) for (const name of required) if (!has(members, name)) return false
  if (properties !== undefined)
    for (const [name, property] of properties)
      if (has(members, name) && !fitsPlain(property, members[name], budget)) return false
  if (others === undefined) return true
  for (const name of Object.keys(members)) {
    if (properties?.has(name)) continue
    if (others === false || !fitsPlain(others, members[name], budget)) return false
  }
  return true
}

function has(members: JsonObject, name: string): boolean {
  return members[name] !== undefined && Object.hasOwn(members, name)
}
