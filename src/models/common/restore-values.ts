// The way back from a strict schema that was fitted to its vendor (schema-fit.ts): a null that stands for an absent
// property is taken out of a call's arguments, or of an answer in JSON, before anyone sees it. A null that the declared
// schema allows stays. A text that is not JSON, or repeats a key, stays as it is: the gate refuses it.

import type { ModelAnswer, ModelDelta } from '../../engine/ports/index.ts'
import { isJsonObject, type Json, type JsonObject, parseJson } from '../../lib/json/index.ts'
import { findTarget } from '../../lib/schema/pointers.ts'
import { acceptsNull } from './schema-fit.ts'
import { readTypes, stringsIn } from './schema-refs.ts'

/** Schemas as declared: of tools, by our names, and of the answer's text. */
export type Restores = { tools: ReadonlyMap<string, JsonObject>; text?: JsonObject }

export function restoreText(text: string, schema: JsonObject): string {
  let value: Json
  try {
    value = parseJson(text)
  } catch {
    return text
  }
  const restored = restoreValue(schema, schema, value)
  return restored === value ? text : JSON.stringify(restored)
}

/** The same value if nothing has to be restored. */
function restoreValue(root: JsonObject, schema: Json | undefined, value: Json): Json {
  const followed = follow(root, schema, value)
  if (followed === undefined) return value
  if (Array.isArray(value)) {
    const { items } = followed
    const restored = value.map(item => restoreValue(root, items, item))
    return restored.some((item, index) => item !== value[index]) ? restored : value
  }
  const { properties } = followed
  if (!isJsonObject(value) || !isJsonObject(properties)) return value
  const required = stringsIn(followed['required'])
  const entries = Object.entries(value).flatMap(([name, item]): [string, Json][] => {
    const declared = Object.hasOwn(properties, name) ? properties[name] : undefined
    if (item === null && declared !== undefined && !required.includes(name) && !acceptsNull(root, declared))
      return []
    return [[name, restoreValue(root, declared, item)]]
  })
  const isSame =
    entries.length === Object.keys(value).length && entries.every(([name, item]) => item === value[name])
  return isSame ? value : Object.fromEntries(entries)
}

/** The schema that describes the value: through references, and of alternatives the first that it has the shape of. */
function follow(root: JsonObject, schema: Json | undefined, value: Json, hops = 0): JsonObject | undefined {
  if (!isJsonObject(schema) || hops > 32) return undefined
  const { $ref, anyOf, oneOf } = schema
  if (typeof $ref === 'string') return follow(root, findTarget(root, $ref), value, hops + 1)
  const branches = Array.isArray(anyOf) ? anyOf : Array.isArray(oneOf) ? oneOf : undefined
  if (branches === undefined) return schema
  for (const branch of branches) {
    const found = follow(root, branch, value, hops + 1)
    if (found !== undefined && hasShape(root, found, value)) return found
  }
  return undefined
}

function hasShape(root: JsonObject, schema: JsonObject, value: Json): boolean {
  const types = readTypes(schema)
  if (types !== undefined && !types.some(type => isOfType(type, value))) return false
  if (!isJsonObject(value)) return true
  const properties = isJsonObject(schema['properties']) ? schema['properties'] : {}
  return (
    stringsIn(schema['required']).every(name => Object.hasOwn(value, name)) &&
    Object.entries(value).every(([name, item]) => {
      if (!Object.hasOwn(properties, name)) return false
      const property = follow(root, properties[name], item)
      return property === undefined || isAmong(property, item)
    })
  )
}

/** Alternatives are told apart by properties of one value or a few. */
function isAmong({ const: only, enum: values }: JsonObject, item: Json): boolean {
  if (only !== undefined) return item === only
  return !Array.isArray(values) || item === null || values.includes(item)
}

function isOfType(type: string, value: Json): boolean {
  if (value === null) return type === 'null'
  if (Array.isArray(value)) return type === 'array'
  return type === typeof value || (type === 'integer' && Number.isInteger(value))
}

// ---- answers ---------------------------------------------------------------------------------------------

export type Restorer = {
  watch: (delta: ModelDelta) => void
  restore: (answer: ModelAnswer) => ModelAnswer
}

/** Deltas of what has to be restored are held until it is whole, because nothing that was shown can be taken back. */
export function restorerFor(restores: Restores, watch: (delta: ModelDelta) => void): Restorer {
  let held = new Set<number>()
  let text: Extract<ModelDelta, { type: 'text' }>[] = []
  const release = (): void => {
    for (const delta of text) watch(delta)
    text = []
  }
  return {
    watch(delta) {
      if (delta.type === 'reset') {
        held = new Set()
        text = []
      } else if (delta.type === 'call') {
        release()
        if (restores.tools.has(delta.name)) held.add(delta.index)
      } else if (delta.type === 'text' && restores.text) {
        text.push(delta)
        return
      } else if (delta.type === 'arguments' && held.has(delta.index)) return
      watch(delta)
    },
    restore(answer) {
      const hasCalls = answer.parts.some(part => part.type === 'call')
      if (hasCalls) release()
      let index = -1
      const parts = answer.parts.map(part => {
        if (part.type === 'call') {
          index += 1
          const schema = restores.tools.get(part.name)
          if (schema === undefined) return part
          const whole = part.cut ? part.text : restoreText(part.text, schema)
          if (held.has(index) && whole !== '') watch({ type: 'arguments', index, text: whole })
          return whole === part.text ? part : { ...part, text: whole }
        }
        if (part.type !== 'text' || restores.text === undefined || hasCalls) return part
        const whole = restoreText(part.text, restores.text)
        if (whole !== '') watch({ type: 'text', text: whole, ...(part.phase && { phase: part.phase }) })
        return whole === part.text ? part : { ...part, text: whole }
      })
      return { ...answer, parts }
    },
  }
}
