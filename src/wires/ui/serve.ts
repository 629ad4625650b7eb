// The routes. A chat is a session: its first message makes it, later messages continue it, and a page that comes back
// resumes the turn that runs. A client that closes its request early ends the turn, because that is all that the stop
// button does; a client that resumes its chats only ends its stream.
import { type Context, Hono } from 'hono'
import { agentNamed, type WireEnv, type WireHost } from '../host.ts'
import { readJsonObject, sendJson } from '../http/index.ts'
import { clientGone, streamItems } from '../http/stream.ts'
import type { Asking, Chats, OpenMessage } from './chats.ts'
import { decodeChatRequest, decodeMessageRequest, uiWire } from './decode.ts'
import { messageFrames } from './encode.ts'

export function uiRoutes(host: WireHost, chats: Chats): Hono<WireEnv> {
  const app = new Hono<WireEnv>()
  const handlers = new UiHandlers(host, chats)
  app.post('/ui/:agent', c => handlers.chat(c))
  app.get('/ui/:agent/:id/stream', c => handlers.resume(c))
  app.post('/ui/:agent/:id/messages', c => handlers.say(c))
  app.get('/ui/:agent/:id/messages', c => handlers.messages(c))
  app.delete('/ui/:agent/:id/messages/:message', c => handlers.withdraw(c))
  return app
}

class UiHandlers {
  readonly #host: WireHost
  readonly #chats: Chats

  constructor(host: WireHost, chats: Chats) {
    this.#host = host
    this.#chats = chats
  }

  async chat(c: Context<WireEnv>): Promise<Response> {
    const request = decodeChatRequest(await readJsonObject(c, this.#host.limits))
    return this.#stream(c, await this.#chats.open(askingIn(c), request, clientGone(c)))
  }

  /** Shows the running turn again from its first step. */
  async resume(c: Context<WireEnv>): Promise<Response> {
    const running = await this.#chats.resume(askingIn(c), c.req.param('id') ?? '')
    return running ? this.#stream(c, running) : c.body(null, 204)
  }

  /** Ours: says something while the answer to another message is streamed. */
  async say(c: Context<WireEnv>): Promise<Response> {
    const id = c.req.param('id') ?? ''
    const agent = agentNamed(this.#host, c.req.param('agent') ?? '')
    const body = await readJsonObject(c, this.#host.limits)
    const ref = await this.#chats.find(askingIn(c), id)
    const { parts, during, request } = decodeMessageRequest(body, id, agent)
    const say = { do: 'say', wire: uiWire, parts, during, request } as const
    const { message } = await c.get('engine').command(ref, say)
    const { id: messageId, state } = message ?? { id: undefined, state: 'delivered' as const }
    return sendJson(c, { ...(messageId !== undefined && { messageId }), state }, 202)
  }

  async messages(c: Context<WireEnv>): Promise<Response> {
    const ref = await this.#chats.find(askingIn(c), c.req.param('id') ?? '')
    const { messages = [] } = await c.get('engine').summary(ref)
    const waiting = messages.map(({ id, during, parts, at }) => ({ messageId: id, during, parts, at }))
    return sendJson(c, { messages: waiting })
  }

  async withdraw(c: Context<WireEnv>): Promise<Response> {
    const ref = await this.#chats.find(askingIn(c), c.req.param('id') ?? '')
    const message = c.req.param('message') ?? ''
    await c.get('engine').command(ref, { do: 'withdraw', message, by: c.get('principal').name })
    return c.body(null, 204)
  }

  #stream(c: Context<WireEnv>, { ref, message, items }: OpenMessage): Response | Promise<Response> {
    c.env.outgoing.setHeader('X-Vercel-AI-UI-Message-Stream', 'v1')
    c.env.outgoing.setHeader('X-Session-Id', ref.session)
    return streamItems(c, this.#host, items, messageFrames(message))
  }
}

function askingIn(c: Context<WireEnv>): Asking {
  return { engine: c.get('engine'), principal: c.get('principal'), agent: c.req.param('agent') ?? '' }
}
