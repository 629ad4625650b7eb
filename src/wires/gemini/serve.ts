// The routes of generateContent. One segment of the path has a model's name and a method, with a colon between them.
import { type Context, Hono, type MiddlewareHandler } from 'hono'
import type { JsonObject } from '../../lib/json.ts'
import { randomIds } from '../../lib/random.ts'
import type { WireEnv, WireHost } from '../host.ts'
import { readJsonObject, sendJson } from '../http/index.ts'
import {
  estimateTokens,
  findTarget,
  handleErrors,
  type ModelTarget,
  sendAnswer,
  streamAnswer,
  targetNames,
} from '../stateless/index.ts'
import { decodeGeminiRequest } from './decode.ts'
import { encodeGeminiResponse, type GeminiHead, GeminiStreamEncoder } from './encode.ts'
import { geminiErrorBody, geminiNotFound, geminiTexts, members, object } from './wordings.ts'

const methods = ['generateContent', 'streamGenerateContent', 'countTokens']

export function geminiRoutes(host: WireHost): Hono<WireEnv> {
  const app = new Hono<WireEnv>()
  const newId = randomIds()
  app.onError(handleErrors(host, geminiErrorBody))
  app.get('/v1beta/models', c => {
    const models = targetNames(host.about).map(name => describeModel(host, name))
    return sendJson(c, { models })
  })
  app.get('/v1beta/models/:name', c => {
    const name = c.req.param('name')
    if (!findTarget(host.about, name)) throw geminiNotFound(geminiTexts.noSuchModel(name, 'generateContent'))
    return sendJson(c, describeModel(host, name))
  })
  app.post('/v1beta/models/:call', c => generate(c, host, newId('resp')))
  return app
}

/** Comes before the check of keys. Addresses end up in logs, so no key is taken from one. */
export const refuseQueryKeys: MiddlewareHandler = async (c, next) => {
  if (c.req.query('key') === undefined) return next()
  return sendJson(c, geminiErrorBody({ code: 'bad_request', message: geminiTexts.keyInAddress }), 400)
}

function describeModel({ about }: WireHost, name: string): object {
  const agent = about.agents.find(each => each.name === name)
  return {
    name: `models/${name}`,
    version: agent?.version ?? '1',
    displayName: agent?.title ?? name,
    description: agent?.description ?? '',
    supportedGenerationMethods: methods,
  }
}

async function generate(c: Context<WireEnv>, host: WireHost, responseId: string): Promise<Response> {
  const call = c.req.param('call') ?? ''
  const [, name = call, method = ''] = /^(.*):(.*)$/s.exec(call) ?? []
  if (!methods.includes(method)) throw geminiNotFound(geminiTexts.noSuchMethod(method, methods))
  const target = findTarget(host.about, name)
  if (!target) throw geminiNotFound(geminiTexts.noSuchModel(name, method))
  const body = await readJsonObject(c, host.limits)
  if (method === 'countTokens') return sendJson(c, countTokens(body, target))
  const { request, includeThoughts } = decodeGeminiRequest(body, target)
  const head: GeminiHead = { responseId, modelVersion: name, includeThoughts }
  if (method === 'generateContent')
    return sendAnswer(c, host, request, answer => encodeGeminiResponse(head, answer))
  if (c.req.query('alt') === 'sse') return streamAnswer(c, host, request, new GeminiStreamEncoder(head))
  // Without `alt=sse` the vendor gives its chunks as one list.
  return sendAnswer(c, host, request, answer => [encodeGeminiResponse(head, answer)])
}

/** The contents alone, or a whole request in a field of its own. */
function countTokens(body: JsonObject, target: ModelTarget): object {
  const { generateContentRequest = body } = members(body, '')
  const { request } = decodeGeminiRequest(object(generateContentRequest, 'generate_content_request'), target)
  return { totalTokens: estimateTokens(request, target.agent.system) }
}
