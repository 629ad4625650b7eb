// The routes of Anthropic Messages, and the list of agents and models. The other vendors' clients ask for theirs at the same
// address, and are passed over.
import { type Context, Hono } from 'hono'
import { excerpt } from '../../lib/json/fields.ts'
import { randomIds } from '../../lib/text/random.ts'
import type { WireEnv, WireHost } from '../host.ts'
import { readJsonObject, sendJson } from '../http/index.ts'
import {
  estimateTokens,
  findTarget,
  type ModelTarget,
  sendAnswer,
  streamAnswer,
  targetNames,
} from '../stateless/index.ts'
import type { WireRequest } from '../wire.ts'
import { decodeMessagesRequest } from './decode.ts'
import { encodeMessage, type MessageHead, MessageStreamEncoder } from './encode.ts'
import { messagesNotFound } from './wordings.ts'

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

// ---- the list of models ------------------------------------------------------------------------------------

export function isAnthropicClient(request: WireRequest): boolean {
  return request.header('anthropic-version') !== undefined
}

function mountAnthropicModels(app: Hono<WireEnv>, { about }: WireHost): void {
  const names = targetNames(about)
  const since = new Date().toISOString()
  const describe = (id: string, target = findTarget(about, id)): object => ({
    type: 'model',
    id,
    display_name: modelTitle(id, target),
    created_at: since,
    max_input_tokens: target?.model.contextTokens ?? null,
    max_tokens: null,
    capabilities: null,
  })
  app.get('/v1/models', async (c, next) => {
    if (!isAnthropicClient(c.req)) return next()
    const { data, has_more } = anthropicPage(names, c.req.query())
    const [first_id, last_id] = [data[0] ?? null, data.at(-1) ?? null]
    return sendJson(c, { data: data.map(id => describe(id)), has_more, first_id, last_id })
  })
  app.get('/v1/models/:name{.+}', async (c, next) => {
    if (!isAnthropicClient(c.req)) return next()
    const id = c.req.param('name')
    const target = findTarget(about, id)
    if (!target) throw messagesNotFound(`model: ${excerpt(id)}`)
    return sendJson(c, describe(id, target))
  })
}

function modelTitle(id: string, target: ModelTarget | undefined): string {
  return (target?.agent.name === id && target.agent.title) || id
}

/** A page after or before a model. One that is not in the list counts as the beginning or the end of it. */
function anthropicPage(
  names: readonly string[],
  { limit = '20', after_id, before_id }: Record<string, string>,
): { data: readonly string[]; has_more: boolean } {
  const most = /^[1-9]\d{0,3}$/.test(limit) ? Math.min(Number(limit), 1000) : 20
  if (before_id !== undefined) {
    const end = names.includes(before_id) ? names.indexOf(before_id) : names.length
    return { data: names.slice(Math.max(0, end - most), end), has_more: end > most }
  }
  const start = after_id === undefined ? 0 : names.indexOf(after_id) + 1
  return { data: names.slice(start, start + most), has_more: start + most < names.length }
}
