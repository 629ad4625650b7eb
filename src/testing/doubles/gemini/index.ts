/**
 * A strict double of Gemini `generateContent`, on the paths of the Gemini API and of Vertex: routes, keys,
 * envelope, and the order in which rules are checked. The rules are in the `gemini-*` files beside it.
 */
import type { BodyProblem, DoubleRequest, RequestHeaders, Route, VendorDouble } from '../double.ts'
import type { Mode, Rejection } from '../script.ts'
import { isRecord, type JsonRecord, recordsOf } from '../shape.ts'
import { respondGemini } from './answer.ts'
import { checkContents, type GeminiMemory, newGeminiMemory } from './history.ts'
import { checkGeminiTools, field, invalid, unknownFields } from './tools.ts'

const FIELDS = [
  'contents',
  'systemInstruction',
  'tools',
  'toolConfig',
  'generationConfig',
  'safetySettings',
  'cachedContent',
  'store',
  'model',
  'labels',
  'serviceTier',
]
const GENERATION_FIELDS = [
  'audioTimestamp',
  'audioTranscriptionConfig',
  'candidateCount',
  'enableAffectiveDialog',
  'enableEnhancedCivicAnswers',
  'frequencyPenalty',
  'imageConfig',
  'logprobs',
  'maxOutputTokens',
  'mediaResolution',
  'modelSelectionConfig',
  'presencePenalty',
  'responseFormat',
  'responseJsonSchema',
  'responseLogprobs',
  'responseMimeType',
  'responseModalities',
  'responseSchema',
  'routingConfig',
  'seed',
  'speechConfig',
  'stopSequences',
  'temperature',
  'thinkingConfig',
  'topK',
  'topP',
  'translationConfig',
]
const PATH =
  /^\/(?:v\d\w*)\/(projects\/[^/]+\/locations\/[^/]+\/publishers\/google\/)?(?:models|tunedModels)\/([^/:]+):(generateContent|streamGenerateContent|countTokens)$/

const STATUS: Readonly<Record<number, [status: string, message: string]>> = {
  400: ['INVALID_ARGUMENT', 'Request contains an invalid argument.'],
  401: ['UNAUTHENTICATED', 'Request had invalid authentication credentials.'],
  403: [
    'PERMISSION_DENIED',
    "Method doesn't allow unregistered callers (callers without established identity). Please use API Key or other form of API consumer identity to call this API.",
  ],
  404: ['NOT_FOUND', 'Requested entity was not found.'],
  422: ['FAILED_PRECONDITION', 'Unprocessable.'],
  429: ['RESOURCE_EXHAUSTED', 'You exceeded your current quota, please check your plan and billing details.'],
  500: ['INTERNAL', 'An internal error has occurred.'],
  503: ['UNAVAILABLE', 'The model is overloaded. Please try again later.'],
  504: ['DEADLINE_EXCEEDED', 'The request timed out. Please try again.'],
}

/** Gemini has no 529: an overloaded model answers 503. */
export function geminiFailure(status: number): Rejection {
  const code = status === 529 ? 503 : status
  const [type, message] = STATUS[code] ?? STATUS[500]!
  return { rule: 'G-00', status: code, type, message }
}

export function authoriseGoogle(
  headers: RequestHeaders,
  query: URLSearchParams,
  apiKey?: string,
): Rejection | null {
  const bearer = /^Bearer (.+)$/i.exec(headers['authorization'] ?? '')?.[1]
  const key = headers['x-goog-api-key'] ?? query.get('key') ?? bearer
  if (!key) return geminiFailure(403)
  return apiKey !== undefined && key !== apiKey
    ? { ...geminiFailure(400), message: 'API key not valid. Please pass a valid API key.' }
    : null
}

export const geminiDouble: VendorDouble<GeminiMemory> = {
  name: 'gemini',
  memory: newGeminiMemory,
  route,
  authorise: authoriseGoogle,
  unreadable,
  check,
  direct: request =>
    request.route.kind === 'countTokens'
      ? { status: 200, body: { totalTokens: Math.ceil(request.rawText.length / 4) } }
      : null,
  streams: request => request.route.streaming === true && request.query.get('alt') === 'sse',
  respond: respondGemini,
  failure: geminiFailure,
  rejectionBody({ status, type, message }) {
    return { status, headers: {}, body: { error: { code: status, message, status: type } } }
  },
  errorFrame(type = 'UNAVAILABLE', message = 'The model is overloaded. Please try again later.') {
    return { data: JSON.stringify({ error: { code: 503, message, status: type } }) }
  },
  noiseFrame: kind =>
    // The stream has neither named events nor pings; a chunk with a field of the future is what it can have.
    kind === 'unknown' ? { data: JSON.stringify({ someFutureField: {} }) } : null,
}

function route(method: string, path: string): Route | null {
  const match = PATH.exec(path)
  if (method !== 'POST' || match === null) return null
  const [, vertex, model, verb] = match
  return {
    kind: verb === 'countTokens' ? 'countTokens' : 'create',
    params: { model: decodeURIComponent(model ?? ''), platform: vertex === undefined ? 'gemini' : 'vertex' },
    streaming: verb === 'streamGenerateContent',
  }
}

function unreadable(problem: BodyProblem): Rejection | null {
  if (problem.kind === 'content-type') {
    return invalid('G-00', `Invalid content type: expected application/json, found '${problem.detail}'`)
  }
  return invalid('G-00', `Invalid JSON payload received. ${problem.detail} (char ${problem.at})`)
}

function check(request: DoubleRequest, memory: GeminiMemory, mode: Mode): Rejection[] {
  const { body, route: where } = request
  if (!isRecord(body)) return [invalid('G-00', 'Invalid JSON payload received. Expected an object.')]
  const context = { model: where.params['model'] ?? '', isVertex: where.params['platform'] === 'vertex' }
  if (where.kind === 'countTokens') return []
  return [
    ...unknownFields(body, FIELDS, ''),
    ...checkGeminiTools(body, mode),
    ...checkSystem(body),
    ...checkGeneration(field(body, 'generationConfig')),
    ...checkContents(body, memory, mode, context),
  ]
}

function checkSystem(body: JsonRecord): Rejection[] {
  const system = field(body, 'systemInstruction')
  if (system === undefined) return []
  const parts = isRecord(system) ? recordsOf(system['parts']) : []
  return parts.length > 0 && parts.every(part => typeof part['text'] === 'string')
    ? []
    : [invalid('G-14', 'system_instruction: only text parts are supported.')]
}

function checkGeneration(config: unknown): Rejection[] {
  if (config === undefined) return []
  return isRecord(config)
    ? unknownFields(config, GENERATION_FIELDS, 'generation_config')
    : [invalid('G-00', "Invalid value at 'generation_config'")]
}
