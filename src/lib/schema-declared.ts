// The slips that people make when they write a JSON Schema by hand, found when a tool is defined. It is not
// the metaschema: compiling a schema costs a millisecond, and a server with thousands of tools must start at
// once, so the full judgement waits for the first call.
import { isJsonObject, type Json, type JsonObject } from './json.ts'
import { SchemaError } from './schema-inspect.ts'

const types = ['object', 'array', 'string', 'number', 'integer', 'boolean', 'null']
const single = [
  'items',
  'additionalProperties',
  'contains',
  'not',
  'if',
  'then',
  'else',
  'propertyNames',
] as const
const lists = ['anyOf', 'oneOf', 'allOf', 'prefixItems'] as const
const maps = ['properties', 'patternProperties', '$defs', 'definitions', 'dependentSchemas'] as const

/** Throws SchemaError. The schema has passed `inspectSchema`, so its depth and size are bounded. */
export function checkDeclaredSchema(schema: Json, path = ''): void {
  if (typeof schema === 'boolean') return
  if (!isJsonObject(schema)) throw new SchemaError(path, 'A schema must be an object, or true or false.')
  checkWords(schema, path)
  for (const keyword of single) {
    const value = schema[keyword]
    // Before 2020-12 `items` could be a list.
    if (Array.isArray(value) && keyword === 'items') checkEach(value, `${path}/${keyword}`)
    else if (value !== undefined) checkDeclaredSchema(value, `${path}/${keyword}`)
  }
  for (const keyword of lists) {
    const value = schema[keyword]
    if (value === undefined) continue
    if (!Array.isArray(value) || value.length === 0)
      throw new SchemaError(`${path}/${keyword}`, `"${keyword}" must be a list of schemas.`)
    checkEach(value, `${path}/${keyword}`)
  }
  for (const keyword of maps) {
    const value = schema[keyword]
    if (value === undefined) continue
    if (!isJsonObject(value))
      throw new SchemaError(`${path}/${keyword}`, `"${keyword}" must be an object of schemas.`)
    for (const [name, item] of Object.entries(value)) checkDeclaredSchema(item, `${path}/${keyword}/${name}`)
  }
}

function checkEach(schemas: readonly Json[], path: string): void {
  for (const [index, schema] of schemas.entries()) checkDeclaredSchema(schema, `${path}/${index}`)
}

function checkWords(schema: JsonObject, path: string): void {
  const { type, required, enum: allowed } = schema
  if (type !== undefined) {
    const named = Array.isArray(type) ? type : [type]
    for (const name of named)
      if (typeof name !== 'string' || !types.includes(name))
        throw new SchemaError(
          `${path}/type`,
          `${JSON.stringify(name)} is not a type. The types are: ${types.join(', ')}.`,
        )
  }
  if (
    required !== undefined &&
    !(Array.isArray(required) && required.every(name => typeof name === 'string'))
  )
    throw new SchemaError(
      `${path}/required`,
      '"required" must be a list of property names, in the schema of the object that has them.',
    )
  if (allowed !== undefined && !Array.isArray(allowed))
    throw new SchemaError(`${path}/enum`, '"enum" must be a list of values.')
}
