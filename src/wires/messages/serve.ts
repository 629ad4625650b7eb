// The routes of Anthropic Messages.
import { type Context, Hono } from 'hono'
import { randomIds } from '../../lib/text/random.ts'
import type { WireEnv, WireHost } from '../host.ts'
import { readJsonObject, sendJson } from '../http/index.ts'
import { estimateTokens, sendAnswer, streamAnswer } from '../stateless/index.ts'
import { decodeMessagesRequest } from './decode.ts'
import { encodeMessage, type MessageHead } from './encode.ts'
import { MessageStreamEncoder } from './encode-stream.ts'
import { mountAnthropicModels } from './models.ts'

export const requestIdHeader = 'request-id'

export function messagesRoutes(host: WireHost): Hono<WireEnv> {
  const app = new Hono<WireEnv>()
  const newId = randomIds()
  const setRequestId = (c: Context<WireEnv>): void =>
    void c.env.outgoing.setHeader(requestIdHeader, newId('req'))
  app.post('/v1/messages', c => {
    setRequestId(c)
    return createMessage(c, host, newId('msg'))
  })
  app.post('/v1/messages/count_tokens', async c => {
    setRequestId(c)
    const body = await readJsonObject(c, host.limits)
    const { request, target } = decodeMessagesRequest(body, host.about, [], true)
    return sendJson(c, { input_tokens: estimateTokens(request, target.agent.system) })
  })
  mountAnthropicModels(app, host)
  return app
}

async function createMessage(c: Context<WireEnv>, host: WireHost, id: string): Promise<Response> {
  const betas = (c.req.header('anthropic-beta') ?? '').split(/[\s,]+/).filter(name => name !== '')
  const body = await readJsonObject(c, host.limits)
  const { target, request, stream, signs, ...more } = decodeMessagesRequest(body, host.about, betas)
  const head: MessageHead = { id, model: target.name, ...more }
  return stream
    ? streamAnswer(c, host, request, new MessageStreamEncoder(head, signs))
    : sendAnswer(c, request, answer => encodeMessage(head, answer))
}
