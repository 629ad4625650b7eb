// The route. Nothing here knows how a model is asked.
import { type Context, Hono } from 'hono'
import { errorCodes } from '../../language/errors.ts'
import type { WireEnv, WireHost } from '../host.ts'
import { readJsonObject, sendJson } from '../http/index.ts'
import { answerStream, answerWhole, toldOf } from '../stateless/index.ts'
import { decodeRequest } from './decode.ts'
import { ChunkEncoder, encodeCompletion, type Head } from './encode.ts'
import { errorBody } from './errors.ts'

export function chatRoutes(host: WireHost): Hono<WireEnv> {
  const app = new Hono<WireEnv>()
  app.onError((error, c) => {
    const failure = toldOf(error, host.log)
    // The vendor's clients repeat every 5xx unless they are told that it will not help.
    if (failure.status >= 500)
      c.env.outgoing.setHeader('x-should-retry', String(errorCodes[failure.code].retry))
    return sendJson(c, errorBody(error, failure), failure.status)
  })
  app.post('/v1/chat/completions', c => complete(c, host))
  return app
}

async function complete(c: Context<WireEnv>, host: WireHost): Promise<Response> {
  const { asked, stream, includeUsage } = decodeRequest(await readJsonObject(c, host.limits), host)
  const { world } = host.ephemeral.ports
  const head: Head = {
    id: world.id('chatcmpl').replace('_', '-'),
    created: Math.floor(world.now() / 1000),
    model: asked.target.name,
  }
  if (stream) return answerStream(c, host, asked, new ChunkEncoder(head, includeUsage))
  const answer = await answerWhole(c, host, asked)
  return answer ? sendJson(c, encodeCompletion(head, answer)) : c.body(null)
}
