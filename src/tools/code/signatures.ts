// Tools as TypeScript, from their JSON Schemas: what a model reads before it writes a program that calls them. A type that
// would grow too long or too deep becomes `any`; the gate checks the arguments in any case.
import type { CallForm } from '../../language/calls.ts'
import { isJsonObject, type Json, type JsonObject } from '../../lib/json/index.ts'
import { findTarget } from '../../lib/schema/pointers.ts'

const deepest = 6
const longestType = 2_000
const longestWords = 600

/** `server__tool` belongs to the module `server`; a name without one to the module `tools`. */
export function moduleName(name: string): string {
  const end = name.indexOf('__')
  return end > 0 ? name.slice(0, end) : 'tools'
}

export type ToolSchemas = { input?: JsonObject; output?: JsonObject }

/** One member of `tools`, with its description. */
export function writeSignature(
  name: string,
  description: string,
  form: CallForm,
  schemas: ToolSchemas,
): string {
  const { input = {}, output } = schemas
  const key = /^[A-Za-z_$][\w$]*$/.test(name) ? name : JSON.stringify(name)
  const taken = form === 'text' ? 'string' : writeType(input)
  const isOptional = form === 'json' && list(input['required']).length === 0
  const given = output ? writeType(output) : 'any'
  return `${comment(description)}${key}(input${isOptional ? '?' : ''}: ${taken}): Promise<${given}>`
}

/** The type of a schema. */
export function writeType(schema: Json): string {
  const text = new SignatureWriter(schema).type(schema, 0)
  return text.length > longestType ? 'any' : text
}

class SignatureWriter {
  readonly #root: Json
  #written = 0

  constructor(root: Json) {
    this.#root = root
  }

  type(schema: Json | undefined, depth: number): string {
    if (!isJsonObject(schema) || depth > deepest || this.#written > longestType) return 'any'
    const text = this.#of(schema, depth)
    this.#written += text.length
    return text
  }

  #of(schema: JsonObject, depth: number): string {
    const { $ref: ref, enum: values, anyOf, oneOf, allOf, type } = schema
    if (typeof ref === 'string') return this.type(findTarget(this.#root, ref), depth + 1)
    if (Object.hasOwn(schema, 'const')) return typeLiteral(schema['const'] ?? null)
    if (Array.isArray(values)) return values.slice(0, 50).map(typeLiteral).join(' | ') || 'never'
    const choices = Array.isArray(anyOf) ? anyOf : oneOf
    if (Array.isArray(choices)) return this.#joined(choices, ' | ', depth)
    if (Array.isArray(allOf) && type === undefined) return this.#joined(allOf, ' & ', depth)
    if (Array.isArray(type))
      return type.map(each => this.#plain({ ...schema, type: each }, depth)).join(' | ')
    return this.#plain(schema, depth)
  }

  #joined(schemas: readonly Json[], by: string, depth: number): string {
    const types = new Set(schemas.map(each => this.type(each, depth + 1)))
    return types.size === 0
      ? 'any'
      : [...types].map(each => (/ [|&] /.test(each) ? `(${each})` : each)).join(by)
  }

  #plain(schema: JsonObject, depth: number): string {
    const { type, items } = schema
    switch (type) {
      case 'string':
      case 'boolean':
      case 'null':
        return type
      case 'number':
      case 'integer':
        return 'number'
      case 'array': {
        const of = this.type(items, depth + 1)
        return / [|&] /.test(of) ? `(${of})[]` : `${of}[]`
      }
      default:
        return type === 'object' || isJsonObject(schema['properties']) ? this.#object(schema, depth) : 'any'
    }
  }

  #object({ properties, required, additionalProperties }: JsonObject, depth: number): string {
    const always = new Set(list(required))
    const members = Object.entries(isJsonObject(properties) ? properties : {}).map(([name, schema]) => {
      const key = /^[A-Za-z_$][\w$]*$/.test(name) ? name : JSON.stringify(name)
      const words =
        isJsonObject(schema) && typeof schema['description'] === 'string' ? schema['description'] : ''
      const note = words === '' ? '' : `/** ${safeWords(words, 160)} */ `
      return `${note}${key}${always.has(name) ? '' : '?'}: ${this.type(schema, depth + 1)}`
    })
    if (isJsonObject(additionalProperties))
      members.push(`[key: string]: ${this.type(additionalProperties, depth + 1)}`)
    else if (members.length === 0) return additionalProperties === false ? '{}' : 'Record<string, any>'
    return `{ ${members.join('; ')} }`
  }
}

function list(value: Json | undefined): string[] {
  return Array.isArray(value) ? value.filter(each => typeof each === 'string') : []
}

function typeLiteral(value: Json): string {
  const text = JSON.stringify(value)
  return text.length > 200 ? 'any' : text
}

function comment(words: string): string {
  return words === '' ? '' : `/** ${safeWords(words, longestWords)} */\n`
}

/** On one line, and unable to end the comment. */
function safeWords(words: string, most: number): string {
  const line = words.replace(/\s+/g, ' ').replaceAll('*/', '* /').trim()
  return line.length > most ? `${line.slice(0, most).toWellFormed()}…` : line
}
