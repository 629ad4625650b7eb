// Every event and every resource that the Responses wire sends in a test is checked here: against the types of the `openai`
// SDK, field by field, and against what Open Responses requires beyond them.
import assert from 'node:assert/strict'
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import { join } from 'node:path'
import { type Problem, problemsOf } from './check.ts'
import { readDeclarations, resolve, type Type } from './declarations.ts'

const sdk = join(import.meta.dirname, '../../../../node_modules/openai/resources')

function typeOf(file: string, name: string): Type {
  return resolve([name], readDeclarations(join(sdk, file)))
}

const responses = 'responses/responses.d.ts'
const objectOf = (...fields: [string, Type][]): Type => ({
  kind: 'object',
  members: fields.map(([name, type]) => ({ name, optional: false, type })),
})
const text: Type = { kind: 'primitive', name: 'string' }
const textOrNull: Type = { kind: 'union', of: [text, { kind: 'primitive', name: 'null' }] }
const yes: Type = { kind: 'literal', value: true }
/** The SDK gives nothing for a deletion, and throws errors whose body it does not type. */
const deleted = objectOf(['id', text], ['object', { kind: 'literal', value: 'response' }], ['deleted', yes])
const errorBody = objectOf([
  'error',
  objectOf(['message', text], ['type', text], ['param', textOrNull], ['code', textOrNull]),
])

/** Its output has the user's messages too, which the SDK's type leaves out. */
const compacted = (): Type =>
  objectOf(
    ['id', text],
    ['object', { kind: 'literal', value: 'response.compaction' }],
    ['created_at', { kind: 'primitive', name: 'number' }],
    ['output', { kind: 'array', of: typeOf(responses, 'ResponseItem') }],
    ['usage', typeOf(responses, 'ResponseUsage')],
  )

const routes: [RegExp, () => Type][] = [
  [/^POST \/v1\/responses\/compact$/, compacted],
  [
    /^POST \/v1\/responses\/input_tokens$/,
    () => typeOf('responses/input-tokens.d.ts', 'InputTokenCountResponse'),
  ],
  [
    /^GET \/v1\/responses\/[^/]+\/input_items$/,
    () => typeOf('responses/input-items.d.ts', 'ResponseItemList'),
  ],
  [/^DELETE \/v1\/responses\/[^/]+$/, () => deleted],
  [/^(?:POST|GET) \/v1\/responses(?:\/[^/]+(?:\/cancel)?)?$/, () => typeOf(responses, 'Response')],
  [
    /^(?:POST|GET) \/v1\/conversations(?:\/[^/]+)?$|^DELETE \/v1\/conversations\/[^/]+\/items\//,
    () => typeOf('conversations/conversations.d.ts', 'Conversation'),
  ],
  [
    /^DELETE \/v1\/conversations\/[^/]+$/,
    () => typeOf('conversations/conversations.d.ts', 'ConversationDeletedResource'),
  ],
  [
    /^(?:POST|GET) \/v1\/conversations\/[^/]+\/items$/,
    () => typeOf('conversations/items.d.ts', 'ConversationItemList'),
  ],
  [/^GET \/v1\/conversations\/[^/]+\/items\//, () => typeOf('conversations/items.d.ts', 'ConversationItem')],
]

/** Where the SDK's types are not those of the wire. */
const known: [place: RegExp, what: RegExp][] = [
  [/\.output_text$/, /^is missing$/], // The SDK puts it together itself.
  // Open Responses requires these, and OpenAI's own server gives them.
  [/\.(?:presence_penalty|frequency_penalty|store)$/, /^is not in the type$/],
  [/\.usage$/, /^is null, not an object$/],
  [/\.text\.format\.description$/, /^is null, not string$/],
  // A text there, whose values are two in the SDK. Ours are more: RESP-RES-09.
  [/\.incomplete_details\.reason$/, /^is "max_\w+", not /],
  // Open Responses has these in its events and items; the SDK's types have the name in some of their versions.
  [
    /^response\.(?:function_call_arguments|custom_tool_call_input)\.(?:delta|done)\.(?:call_id|name)$/,
    /^is not in the type$/,
  ],
  // Every item has a status there. The SDK types it for a custom call that is read back, and not for one that is made.
  [/\.(?:item|output\[\d+\])\.status$/, /^is not in the type$/],
]

// ---- what Open Responses requires besides ------------------------------------------------------------------------------

const required: [(value: Fields) => boolean, string][] = [
  [
    value => value['object'] === 'response' && 'output' in value,
    'id created_at completed_at status incomplete_details model previous_response_id instructions output error tools tool_choice truncation parallel_tool_calls text top_p presence_penalty frequency_penalty top_logprobs temperature reasoning usage max_output_tokens max_tool_calls store background service_tier metadata safety_identifier prompt_cache_key',
  ],
  [({ type, role }) => type === 'message' && role !== undefined, 'id status role content'],
  [({ type }) => type === 'function_call', 'id call_id name arguments status'],
  [({ type }) => type === 'function_call_output', 'id call_id output status'],
  [({ type }) => type === 'reasoning', 'id summary'],
  [({ type, text: words }) => type === 'output_text' && words !== undefined, 'annotations logprobs'],
  [({ type, name }) => type === 'json_schema' && name !== undefined, 'description schema strict'],
  [
    value => 'input_tokens' in value && 'output_tokens' in value,
    'total_tokens input_tokens_details output_tokens_details',
  ],
]

type Fields = Record<string, unknown>

function openProblems(value: unknown, path: string): Problem[] {
  if (Array.isArray(value)) return value.flatMap((each, at) => openProblems(each, `${path}[${at}]`))
  if (typeof value !== 'object' || value === null) return []
  const fields = value as Fields // An object of JSON.
  const missing = required
    .filter(([isOne]) => isOne(fields))
    .flatMap(([, names]) => names.split(' ').filter(name => !(name in fields)))
  return [
    ...missing.map(name => ({ path: `${path}.${name}`, what: 'is missing (Open Responses)' })),
    // What a tool declares is its author's.
    ...Object.entries(fields).flatMap(([name, each]) =>
      /^(?:tools|schema|metadata|parameters)$/.test(name) ? [] : openProblems(each, `${path}.${name}`),
    ),
  ]
}

// ---- checks ------------------------------------------------------------------------------------------------------------

function problems(value: unknown, type: Type, path: string): string[] {
  return [...problemsOf(value, type, path), ...openProblems(value, path)]
    .filter(({ path: at, what }) => !known.some(([place, which]) => place.test(at) && which.test(what)))
    .map(({ path: at, what }) => `${at} ${what}`)
}

export function eventProblems(event: { type: string }): string[] {
  return problems(event, typeOf(responses, 'ResponseStreamEvent'), event.type)
}

/** A frame of the WebSocket: an event, perhaps with the `stream_id` of its request, or one error with its status. */
export function frameProblems(frame: { type: string } & Fields): string[] {
  const { stream_id: lane, ...event } = frame
  const ofLane = lane === undefined || typeof lane === 'string' ? [] : ['stream_id is not a text']
  const isOther = frame.type === 'error' || frame.type.startsWith('response.steer.')
  const type = isOther ? 'ResponsesServerEvent' : 'ResponseStreamEvent'
  return [...ofLane, ...problems(event, typeOf(responses, type), frame.type)]
}

export function resourceProblems(method: string, path: string, status: number, body: unknown): string[] {
  const place = `${method} ${path.replace(/\?.*/, '')}`
  if (status >= 400) return problems(body, errorBody, `${place} ${status}`)
  const type = routes.find(([pattern]) => pattern.test(place))?.[1]
  return type ? problems(body, type(), place) : []
}

/** Notes what is wrong with the answers of a server, as they leave. Gives a function that throws if anything was. */
export function checkAnswers(server: Server): () => void {
  const found = new Set<string>()
  server.prependListener('request', (request: IncomingMessage, response: ServerResponse) => {
    if (!/^\/v1\/(?:responses|conversations)/.test(request.url ?? '')) return
    const sent = recorded(response)
    response.once('close', () => {
      for (const problem of answerProblems(request, response, sent)) found.add(problem)
    })
  })
  return () => assert.deepEqual([...found], [])
}

function answerProblems(request: IncomingMessage, response: ServerResponse, sent: Sent): string[] {
  const body = Buffer.concat(sent.chunks).toString()
  if (sent.kind.startsWith('text/event-stream'))
    // A client that left may have left in the middle of an event.
    return body.split('\n\n').slice(0, -1).flatMap(streamProblems)
  if (!sent.kind.startsWith('application/json') || !response.writableFinished) return []
  return resourceProblems(request.method ?? '', request.url ?? '', response.statusCode, JSON.parse(body))
}

function streamProblems(block: string): string[] {
  const data = block.split('\n').flatMap(line => (line.startsWith('data: ') ? [line.slice(6)] : []))
  if (data.length === 0 || data[0] === '[DONE]') return []
  return eventProblems(JSON.parse(data.join('\n')) as { type: string }) // A wrong event has problems.
}

type Sent = { kind: string; chunks: Buffer[] }

/** What leaves through a response: whole once it has closed. */
function recorded(response: ServerResponse): Sent {
  const sent: Sent = { kind: '', chunks: [] }
  tap(response, 'write', ([chunk]) => addTo(sent, chunk))
  tap(response, 'end', ([chunk]) => addTo(sent, chunk))
  // Headers that are given with the status cannot be asked for later.
  tap(response, 'writeHead', given => {
    const headers = given.find(each => typeof each === 'object') as Fields | undefined // The last of its arguments.
    const own = Object.entries(headers ?? {}).find(([name]) => name.toLowerCase() === 'content-type')?.[1]
    const kind = own ?? response.getHeader('content-type')
    if (typeof kind === 'string') sent.kind = kind
  })
  return sent
}

function addTo({ chunks }: Sent, chunk: unknown): void {
  if (typeof chunk === 'string') chunks.push(Buffer.from(chunk))
  else if (chunk instanceof Uint8Array) chunks.push(Buffer.from(chunk))
}

function tap(
  response: ServerResponse,
  name: 'write' | 'end' | 'writeHead',
  see: (given: unknown[]) => void,
): void {
  const real = response[name].bind(response) as (...given: unknown[]) => unknown // Its arguments are passed on.
  Object.assign(response, {
    [name]: (...given: unknown[]) => {
      see(given)
      return real(...given)
    },
  })
}
