// The routes. A message or an answer is streamed until the session rests or waits; a job is streamed until its turn has
// ended. A client that goes away ends its view and nothing else.
import { type Context, Hono } from 'hono'
import type { RequestKey } from '../../engine/index.ts'
import { textOf } from '../../language/content.ts'
import { TurnwireError } from '../../language/errors.ts'
import type { JsonObject } from '../../lib/json.ts'
import type { WireEnv, WireHost } from '../host.ts'
import { follow, type Place } from '../http/follow.ts'
import {
  dataFrame,
  failureOf,
  openSse,
  RESPONSE_ALREADY_SENT,
  readJsonObject,
  requestKey,
  sendJson,
} from '../http/index.ts'
import { answer, say, sessionFor } from './commands.ts'
import { decodeAnswered, decodeChat, decodeTarget } from './decode.ts'
import { encodeHistory } from './encode.ts'
import { RunView } from './run-view.ts'
import { encodeJob, findRun, lastRun, type Run, runIdOf } from './runs.ts'
import type { DeltaKitEvent, SessionMade } from './schema.ts'

type Handler = (c: Context<WireEnv>) => Promise<Response>

export function deltakitRoutes(host: WireHost): Hono<WireEnv> {
  const app = new Hono<WireEnv>()
  app.onError((error, c) => {
    const { code, message, status } = failureOf(error, host.log)
    return sendJson(c, { detail: message, error: message, code }, status)
  })
  const wire = new Wire(host)
  app.post('/api/chat', wire.chat)
  // One route: a fixed name beside a parameter would make hono fall back to a slower router for all requests.
  app.post('/api/chat/:agent', c => (c.req.param('agent') === 'answer' ? wire.answer(c) : wire.chat(c)))
  app.post('/api/sessions', wire.create)
  app.get('/api/history', wire.history)
  app.post('/api/jobs', wire.start)
  app.get(
    '/api/jobs/:id',
    wire.job(async (c, run) => sendJson(c, encodeJob(run, await wire.waits(c, run)))),
  )
  app.get(
    '/api/jobs/:id/events',
    wire.job((c, run) => wire.events(c, run)),
  )
  app.post(
    '/api/jobs/:id/cancel',
    wire.job((c, run) => wire.cancel(c, run)),
  )
  app.get('/api/active-run', wire.active)
  return app
}

const doneFrame = 'data: [DONE]\n\n'

class Wire {
  readonly #host: WireHost

  constructor(host: WireHost) {
    this.#host = host
  }

  // ---- one message ------------------------------------------------------------------------------------------

  readonly chat: Handler = async c => {
    const { body, request } = await this.#read(c, 'deltakit:chat')
    const chat = decodeChat(body)
    const found = await sessionFor(this.#host, c.get('principal'), chat, request)
    const accepted = await say(found, chat, request)
    const { id } = found.session
    const made: SessionMade | undefined = found.created ? { type: 'session', sessionId: id } : undefined
    return this.#stream(c, { id, ...accepted }, 'with a turn', made)
  }

  readonly answer: Handler = async c => {
    const { body, request } = await this.#read(c, 'deltakit:answer')
    const { owner, name } = c.get('principal')
    const answered = decodeAnswered(body)
    if (answered.sessionId === undefined)
      throw new TurnwireError(
        'bad_request',
        'sessionId is missing: name the session whose calls are answered.',
      )
    const session = await this.#host.old.open(owner, answered.sessionId)
    const accepted = await answer(session, answered, name, request)
    if (answered.stream === false) return sendJson(c, { status: 'ok' })
    return this.#stream(c, { id: session.id, ...accepted }, 'at once')
  }

  #stream(
    c: Context<WireEnv>,
    { id, first, replayed }: { id: string; first: number; replayed: boolean },
    starts: 'with a turn' | 'at once',
    made?: SessionMade,
  ): Response {
    c.env.outgoing.setHeader('X-Session-Id', id)
    const { writer, gone } = this.#open(c)
    const { owner } = c.get('principal')
    if (made) writer.send(dataFrame(made))
    const view = new RunView(event => writer.send(dataFrame(event)), starts)
    void this.#play({ owner, id, first, replayed, until: 'stop' }, view, () => writer.ready(), gone).then(
      () => {
        view.finish('silently')
        writer.send(doneFrame)
        writer.end()
      },
    )
    return RESPONSE_ALREADY_SENT
  }

  #open(c: Context<WireEnv>) {
    const gone = new AbortController()
    return { writer: openSse(c, this.#host, () => gone.abort()), gone: gone.signal }
  }

  async #play(place: Place, view: RunView, pace: () => Promise<void>, gone: AbortSignal): Promise<void> {
    try {
      await follow(this.#host.old, place, view, pace, gone)
    } catch (error) {
      this.#host.log('error', 'A turn could not be shown to its end.', { error: String(error) })
      view.lose(error)
    }
  }

  // ---- sessions ---------------------------------------------------------------------------------------------

  readonly create: Handler = async c => {
    const { body, request } = await this.#read(c, 'deltakit:create')
    const { agent, tools } = decodeTarget(body)
    const { session } = await sessionFor(
      this.#host,
      c.get('principal'),
      { sessionId: undefined, agent, tools },
      request,
    )
    return sendJson(c, { sessionId: session.id }, 201)
  }

  readonly history: Handler = async c => {
    const state = await this.#host.old.peek(c.get('principal').owner, sessionIdOf(c))
    return sendJson(c, encodeHistory(state))
  }

  // ---- background runs --------------------------------------------------------------------------------------

  readonly start: Handler = async c => {
    const { body, request } = await this.#read(c, 'deltakit:job')
    const chat = decodeChat(body)
    const found = await sessionFor(this.#host, c.get('principal'), chat, request)
    const { first } = await say(found, chat, request)
    const { id } = found.session
    const runId = runIdOf(id, first)
    c.env.outgoing.setHeader('X-Session-Id', id)
    return sendJson(c, { runId, job_id: runId, status: 'pending', sessionId: id })
  }

  job(handle: (c: Context<WireEnv>, run: Run) => Promise<Response> | Response): Handler {
    return async c => {
      const run = await findRun(this.#host.old, c.get('principal').owner, c.req.param('id') ?? '')
      return run ? handle(c, run) : sendJson(c, { detail: 'Job not found' }, 404)
    }
  }

  async waits(c: Context<WireEnv>, { session, turn }: Run): Promise<boolean> {
    const { turn: current, batch } = await this.#host.old.peek(c.get('principal').owner, session)
    return current?.id === turn.turn && batch.some(({ stage }) => stage === 'handed' || stage === 'asking')
  }

  events(c: Context<WireEnv>, { session, first }: Run): Response {
    let after = lastEventOf(c)
    c.env.outgoing.setHeader('X-Session-Id', session)
    const { writer, gone } = this.#open(c)
    const { owner } = c.get('principal')
    const view = new RunView((event, number, again) => {
      if (again) after = -1
      if (number > after) writer.send(dataFrame(event, number))
    }, 'with a turn')
    void this.#play({ owner, id: session, first, until: 'turn' }, view, () => writer.ready(), gone).then(
      () => {
        view.finish('done')
        writer.send(doneFrame)
        writer.end()
      },
    )
    return RESPONSE_ALREADY_SENT
  }

  async cancel(c: Context<WireEnv>, { session: id, turn }: Run): Promise<Response> {
    const session = await this.#host.old.open(c.get('principal').owner, id)
    if (session.state.turn?.id === turn.turn) await session.cancel()
    return sendJson(c, { status: 'ok' })
  }

  /** What a page that comes back needs: the run that is not over, and its events so far as the socket numbers them. */
  readonly active: Handler = async c => {
    const { owner } = c.get('principal')
    const id = sessionIdOf(c)
    const run = await lastRun(this.#host.old, owner, id)
    if (!run || run.ended) return sendJson(c, { run_id: null, status: null, message: null, events: [] })
    const events: DeltaKitEvent[] = [{ type: 'run_started', runId: run.id, sessionId: id }]
    const view = new RunView(event => events.push(event), 'with a turn')
    for (const recorded of run.log) view.take({ type: 'event', ...recorded })
    return sendJson(c, { run_id: run.id, status: 'running', message: textOf(run.turn.parts), events })
  }

  // ---- small things -----------------------------------------------------------------------------------------

  /** The session may be named in the body or in a header, the agent in the path or in the body. */
  async #read(
    c: Context<WireEnv>,
    asked: string,
  ): Promise<{ body: JsonObject; request: RequestKey | undefined }> {
    const given = await readJsonObject(c, this.#host.limits)
    const session = c.req.header('x-session-id')
    const agent = c.req.param('agent')
    const body = {
      ...given,
      ...(session !== undefined && (given['sessionId'] ?? null) === null && { sessionId: session }),
      ...(agent !== undefined && { agent }),
    }
    return { body, request: requestKey(c, asked, body) }
  }
}

function sessionIdOf(c: Context<WireEnv>): string {
  const id = c.req.query('sessionId') ?? c.req.query('session_id') ?? c.req.header('x-session-id')
  if (id === undefined || id === '')
    throw new TurnwireError('bad_request', 'sessionId is missing: name the session, as in ?sessionId=<id>.')
  return id
}

/** The number of the last event that the client has; none: -1. */
function lastEventOf(c: Context<WireEnv>): number {
  const given = c.req.query('last_event_id') ?? c.req.header('last-event-id')
  if (given === undefined || given === '') return -1
  const number = /^(?:-1|\d{1,15})$/.test(given) ? Number(given) : Number.NaN
  if (Number.isSafeInteger(number)) return number
  throw new TurnwireError('bad_request', 'last_event_id must be the number of an event, or -1 for all.')
}
