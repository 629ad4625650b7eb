// A schema in the vendor's OpenAPI subset into JSON Schema: types in lower case, `nullable` as a type of its own,
// counts that came as text as numbers. Keywords of JSON Schema stay as they are.
import { isJsonObject, type Json, type JsonObject } from '../../lib/json/index.ts'

/** Words of OpenAPI that say nothing to a JSON Schema validator, or say something else. */
const dropped = new Set(['type', 'nullable', 'propertyOrdering', 'property_ordering', 'example', 'format'])
const counts: Readonly<Record<string, string>> = {
  min_items: 'minItems',
  max_items: 'maxItems',
  min_length: 'minLength',
  max_length: 'maxLength',
  min_properties: 'minProperties',
  max_properties: 'maxProperties',
}
const countNames = new Set(Object.values(counts))
const numeric = new Set(['enum', 'int32', 'int64', 'float', 'double'])

export function fromOpenApi(schema: JsonObject): JsonObject {
  const made: JsonObject = {}
  for (const [given, value] of Object.entries(schema)) {
    const key = counts[given] ?? (given === 'any_of' ? 'anyOf' : given)
    if (!dropped.has(key)) made[key] = convertMember(key, value)
  }
  const { type, format, example } = schema
  if (typeof format === 'string' && !numeric.has(format)) made['format'] = format
  if (example !== undefined) made['examples'] = [example]
  const name = typeof type === 'string' && type !== 'TYPE_UNSPECIFIED' ? type.toLowerCase() : undefined
  const typed: JsonObject =
    name === undefined ? (type === undefined || typeof type === 'string' ? {} : { type }) : { type: name }
  return schema['nullable'] === true ? nullable({ ...typed, ...made }) : { ...typed, ...made }
}

function convertMember(key: string, value: Json): Json {
  if (countNames.has(key) && typeof value === 'string') return Number(value)
  if (key === 'properties' && isJsonObject(value))
    return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, inside(inner)]))
  if (key === 'items' || key === 'additionalProperties') return inside(value)
  return key === 'anyOf' && Array.isArray(value) ? value.map(inside) : value
}

function inside(value: Json): Json {
  return isJsonObject(value) ? fromOpenApi(value) : value
}

function nullable(schema: JsonObject): JsonObject {
  const { type, enum: values, anyOf } = schema
  return {
    ...schema,
    ...(typeof type === 'string' && { type: [type, 'null'] }),
    ...(Array.isArray(values) && { enum: [...values, null] }),
    ...(Array.isArray(anyOf) && { anyOf: [...anyOf, { type: 'null' }] }),
  }
}
