// The slips that people make when they write a JSON Schema by hand, found when a tool is defined. It is not
// the metaschema: compiling a schema costs a millisecond, and a server with thousands of tools must start at
// once, so the full judgement waits for the first call.
import { isJsonObject, type Json } from './json.ts'
import { inspectSchema } from './schema-inspect.ts'

/** What `inspectSchema` refuses is refused here too, in the same walk. Throws SchemaError. */
export function checkDeclaredSchema(schema: Json): void {
  inspectSchema(schema, slipOf)
}

const types = ['object', 'array', 'string', 'number', 'integer', 'boolean', 'null']

/** What is wrong with what stands under a keyword; what lies deeper has its own turn. */
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
      // Before 2020-12 it could be a list.
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
  return typeof name === 'string' && types.includes(name)
}

function typeSlip(type: Json): string | undefined {
  for (const name of Array.isArray(type) ? type : [type])
    if (!isType(name)) return `${JSON.stringify(name)} is not a type. The types are: ${types.join(', ')}.`
  return undefined
}

function schemaSlip(schema: Json): string | undefined {
  if (typeof schema === 'boolean' || isJsonObject(schema)) return undefined
  return 'A schema must be an object, or true or false.'
}
