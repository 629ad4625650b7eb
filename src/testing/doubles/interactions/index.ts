/**
 * A strict double of Gemini Interactions: create, get, resume, cancel and delete, with state or without.
 * The rules are `interactions-rules.ts`, the answers `interactions-respond.ts`.
 */
import type {
  BodyProblem,
  DirectAnswer,
  DoubleRequest,
  RequestHeaders,
  Route,
  VendorDouble,
} from '../double.ts'
import { authoriseGoogle, geminiFailure } from '../gemini/index.ts'
import type { Mode, Rejection } from '../script.ts'
import { isRecord } from '../shape.ts'
import { respondInteraction } from './answer.ts'
import { checkInteraction, type InteractionsMemory, newInteractionsMemory, refused } from './request.ts'

const CODES: Readonly<Record<number, string>> = {
  400: 'invalid_request',
  404: 'not_found',
  429: 'rate_limit_exceeded',
  500: 'internal_error',
  503: 'unavailable',
}

export const interactionsDouble: VendorDouble<InteractionsMemory> = {
  name: 'gemini-interactions',
  memory: newInteractionsMemory,
  route,
  authorise,
  unreadable: (problem: BodyProblem) =>
    refused('I-01', `Invalid JSON payload received. ${problem.detail} (char ${problem.at})`),
  check,
  direct,
  streams: request => isRecord(request.body) && request.body['stream'] === true,
  respond: respondInteraction,
  failure(status) {
    const { status: code, message } = geminiFailure(status)
    return refused('I-09', message, CODES[code] ?? 'internal_error', code)
  },
  rejectionBody(rejection) {
    const { status, message, code } = rejection
    if (rejection.rule === 'I-09' && rejection.param === 'auth') {
      // Authentication is refused by an older layer, in its own shape, wrapped in a list.
      const error = { code: status, message, status: rejection.type }
      return { status, headers: {}, body: [{ error }] }
    }
    return { status, headers: {}, body: { error: { code: code ?? rejection.type, message } } }
  },
  errorFrame(code = 'internal_error', message = 'An internal error has occurred.') {
    return { event: 'error', data: JSON.stringify({ event_type: 'error', error: { code, message } }) }
  },
  noiseFrame: kind =>
    kind === 'unknown'
      ? { event: 'some.future_event', data: JSON.stringify({ event_type: 'some.future_event' }) }
      : null,
}

function route(method: string, path: string): Route | null {
  const match =
    /^\/v\d\w*\/(?:projects\/[^/]+\/locations\/[^/]+\/)?interactions(?:\/([^/]+))?(\/cancel)?$/.exec(path)
  if (match === null) return null
  const [, id, cancel] = match
  if (id === undefined) return method === 'POST' ? { kind: 'create', params: {} } : null
  const params = { id: decodeURIComponent(id) }
  if (cancel !== undefined) return method === 'POST' ? { kind: 'cancel', params } : null
  if (method === 'GET') return { kind: 'get', params }
  return method === 'DELETE' ? { kind: 'delete', params } : null
}

function authorise(headers: RequestHeaders, query: URLSearchParams, apiKey?: string): Rejection | null {
  const refusal = authoriseGoogle(headers, query, apiKey)
  return refusal && { ...refusal, rule: 'I-09', param: 'auth' }
}

function check(request: DoubleRequest, memory: InteractionsMemory, mode: Mode): Rejection[] {
  const { kind, params } = request.route
  if (kind === 'create') {
    return isRecord(request.body)
      ? checkInteraction(request.body, memory, mode)
      : [refused('I-01', 'The body must be a JSON object.')]
  }
  const id = params['id'] ?? ''
  const stored = memory.stored.get(id)
  if (stored === undefined) return [refused('I-04', `Interaction '${id}' not found.`, 'not_found', 404)]
  return kind === 'cancel' && !stored.isBackground
    ? [refused('I-06', 'Only a background interaction can be cancelled.')]
    : []
}

function direct(request: DoubleRequest, memory: InteractionsMemory): DirectAnswer | null {
  const { kind, params } = request.route
  const id = params['id'] ?? ''
  const stored = memory.stored.get(id)
  if (kind === 'create' || stored === undefined) return null
  if (kind === 'delete') {
    memory.stored.delete(id)
    return { status: 200, body: {} }
  }
  if (kind === 'cancel') {
    stored.interaction = { ...stored.interaction, status: 'cancelled', steps: [] }
    stored.pending.clear()
    return { status: 200, body: stored.interaction }
  }
  if (request.query.get('stream') === 'true') {
    const last = request.query.get('last_event_id')
    const from = last === null ? 0 : stored.frames.findIndex(frame => frame.id === last) + 1
    return { status: 200, frames: stored.frames.slice(from).map(({ event, data }) => ({ event, data })) }
  }
  const withInput = request.query.get('include_input') === 'true' ? { input: stored.input } : {}
  return { status: 200, body: { ...stored.interaction, ...withInput } }
}
