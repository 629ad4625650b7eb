// The route of Chat Completions.
import { type Context, Hono } from 'hono'
import { randomIds } from '../../lib/text/random.ts'
import type { WireEnv, WireHost } from '../host.ts'
import { readJsonObject } from '../http/index.ts'
import { sendAnswer, streamAnswer } from '../stateless/index.ts'
import { decodeChatRequest } from './decode.ts'
import { ChatStreamEncoder, type CompletionHead, encodeCompletion } from './encode.ts'

export function chatRoutes(host: WireHost): Hono<WireEnv> {
  const app = new Hono<WireEnv>()
  const newId = randomIds()
  app.post('/v1/chat/completions', c => complete(c, host, newId('chatcmpl')))
  return app
}

async function complete(c: Context<WireEnv>, host: WireHost, id: string): Promise<Response> {
  const body = await readJsonObject(c, host.limits)
  const { model, request, stream, includeUsage } = decodeChatRequest(body, host.about)
  const head: CompletionHead = {
    id: id.replace('_', '-'),
    created: Math.floor(Date.now() / 1000),
    model,
  }
  return stream
    ? streamAnswer(c, host, request, new ChatStreamEncoder(head, includeUsage))
    : sendAnswer(c, request, answer => encodeCompletion(head, answer))
}
