// Finds the mistakes that people make when they write a JSON Schema by hand, at the time when a tool is defined. This
// is not a check against the metaschema: compiling a schema takes a millisecond, and a server with thousands of tools
// must start at once, so the full check waits for the first call.
import { isJsonObject, type Json, type JsonObject } from './json.ts'
import { inspectSchema, type SchemaSize } from './schema-inspect.ts'
import { SchemaError } from './schema-keywords.ts'

/** Includes the checks of `inspectSchema`, in the same walk. Throws SchemaError. */
export function checkDeclaredSchema(schema: Json): SchemaSize {
  return inspectSchema(schema, slipOf)
}

const keywords: ReadonlySet<string> = new Set([
  ...['type', 'properties', 'required', 'additionalProperties', 'patternProperties', 'propertyNames'],
  ...['minProperties', 'maxProperties', 'unevaluatedProperties', 'dependentRequired', 'dependentSchemas'],
  ...['anyOf', 'oneOf', 'allOf', 'not', 'if', 'then', 'else', 'enum', 'const', 'definitions', 'dependencies'],
  ...['title', 'description', 'default', 'examples', 'deprecated'],
])

/**
 * Refuses a schema without any keyword, such as `{ city: 'string' }`: it was meant as properties, and would accept
 * every object. An empty schema passes. Throws SchemaError.
 */
export function checkHasKeywords(schema: JsonObject): void {
  for (const word in schema) if (word.startsWith('$') || keywords.has(word)) return
  const words = Object.keys(schema)
  if (words.length === 0) return
  throw new SchemaError(
    '',
    `It has no keyword of JSON Schema, only ${words.slice(0, 3).join(', ')}. Write { type: 'object', properties: { … } }`,
  )
}

const typeNames = ['object', 'array', 'string', 'number', 'integer', 'boolean', 'null']

/** Says what is wrong with a keyword's own value. Nested schemas are visited separately. */
function slipOf(keyword: string, value: Json): string | undefined {
  switch (keyword) {
    case 'type':
      return isType(value) ? undefined : typeSlip(value)
    case 'required':
      return Array.isArray(value) && value.every(isText)
        ? undefined
        : '"required" must be a list of property names, in the schema of the object that has them.'
    case 'enum':
      return Array.isArray(value) ? undefined : '"enum" must be a list of values.'
    case 'items':
      // Dialects before 2020-12 allow a list.
      return Array.isArray(value) ? undefined : schemaSlip(value)
    case 'additionalProperties':
    case 'contains':
    case 'not':
    case 'if':
    case 'then':
    case 'else':
    case 'propertyNames':
      return schemaSlip(value)
    case 'anyOf':
    case 'oneOf':
    case 'allOf':
    case 'prefixItems':
      return Array.isArray(value) && value.length > 0 ? undefined : `"${keyword}" must be a list of schemas.`
    case 'properties':
    case 'patternProperties':
    case '$defs':
    case 'definitions':
    case 'dependentSchemas':
      return isJsonObject(value) ? undefined : `"${keyword}" must be an object of schemas.`
    default:
      return undefined
  }
}

function isText(value: Json): boolean {
  return typeof value === 'string'
}

function isType(name: Json): boolean {
  return typeof name === 'string' && typeNames.includes(name)
}

function typeSlip(type: Json): string | undefined {
  for (const name of Array.isArray(type) ? type : [type])
    if (!isType(name)) return `${JSON.stringify(name)} is not a type. The types are: ${typeNames.join(', ')}.`
  return undefined
}

function schemaSlip(schema: Json): string | undefined {
  if (typeof schema === 'boolean' || isJsonObject(schema)) return undefined
  return 'A schema must be an object, or true or false.'
}
