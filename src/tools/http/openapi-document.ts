// Reads an OpenAPI document: its operations, references within it, and its schemas as JSON Schema. References to other
// documents are refused; nothing is fetched.
import { TurnwireError } from '../../language/errors.ts'
import { isJsonObject, type Json, type JsonObject } from '../../lib/json/index.ts'
import { mapSchemas } from '../../lib/schema/keywords.ts'
import { numberBounds } from '../../lib/schema/older-drafts.ts'
import { findTarget } from '../../lib/schema/pointers.ts'
import { quote } from '../../lib/text/index.ts'
import { type HttpMethod, methods } from './operation.ts'

export type ApiOperation = {
  /** Its `operationId`, or a name made from the method and the path. */
  id: string
  method: HttpMethod
  path: string
  /** Parameters that all operations of the path share come first. */
  parameters: JsonObject[]
  definition: JsonObject
  server: string
}

const componentSchemas = '#/components/schemas/'

export class ApiDocument {
  readonly #root: JsonObject
  /** 3.0 has a dialect of its own; 3.1 is JSON Schema. */
  readonly #isOld: boolean

  constructor(root: JsonObject) {
    const version = memberText(root, 'openapi') ?? ''
    if (!/^3\.[01](?:\.|$)/.test(version))
      refuseDocument(
        version === '' && root['swagger'] !== undefined
          ? 'is of Swagger 2; convert it to OpenAPI 3'
          : `is of the version ${quote(version)}; 3.0 and 3.1 are read`,
      )
    this.#root = root
    this.#isOld = version.startsWith('3.0')
  }

  operations(): ApiOperation[] {
    const found: ApiOperation[] = []
    for (const [path, entry] of Object.entries(objectAt(this.#root, 'paths') ?? {})) {
      const item = this.resolved(entry)
      for (const method of methods) {
        const definition = objectAt(item, method.toLowerCase())
        if (!item || !definition) continue
        found.push({
          id: operationName(memberText(definition, 'operationId') ?? `${method.toLowerCase()}${path}`),
          method,
          path,
          parameters: this.#parameters(item, definition),
          definition,
          server: serverUrl(definition) ?? serverUrl(item) ?? serverUrl(this.#root) ?? '',
        })
      }
    }
    return found
  }

  /** An operation's parameter replaces the path's of the same name and place. */
  #parameters(item: JsonObject, definition: JsonObject): JsonObject[] {
    const byPlace = new Map<string, JsonObject>()
    for (const entry of [...listAt(item, 'parameters'), ...listAt(definition, 'parameters')]) {
      const parameter = this.resolved(entry)
      if (parameter) byPlace.set(`${memberText(parameter, 'in')} ${memberText(parameter, 'name')}`, parameter)
    }
    return [...byPlace.values()]
  }

  at(...path: string[]): JsonObject | undefined {
    let value: Json | undefined = this.#root
    for (const key of path) value = objectAt(value, key)
    return isJsonObject(value) ? value : undefined
  }

  /** The object, or the one that it refers to. */
  resolved(value: Json | undefined): JsonObject | undefined {
    let at = value
    for (let hops = 0; isJsonObject(at) && typeof at['$ref'] === 'string'; hops += 1) {
      if (hops > 32) refuseDocument(`has references that go round in a circle: ${at['$ref']}`)
      at = this.#target(at['$ref'])
    }
    return isJsonObject(at) ? at : undefined
  }

  #target(reference: string): Json {
    if (!reference.startsWith('#/'))
      refuseDocument(`refers to another document: ${quote(reference)}. Bundle it into one document first`)
    const target = findTarget(this.#root, reference)
    if (target === undefined) refuseDocument(`refers to something that it does not have: ${quote(reference)}`)
    return target
  }

  // ---- schemas -----------------------------------------------------------------------------------------------------

  /** As JSON Schema of what is sent. References to component schemas become references to `$defs`. */
  schema(schema: JsonObject): JsonObject {
    const converted = this.#converted(schema)
    return isJsonObject(converted) ? converted : {}
  }

  /** The schema with the definitions that it needs. */
  withDefinitions(schema: JsonObject): JsonObject {
    const definitions: JsonObject = {}
    const add = (value: Json): void => {
      for (const name of definitionsIn(value)) {
        if (Object.hasOwn(definitions, name)) continue
        const target = this.#converted(this.#target(componentSchemas + name))
        definitions[name] = target
        add(target)
      }
    }
    add(schema)
    return Object.keys(definitions).length === 0 ? schema : { ...schema, $defs: definitions }
  }

  #converted(value: Json): Json {
    if (!isJsonObject(value)) return value
    const reference = value['$ref']
    if (typeof reference === 'string') {
      if (!reference.startsWith(componentSchemas)) return this.#converted(this.#target(reference))
      return { $ref: reference.replace(componentSchemas, '#/$defs/') }
    }
    const kept = Object.entries(withoutReadOnly(value)).filter(
      ([key]) => !dropped.has(key) && !key.startsWith('x-'),
    )
    const result = Object.fromEntries(
      kept.map(([key, item]) => [key, mapSchemas(key, item, each => this.#converted(each))]),
    )
    if (this.#isOld) convertOldKeywords(result, value)
    return result
  }
}

/** Keywords of OpenAPI that JSON Schema does not have. */
const dropped = new Set([
  'nullable',
  'discriminator',
  'xml',
  'externalDocs',
  'example',
  'deprecated',
  'readOnly',
  'writeOnly',
])

/** A caller does not send read-only properties, so they are neither described nor required. */
function withoutReadOnly(schema: JsonObject): JsonObject {
  const { properties, required } = schema
  if (!isJsonObject(properties)) return schema
  const isSent = (name: string): boolean => objectAt(properties, name)?.['readOnly'] !== true
  return {
    ...schema,
    properties: Object.fromEntries(Object.entries(properties).filter(([name]) => isSent(name))),
    ...(Array.isArray(required) && {
      required: required.filter(name => typeof name === 'string' && isSent(name)),
    }),
  }
}

/** `nullable` and Boolean bounds, as 3.0 has them. */
function convertOldKeywords(result: JsonObject, value: JsonObject): void {
  numberBounds(result)
  if (value['nullable'] !== true) return
  if (typeof result['type'] === 'string') result['type'] = [result['type'], 'null']
  const options = result['enum']
  if (Array.isArray(options) && !options.includes(null)) result['enum'] = [...options, null]
}

function definitionsIn(value: Json): Set<string> {
  const found = new Set<string>()
  const visit = (at: Json): void => {
    if (Array.isArray(at)) for (const item of at) visit(item)
    else if (isJsonObject(at)) {
      const reference = at['$ref']
      // A reference into a definition needs the whole of it.
      if (typeof reference === 'string' && reference.startsWith('#/$defs/'))
        found.add(reference.slice('#/$defs/'.length).split('/')[0] ?? '')
      for (const item of Object.values(at)) visit(item)
    }
  }
  visit(value)
  return found
}

function operationName(id: string): string {
  return id
    .replace(/[^A-Za-z0-9_.-]+/g, '_')
    .replace(/^_+|_+$/g, '')
    .slice(0, 64)
}

/** With its variables filled with their defaults. */
function serverUrl(at: JsonObject): string | undefined {
  const [server] = listAt(at, 'servers')
  const url = memberText(server, 'url')
  const variables = objectAt(server, 'variables') ?? {}
  return url?.replace(
    /\{([^{}]+)\}/g,
    (whole, name: string) => memberText(variables[name], 'default') ?? whole,
  )
}

// ---- reading -----------------------------------------------------------------------------------------------------

export function objectAt(value: Json | undefined, key: string): JsonObject | undefined {
  const found = isJsonObject(value) && Object.hasOwn(value, key) ? value[key] : undefined
  return isJsonObject(found) ? found : undefined
}

export function memberText(value: Json | undefined, key: string): string | undefined {
  const found = isJsonObject(value) && Object.hasOwn(value, key) ? value[key] : undefined
  return typeof found === 'string' && found !== '' ? found : undefined
}

export function listAt(value: Json | undefined, key: string): Json[] {
  const found = isJsonObject(value) ? value[key] : undefined
  return Array.isArray(found) ? found : []
}

export function refuseDocument(problem: string): never {
  throw new TurnwireError('invalid_tool', `The OpenAPI document ${problem}.`)
}
