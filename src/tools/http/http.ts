// `http()` makes a tool from one operation of an HTTP API: a method, an address with `{places}`, and the shape of the
// arguments. Arguments that the address does not name go into the query, or into the body of a method that has one.

import type { Tool } from '../../engine/ports/index.ts'
import type { JsonObject } from '../../lib/json/index.ts'
import { type AnySchema, describeSchema } from '../../lib/schema/standard.ts'
import { quote } from '../../lib/text/index.ts'
import { checkMemberNames, type NamedTool, refuseTool, type ToolDefinition, tool } from '../functions/tool.ts'

import { type AfterOperation, reconcileWith, undoWith } from './afterwards.ts'
import { type BodyType, type HttpMethod, methods, type Operation, runOperation } from './operation.ts'
import type { Placement } from './place.ts'
import type { HttpAuth } from './secrets.ts'

/** The settings of every tool that also one over HTTP has. */
const settingNames = [
  ...(['title', 'kind', 'readOnly', 'idempotent', 'destructive'] as const),
  ...(['timeoutMs', 'retries', 'outputLimit', 'trust', 'exposed', 'flow'] as const),
]

export type HttpToolSettings = Pick<ToolDefinition, (typeof settingNames)[number]>

export type HttpToolDefinition = HttpToolSettings & {
  name: string
  description: string
  /** The arguments: a schema of an object. */
  input: AnySchema
  /** Default `GET`. */
  method?: HttpMethod
  /** `https://api.example.com/orders/{id}`: `{id}` is filled with the argument of that name. */
  url: string
  /** Arguments that go into the query although the method has a body. */
  query?: readonly string[]
  /** Arguments that go into headers, by the header's name: `{ 'x-region': 'region' }`. */
  headerArguments?: Readonly<Record<string, string>>
  /** How the body is written. Default `json`. */
  body?: BodyType
  /** The same for every call. For credentials use `auth`. */
  headers?: Readonly<Record<string, string>>
  auth?: HttpAuth | readonly HttpAuth[]
  /** Other hosts than the address's own that a redirect may lead to. */
  hosts?: readonly string[]
  /** The header in which this API takes an idempotency key. With it the tool may be repeated after a crash. */
  idempotencyHeader?: string
  /**
   * The operation that says what became of a call: a GET, whose places are filled from the arguments, `{call.key}`, `{call.id}` and
   * `{call.reference}`. 2xx: it ran, with this answer. 404 or 410: it did not. Anything else: it is not known.
   */
  reconcile?: HttpAfter
  /** The operation that undoes a call. Its places are also filled from the result: `{result.id}`. */
  undo?: HttpAfter & { method?: HttpMethod; body?: BodyType }
}

/** `send`: more values, by their names at the API: in the query, or in the body of a method that has one. */
export type HttpAfter = { url: string; send?: Readonly<Record<string, string>> }

const memberNames: ReadonlySet<string> = new Set<keyof HttpToolDefinition>([
  ...(['name', 'description', 'input', ...settingNames, 'method', 'url', 'query'] as const),
  ...(['headerArguments', 'body', 'headers', 'auth', 'hosts', 'idempotencyHeader'] as const),
  ...(['reconcile', 'undo'] as const),
])

export function http<Name extends string>(definition: HttpToolDefinition & { name: Name }): NamedTool<Name> {
  const { name, description, input, url, query = [], headerArguments = {}, auth, hosts = [] } = definition
  const { method = 'GET', body = 'json', headers = {}, idempotencyHeader } = definition
  checkMemberNames(definition, memberNames)
  if (!methods.includes(method)) refuseTool(name, `has the unknown method ${quote(method)}`)
  checkUrl(name, url)
  const argumentNames = Object.keys(inputProperties(name, input))
  const inPath = [...url.matchAll(/\{([^{}]+)\}/g)].map(([, as = '']) => as)
  const inHeaders = Object.values(headerArguments)
  for (const used of [...inPath, ...query, ...inHeaders])
    if (!argumentNames.includes(used))
      refuseTool(name, `places the argument "${used}", which its input does not have`)
  const hasBody = method === 'POST' || method === 'PUT' || method === 'PATCH'
  const rest = argumentNames.filter(each => !inPath.includes(each) && !inHeaders.includes(each))
  const operation: Operation = {
    method,
    url,
    places: [
      ...inPath.map(as => place(as, as, 'path')),
      ...(hasBody ? query : rest).map(as => place(as, as, 'query')),
      ...Object.entries(headerArguments).map(([header, argument]) => place(argument, header, 'header')),
    ],
    headers: lowerCased(headers),
    auth: auth === undefined ? [] : [auth].flat(),
    hosts,
    ...(hasBody && { body: { from: 'rest', type: body, mediaType: mediaTypes[body] } }),
    ...(idempotencyHeader !== undefined && { idempotencyHeader }),
  }
  const made = tool({ ...toToolSettings(method, definition), name, description, input, run: runs(operation) })
  const { reconcile, undo } = definition
  if (!reconcile && !undo) return made
  return Object.freeze({
    ...made,
    ...(reconcile && { reconcile: reconcileWith(afterOperation(name, operation, reconcile, 'GET')) }),
    ...(undo && {
      undo: undoWith(afterOperation(name, operation, undo, undo.method ?? 'POST', undo.body)),
    }),
  })
}

/** At the same API: with its headers and its credentials. */
function afterOperation(
  name: string,
  { headers, auth, hosts }: Operation,
  { url, send = {} }: HttpAfter,
  method: HttpMethod,
  body: BodyType = 'json',
): AfterOperation {
  if (!methods.includes(method)) refuseTool(name, `has the unknown method ${quote(method)}`)
  checkUrl(name, url)
  const inPath = [...url.matchAll(/\{([^{}]+)\}/g)].map(([, as = '']) => as)
  const hasBody = method === 'POST' || method === 'PUT' || method === 'PATCH'
  const places = [
    ...inPath.map(as => place(as, as, 'path')),
    ...(hasBody ? [] : Object.keys(send).map(as => place(as, as, 'query'))),
  ]
  return {
    operation: {
      ...{ method, url, places, headers, auth, hosts },
      ...(hasBody && { body: { from: 'rest', type: body, mediaType: mediaTypes[body] } }),
    },
    values: send,
  }
}

export const mediaTypes: Record<BodyType, string> = {
  json: 'application/json',
  form: 'application/x-www-form-urlencoded',
  text: 'text/plain; charset=utf-8',
}

/** The gate has checked that the input fits the schema, and a schema of an HTTP tool is that of an object. */
export function runs(operation: Operation): (input: unknown, context: Parameters<Tool['run']>[1]) => unknown {
  return (input, context) => runOperation(operation, input as JsonObject, context)
}

/** Settings of a tool, with defaults from the HTTP method: GET is read-only, PUT and DELETE are idempotent. */
export function toToolSettings(
  method: HttpMethod,
  given: HttpToolSettings & { idempotencyHeader?: string },
): HttpToolSettings {
  const { readOnly = method === 'GET' || method === 'HEAD' || method === 'OPTIONS' } = given
  const isKeyed = given.idempotencyHeader !== undefined
  const defaults: HttpToolSettings = {
    kind: readOnly ? 'fetch' : method === 'DELETE' ? 'delete' : 'execute',
    readOnly,
    idempotent: readOnly || method === 'PUT' || method === 'DELETE' || isKeyed,
  }
  const own = settingNames.filter(name => given[name] !== undefined).map(name => [name, given[name]])
  return { ...defaults, ...Object.fromEntries(own) }
}

function lowerCased(headers: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]))
}

function place(name: string, as: string, where: Placement['in']): Placement {
  return { name, as, in: where, style: where === 'query' ? 'form' : 'simple', explode: where === 'query' }
}

/** The host must not depend on the model. */
function checkUrl(name: string, url: string): void {
  const parsed = typeof url === 'string' ? URL.parse(url.replace(/\{[^{}]+\}/g, 'x')) : null
  if (!parsed || !/^https?:$/.test(parsed.protocol))
    refuseTool(name, `needs "url": an http: or https: address, not ${quote(url, 100)}`)
  if (/^[^/]*\/\/[^/?#]*\{/.test(url))
    refuseTool(name, 'has a place in the host of its url; places go into the path')
  if (/[?#].*\{/.test(url))
    refuseTool(name, 'has a place in the query of its url; list the argument in "query" instead')
}

function inputProperties(name: string, input: AnySchema): JsonObject {
  try {
    const { properties } = describeSchema(input).json
    return (properties ?? {}) as JsonObject // `tool` checks the schema.
  } catch (error) {
    return refuseTool(
      name,
      `has an input schema that cannot be used: ${error instanceof Error ? error.message : ''}`,
    )
  }
}
