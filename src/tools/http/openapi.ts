// `openapi()` makes a tool of each operation of an OpenAPI 3.0 or 3.1 document: its arguments are the operation's
// parameters and its body, each put where the document says, with the credentials that its security demands.

import { createRequire } from 'node:module'
import type * as Yaml from 'yaml'
import type { Tool } from '../../engine/ports/index.ts'
import { TurnwireError } from '../../language/errors.ts'
import { labelsKeyword } from '../../language/flow.ts'
import { isJsonObject, type Json, type JsonObject } from '../../lib/json/index.ts'
import { quote } from '../../lib/text/index.ts'
import { tool } from '../functions/tool.ts'
import { type AfterOperation, reconcileWith, undoWith } from './afterwards.ts'
import { type HttpToolSettings, mediaTypes, runs, toToolSettings } from './http.ts'
import { ApiDocument, type ApiOperation, memberText, objectAt, refuseDocument } from './openapi-document.ts'
import { type Credentials, chooseAuth } from './openapi-security.ts'
import type { BodyType, Operation } from './operation.ts'
import type { ParameterStyle, Placement } from './place.ts'

export type OpenApiOptions = Omit<
  HttpToolSettings,
  'title' | 'kind' | 'readOnly' | 'destructive' | 'idempotent' | 'flow'
> & {
  /** Operations to take, by `operationId` or as `GET /orders/{id}`. `*` at the end stands for anything. Default: all. */
  include?: readonly string[]
  exclude?: readonly string[]
  /** Put before every tool's name. */
  prefix?: string
  /** In place of the document's first server. */
  baseUrl?: string
  /** By the name of the security scheme. */
  auth?: Credentials
  headers?: Readonly<Record<string, string>>
  /** Other hosts that a redirect may lead to. */
  hosts?: readonly string[]
  /** The header in which this API takes an idempotency key, for operations that change something. */
  idempotencyHeader?: string
  /**
   * By operation: the operation that says what became of a call of it, and the one that undoes it. Their parameters are filled from the
   * arguments and the result of the call by their names, or as `values` says: `{ orderId: 'result.id' }`, `{ key: 'call.key' }`.
   */
  reconcile?: Readonly<Record<string, AfterOption>>
  undo?: Readonly<Record<string, AfterOption>>
}

export type AfterOption = string | { operation: string; values?: Readonly<Record<string, string>> }

const optionNames: ReadonlySet<string> = new Set<keyof OpenApiOptions>([
  ...(['include', 'exclude', 'prefix', 'baseUrl', 'auth', 'headers', 'hosts', 'idempotencyHeader'] as const),
  ...(['timeoutMs', 'retries', 'outputLimit', 'trust', 'exposed', 'reconcile', 'undo'] as const),
])

/** `document`: the parsed document, or its JSON or YAML text. */
export function openapi(document: JsonObject | string, options: OpenApiOptions = {}): Tool[] {
  for (const name of Object.keys(options))
    if (!optionNames.has(name))
      refuseDocument(`has no option ${quote(name)}; known are: ${[...optionNames].join(', ')}`)
  const api = new ApiDocument(typeof document === 'string' ? readDocument(document) : document)
  const found = api.operations()
  const { include, exclude = [] } = options
  for (const pattern of [...(include ?? []), ...exclude])
    if (!found.some(each => isNamed(each, pattern)))
      refuseDocument(`has no operation ${quote(pattern)}; there are: ${found.map(({ id }) => id).join(', ')}`)
  const chosen = found.filter(
    each =>
      (include?.some(pattern => isNamed(each, pattern)) ?? true) &&
      !exclude.some(pattern => isNamed(each, pattern)),
  )
  for (const after of ['reconcile', 'undo'] as const)
    for (const id of Object.keys(options[after] ?? {}))
      if (!chosen.some(each => each.id === id))
        refuseDocument(`has no operation ${quote(id)} that "${after}" could be for`)
  const made = chosen.map(each => withAfterwards(makeTool(api, each, options), api, each, options))
  const names = new Set(made.map(each => each.name))
  if (names.size < made.length)
    refuseDocument(
      'has two operations whose names are the same; give them an operationId each, or leave one out with "exclude"',
    )
  return made
}

/** The operations that come after a call need not be tools themselves. */
function withAfterwards(made: Tool, api: ApiDocument, { id }: ApiOperation, options: OpenApiOptions): Tool {
  const find = (option: AfterOption): AfterOperation => {
    const { operation: wanted, values = {} } = typeof option === 'string' ? { operation: option } : option
    const found = api.operations().find(each => isNamed(each, wanted))
    if (!found) refuseDocument(`has no operation ${quote(wanted)}, which "${id}" names`)
    return { operation: new OperationTool(api, found, options).operation(), values }
  }
  const [reconcile, undo] = [options.reconcile?.[id], options.undo?.[id]]
  if (reconcile === undefined && undo === undefined) return made
  const asked = reconcile === undefined ? undefined : find(reconcile)
  if (asked && asked.operation.method !== 'GET')
    refuseDocument(`names for "reconcile" of "${id}" an operation that is no GET`)
  return Object.freeze({
    ...made,
    ...(asked && { reconcile: reconcileWith(asked) }),
    ...(undo !== undefined && { undo: undoWith(find(undo)) }),
  })
}

function makeTool(api: ApiDocument, operation: ApiOperation, options: OpenApiOptions): Tool {
  try {
    return new OperationTool(api, operation, options).make()
  } catch (error) {
    if (!(error instanceof TurnwireError) || error.message.includes('exclude')) throw error
    const { id } = operation
    throw new TurnwireError(
      error.code,
      `${error.message} Correct the document, or leave this operation out with exclude: [${quote(id)}].`,
      { cause: error },
    )
  }
}

function isNamed({ id, method, path }: ApiOperation, pattern: string): boolean {
  const matches = (name: string): boolean =>
    pattern.endsWith('*') ? name.startsWith(pattern.slice(0, -1)) : name === pattern
  return matches(id) || matches(`${method} ${path}`)
}

function readDocument(text: string): JsonObject {
  if (/^(?:https?|file):\/\/\S+$|^[\w./-]+\.(?:json|ya?ml)$/.test(text.trim()))
    refuseDocument(
      `is an address or a file's name, ${quote(text.trim())}. Give the document itself: ` +
        `openapi(await (await fetch(url)).text()), or openapi(readFileSync(file, 'utf8'))`,
    )
  let value: unknown
  try {
    // A large package, for the few programs that need it.
    const { parse } = createRequire(import.meta.url)('yaml') as typeof Yaml
    value = parse(text)
  } catch (error) {
    refuseDocument(`is neither JSON nor YAML: ${error instanceof Error ? error.message : ''}`)
  }
  if (!isJsonObject(value)) refuseDocument('is not an object')
  return value
}

class OperationTool {
  readonly #api: ApiDocument
  readonly #operation: ApiOperation
  readonly #options: OpenApiOptions
  readonly #properties: JsonObject = {}
  readonly #required: string[] = []
  readonly #places: Placement[] = []
  /** The header in which this very operation takes an idempotency key. */
  #keyHeader: string | undefined

  constructor(api: ApiDocument, operation: ApiOperation, options: OpenApiOptions) {
    this.#api = api
    this.#operation = operation
    this.#options = options
  }

  operation(): Operation {
    const { id, method, definition } = this.#operation
    const { headers = {}, hosts = [], auth = {} } = this.#options
    for (const parameter of this.#operation.parameters) this.#addParameter(parameter)
    const body = this.#addBody()
    const changes = method !== 'GET' && method !== 'HEAD'
    const idempotencyHeader = this.#keyHeader ?? (changes ? this.#options.idempotencyHeader : undefined)
    return {
      method,
      url: this.#url(),
      places: this.#places,
      headers: { accept: 'application/json, */*;q=0.5', ...headers },
      auth: chooseAuth(this.#api, definition, auth, id),
      hosts,
      ...(body && { body }),
      ...(idempotencyHeader !== undefined && { idempotencyHeader }),
    }
  }

  make(): Tool {
    const operation = this.operation()
    const { id, method, definition, path } = this.#operation
    const { prefix = '' } = this.#options
    const { idempotencyHeader } = operation
    const key = idempotencyHeader === undefined ? {} : { idempotencyHeader }
    const title = memberText(definition, 'summary')
    const named = title === undefined ? {} : { title }
    const { retries, ...settings } = toToolSettings(method, { ...this.#options, ...named, ...key })
    return tool({
      ...settings,
      // Only operations that may be repeated take retries.
      ...(retries !== undefined && settings.idempotent && { retries }),
      name: `${prefix}${id}`,
      description: memberText(definition, 'description') ?? title ?? `${method} ${path}`,
      input: this.#schema(),
      run: runs(operation),
    })
  }

  #url(): string {
    const { server, path, id } = this.#operation
    const base = this.#options.baseUrl ?? server
    if (!/^https?:\/\/[^/{}]+/.test(base))
      refuseDocument(
        `says of "${id}" only that its server is ${quote(base)}; name the whole address in "baseUrl"`,
      )
    return base.replace(/\/+$/, '') + path
  }

  #schema(): JsonObject {
    const schema: JsonObject = { type: 'object', properties: this.#properties, additionalProperties: false }
    const labels = this.#operation.definition[labelsKeyword]
    if (labels !== undefined) schema[labelsKeyword] = labels
    if (this.#required.length > 0) schema['required'] = this.#required
    return this.#api.withDefinitions(schema)
  }

  #addParameter(parameter: JsonObject): void {
    const [as, where] = [memberText(parameter, 'name') ?? '', memberText(parameter, 'in') ?? '']
    if (where !== 'path' && where !== 'query' && where !== 'header' && where !== 'cookie')
      refuseDocument(`has a parameter of "${this.#operation.id}" in ${quote(where)}`)
    // The document's own rule: these headers are described elsewhere, and a parameter of that name is ignored.
    if (where === 'header' && /^(?:accept|content-type|authorization)$/i.test(as)) return
    if (where === 'header' && keyNames.test(as)) {
      // The same in each try of a call, which a model cannot promise.
      this.#keyHeader = as
      return
    }
    const style = this.#readStyle(parameter, as, where)
    const explode = typeof parameter['explode'] === 'boolean' ? parameter['explode'] : style === 'form'
    const name = Object.hasOwn(this.#properties, as) || as === 'body' ? `${where}_${as}` : as
    const schema = objectAt(parameter, 'schema') ?? objectAt(readContent(parameter)?.[1], 'schema')
    this.#properties[name] = this.#described(
      this.#api.schema(schema ?? {}),
      memberText(parameter, 'description'),
    )
    if (parameter['required'] === true || where === 'path') this.#required.push(name)
    this.#places.push({ name, as, in: where, style, explode })
  }

  /** A parameter has a style, or `content` with the media type in which its value is written. */
  #readStyle(parameter: JsonObject, as: string, where: Placement['in']): ParameterStyle {
    const [mediaType] = readContent(parameter) ?? []
    if (mediaType !== undefined) {
      if (!jsonTypes.test(mediaType)) this.#cannot(`its parameter "${as}" is ${mediaType}`)
      return 'json'
    }
    const style =
      memberText(parameter, 'style') ?? (where === 'query' || where === 'cookie' ? 'form' : 'simple')
    const known = styles.find(each => each === style)
    return known ?? this.#cannot(`its parameter "${as}" has the style ${quote(style)}`)
  }

  #addBody(): Operation['body'] {
    const body = this.#api.resolved(this.#operation.definition['requestBody'])
    const content = objectAt(body, 'content')
    if (!body || !content) return undefined
    const found = bodyTypes(content)
    if (!found) this.#cannot(`its body is ${Object.keys(content).join(' or ')}`)
    const { mediaType, type } = found
    const schema = this.#api.schema(objectAt(content[mediaType], 'schema') ?? {})
    this.#properties['body'] = this.#described(schema, memberText(body, 'description'))
    if (body['required'] === true) this.#required.push('body')
    return { from: { argument: 'body' }, type, mediaType: type === 'text' ? mediaType : mediaTypes[type] }
  }

  #described(schema: JsonObject, description: string | undefined): JsonObject {
    return description === undefined || schema['description'] !== undefined
      ? schema
      : { ...schema, description }
  }

  #cannot(reason: string): never {
    const { id } = this.#operation
    return refuseDocument(
      `has the operation "${id}", which cannot be a tool: ${reason}. Leave it out with exclude: ['${id}']`,
    )
  }
}

const styles = ['simple', 'form', 'spaceDelimited', 'pipeDelimited', 'deepObject'] as const
const keyNames = /^(?:x-)?idempotency-key$/i
const jsonTypes = /^application\/(?:[\w.+-]+\+)?json\b|^\*\/\*$/

function readContent(parameter: JsonObject): [string, Json] | undefined {
  return Object.entries(objectAt(parameter, 'content') ?? {})[0]
}

function bodyTypes(content: JsonObject): { mediaType: string; type: BodyType } | undefined {
  const names = Object.keys(content)
  const kinds: [BodyType, RegExp][] = [
    ['json', jsonTypes],
    ['form', /^application\/x-www-form-urlencoded\b/],
    ['text', /^text\/|^application\/xml\b/],
  ]
  for (const [type, pattern] of kinds) {
    const mediaType = names.find(name => pattern.test(name))
    if (mediaType !== undefined) return { mediaType, type }
  }
  return undefined
}
