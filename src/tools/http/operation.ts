// One operation of an HTTP API: builds the request from the arguments of a call, sends it through the egress rule, and
// turns the answer into what the model reads. `http()` and `openapi()` describe operations; this carries them out.
import { InvalidInput, type ToolContext, type ToolOutput } from '../../engine/ports/index.ts'
import { isJsonObject, type Json, type JsonObject, parseBounded } from '../../lib/json/index.ts'
import { Unanswered } from '../../lib/net/unanswered.ts'
import { type Begun, begin, hiddenError, hiddenStream, readRest } from './long-answer.ts'
import { cookieHeader, encodeHeader, encodePairs, fillPath, type Placement } from './place.ts'
import { addAuth, type HttpAuth, type RequestParts, withoutSecrets } from './secrets.ts'

export const methods = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'] as const
export type HttpMethod = (typeof methods)[number]

export type BodyType = 'json' | 'form' | 'text'

export type Operation = {
  method: HttpMethod
  /** With `{name}` for the values of its path. */
  url: string
  places: readonly Placement[]
  /** `argument`: its value is the body. `rest`: all arguments that have no place are. */
  body?: { from: { argument: string } | 'rest'; type: BodyType; mediaType: string }
  headers: Readonly<Record<string, string>>
  auth: readonly HttpAuth[]
  /** Other hosts than the URL's that redirects may lead to. */
  hosts: readonly string[]
  /** The header that takes the call's idempotency key. */
  idempotencyHeader?: string
}

export async function runOperation(
  operation: Operation,
  input: JsonObject,
  context: ToolContext,
  answered?: (status: number) => void,
): Promise<ToolOutput> {
  const { request, secrets } = await buildRequest(operation, input, context)
  const hidden = (text: string): string => withoutSecrets(text, secrets)
  let response: Response
  let begun: Begun
  try {
    response = await context.fetch(request.url, { ...request.init, mayChange: true })
    begun = await begin(response)
  } catch (error) {
    throw hiddenError(error, hidden)
  }
  const { body, rest } = begun
  answered?.(response.status)
  // The engine repeats what threw, if the tool may be repeated. Other refusals would be the same again.
  if (response.status === 429 || response.status >= 500) {
    const words = hidden(`${statusLine(response)}${bodyExcerpt(body)}`)
    throw gatewayStatuses.has(response.status) ? new Unanswered(words) : new Error(words)
  }
  if (rest && response.ok && !imageTypes.has(readMediaType(response)))
    return { parts: [], stream: hiddenStream(body, rest, secrets, hidden) }
  return decodeOutput(response, rest ? await readRest(body, rest, hidden) : body, hidden)
}

/** Something in between says that it got no answer from the API. */
const gatewayStatuses: ReadonlySet<number> = new Set([502, 504])

type BuiltRequest = { url: URL; init: { method: string; headers: Headers; body?: string; hosts: string[] } }

async function buildRequest(
  operation: Operation,
  input: JsonObject,
  context: ToolContext,
): Promise<{ request: BuiltRequest; secrets: string[] }> {
  const { method, places, hosts, idempotencyHeader } = operation
  const values = new Map(Object.entries(input))
  const url = new URL(fillPath(operation.url, values, places))
  const parts: RequestParts = { headers: new Map(Object.entries(operation.headers)), query: [], cookies: [] }
  for (const place of places) {
    const value = values.get(place.name)
    if (value === undefined || value === null || place.in === 'path') continue
    if (place.in === 'header') parts.headers.set(place.as.toLowerCase(), encodeHeader(place, value))
    else
      parts[place.in === 'query' ? 'query' : 'cookies'].push(
        ...encodePairs(place, value, taken(operation, url, place)),
      )
  }
  if (idempotencyHeader) parts.headers.set(idempotencyHeader.toLowerCase(), context.idempotencyKey)
  const body = encodeBody(operation, values)
  if (body !== undefined && operation.body) parts.headers.set('content-type', operation.body.mediaType)
  const secrets: string[] = []
  for (const auth of operation.auth) secrets.push(...(await addAuth(auth, parts, context)))
  for (const [name, value] of parts.query) url.searchParams.append(name, value)
  if (parts.cookies.length > 0) {
    const own = parts.headers.get('cookie')
    parts.headers.set('cookie', `${own === undefined ? '' : `${own}; `}${cookieHeader(parts.cookies)}`)
  }
  const init = {
    method,
    headers: new Headers([...parts.headers]),
    hosts: [url.host.includes(':') ? url.host : url.hostname, ...hosts],
    ...(body !== undefined && { body }),
  }
  return { request: { url, init }, secrets }
}

/** The names in the query or the cookies that are not this parameter's. */
function taken({ places, auth, headers }: Operation, url: URL, own: Placement): Set<string> {
  const others = places.filter(place => place.in === own.in && place !== own).map(place => place.as)
  const keys = auth.flatMap(each => ('apiKey' in each && each.in === own.in ? [each.name] : []))
  const fixed =
    own.in === 'query'
      ? [...url.searchParams.keys()]
      : Object.entries(headers).flatMap(([name, value]) =>
          name.toLowerCase() === 'cookie' ? value.split(';').map(pair => pair.split('=', 1)[0]!.trim()) : [],
        )
  return new Set([...others, ...keys, ...fixed])
}

function encodeBody({ body, places }: Operation, values: ReadonlyMap<string, Json>): string | undefined {
  if (!body) return undefined
  const placed = new Set(places.map(place => place.name))
  const rest = (): JsonObject => Object.fromEntries([...values].filter(([name]) => !placed.has(name)))
  const value = body.from === 'rest' ? rest() : values.get(body.from.argument)
  if (value === undefined) return undefined
  if (body.type === 'json') return JSON.stringify(value)
  if (body.type === 'text') return typeof value === 'string' ? value : JSON.stringify(value)
  if (!isJsonObject(value)) throw new InvalidInput('The body must be an object: it is sent as a form.')
  const pairs = Object.entries(value).flatMap(([name, item]) =>
    encodePairs(
      { name, as: name, in: 'query', style: 'form', explode: true },
      Array.isArray(item) ? item : flat(item),
    ),
  )
  return new URLSearchParams(pairs).toString()
}

function flat(value: Json): Json {
  return isJsonObject(value) ? JSON.stringify(value) : value
}

// ---- the answer --------------------------------------------------------------------------------------------------

const imageTypes = new Set(['image/png', 'image/jpeg', 'image/gif', 'image/webp'])

function readMediaType(response: Response): string {
  return (response.headers.get('content-type') ?? '').split(';')[0]?.trim().toLowerCase() ?? ''
}

function decodeOutput(response: Response, body: Buffer, hidden: (text: string) => string): ToolOutput {
  const mediaType = readMediaType(response)
  if (!response.ok)
    return { parts: [text(hidden(`${statusLine(response)}${bodyExcerpt(body)}`))], failed: true }
  if (body.length === 0) return { parts: [text(`${statusLine(response)} There is no content.`)] }
  if (imageTypes.has(mediaType))
    return { parts: [{ type: 'image', url: `data:${mediaType};base64,${body.toString('base64')}` }] }
  if (!isTextMedia(mediaType, body))
    return {
      parts: [
        text(
          `${statusLine(response)} The content is ${body.length} bytes of ${mediaType || 'unknown type'}.`,
        ),
      ],
    }
  const shown = hidden(body.toString('utf8'))
  const structured = /^application\/(?:[\w.+-]+\+)?json$/.test(mediaType) ? parseBounded(shown) : undefined
  return { parts: [text(shown)], ...(structured !== undefined && { structured }) }
}

function text(value: string): { type: 'text'; text: string } {
  return { type: 'text', text: value }
}

function statusLine({ status }: Response): string {
  return `The API answered with status ${status}.`
}

function bodyExcerpt(body: Buffer): string {
  const shown = body.subarray(0, 4096).toString('utf8').trim()
  return shown === '' ? '' : ` It says:\n${shown}`
}

function isTextMedia(mediaType: string, body: Buffer): boolean {
  if (
    /^(?:text\/|application\/(?:[\w.+-]+\+)?(?:json|xml|yaml|javascript|x-www-form-urlencoded)$)/.test(
      mediaType,
    )
  )
    return true
  return mediaType === '' && !body.subarray(0, 1024).includes(0)
}
