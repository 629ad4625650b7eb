// The things that results hold, by kind: their ids and their names, so that an id can be traced to the one thing that the
// user named. Bounded: a kind with too many things gives no warrant any more, because a name could stand for two of them.
import { isJsonObject, type Json, type JsonObject } from '../../lib/json/index.ts'
import { fold } from './fold.ts'
import { fieldName } from './labels.ts'

const mostRecords = 20_000
/** Longer names are none. */
const longestName = 200

type Kind = { names: Map<string, Set<string>>; byId: Map<string, Set<string>>; full: boolean }

export class Records {
  /** Made with the first record: most sessions have none. */
  #kinds: Map<string, Kind> | undefined

  add(kind: string, id: string, names: readonly string[]): void {
    this.#kinds ??= new Map()
    let known = this.#kinds.get(kind)
    if (!known) {
      known = { names: new Map(), byId: new Map(), full: false }
      this.#kinds.set(kind, known)
    }
    if (known.byId.size >= mostRecords && !known.byId.has(id)) known.full = true
    if (known.full) return
    const own = known.byId.get(id) ?? new Set()
    known.byId.set(id, own)
    for (const name of names) {
      if (own.has(name)) continue
      own.add(name)
      const ids = known.names.get(name) ?? new Set()
      ids.add(id)
      known.names.set(name, ids)
    }
  }

  /** The things of a kind that have this name. */
  holders(kind: string, name: string): string[] {
    return [...(this.#kinds?.get(kind)?.names.get(name) ?? [])]
  }

  /** The names that only this thing of its kind has. */
  namesOf(kind: string, id: string): string[] {
    const known = this.#kinds?.get(kind)
    if (!known || known.full) return []
    return [...(known.byId.get(id) ?? [])].filter(name => known.names.get(name)?.size === 1)
  }
}

/** The things in a result: the items of a list, the list in an object, or the object itself. */
export function thingsIn(data: Json | undefined): JsonObject[] {
  if (Array.isArray(data)) return data.filter(isJsonObject)
  if (!isJsonObject(data)) return []
  const lists = Object.values(data).filter(Array.isArray)
  const [only] = lists
  if (lists.length === 1 && findId(data) === undefined && only?.some(isJsonObject))
    return only.filter(isJsonObject)
  return [data]
}

const idNames: ReadonlySet<string> = new Set(['id', 'uuid', 'guid', 'uid'])

/** `kind`: `file_id` is the id of a file. `closed`: the fields that only the system fills; absent: all. */
export function findId(
  thing: JsonObject,
  kind?: string,
  isClosed: (field: string) => boolean = () => true,
): string | undefined {
  for (const [key, value] of Object.entries(thing)) {
    const field = fieldName(key)
    const isId = idNames.has(field) || (kind !== undefined && field === `${fieldName(kind)}id`)
    if (!isId || !isClosed(field)) continue
    if (typeof value === 'string' || typeof value === 'number') return fold(String(value))
  }
  return undefined
}

const nameField = /^(?:name|title|subject|label|summary|filename|displayname|fullname)$/

export function namesIn(thing: JsonObject): string[] {
  return Object.entries(thing).flatMap(([key, value]) =>
    typeof value === 'string' && value.length <= longestName && nameField.test(fieldName(key))
      ? [fold(value)].filter(name => name !== '')
      : [],
  )
}

export type Leaf = { field: string /** The fields down to it. */; path: string; value: string | number }

/** Each plain value, with the name of the field that it stands in. `enters`: which lists and objects are looked into. */
export function* eachLeaf(
  value: Json | undefined,
  enters: (inner: Json[] | JsonObject) => boolean = () => true,
  field = '',
  path = field,
): Generator<Leaf> {
  if (typeof value === 'string' || typeof value === 'number') yield { field, path, value }
  else if (Array.isArray(value)) {
    if (enters(value)) for (const item of value) yield* eachLeaf(item, enters, field, path)
  } else if (isJsonObject(value) && enters(value))
    for (const [key, item] of Object.entries(value)) {
      const name = fieldName(key)
      yield* eachLeaf(item, enters, name, path === '' ? name : `${path}.${name}`)
    }
}

/** The path of each switch, and how it is set. */
export function* eachSwitch(value: Json | undefined, path = ''): Generator<{ path: string; value: boolean }> {
  if (typeof value === 'boolean') yield { path, value }
  else if (Array.isArray(value)) for (const item of value) yield* eachSwitch(item, path)
  else if (isJsonObject(value))
    for (const [key, item] of Object.entries(value))
      yield* eachSwitch(item, path === '' ? fieldName(key) : `${path}.${fieldName(key)}`)
}

/** One thing, and not several: no list of many, and no object whose fields are things themselves. */
export function isOne(inner: Json[] | JsonObject): boolean {
  if (Array.isArray(inner)) return inner.length === 1
  const fields = Object.values(inner)
  return fields.length < 2 || !fields.every(isJsonObject)
}
