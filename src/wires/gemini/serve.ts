// The routes of generateContent, under both versions of the API. The end of the path is a model's name and a method, with a
// colon between them. Clients of other vendors ask for their list of models under /v1 too: those are passed over.
import { type Context, Hono } from 'hono'
import type { JsonObject } from '../../lib/json/index.ts'
import { randomIds } from '../../lib/text/random.ts'
import type { WireEnv, WireHost } from '../host.ts'
import { readJsonObject, sendJson } from '../http/index.ts'
import {
  adviceFor,
  estimateTokens,
  findTarget,
  type ModelTarget,
  sendAnswer,
  streamAnswer,
  targetFor,
  targetNames,
} from '../stateless/index.ts'
import type { WireRequest } from '../wire.ts'
import { decodeGeminiRequest } from './decode.ts'
import { encodeGeminiResponse, type GeminiHead, GeminiStreamEncoder } from './encode.ts'
import { geminiErrorBody, geminiNotFound, geminiRefusal, geminiTexts, members, object } from './wordings.ts'

const methods = ['generateContent', 'streamGenerateContent', 'countTokens']

export function geminiRoutes(host: WireHost): Hono<WireEnv> {
  const app = new Hono<WireEnv>()
  const newId = randomIds()
  for (const version of ['v1', 'v1beta']) {
    const isOwn = (c: Context<WireEnv>): boolean => version === 'v1beta' || isGeminiRequest(c.req)
    app.get(`/${version}/models`, async (c, next) => (isOwn(c) ? listModels(c, host) : next()))
    app.get(`/${version}/models/:name{.+}`, async (c, next) => {
      if (!isOwn(c)) return next()
      const name = c.req.param('name')
      if (!findTarget(host.about, name)) throw noSuchModel(host, version, name, 'generateContent')
      return sendJson(c, describeModel(host, name))
    })
    app.post(`/${version}/models/:call{.+}`, c => generate(c, host, version, newId('resp')))
  }
  return app
}

/** Where clients of several vendors come: no other vendor has anything to post to a model. */
export function isGeminiRequest(request: WireRequest): boolean {
  if (request.method === 'POST' && request.path.startsWith('/v1/models/')) return true
  return ['x-goog-api-key', 'x-goog-api-client'].some(name => request.header(name) !== undefined)
}

function noSuchModel({ about }: WireHost, version: string, name: string, method: string): Error {
  return geminiNotFound(geminiTexts.noSuchModel(version, name, method, adviceFor(about)))
}

const usualPage = 50
const largestPage = 1000

/** A page of it. A token is the name of the last model of the page before. */
function listModels(c: Context<WireEnv>, host: WireHost): Response {
  const names = targetNames(host.about)
  const { pageSize = '', pageToken } = c.req.query()
  const most = /^[1-9]\d*$/.test(pageSize) ? Math.min(Number(pageSize), largestPage) : usualPage
  const start = pageToken === undefined ? 0 : names.indexOf(pageToken) + 1
  if (start === 0 && pageToken !== undefined) throw geminiRefusal(geminiTexts.pageToken)
  const page = names.slice(start, start + most)
  const last = page.at(-1)
  const hasMore = last !== undefined && start + most < names.length
  return sendJson(c, {
    models: page.map(name => describeModel(host, name)),
    ...(hasMore && { nextPageToken: last }),
  })
}

/** Addresses end up in logs, so no key is taken from one. */
export function refuseQueryKeys(): Hono<WireEnv> {
  const app = new Hono<WireEnv>()
  for (const path of ['/v1/models/*', '/v1beta/*'])
    app.use(path, async (c, next) => {
      if (c.req.query('key') === undefined) return next()
      return sendJson(c, geminiErrorBody({ code: 'bad_request', message: geminiTexts.keyInAddress }), 400)
    })
  return app
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

async function generate(
  c: Context<WireEnv>,
  host: WireHost,
  version: string,
  responseId: string,
): Promise<Response> {
  const call = c.req.param('call') ?? ''
  const [, name = call, method = ''] = /^(.*):(.*)$/s.exec(call) ?? []
  if (!methods.includes(method)) throw geminiNotFound(geminiTexts.noSuchMethod(method, methods))
  const target = targetFor(host.about, name)
  if (!target) throw noSuchModel(host, version, name, method)
  const body = await readJsonObject(c, host.limits)
  if (method === 'countTokens') return sendJson(c, countTokens(body, target))
  const { request, includeThoughts } = decodeGeminiRequest(body, target)
  const head: GeminiHead = { responseId, modelVersion: name, includeThoughts }
  if (method === 'generateContent')
    return sendAnswer(c, request, answer => encodeGeminiResponse(head, answer))
  if (c.req.query('alt') === 'sse') return streamAnswer(c, host, request, new GeminiStreamEncoder(head))
  // Without `alt=sse` the vendor gives its chunks as one list.
  return sendAnswer(c, request, answer => [encodeGeminiResponse(head, answer)])
}

/** The contents alone, or a whole request in a field of its own. */
function countTokens(body: JsonObject, target: ModelTarget): object {
  const { generateContentRequest = body } = members(body, '')
  const { request } = decodeGeminiRequest(object(generateContentRequest, 'generate_content_request'), target)
  return { totalTokens: estimateTokens(request, target.agent.system) }
}
