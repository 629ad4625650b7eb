// The double of Gemini `generateContent`, on the paths of the Gemini API and of Vertex: routes and the error envelope.
// `request.ts` has the rules, `answer.ts` the answers.
import type { VendorDouble } from '../double.ts'
import { authoriseGoogle, googleFailure } from '../google/common.ts'
import { jsonFrame } from '../script.ts'
import { tokensIn } from '../shape.ts'
import { answerGemini } from './answer.ts'
import { type GeminiMemory, newGeminiMemory } from './history.ts'
import { refuse } from './refusals.ts'
import { checkGemini } from './request.ts'

const PATH =
  /^\/(?:v\d\w*)\/(projects\/[^/]+\/locations\/[^/]+\/publishers\/google\/)?(?:models|tunedModels)\/([^/:]+):(generateContent|streamGenerateContent|countTokens)$/

export const geminiDouble: VendorDouble<GeminiMemory> = {
  name: 'gemini',
  memory: newGeminiMemory,
  route(method, path) {
    const match = PATH.exec(path)
    if (method !== 'POST' || match === null) return null
    const [, vertex, model = '', verb] = match
    const platform = vertex === undefined ? 'gemini' : 'vertex'
    return {
      kind: verb === 'countTokens' ? 'countTokens' : 'create',
      params: { model: decodeURIComponent(model), platform },
      streaming: verb === 'streamGenerateContent',
    }
  },
  authorise: authoriseGoogle,
  unreadable: ({ kind, detail, at }) =>
    kind === 'content-type'
      ? refuse('G-00', `Invalid content type: expected application/json, found '${detail}'`)
      : refuse('G-00', `Invalid JSON payload received. ${detail} (char ${at})`),
  check: (request, memory, mode) => [...checkGemini(request, memory, mode)],
  direct: ({ route, rawText }) =>
    route.kind === 'countTokens' ? { body: { totalTokens: tokensIn(rawText) } } : null,
  streams: ({ route, query }) => route.streaming === true && query.get('alt') === 'sse',
  respond: answerGemini,
  failure: googleFailure,
  rejectionBody: ({ status, type, message }) => ({
    status,
    body: { error: { code: status, message, status: type } },
  }),
  errorFrame: (status = 'UNAVAILABLE', message = 'The model is overloaded. Please try again later.') =>
    jsonFrame(undefined, { error: { code: 503, message, status } }),
  // The stream has neither named events nor pings, but a chunk can have a field of the future.
  noiseFrame: kind => (kind === 'unknown' ? jsonFrame(undefined, { someFutureField: {} }) : null),
}
