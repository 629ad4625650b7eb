// The routes of the Responses API, and the list of models that its clients ask for.
import { type Context, Hono } from 'hono'
import type { FollowItem, OnceRequest } from '../../engine/index.ts'
import { TurnwireError } from '../../language/errors.ts'
import type { JsonObject } from '../../lib/json.ts'
import { randomIds } from '../../lib/random.ts'
import type { WireEnv, WireHost } from '../host.ts'
import { failureOf, readJsonObject, requestKey, sendJson } from '../http/index.ts'
import { clientGone, foldItems, streamItems } from '../http/stream.ts'
import { OpenAiRefusal, refuseParameter, unsupportedParameterValue } from '../openai-refusal.ts'
import { targetNames } from '../stateless/index.ts'
import { decodeRequest, protocol, type ResponsesRequest, wireName } from './decode.ts'
import { decodeHistory } from './decode-history.ts'
import { decodeItems, type InputItem } from './decode-items.ts'
import { type EncoderOptions, ResponseEncoder } from './encode.ts'
import { encodeInputItems, type ItemPage, inputEntries, pageOfItems } from './encode-input.ts'
import { requestFields } from './encode-response.ts'
import { resolveReferences } from './references.ts'
import { openerFor, sealAnswer } from './sealed.ts'
import { acceptRequest } from './stored.ts'
import {
  deleteResponse,
  encodeStored,
  findResponse,
  itemsRead,
  type StoredResponse,
  storedEncoder,
} from './stored-log.ts'
import { errorBody, noSuchModel, noSuchUrl } from './wordings.ts'

export function responsesRoutes(host: WireHost): Hono<WireEnv> {
  const app = new Hono<WireEnv>()
  app.onError((error, c) => {
    const { code, message, status } = failureOf(error, host.log)
    const { param, reason } = error instanceof OpenAiRefusal ? error : { param: null, reason: code }
    return sendJson(c, errorBody(status, message, param, reason), status)
  })
  const found = (c: Context<WireEnv>): Promise<StoredResponse> =>
    findResponse(host.engine, c.get('principal').owner, c.req.param('id') ?? '')
  const newId = randomIds()
  app.post('/v1/responses', c => createResponse(c, host, newId, undefined))
  app.post('/v1/responses/:agentId', c => createResponse(c, host, newId, c.req.param('agentId')))
  app.get('/v1/responses/:id', async c => retrieve(c, host, await found(c)))
  app.delete('/v1/responses/:id', async c => {
    await deleteResponse(host.engine, await found(c))
    return sendJson(c, { id: c.req.param('id'), object: 'response', deleted: true })
  })
  app.post('/v1/responses/:id/cancel', async c => {
    const { ref, over } = await found(c)
    if (!over) await host.engine.command(ref, { do: 'cancel' })
    return sendJson(c, encodeStored(host.about.agents, await found(c)).response)
  })
  app.get('/v1/responses/:id/input_items', async c => {
    const { ref, first, events } = await found(c)
    const page = decodePage(c.req.query())
    const entries = inputEntries(await host.engine.history(ref, false, first - 1), events)
    return sendJson(c, pageOfItems(encodeInputItems(ref.session, entries), page))
  })
  mountModels(app, host)
  app.all('/v1/responses/*', c => {
    throw noSuchUrl(c.req.method, c.req.path)
  })
  return app
}

/** `routed`: the agent that the path names. */
async function createResponse(
  c: Context<WireEnv>,
  host: WireHost,
  newId: (prefix: string) => string,
  routed: string | undefined,
): Promise<Response> {
  const body = await readJsonObject(c, host.limits)
  const request = decodeRequest({ ...host.about, serverTools: host.serverTools }, body, routed)
  const principal = c.get('principal')
  const items = await readItems(host, principal.owner, request)
  if (!request.stored) return answerOnce(c, host, request, items, newId('sess'))
  const given = requestKey(c, 'responses:create', body)
  const key = given ?? { key: newId('req'), hash: '' }
  const isRepeatable = given !== undefined
  const response = await acceptRequest(host.engine, { request, items, principal, key, isRepeatable })
  return serveStored(c, host, request, response)
}

async function readItems(
  host: WireHost,
  owner: string,
  { agent, model, input = [] }: ResponsesRequest,
): Promise<InputItem[]> {
  const { engine, about } = host
  const seal = (text: string): string => host.seal(text)
  const whole = await resolveReferences({ engine, agents: about.agents, owner, seal }, input)
  const { origin } = (model === undefined ? agent.model : about.models[model]) ?? {}
  return decodeItems(whole, {
    images: agent.images,
    open: openerFor(owner, text => host.unseal(text)),
    ...(origin?.protocol === protocol && { origin }),
  })
}

// ---- stateless -----------------------------------------------------------------------------------------------

async function answerOnce(
  c: Context<WireEnv>,
  host: WireHost,
  request: ResponsesRequest,
  items: readonly InputItem[],
  id: string,
): Promise<Response> {
  const { owner } = c.get('principal')
  const { agent, model, clientTools, ask, stream } = request
  const named = model === undefined ? {} : { model }
  const once: OnceRequest = {
    owner,
    agent: agent.name,
    ...named,
    clientTools,
    ask,
    history: decodeHistory(items),
    deltas: stream ? 'fail' : 'none',
  }
  const settings = { clientTools, ...named, wires: { [wireName]: request.note } }
  const options: EncoderOptions = {
    place: { session: id, first: 1 },
    agent: agent.name,
    createdAt: Date.now(),
    request: requestFields(agent, settings, ask),
    now: Date.now,
    ...(request.carriesSealed && { seal: answer => sealAnswer(answer, owner, text => host.seal(text)) }),
  }
  const answering = host.engine.answerOnce(once, clientGone(c))
  if (stream) {
    const begun = await firstBatch(answering)
    return streamItems(c, host, () => begun, new ResponseEncoder({ ...options, after: -1 }))
  }
  const encoder = new ResponseEncoder(options)
  await foldItems(answering, item => encoder.take(item))
  return encoder.stopped ? sendJson(c, encoder.response) : c.body(null)
}

/** Resolves with the first batch, which comes before the model is asked. A request that is refused is an HTTP error. */
async function firstBatch<Item>(
  items: AsyncIterable<readonly Item[]>,
): Promise<AsyncIterable<readonly Item[]>> {
  const batches = items[Symbol.asyncIterator]()
  const first = await batches.next()
  return (async function* () {
    if (first.done) return
    yield first.value
    yield* { [Symbol.asyncIterator]: () => batches }
  })()
}

// ---- stored --------------------------------------------------------------------------------------------------

/** Answers the request that made a response, or one that repeats it. */
async function serveStored(
  c: Context<WireEnv>,
  host: WireHost,
  { stream, background }: ResponsesRequest,
  response: StoredResponse,
): Promise<Response> {
  if (stream) return streamStored(c, host, response, -1)
  const { agents } = host.about
  if (background || response.over) return sendJson(c, encodeStored(agents, response).response)
  const encoder = storedEncoder(agents, response)
  const gone = clientGone(c)
  await foldItems(followStored(host, response, 'none', gone), item => encoder.take(item))
  if (encoder.stopped) return sendJson(c, encoder.response)
  if (gone.aborted) return c.body(null)
  throw new TurnwireError('stopping', 'The response goes on elsewhere. Retrieve it in a moment.')
}

function retrieve(c: Context<WireEnv>, host: WireHost, response: StoredResponse): Response {
  const { stream, starting_after: after } = c.req.query()
  const last = decodeStartingAfter(after)
  if (stream === 'true') return streamStored(c, host, response, last)
  if (stream !== undefined && stream !== 'false')
    throw unsupportedParameterValue('stream', stream, ['true', 'false'])
  return sendJson(c, encodeStored(host.about.agents, response).response)
}

/** After the event of number `after`. */
function streamStored(
  c: Context<WireEnv>,
  host: WireHost,
  response: StoredResponse,
  after: number,
): Response {
  const encoder = storedEncoder(host.about.agents, response, after)
  if (response.over) return streamItems(c, host, () => itemByItem(itemsRead(response)), encoder)
  return streamItems(c, host, signal => followStored(host, response, 'fail', signal), encoder)
}

function followStored(
  { engine }: WireHost,
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

function decodePage({ limit = '20', order = 'desc', after }: Record<string, string>): ItemPage {
  const most = /^\d{1,3}$/.test(limit) ? Number(limit) : 0
  if (most < 1 || most > 100) refuseParameter("Invalid 'limit': expected a number from 1 to 100.", 'limit')
  if (order !== 'asc' && order !== 'desc') throw unsupportedParameterValue('order', order, ['asc', 'desc'])
  return { limit: most, order, after }
}

// ---- models --------------------------------------------------------------------------------------------------

function mountModels(app: Hono<WireEnv>, { about }: WireHost): void {
  const created = Math.floor(Date.now() / 1000)
  const names = targetNames(about)
  const model = (id: string): JsonObject => ({ id, object: 'model', created, owned_by: 'turnwire' })
  app.get('/v1/models', c => sendJson(c, { object: 'list', data: names.map(model) }))
  app.get('/v1/models/:id', c => {
    const id = c.req.param('id')
    if (!names.includes(id)) throw noSuchModel(id)
    return sendJson(c, model(id))
  })
}
