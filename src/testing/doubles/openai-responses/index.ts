// The double of the Responses API: create, and the endpoints around what was created (retrieve, resume, cancel, delete,
// input items). `request.ts` has the rules, `answer.ts` the answers.
import { type DirectAnswer, type DoubleRequest, rawAnswer, type VendorDouble } from '../double.ts'
import { findFault } from '../faults.ts'
import { openaiEnvelope, readOrganisation, SERVER_ERROR } from '../openai/envelope.ts'
import { openaiError } from '../openai/forms.ts'
import {
  type DoubleAnswer,
  type DoubleFrame,
  jsonFrame,
  type Rejections,
  type ScriptedTurn,
} from '../script.ts'
import { mintId } from '../seal.ts'
import { asRecord, asRecords, type JsonRecord, shownText } from '../shape.ts'
import { buildResponse, streamResponse, unfinished } from './answer.ts'
import {
  chainItems,
  forgetResponse,
  newResponsesMemory,
  type ResponsesMemory,
  rememberItems,
  type StoredResponse,
} from './history.ts'
import { checkResponses } from './request.ts'

const PATHS: [method: string, pattern: RegExp, kind: string][] = [
  ['POST', /\/responses$/, 'create'],
  ['GET', /\/responses\/([^/]+)$/, 'retrieve'],
  ['DELETE', /\/responses\/([^/]+)$/, 'delete'],
  ['POST', /\/responses\/([^/]+)\/cancel$/, 'cancel'],
  ['GET', /\/responses\/([^/]+)\/input_items$/, 'input_items'],
]

export const openaiResponsesDouble: VendorDouble<ResponsesMemory> = {
  ...openaiEnvelope,
  name: 'openai-responses',
  memory: newResponsesMemory,
  route(method, path) {
    for (const [wanted, pattern, kind] of PATHS) {
      const match = method === wanted ? pattern.exec(path) : null
      if (match !== null) return { kind, params: match[1] === undefined ? {} : { id: match[1] } }
    }
    return null
  },
  check: (request, memory, mode) =>
    request.route.kind === 'create'
      ? [...checkResponses(request, memory, mode)]
      : [...checkStored(request, memory)],
  direct: answerStored,
  respond: createResponse,
  errorFrame: (code = 'server_error', message = SERVER_ERROR, sent) => {
    const sequence_number = nextSequence(sent)
    return jsonFrame('error', { type: 'error', sequence_number, code, message, param: null })
  },
  noiseFrame: kind =>
    kind === 'ping' ? null : jsonFrame('response.unheard_of', { type: 'response.unheard_of' }),
}

function createResponse(turn: ScriptedTurn, request: DoubleRequest, memory: ResponsesMemory): DoubleAnswer {
  const raw = rawAnswer(turn, request)
  if (raw) return raw
  const body = asRecord(request.body)
  memory.answered += 1
  const salt = `${memory.salt}:${memory.answered}`
  const organisation = readOrganisation(request.headers)
  const response = buildResponse({ turn, body, rawText: request.rawText, memory, organisation, salt })
  const background = body['background'] === true
  const frames = streamResponse(response, {
    chunk: turn.chunk,
    obfuscate: asRecord(body['stream_options'])['include_obfuscation'] !== false,
    queued: background,
    omitArgumentsDone: findFault(turn, 'omit-arguments-done') !== undefined,
  })
  const stored = body['store'] !== false
  rememberItems(memory, response, stored)
  if (stored) {
    const previous = body['previous_response_id']
    memory.responses.set(shownText(response['id']), {
      response,
      input: storedInput(body['input'], salt),
      previous: typeof previous === 'string' ? previous : null,
      background,
      frames,
      polls: 0,
      cancelled: false,
    })
  }
  return { body: background ? unfinished(response, 'queued') : response, frames }
}

/** The input as the server stores it: every item has an id and a type, and text is in parts. */
function storedInput(input: unknown, salt: string): JsonRecord[] {
  const items = asRecords(typeof input === 'string' ? [{ role: 'user', content: input }] : input)
  return items.map((item, at) => {
    const isMessage = item['type'] === 'message' || 'role' in item
    const id = item['id'] ?? mintId(isMessage ? 'msg_' : 'item_', at, `${salt}:input`)
    if (!isMessage || item['type'] === 'additional_tools') return { ...item, id }
    const { content, role, ...rest } = item
    const type = role === 'assistant' ? 'output_text' : 'input_text'
    const parts = typeof content === 'string' ? [{ type, text: content }] : content
    return { status: 'completed', ...rest, id, type: 'message', role, content: parts }
  })
}

function* checkStored({ route, query }: DoubleRequest, memory: ResponsesMemory): Rejections {
  const id = route.params['id'] ?? ''
  const stored = memory.responses.get(id)
  if (stored === undefined) yield openaiError('R-07', `Response with id '${id}' not found.`, null, null, 404)
  else if (stored.background) return
  else if (route.kind === 'cancel') yield openaiError('R-00', 'Cannot cancel a synchronous response.')
  else if (route.kind === 'retrieve' && query.get('stream') === 'true') {
    const message = 'Only responses created with background=true can be streamed again.'
    yield openaiError('R-00', message, 'stream')
  }
}

function answerStored({ route, query }: DoubleRequest, memory: ResponsesMemory): DirectAnswer | null {
  const id = route.params['id']
  const stored = id === undefined ? undefined : memory.responses.get(id)
  if (id === undefined || stored === undefined) return null
  switch (route.kind) {
    case 'retrieve':
      return query.get('stream') === 'true'
        ? { frames: framesAfter(stored, query.get('starting_after')) }
        : { body: pollResponse(stored) }
    case 'cancel':
      return { body: cancelResponse(stored) }
    case 'delete':
      forgetResponse(memory, id)
      return { body: { id, object: 'response', deleted: true } }
    default:
      return { body: listInput(stored, query, memory) }
  }
}

/** A background response runs when it is first retrieved, and is done the next time. */
function pollResponse(stored: StoredResponse): JsonRecord {
  if (stored.cancelled) return unfinished(stored.response, 'cancelled')
  stored.polls += 1
  return stored.background && stored.polls < 2 ? unfinished(stored.response, 'in_progress') : stored.response
}

/** Cancelling twice is the same as once. A response that is done stays done. */
function cancelResponse(stored: StoredResponse): JsonRecord {
  if (stored.polls >= 2) return stored.response
  stored.cancelled = true
  return unfinished(stored.response, 'cancelled')
}

function framesAfter(stored: StoredResponse, after: string | null): DoubleFrame[] {
  stored.polls = 2
  return after === null ? stored.frames : stored.frames.slice(Number(after) + 1)
}

function listInput(stored: StoredResponse, query: URLSearchParams, memory: ResponsesMemory): JsonRecord {
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

function nextSequence(sent: readonly DoubleFrame[]): number {
  const last = sent.findLast(frame => frame.data.startsWith('{'))
  if (last === undefined) return 0
  const { sequence_number: sequence } = asRecord(JSON.parse(last.data))
  return typeof sequence === 'number' ? sequence + 1 : sent.length
}
