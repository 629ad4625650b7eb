// Arguments for one call, from a clause and a schema: what is named goes first, then what is of the right kind,
// then what must be there at any price. Optional members are filled only where the clause holds something for them.
import { isJsonObject, type Json, type JsonObject } from '../../lib/json.ts'
import { inspectSchema, SchemaError } from '../../lib/schema.ts'
import { booleanFor, nearest, numberFor, optionFor, optionsIn, stringFor } from './scalars.ts'
import {
  codePoints,
  equal,
  fits,
  flat,
  itemAt,
  numberAt,
  propertiesOf,
  requiredOf,
  typeOf,
  variants,
} from './schemas.ts'
import type { Effort, Slot, Source } from './slots.ts'

const MAX_DEPTH = 8
const MAX_ITEMS = 16
/** More are not made, whatever a schema demands: it must not decide how much memory a rehearsal takes. */
const MAX_FORCED_ITEMS = 500

export function fillArguments(schema: JsonObject, source: Source): JsonObject {
  if (!isSound(schema)) return {}
  const slot = { name: '', schema: flat(schema, schema), root: schema, required: true, depth: 0 }
  const value = valueFor(slot, source, 'forced')
  return isJsonObject(value) ? value : {}
}

/** One value for a member of an object, as `repair` needs it. */
export function fillMember(name: string, schema: JsonObject, root: JsonObject, source: Source): Json {
  const slot = { name, schema: flat(schema, root), root, required: true, depth: 1 }
  return valueFor(slot, source, 'named') ?? valueFor(slot, source, 'forced') ?? null
}

/** A schema that the gate would refuse for its shape is not followed either. */
function isSound(schema: JsonObject): boolean {
  try {
    inspectSchema(schema)
    return true
  } catch (error) {
    if (error instanceof SchemaError) return false
    throw error
  }
}

function valueFor(slot: Slot, source: Source, effort: Effort): Json | undefined {
  const { schema } = slot
  const tired = source.looks-- < 0 || slot.depth > 3 * MAX_DEPTH
  if (tired) return effort === 'forced' ? plainest(schema) : undefined
  if (schema.const !== undefined) return effort === 'forced' ? schema.const : undefined
  if (Array.isArray(schema.enum)) return optionFor(slot, source, effort)
  const branches = variants(schema, slot.root)
  if (branches !== undefined) return unionFor(slot, branches, source, effort)
  switch (typeOf(schema)) {
    case 'object':
      return objectFor(slot, source, effort)
    case 'array':
      return arrayFor(slot, source, effort)
    case 'integer':
    case 'number':
      return numberFor(slot, source, effort)
    case 'boolean':
      return booleanFor(slot, source, effort)
    case 'null':
      return effort === 'forced' ? null : undefined
    default:
      return stringFor(slot, source, effort)
  }
}

// ---- alternatives ----------------------------------------------------------------------------------------

/** The first alternative that the clause speaks of, else the first whose value fits the whole. */
function unionFor(slot: Slot, branches: JsonObject[], source: Source, effort: Effort): Json | undefined {
  const tries: Effort[] = effort === 'forced' ? ['named', 'hinted', 'forced'] : [effort]
  for (const attempt of tries) {
    for (const schema of branches) {
      const before = new Set(source.used)
      const value =
        slot.depth > MAX_DEPTH
          ? undefined
          : valueFor({ ...slot, schema, depth: slot.depth + 1 }, source, attempt)
      if (value !== undefined && fits(slot.schema, value, slot.root)) return value
      source.used.clear()
      for (const fact of before) source.used.add(fact)
    }
  }
  if (effort !== 'forced') return undefined
  const last = branches.find(branch => branch.type === 'null') ?? branches[0]
  return last === undefined || slot.depth > MAX_DEPTH
    ? null
    : valueFor({ ...slot, schema: last, depth: slot.depth + 1 }, source, 'forced')
}

// ---- objects ---------------------------------------------------------------------------------------------

function objectFor(slot: Slot, source: Source, effort: Effort): JsonObject | undefined {
  const required = new Set(requiredOf(slot.schema))
  const members = propertiesOf(slot.schema)
  const ordered = [...members].sort(([a], [b]) => Number(required.has(b)) - Number(required.has(a)))
  const found = new Map<string, Json>()
  const look = (attempt: Effort, wantedNow: (name: string) => boolean) => {
    for (const [name, schema] of ordered) {
      if (found.has(name) || schema === false || !wantedNow(name)) continue
      const value = memberFor(slot, name, schema, required.has(name), source, attempt)
      if (value !== undefined) found.set(name, value)
    }
  }
  if (slot.depth <= MAX_DEPTH) {
    look('named', () => true)
    if (effort !== 'named') look('hinted', () => true)
  }
  if (found.size === 0 && effort !== 'forced') return undefined
  look('forced', name => required.has(name))
  const least = numberAt(slot.schema, 'minProperties') ?? 0
  look('forced', () => found.size < least)
  for (const name of required) if (!found.has(name)) found.set(name, undeclared(slot.schema))
  const order = new Set([...members.map(([name]) => name), ...required])
  return Object.fromEntries([...order].flatMap(name => (found.has(name) ? [[name, found.get(name)!]] : [])))
}

function memberFor(
  slot: Slot,
  name: string,
  schema: Json,
  required: boolean,
  source: Source,
  effort: Effort,
): Json | undefined {
  const member = { name, schema: flat(schema, slot.root), root: slot.root, required, depth: slot.depth + 1 }
  return valueFor(member, source, effort)
}

function plainest(schema: JsonObject): Json {
  if (schema.const !== undefined) return schema.const
  if (Array.isArray(schema.enum)) return schema.enum[0] ?? null
  const type = typeOf(schema)
  if (type === 'object') return {}
  if (type === 'array') return []
  if (type === 'integer' || type === 'number') return nearest(schema, 1)
  return type === 'boolean' ? false : type === 'null' ? null : 'value'
}

/** A member that is required but not described may be anything that its neighbours' rule allows. */
function undeclared(schema: JsonObject): Json {
  return plainest(isJsonObject(schema.additionalProperties) ? schema.additionalProperties : {})
}

// ---- arrays ----------------------------------------------------------------------------------------------

function arrayFor(slot: Slot, source: Source, effort: Effort): Json[] | undefined {
  const least = Math.min(numberAt(slot.schema, 'minItems') ?? 0, MAX_FORCED_ITEMS)
  const most = Math.min(numberAt(slot.schema, 'maxItems') ?? MAX_ITEMS, Math.max(least, MAX_ITEMS))
  const items = slot.depth > MAX_DEPTH ? [] : heardItems(slot, source, effort, most)
  if (items.length === 0 && effort !== 'forced') return undefined
  const aim = items.length > 0 ? least : Math.max(least, slot.depth > MAX_DEPTH || most === 0 ? 0 : 1)
  while (items.length < aim) {
    const forced = itemFor(slot, items.length, source, 'forced')
    if (forced === undefined) break
    items.push(slot.schema.uniqueItems === true ? distinct(forced, items, slot) : forced)
  }
  // The one item that nobody asked for may be impossible: then an empty list is the honest one.
  return least === 0 && !items.every((item, at) => fits(itemAt(slot.schema, at), item, slot.root))
    ? []
    : items
}

function heardItems(slot: Slot, source: Source, effort: Effort, most: number): Json[] {
  const items: Json[] = []
  const first = flat(itemAt(slot.schema, 0), slot.root)
  if (Array.isArray(first.enum)) return optionsIn(first.enum, source).slice(0, most)
  const attempts: Effort[] = effort === 'named' ? ['named'] : ['named', 'hinted']
  for (const attempt of attempts) {
    while (items.length < most) {
      const item = itemFor(slot, items.length, source, attempt)
      if (item === undefined || items.some(other => equal(other, item))) break
      items.push(item)
    }
  }
  // Named is only how the list begins: "to ana@example.com and bob@example.com" names one and means both.
  while (effort === 'named' && items.length > 0 && items.length < most) {
    const item = itemFor(slot, items.length, source, 'hinted')
    if (item === undefined || items.some(other => equal(other, item))) break
    items.push(item)
  }
  return items
}

function itemFor(slot: Slot, at: number, source: Source, effort: Effort): Json | undefined {
  const given = itemAt(slot.schema, at)
  if (given === false) return undefined
  const schema = flat(given, slot.root)
  return valueFor({ ...slot, schema, depth: slot.depth + 1 }, source, effort)
}

function distinct(value: Json, others: readonly Json[], slot: Slot): Json {
  const schema = flat(itemAt(slot.schema, others.length), slot.root)
  const free = (one: Json) => !others.some(other => equal(other, one)) && fits(schema, one, slot.root)
  if (free(value)) return value
  const choices = Array.isArray(schema.enum) ? schema.enum : typeof value === 'boolean' ? [!value] : []
  const known = choices.find(free)
  if (known !== undefined) return known
  for (let n = 1; n < 200; n++) {
    const other = varied(value, n, schema)
    if (other !== undefined && free(other)) return other
  }
  return value
}

function varied(value: Json, n: number, schema: JsonObject): Json | undefined {
  if (typeof value === 'number') {
    const step = numberAt(schema, 'multipleOf') ?? 1
    return nearest(schema, value + (n % 2 === 1 ? 1 : -1) * Math.ceil(n / 2) * step)
  }
  if (typeof value !== 'string') return undefined
  const mark = n.toString(36)
  const letters = codePoints(value)
  return letters.slice(0, Math.max(0, letters.length - mark.length)).join('') + mark
}
