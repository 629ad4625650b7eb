// The routes. A model's name and what is asked of it share one segment of the path, parted by a colon.
import { type Context, Hono, type MiddlewareHandler } from 'hono'
import { TurnwireError } from '../../language/errors.ts'
import type { WireEnv, WireHost } from '../host.ts'
import { readJsonObject, sendJson } from '../http/index.ts'
import { answerStream, answerWhole, findTarget, targetNames, toldOf } from '../stateless/index.ts'
import { decodeRequest } from './decode.ts'
import { encodeResponse, type Head, PartialEncoder } from './encode.ts'
import { errorBody, ModelNotFound } from './refuse.ts'

const methods = ['generateContent', 'streamGenerateContent']

export function geminiRoutes(host: WireHost): Hono<WireEnv> {
  const app = new Hono<WireEnv>()
  app.onError((error, c) => {
    const failure = toldOf(error, host.log)
    return sendJson(c, errorBody(failure), failure.status)
  })
  app.get('/v1beta/models', c => sendJson(c, { models: targetNames(host).map(name => describe(host, name)) }))
  app.get('/v1beta/models/:name', c => {
    const name = c.req.param('name')
    if (!findTarget(host, name)) throw new ModelNotFound(name, 'generateContent')
    return sendJson(c, describe(host, name))
  })
  app.post('/v1beta/models/:call', c => generate(c, host))
  return app
}

/** Stands before the check of the key: addresses end up in logs, so that no key is taken from one. */
export const refuseQueryKeys: MiddlewareHandler = async (c, next) => {
  if (c.req.query('key') === undefined) return next()
  const message =
    'A key in the address ends up in logs and is not taken. Send it in the header x-goog-api-key, and change it if it is in use.'
  return sendJson(c, errorBody({ code: 'bad_request', message, status: 400 }), 400)
}

function describe({ agents }: WireHost, name: string): object {
  const agent = agents.find(each => each.name === name)
  return {
    name: `models/${name}`,
    version: agent?.version ?? '1',
    displayName: agent?.title ?? name,
    description: agent?.description ?? '',
    supportedGenerationMethods: methods,
  }
}

async function generate(c: Context<WireEnv>, host: WireHost): Promise<Response> {
  const call = c.req.param('call') ?? ''
  const at = call.lastIndexOf(':')
  const [name, method] = at < 0 ? [call, ''] : [call.slice(0, at), call.slice(at + 1)]
  if (!methods.includes(method))
    throw new TurnwireError(
      'not_found',
      `There is no method "${method.slice(0, 100)}" here. There are: ${methods.join(', ')}.`,
    )
  const target = findTarget(host, name)
  if (!target) throw new ModelNotFound(name, method)
  const { asked, includeThoughts } = decodeRequest(await readJsonObject(c, host.limits), target)
  const responseId = host.ephemeral.ports.world.id('resp')
  const head: Head = { responseId, modelVersion: name, includeThoughts }
  const streams = method === 'streamGenerateContent'
  if (streams && c.req.query('alt') === 'sse') return answerStream(c, host, asked, new PartialEncoder(head))
  const answer = await answerWhole(c, host, asked)
  if (!answer) return c.body(null)
  const response = encodeResponse(head, answer)
  // Asked to stream without `alt=sse`, the vendor gives its chunks as one list.
  return sendJson(c, streams ? [response] : response)
}
