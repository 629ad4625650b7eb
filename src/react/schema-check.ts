// A first check of arguments against a tool's JSON Schema, while a person types. It knows the common keywords, runs no
// pattern and compiles nothing (a strict content security policy forbids that). The server checks everything again.
import { isJsonObject, type Json, type JsonObject } from '../lib/json/index.ts'

export type SchemaIssue = { path: string; message: string }

export function checkAgainst(schema: JsonObject | undefined, value: Json, path = ''): SchemaIssue[] {
  if (!schema) return []
  const issue = (message: string): SchemaIssue[] => [{ path, message }]
  const { type, enum: options } = schema
  if (Array.isArray(options) && !options.some(option => equal(option, value)))
    return issue(`must be one of ${options.map(option => JSON.stringify(option)).join(', ')}`)
  if (schema['const'] !== undefined && !equal(schema['const'], value))
    return issue(`must be ${JSON.stringify(schema['const'])}`)
  const types = typeof type === 'string' ? [type] : Array.isArray(type) ? type : []
  if (types.length > 0 && !types.some(name => isOfType(value, name)))
    return issue(`must be ${types.map(name => article(typeof name === 'string' ? name : '')).join(' or ')}`)
  if (typeof value === 'string') return checkText(schema, value).flatMap(issue)
  if (typeof value === 'number') return checkNumber(schema, value).flatMap(issue)
  if (Array.isArray(value)) return checkList(schema, value, path)
  return isJsonObject(value) ? checkObject(schema, value, path) : []
}

function checkText({ minLength, maxLength }: JsonObject, value: string): string[] {
  const length = Array.from(value).length
  if (typeof minLength === 'number' && length < minLength)
    return [minLength === 1 ? 'must not be empty' : `must have at least ${minLength} characters`]
  if (typeof maxLength === 'number' && length > maxLength)
    return [`must have at most ${maxLength} characters`]
  return []
}

function checkNumber(schema: JsonObject, value: number): string[] {
  const { minimum, maximum, exclusiveMinimum, exclusiveMaximum } = schema
  if (typeof minimum === 'number' && value < minimum) return [`must be at least ${minimum}`]
  if (typeof maximum === 'number' && value > maximum) return [`must be at most ${maximum}`]
  if (typeof exclusiveMinimum === 'number' && value <= exclusiveMinimum)
    return [`must be above ${exclusiveMinimum}`]
  if (typeof exclusiveMaximum === 'number' && value >= exclusiveMaximum)
    return [`must be below ${exclusiveMaximum}`]
  return []
}

function checkList({ minItems, maxItems, items }: JsonObject, value: Json[], path: string): SchemaIssue[] {
  if (typeof minItems === 'number' && value.length < minItems)
    return [{ path, message: `must have at least ${minItems} items` }]
  if (typeof maxItems === 'number' && value.length > maxItems)
    return [{ path, message: `must have at most ${maxItems} items` }]
  const schema = items !== undefined && isJsonObject(items) ? items : undefined
  return value.flatMap((item, index) => checkAgainst(schema, item, `${path}/${index}`))
}

function checkObject(schema: JsonObject, value: JsonObject, path: string): SchemaIssue[] {
  const { required, additionalProperties } = schema
  const properties = schemaProperties(schema)
  const issues: SchemaIssue[] = []
  if (Array.isArray(required))
    for (const name of required)
      if (typeof name === 'string' && !Object.hasOwn(value, name))
        issues.push({ path: `${path}/${name}`, message: 'is required' })
  for (const [name, member] of Object.entries(value)) {
    const own = Object.hasOwn(properties, name) ? properties[name] : undefined
    const inner = `${path}/${name}`
    if (own !== undefined) issues.push(...checkAgainst(isJsonObject(own) ? own : undefined, member, inner))
    else if (additionalProperties === false) issues.push({ path: inner, message: 'is not known to the tool' })
  }
  return issues
}

/** The members of an object's schema. */
export function schemaProperties(schema: JsonObject | undefined): JsonObject {
  const properties = schema?.['properties']
  return properties !== undefined && isJsonObject(properties) ? properties : {}
}

function isOfType(value: Json, name: Json): boolean {
  switch (name) {
    case 'string':
    case 'boolean':
      return typeof value === name
    case 'number':
      return typeof value === 'number'
    case 'integer':
      return Number.isInteger(value)
    case 'null':
      return value === null
    case 'array':
      return Array.isArray(value)
    case 'object':
      return isJsonObject(value)
    default:
      return true
  }
}

function article(type: string): string {
  const words: Readonly<Record<string, string>> = {
    string: 'a text',
    number: 'a number',
    integer: 'a whole number',
    boolean: 'true or false',
    array: 'a list',
    object: 'an object',
    null: 'null',
  }
  return words[type] ?? type
}

function equal(a: Json, b: Json): boolean {
  return JSON.stringify(a) === JSON.stringify(b)
}
