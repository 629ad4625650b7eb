// The routes of the Responses API, and the list of models that its clients ask for.
import { type Context, Hono } from 'hono'
import type { JsonObject } from '../../lib/json.ts'
import type { WireEnv, WireHost } from '../host.ts'
import { readJsonObject, sendJson } from '../http/index.ts'
import { decodeRequest } from './decode.ts'
import { buildHistory } from './decode-history.ts'
import { decodeItems } from './decode-items.ts'
import { listInputItems, type Page } from './input-items.ts'
import { itemContext, resolveReferences } from './references.ts'
import { errorOf, noSuchModel, Refusal, refuse, shown, unsupportedValue } from './refuse.ts'
import { serveStateless } from './stateless.ts'
import { serveStored } from './stored.ts'
import { deleteResponse, findResponse, type StoredResponse } from './stored-log.ts'
import { jsonOf, streamStored } from './stored-serve.ts'

export function responsesRoutes(host: WireHost): Hono<WireEnv> {
  const app = new Hono<WireEnv>()
  app.onError((error, c) => {
    const { status, body } = errorOf(error, host.log)
    return sendJson(c, body, status)
  })
  app.post('/v1/responses', c => create(c, host, undefined))
  app.post('/v1/responses/:agentId', c => create(c, host, c.req.param('agentId')))
  app.get('/v1/responses/:id', c => retrieve(c, host))
  app.delete('/v1/responses/:id', async c => {
    const response = await found(c, host)
    await deleteResponse(host, c.get('principal').owner, response)
    return sendJson(c, { id: response.id, object: 'response', deleted: true })
  })
  app.post('/v1/responses/:id/cancel', c => cancel(c, host))
  app.get('/v1/responses/:id/input_items', async c =>
    sendJson(c, listInputItems(await found(c, host), pageOf(c))),
  )
  mountModels(app, host)
  app.all('/v1/responses/*', c => {
    const message = `Invalid URL (${c.req.method} ${shown(c.req.path)})`
    throw new Refusal(message, null, 'unknown_url', 'not_found')
  })
  return app
}

async function create(c: Context<WireEnv>, host: WireHost, routed: string | undefined): Promise<Response> {
  const body = await readJsonObject(c, host.limits)
  const asked = decodeRequest(host, body, routed)
  if (asked.stored) return serveStored(c, host, asked, body)
  const { owner } = c.get('principal')
  const input = await resolveReferences(host, owner, asked.input ?? [])
  const items = decodeItems(input, itemContext(host, owner, asked))
  return serveStateless(c, host, asked, buildHistory(items, asked.agent).entries)
}

function found(c: Context<WireEnv>, host: WireHost): Promise<StoredResponse> {
  return findResponse(host, c.get('principal').owner, c.req.param('id') ?? '')
}

async function retrieve(c: Context<WireEnv>, host: WireHost): Promise<Response> {
  const response = await found(c, host)
  const stream = c.req.query('stream')
  const after = startingAfter(c.req.query('starting_after'))
  if (stream === 'true') return streamStored(c, host, c.get('principal').owner, response, after)
  if (stream !== undefined && stream !== 'false') unsupportedValue('stream', stream, ['true', 'false'])
  return sendJson(c, jsonOf(host, response))
}

function startingAfter(value: string | undefined): number {
  if (value === undefined) return -1
  if (/^\d{1,15}$/.test(value)) return Number(value)
  return refuse(
    "Invalid 'starting_after': expected the number of an event.",
    'starting_after',
    'invalid_type',
  )
}

/** What has ended already is given as it is. */
async function cancel(c: Context<WireEnv>, host: WireHost): Promise<Response> {
  const { owner } = c.get('principal')
  const response = await found(c, host)
  if (response.over) return sendJson(c, jsonOf(host, response))
  const session = await host.old.open(owner, response.session)
  await session.cancel()
  return sendJson(c, jsonOf(host, await found(c, host)))
}

function pageOf(c: Context<WireEnv>): Page {
  const { limit = '20', order = 'desc', after } = c.req.query()
  const many = /^\d{1,3}$/.test(limit) ? Number(limit) : 0
  if (many < 1 || many > 100) refuse("Invalid 'limit': expected a number from 1 to 100.", 'limit')
  if (order !== 'asc' && order !== 'desc') return unsupportedValue('order', order, ['asc', 'desc'])
  return { limit: many, order, after }
}

// ---- models -----------------------------------------------------------------------------------------------------------

function mountModels(app: Hono<WireEnv>, host: WireHost): void {
  const created = Math.floor(host.old.ports.world.now() / 1000)
  const names = [...new Set([...host.agents.map(agent => agent.name), ...host.models])]
  const model = (id: string): JsonObject => ({ id, object: 'model', created, owned_by: 'turnwire' })
  app.get('/v1/models', c => sendJson(c, { object: 'list', data: names.map(model) }))
  app.get('/v1/models/:id', c => {
    const id = c.req.param('id')
    if (!names.includes(id)) throw noSuchModel(id)
    return sendJson(c, model(id))
  })
}
