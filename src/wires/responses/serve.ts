// The routes of the Responses API.
import { type Context, Hono } from 'hono'
import { refuseParameter, unsupportedParameterValue } from '../../apis/openai/refusal.ts'
import type { Engine, FollowItem, OnceItem } from '../../engine/index.ts'
import { TurnwireError } from '../../language/errors.ts'
import type { Entry } from '../../language/history.ts'
import { randomIds } from '../../lib/text/random.ts'
import type { RelayedTarget, WireEnv, WireHost } from '../host.ts'
import { readJsonObject, requestKey, sendJson } from '../http/index.ts'
import { clientGone, foldItems, streamFromFirstFrame, streamItems } from '../http/stream.ts'
import { adviceFor, findTarget, targetNames } from '../stateless/index.ts'
import { type ResponsesCaller, readCaller } from './caller.ts'
import { compactConversation, countInputTokens } from './compact.ts'
import { decodeRequest, type ResponsesRequest } from './decode.ts'
import { decodeHistory } from './decode-items.ts'
import { ResponseEncoder } from './encode.ts'
import { decodePage, encodeInputItems, inputEntries, pageOfItems } from './item-lists.ts'
import { prepareOnce, readHistory, readItems } from './once.ts'
import { mountConversations } from './serve-conversations.ts'
import { acceptRequest } from './stored.ts'
import {
  deleteResponse,
  encodeStored,
  findResponse,
  itemsRead,
  type StoredResponse,
  storedEncoder,
} from './stored-log.ts'
import { noSuchModel, noSuchUrl } from './wordings.ts'

export function responsesRoutes(host: WireHost): Hono<WireEnv> {
  const app = new Hono<WireEnv>()
  const found = (c: Context<WireEnv>): Promise<StoredResponse> =>
    findResponse(readCaller(c, host), c.req.param('id') ?? '')
  const newId = randomIds()
  app.post('/v1/responses', c => createResponse(c, readCaller(c, host), newId, undefined))
  // One route: a fixed name beside a parameter would make hono fall back to a slower router for all requests.
  app.post('/v1/responses/:agentId', c => {
    const name = c.req.param('agentId')
    const caller = readCaller(c, host)
    if (name === 'compact') return compactConversation(c, caller, newId)
    if (name === 'input_tokens') return countInputTokens(c, caller)
    return createResponse(c, caller, newId, name)
  })
  app.get('/v1/responses/:id', async c => retrieve(c, host, await found(c)))
  app.delete('/v1/responses/:id', async c => {
    await deleteResponse(c.get('engine'), await found(c))
    return sendJson(c, { id: c.req.param('id'), object: 'response', deleted: true })
  })
  app.post('/v1/responses/:id/cancel', async c => {
    const { ref, over } = await found(c)
    if (!over) await c.get('engine').command(ref, { do: 'cancel' })
    return sendJson(c, encodeStored(host.about.agents, await found(c)).response)
  })
  app.get('/v1/responses/:id/input_items', async c => {
    const { ref, first, events } = await found(c)
    const page = decodePage(c.req.query())
    const entries = inputEntries(
      await c.get('engine').history(ref, { get: 'entries', upTo: first - 1 }),
      events,
    )
    return sendJson(c, pageOfItems(encodeInputItems(ref.session, entries), page))
  })
  mountConversations(app, host)
  mountModels(app, host)
  app.all('/v1/responses/*', c => {
    throw noSuchUrl(c.req.method, c.req.path)
  })
  return app
}

/** `routed`: the agent that the path names. */
async function createResponse(
  c: Context<WireEnv>,
  caller: ResponsesCaller,
  newId: (prefix: string) => string,
  routed: string | undefined,
): Promise<Response> {
  const { host } = caller
  const body = await readJsonObject(c, host.limits)
  const payer = { ...c.get('principal'), payment: c.get('payment') }
  const relayed = await host.relay?.target(body, routed, payer)
  if (relayed) return answerRelayed(c, caller, relayed, newId('sess'))
  const request = decodeRequest(host, body, routed)
  const read = await readItems(caller, request)
  if (!request.stored || request.compacts) {
    const history = await readHistory(caller, request.previous, read.items)
    return answerOnce(c, caller, request, history, newId('sess'))
  }
  const given = requestKey(c, 'responses:create', body)
  const key = given ?? { key: newId('req'), hash: '' }
  const isRepeatable = given !== undefined
  const response = await acceptRequest({ caller, request, ...read, key, isRepeatable })
  // A client that may repeat its request reads the same response then.
  return serveStored(c, caller, isRepeatable ? { ...request, goesOn: true } : request, response)
}

// ---- stateless -----------------------------------------------------------------------------------------------

/** The agent is on its owner's machine. Nothing of the request is kept here. */
async function answerRelayed(
  c: Context<WireEnv>,
  caller: ResponsesCaller,
  { offers, body, agent, to, shown }: RelayedTarget,
  id: string,
): Promise<Response> {
  const decoded = decodeRequest(offers, body, agent)
  const request = { ...decoded, ask: { ...decoded.ask, to }, note: { ...decoded.note, model: shown } }
  const { items } = await readItems(caller, request)
  return answerOnce(c, caller, request, decodeHistory(items), id)
}

async function answerOnce(
  c: Context<WireEnv>,
  caller: ResponsesCaller,
  request: ResponsesRequest,
  history: Entry[],
  id: string,
): Promise<Response> {
  const { once, options } = prepareOnce(caller, request, history, id)
  const { stream } = request
  const { host, engine } = caller
  const answering = (signal: AbortSignal): AsyncIterable<readonly OnceItem[]> =>
    engine.answerOnce({ ...once, deltas: stream ? 'fail' : 'none' }, signal)
  // A model that fails before it said anything is an HTTP error, which clients understand best.
  if (stream) return streamFromFirstFrame(c, host, answering, new ResponseEncoder({ ...options, after: -1 }))
  const encoder = new ResponseEncoder(options)
  await foldItems(answering(clientGone(c)), item => encoder.take(item))
  return encoder.stopped ? sendJson(c, encoder.response) : c.body(null)
}

// ---- stored --------------------------------------------------------------------------------------------------

/** Answers the request that made a response, or one that repeats it. */
async function serveStored(
  c: Context<WireEnv>,
  { host, engine }: ResponsesCaller,
  { stream, background, goesOn }: ResponsesRequest,
  response: StoredResponse,
): Promise<Response> {
  const { agents } = host.about
  const encoder = storedEncoder(agents, response, stream ? -1 : undefined)
  const gone = clientGone(c)
  // Nobody asked for the rest of an answer whose client has hung up.
  if (!goesOn && !response.over)
    gone.addEventListener('abort', () => {
      if (!encoder.stopped) void engine.command(response.ref, { do: 'cancel' }).catch(() => {})
    })
  if (stream) return streamStored(c, host, response, encoder)
  if (background || response.over) return sendJson(c, encodeStored(agents, response).response)
  await foldItems(followStored(engine, response, 'none', gone), item => encoder.take(item))
  if (!goesOn && encoder.failure && encoder.output.length === 0) {
    // An HTTP error, which clients understand best. They send the request again, so nothing is left of this one.
    const { code, message, retryAfterMs } = encoder.failure
    await deleteResponse(engine, response)
    throw new TurnwireError(code, message, { retryAfterMs })
  }
  if (encoder.stopped) return sendJson(c, encoder.response)
  if (gone.aborted) return c.body(null)
  throw new TurnwireError('stopping', 'The response goes on elsewhere. Retrieve it in a moment.')
}

function retrieve(c: Context<WireEnv>, host: WireHost, response: StoredResponse): Response {
  const { stream, starting_after: after } = c.req.query()
  const last = decodeStartingAfter(after)
  if (stream === 'true')
    return streamStored(c, host, response, storedEncoder(host.about.agents, response, last))
  if (stream !== undefined && stream !== 'false')
    throw unsupportedParameterValue('stream', stream, ['true', 'false'])
  return sendJson(c, encodeStored(host.about.agents, response).response)
}

function streamStored(
  c: Context<WireEnv>,
  host: WireHost,
  response: StoredResponse,
  encoder: ResponseEncoder,
): Response {
  if (response.over) return streamItems(c, host, () => itemByItem(itemsRead(response)), encoder)
  return streamItems(c, host, signal => followStored(c.get('engine'), response, 'fail', signal), encoder)
}

function followStored(
  engine: Engine,
  { ref, first, events }: StoredResponse,
  deltas: 'none' | 'fail',
  signal: AbortSignal,
): AsyncIterable<readonly FollowItem[]> {
  return engine.follow(ref, { from: first, replay: events.length > 0, until: 'stop', deltas }, signal)
}

/** So that a stream is written at its reader's pace. */
async function* itemByItem<Item>(items: readonly Item[]): AsyncGenerator<readonly Item[]> {
  for (const item of items) yield [item]
}

function decodeStartingAfter(value: string | undefined): number {
  if (value === undefined) return -1
  if (/^\d{1,15}$/.test(value)) return Number(value)
  const message = "Invalid 'starting_after': expected the number of an event."
  return refuseParameter(message, 'starting_after', 'invalid_type')
}

// ---- models ------------------------------------------------------------------------------------------------

/** The list of agents and models. The wires of other vendors answer their clients before a request comes here. */
function mountModels(app: Hono<WireEnv>, { about }: WireHost): void {
  const created = Math.floor(Date.now() / 1000)
  const describe = (id: string): object => ({ id, object: 'model', created, owned_by: 'turnwire' })
  const names = targetNames(about)
  app.get('/v1/models', c => sendJson(c, { object: 'list', data: names.map(describe) }))
  app.get('/v1/models/:name{.+}', c => {
    const id = c.req.param('name')
    if (!findTarget(about, id)) throw noSuchModel(id, adviceFor(about))
    return sendJson(c, describe(id))
  })
}
