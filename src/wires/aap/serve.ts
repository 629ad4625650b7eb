// The routes. Versions 1, 2 and 3 are the same handlers under other paths, with the few differences that the versions
// have; nothing here knows how a turn runs.
import { setImmediate } from 'node:timers/promises'
import { type Context, Hono } from 'hono'
import type { Agent, RequestKey, Session, SessionState } from '../../engine/index.ts'
import type { CallResult } from '../../language/calls.ts'
import type { ResultPart } from '../../language/content.ts'
import { TurnwireError } from '../../language/errors.ts'
import type { Settings } from '../../language/events.ts'
import type { JsonObject } from '../../lib/json.ts'
import type { WireEnv, WireHost } from '../host.ts'
import { plainErrors, readJsonObject, requestKey, sendJson } from '../http/index.ts'
import {
  decodeChosen,
  decodeOverrides,
  decodeStream,
  decodeTools,
  decodeTurnMessages,
  decodeUser,
  sealOptions,
} from './decode.ts'
import { decodeSeed, type Seed } from './decode-seed.ts'
import { encodeHistory, encodeMeta, encodeResult, encodeSession, historyOf } from './encode.ts'
import { serveEvents } from './events.ts'
import { list, name, object, optional, refuse } from './fields.ts'
import type { History, HistoryType, SessionInfo, Version } from './schema.ts'
import { door, serveTurn } from './turn.ts'

const pageSize = 50

type Handler = (c: Context<WireEnv>) => Promise<Response> | Response

export function aapRoutes(host: WireHost): Hono<WireEnv> {
  const app = new Hono<WireEnv>()
  app.onError(plainErrors(host))
  const wire = new Wire(host)
  mountV3(app, '', wire)
  mountSingular(app, '', wire, 1)
  mountV3(app, '/aap/v3', wire)
  for (const version of [1, 2] as const) {
    const base = `/aap/v${version}`
    mountSingular(app, base, wire, version)
    app.get(`${base}/meta`, wire.meta(version))
    app.get(`${base}/sessions`, wire.list(version))
  }
  app.get('/aap/v2/session/:id/history', wire.history)
  app.all('/aap/*', () => {
    throw new TurnwireError('not_found', 'There is nothing here. GET /meta of a version says what there is.')
  })
  return app
}

function mountV3(app: Hono<WireEnv>, base: string, wire: Wire): void {
  app.get(`${base}/meta`, wire.meta(3))
  app.get(`${base}/sessions`, wire.list(3))
  app.post(`${base}/sessions`, wire.create)
  app.get(`${base}/sessions/:id`, wire.info(3))
  app.delete(`${base}/sessions/:id`, wire.remove)
  app.get(`${base}/sessions/:id/history`, wire.history)
  app.post(`${base}/sessions/:id/turns`, wire.turn(3))
  app.get(`${base}/sessions/:id/events`, wire.events)
  app.post(`${base}/sessions/:id/cancel`, wire.cancel)
  app.get(`${base}/sessions/:id/results/:callId`, wire.result)
}

/** The paths of versions 1 and 2. */
function mountSingular(app: Hono<WireEnv>, base: string, wire: Wire, version: 1 | 2): void {
  app.put(`${base}/session`, wire.createAndRun(version))
  app.post(`${base}/session/:id`, wire.turn(version))
  app.get(`${base}/session/:id`, wire.info(version))
  app.delete(`${base}/session/:id`, wire.remove)
}

class Wire {
  readonly #host: WireHost

  constructor(host: WireHost) {
    this.#host = host
  }

  readonly #seal = (text: string): string => this.#host.seal(text)

  meta(version: Version): Handler {
    return c => sendJson(c, encodeMeta(this.#host.agents, version))
  }

  // ---- sessions ---------------------------------------------------------------------------------------------

  list(version: Version): Handler {
    return async c => {
      const { old: engine } = this.#host
      const { owner } = c.get('principal')
      const after = c.req.query('after')
      const { rows, next } = await engine.list(owner, { limit: pageSize, ...(after && { after }) })
      const sessions: unknown[] = []
      for (const { id, agent, card } of rows) {
        if (version === 1) sessions.push(id)
        else if (card) sessions.push(this.#encodeSession({ id, agent, ...card }, version))
        else sessions.push(...(await this.#infoIfThere(owner, id, version)))
      }
      return sendJson(c, { sessions, ...(next !== undefined && { next }) })
    }
  }

  /** From its log, for want of a card. None: it was deleted after the page was read. */
  async #infoIfThere(owner: string, id: string, version: Version): Promise<SessionInfo[]> {
    try {
      const info = this.#encodeSession(await this.#host.old.peek(owner, id), version)
      // A page may hold long sessions: others get their turn between two of them.
      await setImmediate()
      return [info]
    } catch (error) {
      if (error instanceof TurnwireError && error.code === 'session_not_found') return []
      throw error
    }
  }

  #encodeSession(shown: Parameters<typeof encodeSession>[0], version: Version): SessionInfo {
    return encodeSession(shown, this.#agentOf(shown), version)
  }

  readonly create: Handler = async c => {
    const body = await readJsonObject(c, this.#host.limits)
    const { agent, settings } = this.#settingsOf(body, 3)
    const seed = decodeSeed(optional(body['messages'], 'messages', list) ?? [], agent)
    const session = await this.#make(c, agent, settings, seed, requestKey(c, 'aap:create', body))
    return sendJson(c, { sessionId: session.id }, 201)
  }

  /** Versions 1 and 2 create a session by its first turn. */
  createAndRun(version: 1 | 2): Handler {
    return async c => {
      const body = await readJsonObject(c, this.#host.limits)
      const { agent, settings } = this.#settingsOf(body, version)
      const stream = decodeStream(body['stream'])
      const messages = list(body['messages'], 'messages')
      const last = messages.at(-1)
      if (last === undefined || object(last, 'The last of messages')['role'] !== 'user')
        refuse('Last message must be a user message')
      const said = decodeUser([object(last, 'The last of messages')], agent)
      const seed = decodeSeed(messages.slice(0, -1), agent)
      const request = requestKey(c, 'aap:create', body)
      const session = await this.#make(c, agent, settings, seed, request)
      return serveTurn(c, this.#host, session, {
        messages: said,
        settings: undefined,
        request,
        stream,
        created: true,
      })
    }
  }

  async #make(
    c: Context<WireEnv>,
    agent: Agent,
    settings: Settings,
    seed: Seed,
    request: RequestKey | undefined,
  ): Promise<Session> {
    const { old: engine } = this.#host
    const { owner } = c.get('principal')
    const create = { owner, agent: agent.name, wire: door, settings, seed: seed.entries }
    const session = await engine.create(create, request)
    for (const blob of seed.blobs) await engine.ports.store.putBlob(session.id, blob.name, blob.body)
    return session
  }

  #settingsOf(body: JsonObject, version: Version): { agent: Agent; settings: Settings } {
    const config = object(body['agent'], 'agent')
    const agent = this.#host.old.agent(name(config['name'], 'agent.name'))
    const chosen = decodeChosen(config)
    return {
      agent,
      settings: {
        // Left out: every exposed server tool is off.
        tools: chosen.tools ?? [],
        options: sealOptions(chosen.options ?? {}, agent, this.#seal),
        clientTools: decodeTools(body['tools'], version) ?? [],
      },
    }
  }

  info(version: Version): Handler {
    return async c => {
      const state = await this.#peek(c)
      const info = this.#encodeSession(state, version)
      return sendJson(c, version === 1 ? { ...info, history: await this.#historyOfV1(c, state) } : info)
    }
  }

  /** Without `?history=` it holds every kind that the agent declares, as the first servers of version 1 gave it. */
  async #historyOfV1(c: Context<WireEnv>, state: SessionState): Promise<History> {
    const asked = c.req.query('history')
    if (asked !== undefined) return this.#historyOf(c, state, historyType(asked, 'history'))
    const compacted = await this.#historyOf(c, state, 'compacted')
    return this.#offersFull(state)
      ? { ...compacted, ...(await this.#historyOf(c, state, 'full')) }
      : compacted
  }

  readonly remove: Handler = async c => {
    await this.#host.old.remove(c.get('principal').owner, idOf(c))
    return c.body(null, 204)
  }

  // ---- history ----------------------------------------------------------------------------------------------

  readonly history: Handler = async c => {
    const state = await this.#peek(c)
    const history = await this.#historyOf(c, state, historyType(c.req.query('type'), 'type'))
    return sendJson(c, { history })
  }

  async #historyOf(c: Context<WireEnv>, state: SessionState, type: HistoryType): Promise<History> {
    if (type === 'full' && !this.#offersFull(state))
      throw new TurnwireError('history_not_found', 'Specified history not found')
    const whole = (result: CallResult) =>
      type === 'full' ? this.#whole(c, state.id, result) : Promise.resolve(result.outcome.parts)
    return { [type]: await encodeHistory(historyOf(state, type), whole) }
  }

  #offersFull(state: SessionState): boolean {
    return this.#agentOf(state)?.fullHistory === true
  }

  /** The parts of a result as they were before they were cut for the model. */
  async #whole(c: Context<WireEnv>, id: string, { outcome }: CallResult): Promise<readonly ResultPart[]> {
    if (!outcome.cut) return outcome.parts
    try {
      const body = await this.#host.old.blob(c.get('principal').owner, id, outcome.cut.blob)
      // The gate wrote it, from parts that it had made.
      return JSON.parse(body) as ResultPart[]
    } catch (error) {
      if (error instanceof TurnwireError && error.code === 'not_found') return outcome.parts
      throw error
    }
  }

  readonly result: Handler = async c => {
    const state = await this.#peek(c)
    const callId = c.req.param('callId')
    for (const entry of historyOf(state, 'full')) {
      const found = entry.role === 'tool' && entry.results.find(result => result.callId === callId)
      if (found) return sendJson(c, encodeResult(found.callId, await this.#whole(c, state.id, found)))
    }
    throw new TurnwireError('not_found', 'There is no result of such a call in this session.')
  }

  // ---- turns ------------------------------------------------------------------------------------------------

  turn(version: Version): Handler {
    return async c => {
      const { old: engine, limits } = this.#host
      const body = await readJsonObject(c, limits)
      const session = await engine.open(c.get('principal').owner, idOf(c))
      const { agent, state } = session
      return serveTurn(c, this.#host, session, {
        messages: decodeTurnMessages(body['messages'], agent),
        settings: decodeOverrides(body, version, agent, state.settings, this.#seal),
        request: requestKey(c, 'aap:turn', body),
        stream: decodeStream(body['stream']),
      })
    }
  }

  readonly events: Handler = c => serveEvents(c, this.#host, idOf(c))

  readonly cancel: Handler = async c => {
    const session = await this.#host.old.open(c.get('principal').owner, idOf(c))
    await session.cancel()
    return c.body(null, 204)
  }

  // ---- small things -----------------------------------------------------------------------------------------

  #peek(c: Context<WireEnv>): Promise<SessionState> {
    return this.#host.old.peek(c.get('principal').owner, idOf(c))
  }

  #agentOf(session: Pick<SessionState, 'agent'>): Agent | undefined {
    return this.#host.agents.find(agent => agent.name === session.agent)
  }
}

function idOf(c: Context<WireEnv>): string {
  return c.req.param('id') ?? ''
}

function historyType(value: string | undefined, name: string): HistoryType {
  return value === 'compacted' || value === 'full' ? value : refuse(`${name} must be "compacted" or "full"`)
}
