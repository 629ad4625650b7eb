// The routes of conversations.
import type { Context, Hono } from 'hono'
import { missingParameter } from '../../apis/openai/refusal.ts'
import { isAbsent, names, optional } from '../../lib/json/fields.ts'
import type { Json, JsonObject } from '../../lib/json/index.ts'
import { agentNamed, type WireEnv, type WireHost } from '../host.ts'
import { readJsonObject, sendJson } from '../http/index.ts'
import { type ResponsesCaller, readCaller } from './caller.ts'
import {
  createConversation,
  deleteConversation,
  listConversation,
  moveConversation,
  type OpenConversation,
  openConversation,
  readConversation,
  setMetadata,
} from './conversations.ts'
import { decodeMetadata } from './decode.ts'
import { decodeHistory, type InputItem } from './decode-items.ts'
import { decodePage, pageOfItems } from './item-lists.ts'
import { readItems } from './once.ts'
import { field, noSuchItem, notEditable } from './wordings.ts'

const mostItems = 20

export function mountConversations(app: Hono<WireEnv>, host: WireHost): void {
  const found = (c: Context<WireEnv>): Promise<OpenConversation> =>
    openConversation(readCaller(c, host), c.req.param('id') ?? '')
  app.post('/v1/conversations', c => create(c, readCaller(c, host)))
  app.get('/v1/conversations/:id', async c => sendJson(c, encodeConversation(await found(c))))
  app.post('/v1/conversations/:id', async c => {
    const body = await readJsonObject(c, host.limits)
    const conversation = await found(c)
    const { metadata } = onlyKnown(body, 'metadata')
    if (metadata === undefined) throw missingParameter('metadata')
    await setMetadata(conversation, optional(metadata, 'metadata', decodeMetadata) ?? {})
    return sendJson(c, encodeConversation(await found(c)))
  })
  app.delete('/v1/conversations/:id', async c => {
    const conversation = await found(c)
    await deleteConversation(conversation)
    return sendJson(c, { id: conversation.id, object: 'conversation.deleted', deleted: true })
  })
  app.get('/v1/conversations/:id/items', async c => {
    const items = await listConversation(await found(c))
    return sendJson(c, pageOfItems(items, decodePage(c.req.query())))
  })
  app.post('/v1/conversations/:id/items', async c => addItems(c, await found(c)))
  app.get('/v1/conversations/:id/items/:item', async c => {
    const id = c.req.param('item')
    const items = await listConversation(await found(c))
    const item = items.find(each => each.id === id)
    if (!item) throw noSuchItem(id)
    return sendJson(c, item)
  })
  app.delete('/v1/conversations/:id/items/:item', async c => deleteItem(c, await found(c)))
}

function encodeConversation({ id, createdAt, record }: OpenConversation): JsonObject {
  const created_at = Math.floor(createdAt / 1000)
  return { id, object: 'conversation', created_at, metadata: record?.metadata ?? {} }
}

function onlyKnown(body: JsonObject, known: string): JsonObject {
  field.onlyKnown(body, names(known), '')
  return body
}

/** `agent_id`: the agent that the conversation begins with. Default: the first. */
async function create(c: Context<WireEnv>, caller: ResponsesCaller): Promise<Response> {
  const { limits, about } = caller.host
  const body = onlyKnown(await readJsonObject(c, limits), 'items metadata agent_id')
  const agent = optional(body['agent_id'], 'agent_id', field.text) ?? about.agents[0]?.name ?? ''
  const metadata = optional(body['metadata'], 'metadata', decodeMetadata) ?? {}
  const given = isAbsent(body['items']) ? [] : field.list(body['items'], 'items', { max: mostItems })
  const history = decodeHistory(await decodeGiven(caller, agent, given))
  return sendJson(c, encodeConversation(await createConversation(caller, agent, metadata, history)))
}

async function decodeGiven(caller: ResponsesCaller, agent: string, input: Json[]): Promise<InputItem[]> {
  return (await readItems(caller, { agent: agentNamed(caller.host, agent), input })).items
}

async function addItems(c: Context<WireEnv>, conversation: OpenConversation): Promise<Response> {
  const { caller, id, agent, record } = conversation
  if (!record) throw notEditable(id)
  const body = onlyKnown(await readJsonObject(c, caller.host.limits), 'items')
  const given = field.list(body['items'], 'items', { min: 1, max: mostItems })
  const added = await decodeGiven(caller, agent, given)
  const { entries, calls, items } = await readConversation(conversation)
  const ids = items.map(item => item.id)
  await moveConversation(conversation, [...entries, ...decodeHistory(added, calls)], ids)
  const now = await readConversation(await openConversation(caller, id))
  const page = { limit: now.items.length, order: 'asc', after: undefined } as const
  return sendJson(c, pageOfItems(now.items.slice(items.length), page))
}

/** The rest must be a conversation by itself: a call goes with its output. */
async function deleteItem(c: Context<WireEnv>, conversation: OpenConversation): Promise<Response> {
  const { caller, id, agent, record } = conversation
  if (!record) throw notEditable(id)
  const { items } = await readConversation(conversation)
  const item = c.req.param('item') ?? ''
  const rest = items.filter(each => each.id !== item)
  if (rest.length === items.length) throw noSuchItem(item)
  const ids = rest.map(each => each.id)
  await moveConversation(conversation, decodeHistory(await decodeGiven(caller, agent, rest)), ids)
  return sendJson(c, encodeConversation(await openConversation(caller, id)))
}
