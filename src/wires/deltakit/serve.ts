// The routes. A message or an answer is streamed until the session rests or waits; a job until its turn has ended. A client
// that goes away ends its stream and nothing else.
import { type Context, Hono } from 'hono'
import type { FollowOptions, RequestKey, SessionCall, SessionRef } from '../../engine/index.ts'
import { joinText } from '../../language/content.ts'
import { TurnwireError } from '../../language/errors.ts'
import type { Entry } from '../../language/history.ts'
import type { JsonObject } from '../../lib/json/index.ts'
import type { WireEnv, WireHost } from '../host.ts'
import { readJsonObject, requestKey, sendJson, streamJson } from '../http/index.ts'
import { foldItems, streamFromFirstFrame, streamItems } from '../http/stream.ts'
import { logUpTo, newHeld, readHistory } from '../read-log.ts'
import { waitsForClient, withWaiting } from '../waiting-calls.ts'
import { namedSession, sendAnswers, sendMessage, sessionFor } from './commands.ts'
import { decodeAnswered, decodeChat, decodeTarget } from './decode.ts'
import { HistoryEncoder } from './encode.ts'
import { chatFrames, failingEarly, RunEncoder, runFrames } from './encode-run.ts'
import { type BackgroundRun, encodeJob, encodeQueued, findRun, makeRunId, readRun } from './runs.ts'
import type { DeltaKitEvent, SessionMade } from './schema.ts'

type Handler = (c: Context<WireEnv>) => Promise<Response>

export function deltakitRoutes(host: WireHost): Hono<WireEnv> {
  const app = new Hono<WireEnv>()
  const handlers = new DeltaKitHandlers(host)
  for (const path of ['/api/chat', '/api/chat/']) app.post(path, handlers.chat)
  // One route: a fixed name beside a parameter would make hono fall back to a slower router for all requests.
  app.post('/api/chat/:agent', c =>
    c.req.param('agent') === 'answer' ? handlers.answer(c) : handlers.chat(c),
  )
  app.post('/api/sessions', handlers.create)
  app.get('/api/history', handlers.history)
  for (const path of ['/api/jobs', '/api/jobs/']) app.post(path, handlers.start)
  app.get(
    '/api/jobs/:id',
    handlers.job(async (c, run) => sendJson(c, encodeJob(run, await handlers.waits(c, run)))),
  )
  app.get(
    '/api/jobs/:id/events',
    handlers.job((c, run) => handlers.events(c, run)),
  )
  app.post(
    '/api/jobs/:id/cancel',
    handlers.job((c, run) => handlers.cancel(c, run)),
  )
  app.get('/api/active-run', handlers.active)
  return app
}

async function* historyJson(
  entries: AsyncIterable<Entry>,
  calls: readonly SessionCall[],
): AsyncGenerator<string, void, undefined> {
  const encoder = new HistoryEncoder()
  let before = '['
  for await (const entry of entries)
    for (const item of encoder.take(withWaiting(entry, calls))) {
      yield before + JSON.stringify(item)
      before = ','
    }
  yield before === '[' ? '[]' : ']'
}

class DeltaKitHandlers {
  readonly #host: WireHost

  constructor(host: WireHost) {
    this.#host = host
  }

  // ---- one message ------------------------------------------------------------------------------------------

  readonly chat: Handler = async c => {
    const { body, request } = await this.#read(c, 'deltakit:chat')
    const chat = decodeChat(body)
    const session = await sessionFor(c.get('engine'), this.#host, c.get('principal'), chat, request)
    const accepted = await sendMessage(c.get('engine'), session, chat, request)
    if (accepted.message) return sendJson(c, encodeQueued(session.ref, accepted.message), 202)
    const made: SessionMade | undefined = session.created
      ? { type: 'session', sessionId: session.ref.session }
      : undefined
    return this.#stream(c, session.ref, accepted, 'with a turn', made)
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
    const ref = await namedSession(c.get('engine'), owner, answered.sessionId)
    const accepted = await sendAnswers(c.get('engine'), ref, answered, name, request)
    if (answered.stream === false) return sendJson(c, { status: 'ok' })
    return this.#stream(c, ref, accepted, 'at once')
  }

  #stream(
    c: Context<WireEnv>,
    ref: SessionRef,
    { first, replayed }: { first: number; replayed: boolean },
    starts: 'with a turn' | 'at once',
    made?: SessionMade,
  ): Promise<Response> {
    c.env.outgoing.setHeader('X-Session-Id', ref.session)
    const options: FollowOptions = { from: first, until: 'stop', replay: replayed, deltas: 'take-back' }
    const items = (signal: AbortSignal) => failingEarly(c.get('engine').follow(ref, options, signal))
    return streamFromFirstFrame(c, this.#host, items, chatFrames(starts, made))
  }

  // ---- sessions ---------------------------------------------------------------------------------------------

  readonly create: Handler = async c => {
    const { body, request } = await this.#read(c, 'deltakit:create')
    const { agent, tools } = decodeTarget(body)
    const target = { sessionId: undefined, agent, tools }
    const { ref } = await sessionFor(c.get('engine'), this.#host, c.get('principal'), target, request)
    return sendJson(c, { sessionId: ref.session }, 201)
  }

  readonly history: Handler = async c => {
    const engine = c.get('engine')
    const ref = await findSessionRef(c)
    const { calls, seq } = await engine.summary(ref)
    const held = newHeld()
    // The calls are as they stood at this event: the history has to stand there too.
    const entries = readHistory(logUpTo(engine, seq), ref, undefined, held)
    return streamJson(c, this.#host, historyJson(entries, calls), held)
  }

  // ---- background runs --------------------------------------------------------------------------------------

  readonly start: Handler = async c => {
    const { body, request } = await this.#read(c, 'deltakit:job')
    const chat = decodeChat(body)
    const session = await sessionFor(c.get('engine'), this.#host, c.get('principal'), chat, request)
    const { first, message } = await sendMessage(c.get('engine'), session, chat, request)
    // Its run has an id once it begins.
    if (message) return sendJson(c, encodeQueued(session.ref, message), 202)
    const id = session.ref.session
    const runId = makeRunId(this.#host, session.ref, first)
    c.env.outgoing.setHeader('X-Session-Id', id)
    return sendJson(c, { runId, job_id: runId, status: 'pending', sessionId: id })
  }

  job(handle: (c: Context<WireEnv>, run: BackgroundRun) => Promise<Response> | Response): Handler {
    return async c => {
      const run = await findRun(c.get('engine'), c.get('principal').owner, c.req.param('id') ?? '')
      return run ? handle(c, run) : sendJson(c, { detail: 'Job not found' }, 404)
    }
  }

  /** Whether calls of the run wait for a person or the application. */
  async waits(c: Context<WireEnv>, { ref, turn }: BackgroundRun): Promise<boolean> {
    const { turn: current, calls } = await c.get('engine').summary(ref)
    return current?.id === turn.turn && calls.some(waitsForClient)
  }

  events(c: Context<WireEnv>, { ref, first }: BackgroundRun): Response {
    const frames = runFrames(readLastEvent(c))
    c.env.outgoing.setHeader('X-Session-Id', ref.session)
    const items = (signal: AbortSignal) => c.get('engine').follow(ref, wholeRun(first), signal)
    return streamItems(c, this.#host, items, frames)
  }

  async cancel(c: Context<WireEnv>, { ref, turn }: BackgroundRun): Promise<Response> {
    await c.get('engine').command(ref, { do: 'cancel', turn: turn.turn })
    return sendJson(c, { status: 'ok' })
  }

  /** For a page that comes back: the run that is not over, and its durable events so far as the socket numbers them. */
  readonly active: Handler = async c => {
    const engine = c.get('engine')
    const ref = await findSessionRef(c)
    const { turn, seq } = await engine.summary(ref)
    const run = turn && (await readRun(engine, ref, turn.first))
    if (!run || run.ended) return sendJson(c, { run_id: null, status: null, message: null, events: [] })
    const runId = makeRunId(this.#host, ref, run.first)
    const events: DeltaKitEvent[] = [{ type: 'run_started', runId, sessionId: ref.session }]
    const encoder = new RunEncoder('with a turn')
    const enough = new AbortController()
    const soFar = engine.follow(ref, wholeRun(run.first), enough.signal)
    await foldItems(soFar, item => {
      if (enough.signal.aborted) return
      for (const { event } of encoder.take(item)) events.push(event)
      const isLast =
        item.type === 'event' ? item.seq >= seq : item.type !== 'delta' && item.type !== 'running'
      if (isLast) enough.abort()
    })
    return sendJson(c, { run_id: runId, status: 'running', message: joinText(run.turn.parts), events })
  }

  // ---- small things -----------------------------------------------------------------------------------------

  /** The session may be named in the body or in a header, the agent in the path or in the body. */
  async #read(
    c: Context<WireEnv>,
    asked: string,
  ): Promise<{ body: JsonObject; request: RequestKey | undefined }> {
    const given = await readJsonObject(c, { ...this.#host.limits, plainText: true })
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

/** From the first event of a run to the end of its turn. */
export function wholeRun(first: number): FollowOptions {
  return { from: first, until: 'turn', deltas: 'take-back' }
}

async function findSessionRef(c: Context<WireEnv>): Promise<SessionRef> {
  const id = c.req.query('sessionId') ?? c.req.query('session_id') ?? c.req.header('x-session-id')
  if (id === undefined || id === '')
    throw new TurnwireError('bad_request', 'sessionId is missing: name the session, as in ?sessionId=<id>.')
  return namedSession(c.get('engine'), c.get('principal').owner, id)
}

/** The number of the last event that the client has; none: -1. */
function readLastEvent(c: Context<WireEnv>): number {
  const given = c.req.query('last_event_id') ?? c.req.header('last-event-id')
  if (given === undefined || given === '') return -1
  const number = /^(?:-1|\d{1,15})$/.test(given) ? Number(given) : Number.NaN
  if (Number.isSafeInteger(number)) return number
  throw new TurnwireError('bad_request', 'last_event_id must be the number of an event, or -1 for all.')
}
