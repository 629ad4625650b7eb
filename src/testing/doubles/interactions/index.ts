// The double of Gemini Interactions: create, get, resume, cancel and delete, with state or without.
// `request.ts` has the rules, `answer.ts` the answers.
import type { DirectAnswer, DoubleRequest, VendorDouble } from '../double.ts'
import { authoriseGoogle, googleFailure } from '../google/common.ts'
import { jsonFrame, type Rejections } from '../script.ts'
import { answerInteraction } from './answer.ts'
import { type InteractionsMemory, interactionNotFound, newInteractionsMemory, refuse } from './history.ts'

import { checkInteraction } from './request.ts'

const PATH = /^\/v\d\w*\/(?:projects\/[^/]+\/locations\/[^/]+\/)?interactions(?:\/([^/]+))?(\/cancel)?$/

const ERROR_CODES: Readonly<Record<number, string>> = {
  400: 'invalid_request',
  401: 'unauthenticated',
  403: 'permission_denied',
  404: 'not_found',
  429: 'rate_limit_exceeded',
  500: 'internal_error',
  503: 'unavailable',
}

export const interactionsDouble: VendorDouble<InteractionsMemory> = {
  name: 'gemini-interactions',
  memory: newInteractionsMemory,
  route(method, path) {
    const match = PATH.exec(path)
    if (match === null) return null
    const [, id, cancel] = match
    if (id === undefined) return method === 'POST' ? { kind: 'create', params: {} } : null
    const params = { id: decodeURIComponent(id) }
    if (cancel !== undefined) return method === 'POST' ? { kind: 'cancel', params } : null
    if (method === 'GET') return { kind: 'get', params }
    return method === 'DELETE' ? { kind: 'delete', params } : null
  },
  authorise(headers, query, apiKey) {
    const refusal = authoriseGoogle(headers, query, apiKey)
    return refusal && { ...refusal, rule: 'I-09', param: 'auth' }
  },
  unreadable: ({ detail, at }) => refuse('I-01', `Invalid JSON payload received. ${detail} (char ${at})`),
  check: (request, memory, mode) =>
    request.route.kind === 'create'
      ? [...checkInteraction(request.body, memory, mode)]
      : [...checkStored(request, memory)],
  direct: answerStored,
  respond: answerInteraction,
  failure(status) {
    const { status: code, message } = googleFailure(status)
    return refuse('I-09', message, ERROR_CODES[code] ?? 'internal_error', code)
  },
  rejectionBody({ status, message, code, type, rule, param }) {
    // Authentication is refused by an older layer, in its own shape, wrapped in a list.
    const isAuth = rule === 'I-09' && param === 'auth'
    const error = { code: code ?? type, message }
    return { status, body: isAuth ? [{ error: { code: status, message, status: type } }] : { error } }
  },
  errorFrame: (code = 'internal_error', message = 'An internal error has occurred.') =>
    jsonFrame('error', { event_type: 'error', error: { code, message } }),
  noiseFrame: kind =>
    kind === 'unknown' ? jsonFrame('some.future_event', { event_type: 'some.future_event' }) : null,
}

function* checkStored({ route }: DoubleRequest, memory: InteractionsMemory): Rejections {
  const id = route.params['id'] ?? ''
  const stored = memory.stored.get(id)
  if (stored === undefined) yield interactionNotFound(id)
  else if (route.kind === 'cancel' && !stored.isBackground) {
    yield refuse('I-06', 'Only a background interaction can be cancelled.')
  }
}

function answerStored({ route, query }: DoubleRequest, memory: InteractionsMemory): DirectAnswer | null {
  const id = route.params['id'] ?? ''
  const stored = memory.stored.get(id)
  if (route.kind === 'create' || stored === undefined) return null
  if (route.kind === 'delete') {
    memory.stored.delete(id)
    return { body: {} }
  }
  if (route.kind === 'cancel') {
    stored.interaction = { ...stored.interaction, status: 'cancelled', steps: [] }
    stored.pending.clear()
    return { body: stored.interaction }
  }
  if (query.get('stream') === 'true') {
    const last = query.get('last_event_id')
    const from = last === null ? 0 : stored.frames.findIndex(frame => frame.id === last) + 1
    return { frames: stored.frames.slice(from).map(({ event, data }) => ({ event, data })) }
  }
  const withInput = query.get('include_input') === 'true' && { input: stored.input }
  return { body: { ...stored.interaction, ...withInput } }
}
