// The routes. Nothing here knows how a model is asked.
import { type Context, Hono } from 'hono'
import { errorCodes } from '../../language/errors.ts'
import type { WireEnv, WireHost } from '../host.ts'
import { readJsonObject, sendJson } from '../http/index.ts'
import { answerStream, answerWhole, toldOf } from '../stateless/index.ts'
import { estimateTokens } from './count.ts'
import { decodeRequest, type MessagesRequest } from './decode.ts'
import { encodeMessage, type Head } from './encode.ts'
import { errorBody } from './refuse.ts'
import { EventEncoder } from './stream.ts'

export function messagesRoutes(host: WireHost): Hono<WireEnv> {
  const app = new Hono<WireEnv>()
  const { world } = host.ephemeral.ports
  app.onError((error, c) => {
    const failure = toldOf(error, host.log)
    const requestId = world.id('req')
    c.env.outgoing.setHeader('request-id', requestId)
    // The vendor's clients repeat every 5xx unless they are told that it will not help.
    if (failure.status >= 500)
      c.env.outgoing.setHeader('x-should-retry', String(errorCodes[failure.code].retry))
    return sendJson(c, errorBody(error, failure, requestId), failure.status)
  })
  app.post('/v1/messages', c => create(c, host))
  app.post('/v1/messages/count_tokens', async c => {
    const { asked } = await read(c, host, true)
    return sendJson(c, { input_tokens: estimateTokens(asked) })
  })
  return app
}

async function read(c: Context<WireEnv>, host: WireHost, isCount: boolean): Promise<MessagesRequest> {
  const betas = (c.req.header('anthropic-beta') ?? '').split(',').map(name => name.trim())
  const body = await readJsonObject(c, host.limits)
  return decodeRequest(
    body,
    host,
    betas.filter(name => name !== ''),
    isCount,
  )
}

async function create(c: Context<WireEnv>, host: WireHost): Promise<Response> {
  const { asked, stream, signs } = await read(c, host, false)
  const { world } = host.ephemeral.ports
  const head: Head = { id: world.id('msg'), model: asked.target.name }
  c.env.outgoing.setHeader('request-id', world.id('req'))
  if (stream) return answerStream(c, host, asked, new EventEncoder(head, signs))
  const answer = await answerWhole(c, host, asked)
  return answer ? sendJson(c, encodeMessage(head, answer)) : c.body(null)
}
