/**
 * A strict double of Anthropic Messages: routes, headers, envelope and the order in which rules are checked.
 * The rules themselves are in the `anthropic-*` files beside it, the server around it in `double.ts`.
 */
import { randomUUID } from 'node:crypto'
import type { BodyProblem, DoubleRequest, RequestHeaders, Route, VendorDouble } from '../double.ts'
import type { Mode, Rejection } from '../script.ts'
import { extraKeys, isRecord, type JsonRecord, recordsOf } from '../shape.ts'
import { respondAnthropic } from './answer.ts'
import { checkHistory, readMessages } from './history.ts'
import { type AnthropicMemory, newAnthropicMemory } from './memory.ts'
import { checkCacheControl, checkMessages } from './messages.ts'
import { checkSettings, checkThinking } from './thinking.ts'
import { checkThread, withThread } from './threads.ts'
import { checkMcp, checkToolChoice, checkTools, extra, invalid } from './tools.ts'

const FIELDS = [
  'model',
  'max_tokens',
  'messages',
  'system',
  'tools',
  'tool_choice',
  'stream',
  'thinking',
  'output_config',
  'container',
  'stop_sequences',
  'metadata',
  'service_tier',
  'speed',
  'cache_control',
  'inference_geo',
  'diagnostics',
  'user_profile_id',
  'workspace_id',
  'temperature',
  'top_p',
  'top_k',
]
/** Fields that only a beta header unlocks. `mcp_servers` is checked with its toolsets. */
const BETA_FIELDS: Readonly<Record<string, string>> = {
  context_management: 'context-management-',
  compaction: 'compact-',
  fallbacks: 'server-side-fallback-',
  fallback_credit_token: 'fallback-credit-',
  thread: 'message-threads-',
  output_format: 'structured-outputs-',
}
/** The last is what the current SDK sends; the middle one is what most callers send. */
const VERSIONS = ['2023-01-01', '2023-06-01', '2026-10-21']
const MOST_BYTES = 32 * 1024 * 1024

const FAILURES: Readonly<Record<number, [type: string, message: string]>> = {
  400: ['invalid_request_error', 'Invalid request'],
  401: ['authentication_error', 'invalid x-api-key'],
  403: ['permission_error', 'Your API key does not have permission to use the specified resource.'],
  404: ['not_found_error', 'Not found'],
  413: ['request_too_large', 'Request exceeds the maximum size'],
  429: ['rate_limit_error', 'This request would exceed your account’s rate limit. Please try again later.'],
  500: ['api_error', 'Internal server error'],
  504: ['timeout_error', 'Request timed out'],
  529: ['overloaded_error', 'Overloaded'],
}

export const anthropicDouble: VendorDouble<AnthropicMemory> = {
  name: 'anthropic',
  memory: newAnthropicMemory,
  route,
  authorise,
  unreadable,
  check,
  direct: request =>
    request.route.kind === 'count'
      ? { status: 200, body: { input_tokens: Math.ceil(request.rawText.length / 4) } }
      : null,
  streams: request => isRecord(request.body) && request.body['stream'] === true,
  respond: respondAnthropic,
  failure: failureOf,
  rejectionBody(rejection) {
    const request_id = `req_${randomUUID().replaceAll('-', '')}`
    const { type, message, code } = rejection
    const error = { type, message, ...(code && { details: { error_code: code } }) }
    return {
      status: rejection.status,
      headers: { 'request-id': request_id },
      body: { type: 'error', error, request_id },
    }
  },
  errorFrame(type = 'overloaded_error', message = 'Overloaded') {
    return { event: 'error', data: JSON.stringify({ type: 'error', error: { type, message } }) }
  },
  noiseFrame(kind) {
    const type = kind === 'ping' ? 'ping' : 'some_future_event'
    return { event: type, data: JSON.stringify({ type }) }
  },
}

function route(method: string, path: string): Route | null {
  if (method !== 'POST') return null
  if (/\/v1\/messages$/.test(path)) return { kind: 'create', params: {} }
  return /\/v1\/messages\/count_tokens$/.test(path) ? { kind: 'count', params: {} } : null
}

function failureOf(status: number): Rejection {
  const [type, message] = FAILURES[status] ?? FAILURES[500]!
  return { rule: 'A-00', status, type, message }
}

function authorise(headers: RequestHeaders, _query: URLSearchParams, apiKey?: string): Rejection | null {
  const bearer = /^Bearer (.+)$/i.exec(headers['authorization'] ?? '')?.[1]
  const key = headers['x-api-key'] ?? bearer
  if (!key) return { ...failureOf(401), message: 'x-api-key header is required' }
  if (apiKey !== undefined && key !== apiKey) return failureOf(401)
  const version = headers['anthropic-version']
  if (!version) return invalid('A-00', 'anthropic-version: header is required')
  return VERSIONS.includes(version)
    ? null
    : invalid('A-00', `anthropic-version: "${version}" is not a valid version`)
}

function unreadable(problem: BodyProblem): Rejection {
  if (problem.kind === 'content-type') {
    return invalid('A-00', `content-type: expected application/json, found '${problem.detail}'`)
  }
  const where = `line 1 column ${problem.at + 1} (char ${problem.at})`
  return invalid('A-26', `The request body is not valid JSON: ${problem.detail}: ${where}`)
}

function check(request: DoubleRequest, memory: AnthropicMemory, mode: Mode): Rejection[] {
  const { headers, rawText } = request
  if (!isRecord(request.body)) return [invalid('A-00', 'Input should be a valid dictionary')]
  const body = withThread(request.body, memory)
  if (rawText.length > MOST_BYTES) return [failureOf(413)]
  // Without a version header there was no HTTP request: the headers of a bare body are not judged.
  const betas =
    headers['anthropic-version'] === undefined ? null : (headers['anthropic-beta'] ?? '').split(/, ?/)
  const said = readMessages(body['messages'], mode)
  return [
    ...checkFields(body, betas, request.route.kind === 'count'),
    ...checkThread(request.body, memory),
    ...checkSystem(body['system']),
    ...checkTools(body),
    ...checkMessages(body['messages'], mode),
    ...checkToolChoice(body),
    ...checkMcp(body, betas),
    ...checkSettings(body),
    ...checkCacheControl(body),
    ...checkHistory(body, said, memory),
    ...checkThinking(body, said, memory, mode),
  ]
}

function checkFields(body: JsonRecord, betas: readonly string[] | null, isCount: boolean): Rejection[] {
  const found: Rejection[] = []
  if (body['model'] === undefined) found.push(invalid('A-00', 'model: Field required'))
  else if (typeof body['model'] !== 'string' || body['model'] === '') {
    found.push(invalid('A-00', 'model: Input should be a valid string'))
  }
  const most = body['max_tokens']
  if (most === undefined && !isCount) found.push(invalid('A-00', 'max_tokens: Field required'))
  else if (most !== undefined && (!Number.isInteger(most) || Number(most) < 0)) {
    found.push(invalid('A-00', 'max_tokens: Input should be greater than or equal to 0'))
  }
  if (body['stream'] !== undefined && typeof body['stream'] !== 'boolean') {
    found.push(invalid('A-00', 'stream: Input should be a valid boolean'))
  }
  for (const key of extraKeys(body, [...FIELDS, 'mcp_servers'])) {
    const beta = BETA_FIELDS[key]
    const isUnlocked = beta !== undefined && (betas === null || betas.some(name => name.startsWith(beta)))
    if (!isUnlocked) found.push(extra(key))
  }
  return found
}

function checkSystem(system: unknown): Rejection[] {
  if (system === undefined || typeof system === 'string') return []
  if (!Array.isArray(system)) return [invalid('A-00', 'system: Input should be a valid list')]
  return recordsOf(system).flatMap((block, at) => {
    if (block['type'] !== 'text') return [invalid('A-00', `system.${at}.type: Input should be 'text'`)]
    return block['text'] === '' ? [invalid('A-12', 'system: text content blocks must be non-empty')] : []
  })
}
