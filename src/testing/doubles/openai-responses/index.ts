/**
 * The Responses double: create, and the endpoints around what was created (retrieve, resume, cancel, delete,
 * input items), put together as one `VendorDouble`. Rules, answers and streams are in the files beside it.
 */
import type { DirectAnswer, DoubleRequest, VendorDouble } from '../double.ts'
import { faultOf } from '../faults.ts'
import {
  authoriseBearer,
  failureOf,
  isObject,
  type Json,
  organisationOf,
  refuse,
  rejectionBody,
  textOf,
  unreadableBody,
} from '../openai/refusals.ts'
import { type Frame, type Rejection, rawFrames, type ScriptedTurn } from '../script.ts'
import { mintId } from '../seal.ts'
import { answerResponses } from './answer.ts'
import {
  chainItems,
  createResponsesMemory,
  forgetResponse,
  outputOf,
  type ResponsesMemory,
  rememberItems,
  type StoredResponse,
} from './memory.ts'
import { checkResponses } from './request.ts'
import { inProgress, streamResponse } from './stream.ts'

const PATHS: [method: string, pattern: RegExp, kind: string][] = [
  ['POST', /\/responses$/, 'create'],
  ['GET', /\/responses\/([^/]+)$/, 'retrieve'],
  ['DELETE', /\/responses\/([^/]+)$/, 'delete'],
  ['POST', /\/responses\/([^/]+)\/cancel$/, 'cancel'],
  ['GET', /\/responses\/([^/]+)\/input_items$/, 'input_items'],
]

export const openaiResponses: VendorDouble<ResponsesMemory> = {
  name: 'openai-responses',
  memory: createResponsesMemory,
  route(method, path) {
    for (const [wanted, pattern, kind] of PATHS) {
      const match = method === wanted ? pattern.exec(path) : null
      if (match !== null) return { kind, params: match[1] === undefined ? {} : { id: match[1] } }
    }
    return null
  },
  authorise: (headers, _query, apiKey) => authoriseBearer(headers, apiKey),
  unreadable: unreadableBody,
  check(request, memory, mode) {
    return request.route.kind === 'create'
      ? checkResponses(request.body, memory, mode, request.headers)
      : checkStored(request, memory)
  },
  direct: answerStored,
  streams: request => isObject(request.body) && request.body['stream'] === true,
  respond: create,
  failure: failureOf,
  rejectionBody,
  errorFrame: (type, message, sent) => ({
    event: 'error',
    data: JSON.stringify({
      type: 'error',
      sequence_number: nextSequence(sent),
      code: type ?? 'server_error',
      message: message ?? 'The server had an error while processing your request. Sorry about that!',
      param: null,
    }),
  }),
  noiseFrame: kind =>
    kind === 'ping'
      ? null
      : { event: 'response.unheard_of', data: JSON.stringify({ type: 'response.unheard_of' }) },
}

function create(
  turn: ScriptedTurn,
  request: DoubleRequest,
  memory: ResponsesMemory,
): { body: unknown; frames: Frame[] } {
  const scripted = rawFrames(turn.raw)
  if (scripted !== null) return { body: null, frames: scripted }
  const body = isObject(request.body) ? request.body : {}
  memory.answered += 1
  const salt = `${memory.salt}:${memory.answered}`
  const response = answerResponses({
    turn,
    body,
    rawText: request.rawText,
    memory,
    organisation: organisationOf(request.headers),
    salt,
    now: Math.floor(Date.now() / 1000),
  })
  const background = body['background'] === true
  const options = isObject(body['stream_options']) ? body['stream_options'] : {}
  const frames = streamResponse(response, {
    chunk: turn.chunk,
    obfuscate: options['include_obfuscation'] !== false,
    queued: background,
    omitArgumentsDone: faultOf(turn, 'omit-arguments-done') !== undefined,
  })
  remember(memory, body, response, frames, salt)
  return { body: background ? inProgress(response, 'queued') : response, frames }
}

function remember(memory: ResponsesMemory, body: Json, response: Json, frames: Frame[], salt: string): void {
  const stored = body['store'] !== false
  const id = textOf(response['id'])
  rememberItems(memory, id, outputOf(response), stored)
  if (!stored) return
  const previous = body['previous_response_id']
  memory.responses.set(id, {
    response,
    input: inputItems(body['input'], salt),
    previous: typeof previous === 'string' ? previous : null,
    background: body['background'] === true,
    frames,
    polls: 0,
    cancelled: false,
  })
}

/** The input as the server keeps it: every item has an id and a type, and text stands in parts. */
function inputItems(input: unknown, salt: string): Json[] {
  const items: unknown[] =
    typeof input === 'string' ? [{ role: 'user', content: input }] : Array.isArray(input) ? input : []
  return items.filter(isObject).map((item, at) => {
    const isMessage = item['type'] === 'message' || 'role' in item
    const id = item['id'] ?? mintId(isMessage ? 'msg_' : 'item_', at, `${salt}:input`)
    if (!isMessage || item['type'] === 'additional_tools') return { ...item, id }
    const { content, role, ...rest } = item
    const partType = role === 'assistant' ? 'output_text' : 'input_text'
    const parts = typeof content === 'string' ? [{ type: partType, text: content }] : content
    return { status: 'completed', ...rest, id, type: 'message', role, content: parts }
  })
}

function checkStored({ route, query }: DoubleRequest, memory: ResponsesMemory): Rejection[] {
  const id = route.params['id'] ?? ''
  const stored = memory.responses.get(id)
  if (stored === undefined) return [refuse('R-07', `Response with id '${id}' not found.`, null, null, 404)]
  if (route.kind === 'cancel' && !stored.background) {
    return [refuse('R-00', 'Cannot cancel a synchronous response.')]
  }
  if (route.kind === 'retrieve' && query.get('stream') === 'true' && !stored.background) {
    return [refuse('R-00', 'Only responses created with background=true can be streamed again.', 'stream')]
  }
  return []
}

function answerStored({ route, query }: DoubleRequest, memory: ResponsesMemory): DirectAnswer | null {
  const id = route.params['id']
  const stored = id === undefined ? undefined : memory.responses.get(id)
  if (id === undefined || stored === undefined) return null
  switch (route.kind) {
    case 'retrieve':
      return query.get('stream') === 'true'
        ? { status: 200, frames: framesAfter(stored, query.get('starting_after')) }
        : { status: 200, body: currentState(stored) }
    case 'cancel':
      return { status: 200, body: cancel(stored) }
    case 'delete':
      forgetResponse(memory, id)
      return { status: 200, body: { id, object: 'response', deleted: true } }
    default:
      return { status: 200, body: listInput(stored, query, memory) }
  }
}

/** A background response is running when first asked for, and done when asked again. */
function currentState(stored: StoredResponse): Json {
  if (stored.cancelled) return inProgress(stored.response, 'cancelled')
  stored.polls += 1
  return stored.background && stored.polls < 2 ? inProgress(stored.response, 'in_progress') : stored.response
}

/** Cancelling twice is the same as once; what is done already stays as it is. */
function cancel(stored: StoredResponse): Json {
  if (stored.polls >= 2) return stored.response
  stored.cancelled = true
  return inProgress(stored.response, 'cancelled')
}

function framesAfter(stored: StoredResponse, after: string | null): Frame[] {
  stored.polls = 2
  return after === null ? stored.frames : stored.frames.slice(Number(after) + 1)
}

function listInput(stored: StoredResponse, query: URLSearchParams, memory: ResponsesMemory): Json {
  const items = [...chainItems(memory, stored.previous), ...stored.input]
  if (query.get('order') !== 'asc') items.reverse()
  const start = items.findIndex(item => item['id'] === query.get('after')) + 1
  const limit = Number(query.get('limit') ?? 20)
  const data = items.slice(start, start + limit)
  return {
    object: 'list',
    data,
    first_id: data[0]?.['id'] ?? null,
    last_id: data.at(-1)?.['id'] ?? null,
    has_more: start + limit < items.length,
  }
}

function nextSequence(sent: readonly Frame[]): number {
  const last = sent.findLast(frame => frame.data.startsWith('{'))
  if (last === undefined) return 0
  const parsed: unknown = JSON.parse(last.data)
  const sequence = isObject(parsed) ? parsed['sequence_number'] : undefined
  return typeof sequence === 'number' ? sequence + 1 : sent.length
}
