// The double of Anthropic Messages: routes, headers and the error envelope. `request.ts` has the rules, `answer.ts` the answers.
import { randomUUID } from 'node:crypto'
import { bearerKey, type RequestHeaders, type VendorDouble } from '../double.ts'
import { jsonFrame, type Rejection } from '../script.ts'
import { tokensIn } from '../shape.ts'
import { answerAnthropic } from './answer.ts'
import { type AnthropicMemory, newAnthropicMemory } from './history.ts'
import { anthropicFailure, refuse } from './refusals.ts'
import { checkAnthropic } from './request.ts'

/** The last is what the current SDK sends; the middle one is what most callers send. */
const VERSIONS = ['2023-01-01', '2023-06-01', '2026-10-21']

export const anthropicDouble: VendorDouble<AnthropicMemory> = {
  name: 'anthropic',
  memory: newAnthropicMemory,
  route(method, path) {
    const match = method === 'POST' ? /\/v1\/messages(\/count_tokens)?$/.exec(path) : null
    return match && { kind: match[1] === undefined ? 'create' : 'count', params: {} }
  },
  authorise(headers, _query, apiKey) {
    const key = headers['x-api-key'] ?? bearerKey(headers)
    if (!key) return { ...anthropicFailure(401), message: 'x-api-key header is required' }
    return apiKey !== undefined && key !== apiKey ? anthropicFailure(401) : checkVersion(headers)
  },
  unreadable({ kind, detail, at }) {
    if (kind === 'content-type') {
      return refuse('A-00', `content-type: expected application/json, found '${detail}'`)
    }
    const where = `line 1 column ${at + 1} (char ${at})`
    return refuse('A-26', `The request body is not valid JSON: ${detail}: ${where}`)
  },
  check: (request, memory, mode) => [...checkAnthropic(request, memory, mode)],
  direct: ({ route, rawText }) =>
    route.kind === 'count' ? { body: { input_tokens: tokensIn(rawText) } } : null,
  respond: answerAnthropic,
  failure: anthropicFailure,
  rejectionBody({ status, type, message, code }) {
    const request_id = `req_${randomUUID().replaceAll('-', '')}`
    const error = { type, message, ...(code && { details: { error_code: code } }) }
    return { status, headers: { 'request-id': request_id }, body: { type: 'error', error, request_id } }
  },
  errorFrame: (type = 'overloaded_error', message = 'Overloaded') =>
    jsonFrame('error', { type: 'error', error: { type, message } }),
  noiseFrame(kind) {
    const type = kind === 'ping' ? 'ping' : 'some_future_event'
    return jsonFrame(type, { type })
  },
}

function checkVersion(headers: RequestHeaders): Rejection | null {
  const version = headers['anthropic-version']
  if (!version) return refuse('A-00', 'anthropic-version: header is required')
  if (VERSIONS.includes(version)) return null
  return refuse('A-00', `anthropic-version: "${version}" is not a valid version`)
}
