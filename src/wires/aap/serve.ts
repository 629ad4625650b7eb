// The routes. Versions 1, 2 and 3 are the same handlers under other paths, with the few differences that the versions have.
import { type Context, Hono } from 'hono'
import { accepts } from 'hono/accepts'
import type {
  Accepted,
  AgentInfo,
  Command,
  During,
  Engine,
  FollowOptions,
  RequestKey,
  SessionCall,
  SessionRef,
} from '../../engine/index.ts'
import { TurnwireError } from '../../language/errors.ts'
import { isModelPattern } from '../../language/model-names.ts'
import type { Json, JsonObject } from '../../lib/json/index.ts'
import { agentNamed, type WireEnv, type WireHost } from '../host.ts'
import { lastEventId, readJsonObject, requestKey, sendJson } from '../http/index.ts'
import { clientGone, foldItems, streamItems } from '../http/stream.ts'
import { callsBefore } from '../read-log.ts'
import {
  type AnswerTurn,
  decodeChosen,
  decodeClaim,
  decodeDuring,
  decodeOverrides,
  decodeReason,
  decodeStream,
  decodeTools,
  decodeTurnMessages,
  decodeUser,
  decodeWithdraw,
  givenOptions,
  type UserTurn,
  withQuestionsAnswered,
} from './decode.ts'
import { decodeSeed } from './decode-seed.ts'
import { encodeMeta, encodeSession, encodeState, encodeWaiting } from './encode.ts'
import { EventFrames } from './encode-events.ts'
import { type HeldBack, TurnFold, turnFrames } from './encode-turn.ts'
import type { StreamMode, Version } from './schema.ts'
import { HistoryHandlers } from './serve-history.ts'
import { mountResources } from './serve-resources.ts'
import { boundedName, list, object, optional, refuseAap } from './wordings.ts'

export const wireName = 'aap'
const pageSize = 50

type Handler = (c: Context<WireEnv>) => Promise<Response> | Response

export function aapRoutes(host: WireHost): Hono<WireEnv> {
  const app = new Hono<WireEnv>()
  const handlers = new AapHandlers(host)
  mountV3(app, '', handlers)
  for (const base of ['', '/aap/v3']) mountResources(app, base, host, sessionRef)
  mountSingular(app, '', handlers, 1)
  mountV3(app, '/aap/v3', handlers)
  for (const version of [1, 2] as const) {
    const base = `/aap/v${version}`
    mountSingular(app, base, handlers, version)
    app.get(`${base}/meta`, handlers.meta(version))
    app.get(`${base}/sessions`, handlers.list(version))
  }
  app.get('/aap/v2/session/:id/history', handlers.history)
  app.all('/aap/*', () => {
    throw new TurnwireError('not_found', 'There is nothing here. GET /meta of a version says what there is.')
  })
  return app
}

function mountV3(app: Hono<WireEnv>, base: string, handlers: AapHandlers): void {
  app.get(`${base}/meta`, handlers.meta(3))
  app.get(`${base}/sessions`, handlers.list(3))
  app.post(`${base}/sessions`, handlers.create)
  app.get(`${base}/sessions/:id`, handlers.info(3))
  app.delete(`${base}/sessions/:id`, handlers.remove)
  app.get(`${base}/sessions/:id/history`, handlers.history)
  app.post(`${base}/sessions/:id/turns`, handlers.turn(3))
  app.get(`${base}/sessions/:id/events`, handlers.events)
  app.post(`${base}/sessions/:id/cancel`, handlers.cancel)
  app.get(`${base}/sessions/:id/state`, handlers.state)
  app.post(`${base}/sessions/:id/claims`, handlers.claim)
  app.get(`${base}/sessions/:id/messages`, handlers.messages)
  app.delete(`${base}/sessions/:id/messages/:messageId`, handlers.withdraw)
  app.post(`${base}/sessions/:id/calls/:callId/cancel`, handlers.cancelCall)
  app.post(`${base}/sessions/:id/calls/:callId/reconcile`, handlers.reconcile)
  app.post(`${base}/sessions/:id/calls/:callId/undo`, handlers.undo)
  app.get(`${base}/sessions/:id/model`, handlers.model)
  app.put(`${base}/sessions/:id/model`, handlers.setModel)
  app.get(`${base}/sessions/:id/results/:callId`, handlers.result)
}

/** The paths of versions 1 and 2. */
function mountSingular(app: Hono<WireEnv>, base: string, handlers: AapHandlers, version: 1 | 2): void {
  app.put(`${base}/session`, handlers.createAndRun(version))
  app.post(`${base}/session/:id`, handlers.turn(version))
  app.get(`${base}/session/:id`, handlers.info(version))
  app.delete(`${base}/session/:id`, handlers.remove)
}

type Turn = {
  messages: UserTurn | AnswerTurn
  settings?: ReturnType<typeof decodeOverrides>
  request: RequestKey | undefined
  stream: StreamMode
  during?: During | undefined
  /** In versions 1 and 2 the first turn also says which session it made. */
  created?: true
}

class AapHandlers {
  readonly #host: WireHost
  readonly #histories: HistoryHandlers
  #makeCalls: ReadonlySet<string> | undefined

  constructor(host: WireHost) {
    this.#host = host
    this.#histories = new HistoryHandlers(host, sessionRef)
  }

  get history(): Handler {
    return this.#histories.history
  }

  get result(): Handler {
    return this.#histories.result
  }

  meta(version: Version): Handler {
    return c => sendJson(c, encodeMeta(this.#host.about.agents, version))
  }

  // ---- sessions ---------------------------------------------------------------------------------------------

  list(version: Version): Handler {
    return async c => {
      const after = c.req.query('after')
      const page = { limit: pageSize, ...(after && { after }) }
      const { rows, next } = await c.get('engine').list(c.get('principal').owner, page)
      const sessions = rows.map(({ id, agent, summary }) =>
        version === 1
          ? id
          : encodeSession({ id, agent, settings: summary.settings }, this.#findAgent(agent), version),
      )
      return sendJson(c, { sessions, ...(next !== undefined && { next }) })
    }
  }

  readonly create: Handler = async c => {
    const body = await readJsonObject(c, this.#host.limits)
    const seed = optional(body['messages'], 'messages', list) ?? []
    const { session } = await this.#create(c, body, 3, seed, requestKey(c, 'aap:create', body))
    return sendJson(c, { sessionId: session }, 201)
  }

  /** Versions 1 and 2 create a session by its first turn. */
  createAndRun(version: 1 | 2): Handler {
    return async c => {
      const body = await readJsonObject(c, this.#host.limits)
      const agent = this.#agentIn(body)
      const stream = streamMode(c, body['stream'])
      const messages = list(body['messages'], 'messages')
      const last = messages.at(-1)
      if (last === undefined || object(last, 'The last of messages')['role'] !== 'user')
        refuseAap('Last message must be a user message')
      const user = decodeUser([object(last, 'The last of messages')], agent)
      const request = requestKey(c, 'aap:create', body)
      const ref = await this.#create(c, body, version, messages.slice(0, -1), request)
      return this.#serveTurn(c, ref, { messages: user, request, stream, created: true })
    }
  }

  async #create(
    c: Context<WireEnv>,
    body: JsonObject,
    version: Version,
    seed: readonly Json[],
    request: RequestKey | undefined,
  ): Promise<SessionRef> {
    const { owner } = c.get('principal')
    const agent = this.#agentIn(body)
    const chosen = decodeChosen(object(body['agent'], 'agent'))
    const { session } = await c.get('engine').create({
      owner,
      agent: agent.name,
      wire: wireName,
      settings: {
        // Left out: every exposed server tool is off.
        tools: chosen.tools ?? [],
        options: givenOptions(chosen.options ?? {}, agent),
        clientTools: decodeTools(body['tools'], version) ?? [],
      },
      seed: decodeSeed(seed, agent),
      ...(request && { request }),
    })
    return { owner, session }
  }

  #agentIn(body: JsonObject): AgentInfo {
    return agentNamed(this.#host, boundedName(object(body['agent'], 'agent')['name'], 'agent.name'))
  }

  info(version: Version): Handler {
    return async c => {
      const ref = sessionRef(c)
      const summary = await c.get('engine').summary(ref)
      const agent = this.#findAgent(summary.agent)
      const info = encodeSession(summary, agent, version)
      if (version !== 1) return sendJson(c, info)
      return this.#histories.sendWithInfo(c, info, summary, agent)
    }
  }

  readonly remove: Handler = async c => {
    await c.get('engine').remove(sessionRef(c))
    return c.body(null, 204)
  }

  // ---- turns ------------------------------------------------------------------------------------------------

  turn(version: Version): Handler {
    return async c => {
      const body = await readJsonObject(c, this.#host.limits)
      const ref = sessionRef(c)
      const { agent: name, settings, calls } = await c.get('engine').summary(ref)
      const agent = agentNamed(this.#host, name)
      const messages = decodeTurnMessages(body['messages'], agent)
      return this.#serveTurn(c, ref, {
        messages: messages.type === 'user' ? messages : withQuestionsAnswered(messages, calls),
        settings: decodeOverrides(body, version, agent, settings),
        request: requestKey(c, 'aap:turn', body),
        stream: streamMode(c, body['stream']),
        during: decodeDuring(body['during'], messages),
      })
    }
  }

  async #serveTurn(c: Context<WireEnv>, ref: SessionRef, turn: Turn): Promise<Response> {
    const engine = c.get('engine')
    const accepted = await engine.command(ref, toCommand(turn, c.get('principal').name))
    const { first, replayed, message } = accepted
    // The turn that it is delivered to has other readers, or none yet.
    if (message) return sendJson(c, { messageId: message.id, state: message.state }, 202)
    const { stream, created } = turn
    const held = await this.#heldBack(engine, ref, accepted)
    const options: FollowOptions = {
      from: first,
      until: 'stop',
      replay: replayed,
      deltas: stream === 'delta' ? 'append' : 'none',
    }
    if (stream !== 'none') {
      const frames = turnFrames(stream, created ? ref.session : undefined, held)
      return streamItems(c, this.#host, signal => engine.follow(ref, options, signal), frames)
    }
    const fold = new TurnFold(held)
    await foldItems(engine.follow(ref, options, clientGone(c)), item => fold.take(item))
    return created ? sendJson(c, { sessionId: ref.session, ...fold.answer }, 201) : sendJson(c, fold.answer)
  }

  /** The calls that were at work when the request came, and that no stream has shown. */
  async #heldBack(engine: Engine, ref: SessionRef, { first, replayed, waited }: Accepted): Promise<HeldBack> {
    const { agents } = this.#host.about
    this.#makeCalls ??= new Set(
      agents.flatMap(agent => agent.tools.flatMap(({ name, resumable }) => (resumable ? [name] : []))),
    )
    const tools = this.#makeCalls
    if (tools.size === 0) return { tools, calls: [] }
    const before = replayed ? await callsBefore(engine, ref, first) : waited
    const isHeldBack = ({ part, stage, argsHash, questions }: SessionCall): boolean =>
      // A call that was asked about has a hash of its arguments. It was shown then, as was one that asked a question.
      tools.has(part.name) && stage !== 'settled' && argsHash === undefined && !questions
    return { tools, calls: before.filter(isHeldBack).map(({ part, text }) => ({ ...part, text })) }
  }

  readonly events: Handler = async c => {
    const engine = c.get('engine')
    const ref = sessionRef(c)
    const { seq, agent } = await engine.summary(ref)
    const after = lastEventId(c)
    if (after === undefined || after > seq)
      throw new TurnwireError(
        'bad_request',
        `There is no such event to go on after: give the number of an event of this session, at most ${seq}, or 0 for all.`,
      )
    if (c.req.method === 'HEAD') return c.body(null, 200, { 'content-type': 'text/event-stream' })
    const options: FollowOptions = { from: after + 1, until: 'never', deltas: 'raw' }
    const frames = new EventFrames(this.#findAgent(agent))
    return streamItems(c, this.#host, signal => engine.follow(ref, options, signal), frames)
  }

  readonly state: Handler = async c => sendJson(c, encodeState(await c.get('engine').summary(sessionRef(c))))

  /** Several clients may have a session open: the one whose claim is recorded runs the call. */
  readonly claim: Handler = async c => {
    const ref = sessionRef(c)
    await c.get('engine').summary(ref)
    const claim = decodeClaim(await readJsonObject(c, this.#host.limits))
    const { at } = await c.get('engine').command(ref, { do: 'claim', ...claim })
    return sendJson(c, { until: at + claim.forMs })
  }

  readonly cancel: Handler = async c => {
    const withdraw = decodeWithdraw(c.req.query('withdraw')) && { withdraw: c.get('principal').name }
    await c.get('engine').command(sessionRef(c), { do: 'cancel', ...withdraw })
    return c.body(null, 204)
  }

  readonly messages: Handler = async c => {
    const { messages } = await c.get('engine').summary(sessionRef(c))
    return sendJson(c, { messages: encodeWaiting(messages) })
  }

  readonly withdraw: Handler = async c => {
    const message = c.req.param('messageId') ?? ''
    await c.get('engine').command(sessionRef(c), { do: 'withdraw', message, by: c.get('principal').name })
    return c.body(null, 204)
  }

  readonly cancelCall: Handler = async c => {
    const { 'content-length': length = '0', 'transfer-encoding': encoding } = c.env.incoming.headers
    const reason =
      length !== '0' || encoding !== undefined ? decodeReason(await readJsonObject(c, this.#host.limits)) : {}
    const callId = c.req.param('callId') ?? ''
    const by = c.get('principal').name
    await c.get('engine').command(sessionRef(c), { do: 'cancel-call', callId, by, ...reason })
    return c.body(null, 204)
  }

  readonly reconcile: Handler = async c => {
    const callId = c.req.param('callId') ?? ''
    const by = c.get('principal').name
    const { found } = await c.get('engine').command(sessionRef(c), { do: 'reconcile', callId, by })
    return sendJson(c, { found })
  }

  /** The turn is followed as any other: with the events of the session. */
  readonly undo: Handler = async c => {
    const callId = c.req.param('callId') ?? ''
    const by = c.get('principal').name
    const command = { do: 'undo' as const, callId, by, wire: 'aap' }
    const { turn, first } = await c.get('engine').command(sessionRef(c), command)
    return sendJson(c, { turn, event: first }, 202)
  }

  readonly model: Handler = async c => {
    const { settings } = await c.get('engine').summary(sessionRef(c))
    const models = Object.keys(this.#host.about.models).filter(name => !isModelPattern(name))
    return sendJson(c, { model: settings.model ?? null, models })
  }

  readonly setModel: Handler = async c => {
    const ref = sessionRef(c)
    await c.get('engine').summary(ref)
    const body = await readJsonObject(c, this.#host.limits)
    const model = boundedName(body['model'], 'model')
    await c.get('engine').command(ref, { do: 'configure', settings: { model } })
    return c.body(null, 204)
  }

  /** Undefined: it is no longer configured. */
  #findAgent(name: string): AgentInfo | undefined {
    return this.#host.about.agents.find(agent => agent.name === name)
  }
}

/** A request that does not say is answered with JSON, or, where `Accept` prefers a stream, with whole messages as events. */
function streamMode(c: Context<WireEnv>, asked: Json | undefined): StreamMode {
  if (asked !== undefined && asked !== null) return decodeStream(asked)
  const supports = ['application/json', 'text/event-stream']
  const preferred = accepts(c, { header: 'Accept', supports, default: 'application/json' })
  return preferred === 'text/event-stream' ? 'message' : 'none'
}

function toCommand({ messages, settings, request, during }: Turn, by: string): Command {
  const common = { ...(settings && { settings }), ...(request && { request }) }
  if (messages.type === 'user')
    return { do: 'say', wire: wireName, parts: messages.parts, ...common, ...(during && { during }) }
  const { results, decisions, answers } = messages
  return {
    do: 'respond',
    results,
    decisions: decisions.map(decision => ({ ...decision, by })),
    answers: answers.map(answer => ({ ...answer, by })),
    afterStop: true,
    ...common,
  }
}

function sessionRef(c: Context<WireEnv>): SessionRef {
  return { owner: c.get('principal').owner, session: c.req.param('id') ?? '' }
}
