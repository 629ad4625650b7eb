// The slips that people make when they write a JSON Schema by hand, found when a tool is defined. It is not
// the metaschema: compiling a schema costs a millisecond, and a server with thousands of tools must start at
// once, so the full judgement waits for the first call.
import { isJsonObject, type Json, type JsonObject } from './json.ts'
import { pointer, SchemaError } from './schema-inspect.ts'

const types = ['object', 'array', 'string', 'number', 'integer', 'boolean', 'null']

/** Throws SchemaError. The schema has passed `inspectSchema`, so its depth and size are bounded. */
export function checkDeclaredSchema(schema: Json): void {
  checkSchema(schema, [])
}

/** `trail`: the keys and indexes that lead here, written out only for a refusal. */
type Trail = (string | number)[]

function checkSchema(schema: Json | undefined, trail: Trail): void {
  if (typeof schema === 'boolean') return
  if (!isJsonObject(schema)) throw wrong(trail, 'A schema must be an object, or true or false.')
  for (const keyword in schema) {
    const value = schema[keyword]
    if (value === undefined || !Object.hasOwn(schema, keyword)) continue
    if (keyword === 'type' && isType(value)) continue
    trail.push(keyword)
    checkKeyword(keyword, value, trail)
    trail.pop()
  }
}

function checkKeyword(keyword: string, value: Json, trail: Trail): void {
  switch (keyword) {
    case 'type':
      checkType(value, trail)
      break
    case 'required':
      if (!Array.isArray(value) || !value.every(name => typeof name === 'string'))
        throw wrong(
          trail,
          '"required" must be a list of property names, in the schema of the object that has them.',
        )
      break
    case 'enum':
      if (!Array.isArray(value)) throw wrong(trail, '"enum" must be a list of values.')
      break
    case 'items':
      // Before 2020-12 it could be a list.
      if (Array.isArray(value)) checkList(value, trail)
      else checkSchema(value, trail)
      break
    case 'additionalProperties':
    case 'contains':
    case 'not':
    case 'if':
    case 'then':
    case 'else':
    case 'propertyNames':
      checkSchema(value, trail)
      break
    case 'anyOf':
    case 'oneOf':
    case 'allOf':
    case 'prefixItems':
      if (!Array.isArray(value) || value.length === 0)
        throw wrong(trail, `"${keyword}" must be a list of schemas.`)
      checkList(value, trail)
      break
    case 'properties':
    case 'patternProperties':
    case '$defs':
    case 'definitions':
    case 'dependentSchemas':
      if (!isJsonObject(value)) throw wrong(trail, `"${keyword}" must be an object of schemas.`)
      checkMap(value, trail)
  }
}

function isType(name: Json): boolean {
  return typeof name === 'string' && types.includes(name)
}

function checkType(type: Json, trail: Trail): void {
  for (const name of Array.isArray(type) ? type : [type])
    if (!isType(name))
      throw wrong(trail, `${JSON.stringify(name)} is not a type. The types are: ${types.join(', ')}.`)
}

function checkList(schemas: readonly Json[], trail: Trail): void {
  for (const [index, schema] of schemas.entries()) {
    trail.push(index)
    checkSchema(schema, trail)
    trail.pop()
  }
}

function checkMap(schemas: JsonObject, trail: Trail): void {
  for (const name in schemas) {
    if (!Object.hasOwn(schemas, name)) continue
    trail.push(name)
    checkSchema(schemas[name], trail)
    trail.pop()
  }
}

function wrong(trail: Trail, message: string): SchemaError {
  return new SchemaError(trail.map(String).reduce(pointer, ''), message)
}
