/**
 * The sentences that OpenAI's endpoints refuse a request with, as functions of the place and the value.
 * No rule lives here: the rules are in `chat-rules.ts` and `responses-rules.ts`, which share these words
 * because the vendor validates both endpoints with the same machinery.
 */
import { createHash } from 'node:crypto'
import type { BodyProblem, RequestHeaders } from '../double.ts'
import { dataUri, pictureKind } from '../pictures.ts'
import type { Rejection } from '../script.ts'

export type Json = Record<string, unknown>

export function isObject(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** A value for a sentence or a key: text as it is, nothing as nothing, all else as JSON. */
export function textOf(value: unknown): string {
  if (typeof value === 'string') return value
  return absent(value) ? '' : JSON.stringify(value)
}

/** A property that may be absent: `null` and `undefined` both mean that the caller left it out. */
export function absent(value: unknown): value is null | undefined {
  return value === null || value === undefined
}

export function refuse(
  rule: string,
  message: string,
  param: string | null = null,
  code: string | null = null,
  status = 400,
): Rejection {
  return { rule, status, type: 'invalid_request_error', message, param, code }
}

export function missing(rule: string, path: string): Rejection {
  return refuse(rule, `Missing required parameter: '${path}'.`, path, 'missing_required_parameter')
}

export function unknownParameter(rule: string, path: string): Rejection {
  return refuse(rule, `Unknown parameter: '${path}'.`, path, 'unknown_parameter')
}

export function wrongType(rule: string, path: string, expected: string, value: unknown): Rejection {
  const message = `Invalid type for '${path}': expected ${expected}, but got ${kindOf(value)} instead.`
  return refuse(rule, message, path, 'invalid_type')
}

export function unsupportedValue(rule: string, path: string, value: unknown, supported: string[]): Rejection {
  const shown = typeof value === 'string' ? `'${value}'` : JSON.stringify(value)
  return refuse(
    rule,
    `Invalid value: ${shown}. Supported values are: ${listed(supported)}.`,
    path,
    'invalid_value',
  )
}

export function arrayTooLong(rule: string, path: string, limit: number, length: number): Rejection {
  const message = `Invalid '${path}': array too long. Expected an array with maximum length ${limit}, but got an array with length ${length} instead.`
  return refuse(rule, message, path, 'array_above_max_length')
}

export function emptyArray(rule: string, path: string): Rejection {
  const message = `Invalid '${path}': empty array. Expected an array with minimum length 1, but got an empty array instead.`
  return refuse(rule, message, path, 'empty_array')
}

export function belowMinimum(rule: string, path: string, minimum: number, value: number): Rejection {
  const message = `Invalid '${path}': integer below minimum value. Expected a value >= ${minimum}, but got ${value} instead.`
  return refuse(rule, message, path, 'integer_below_min_value')
}

export type StringLimits = { max?: number; pattern?: RegExp; allowEmpty?: boolean }

/** Presence, type, length and pattern of one string; one complaint at most, the vendor's first. */
export function checkString(
  rule: string,
  path: string,
  value: unknown,
  limits: StringLimits = {},
): Rejection[] {
  if (value === undefined) return [missing(rule, path)]
  if (typeof value !== 'string') return [wrongType(rule, path, 'a string', value)]
  if (value === '' && limits.allowEmpty !== true) {
    const message = `Invalid '${path}': empty string. Expected a string with minimum length 1, but got an empty string instead.`
    return [refuse(rule, message, path, 'empty_string')]
  }
  if (limits.max !== undefined && value.length > limits.max) {
    const message = `Invalid '${path}': string too long. Expected a string with maximum length ${limits.max}, but got a string with length ${value.length} instead.`
    return [refuse(rule, message, path, 'string_above_max_length')]
  }
  if (limits.pattern !== undefined && !limits.pattern.test(value)) {
    const message = `Invalid '${path}': string does not match pattern. Expected a string that matches the pattern '${limits.pattern.source}'.`
    return [refuse(rule, message, path, 'invalid_value')]
  }
  return []
}

const PICTURES = ['image/jpeg', 'image/png', 'image/gif', 'image/webp']

/** A picture in a data URI is judged by its bytes; one at an address is fetched by the vendor, and not here. */
export function checkPicture(rule: string, path: string, url: unknown): Rejection[] {
  const data = dataUri(textOf(url))
  if (data === null || PICTURES.includes(pictureKind(data.base64) ?? '')) return []
  const formats = `[${PICTURES.map(type => `'${type}'`).join(', ')}]`
  const message = `The image data you provided does not represent a valid image. Please check your input and try again with one of the supported image formats: ${formats}.`
  return [refuse(rule, message, path, 'invalid_value')]
}

/** `text`, or a grammar in one of two syntaxes. Chat nests the grammar one level deeper than Responses. */
export function checkToolFormat(rule: string, path: string, format: unknown, nested: boolean): Rejection[] {
  if (absent(format)) return []
  if (!isObject(format)) return [wrongType(rule, path, 'an object', format)]
  if (format['type'] === 'text') return []
  if (format['type'] !== 'grammar') {
    return [unsupportedValue(rule, `${path}.type`, format['type'], ['text', 'grammar'])]
  }
  const where = nested ? `${path}.grammar` : path
  const grammar = nested ? format['grammar'] : format
  if (!isObject(grammar)) return [missing(rule, where)]
  if (grammar['syntax'] !== 'lark' && grammar['syntax'] !== 'regex') {
    return [unsupportedValue(rule, `${where}.syntax`, grammar['syntax'], ['lark', 'regex'])]
  }
  return checkString(rule, `${where}.definition`, grammar['definition'])
}

export const TOOL_NAME_PATTERN = /^[a-zA-Z0-9_-]+$/

/** Both endpoints take a bearer key and answer 401 in the same words. */
export function authoriseBearer(headers: RequestHeaders, apiKey?: string): Rejection | null {
  const key = bearerKey(headers)
  if (key === undefined) {
    const message =
      "You didn't provide an API key. You need to provide your API key in an Authorization header using Bearer auth (i.e. Authorization: Bearer YOUR_KEY)."
    return refuse('auth', message, null, null, 401)
  }
  if (apiKey === undefined || key === apiKey) return null
  const shown = key.length <= 8 ? '*'.repeat(key.length) : `${key.slice(0, 4)}****${key.slice(-4)}`
  const message = `Incorrect API key provided: ${shown}. You can find your API key at https://platform.openai.com/account/api-keys.`
  return refuse('auth', message, null, 'invalid_api_key', 401)
}

/** Who pays, as far as a double can tell: a digest of the key. `null` when a request carries none. */
export function organisationOf(headers: RequestHeaders): string | null {
  const key = bearerKey(headers)
  return key === undefined ? null : createHash('sha256').update(key).digest('hex').slice(0, 16)
}

function bearerKey(headers: RequestHeaders): string | undefined {
  return /^Bearer\s+(\S+)$/i.exec(headers['authorization'] ?? '')?.[1]
}

export function unreadableBody(problem: BodyProblem): Rejection {
  if (problem.kind === 'content-type') {
    const message = `Unsupported content type: '${problem.detail}'. This API method only accepts 'application/json' requests, but you specified the header 'Content-Type: ${problem.detail}'. Please try again with a supported content type.`
    return refuse('body', message, null, 'unsupported_content_type')
  }
  const message =
    "We could not parse the JSON body of your request. (HINT: This likely means you aren't using your HTTP library correctly. The OpenAI API expects a JSON payload, but what was sent was not valid JSON.)"
  return refuse('body', message)
}

const FAILURES: Record<number, [type: string, code: string | null, message: string]> = {
  429: [
    'requests',
    'rate_limit_exceeded',
    'Rate limit reached for this model on requests per min (RPM): Limit 500, Used 500, Requested 1.',
  ],
  500: ['server_error', null, 'The server had an error while processing your request. Sorry about that!'],
  503: ['server_error', null, 'The engine is currently overloaded, please try again later.'],
}

/** The vendor's own failures. It has no 529: an overload is answered 503. */
export function failureOf(status: number): Rejection {
  const real = status === 529 ? 503 : status
  if (real === 404) {
    return refuse('route', 'Invalid URL. Check the method and the path of the request.', null, null, 404)
  }
  const [type, code, message] = FAILURES[real] ?? FAILURES[500]!
  return { rule: 'failure', status: real, type, message, param: null, code }
}

/** The error envelope of every OpenAI endpoint; all four keys are always there. */
export function rejectionBody(rejection: Rejection): {
  status: number
  headers: Record<string, string>
  body: Json
} {
  const { status, message, type, param = null, code = null } = rejection
  return { status, headers: {}, body: { error: { message, type, param, code } } }
}

function kindOf(value: unknown): string {
  if (value === null) return 'null'
  if (value === undefined) return 'nothing'
  if (Array.isArray(value)) return 'an array'
  if (typeof value === 'number') return Number.isInteger(value) ? 'an integer' : 'a decimal'
  if (typeof value === 'object') return 'an object'
  return `a ${typeof value}`
}

function listed(values: string[]): string {
  const quoted = values.map(value => `'${value}'`)
  if (quoted.length < 3) return quoted.join(' and ')
  return `${quoted.slice(0, -1).join(', ')}, and ${quoted.at(-1)}`
}
