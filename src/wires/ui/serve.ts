// The routes. A chat is a session: the first message makes it, the next ones go on with it, and a page that comes back
// takes up the turn that runs. A client that goes away ends its view and nothing else.
import { type Context, Hono } from 'hono'
import { type Taken as Accepted, findCall, type RequestKey, type Session } from '../../engine/index.ts'
import type { InputPart } from '../../language/content.ts'
import { TurnwireError } from '../../language/errors.ts'
import type { Settings } from '../../language/events.ts'
import type { Json } from '../../lib/json.ts'
import type { WireEnv, WireHost } from '../host.ts'
import { follow, type Place } from '../http/follow.ts'
import {
  dataFrame,
  nthOf,
  openSse,
  plainErrors,
  RESPONSE_ALREADY_SENT,
  readJsonObject,
  triesOf,
} from '../http/index.ts'
import { changeOwn } from '../own-tools.ts'
import { Chats, door, requestOf } from './chats.ts'
import { decodeAnswers, decodeRequest, decodeTools, decodeWords, freshWords, toolParts } from './decode.ts'
import { MessageView, type Shown } from './message-view.ts'
import type { ChatRequest } from './schema.ts'

export function uiRoutes(host: WireHost): Hono<WireEnv> {
  const app = new Hono<WireEnv>()
  app.onError(plainErrors(host))
  const wire = new Wire(host)
  app.post('/ui/:agent', c => wire.chat(c))
  app.get('/ui/:agent/:id/stream', c => wire.resume(c))
  return app
}

const doneFrame = 'data: [DONE]\n\n'

class Wire {
  readonly #host: WireHost
  readonly #chats: Chats

  constructor(host: WireHost) {
    this.#host = host
    this.#chats = new Chats(host)
  }

  async chat(c: Context<WireEnv>): Promise<Response> {
    const request = decodeRequest(await readJsonObject(c, this.#host.limits))
    const agent = this.#host.old.agent(c.req.param('agent') ?? '')
    const { owner, name } = c.get('principal')
    const session = await this.#chats.open(owner, agent, request)
    const { state } = session
    const before = {
      ...state,
      batch: state.batch.map(call => ({ ...call })),
      turn: state.turn && { ...state.turn },
    }
    const settings = changesOf(state.settings, request)
    const answers = decodeAnswers(toolParts(request.messages), id => findCall(state, id), name)
    const { results, decisions, message } = answers
    const answered = results.length + decisions.length > 0
    const words = wordsOf(session, request, answered)
    const own = new Set(results.map(({ callId }) => callId))
    const common = settings ? { settings } : {}
    if (answered) {
      const accepted = await session.respond({ results, decisions, ...common })
      if (!words)
        return this.#stream(c, session, before, { own, ...(message !== undefined && { message }) }, accepted)
      // Both at once: the answer to the words is the message of this request, so the turn before it ends unseen.
      await this.#settle(owner, session.id, accepted, c)
    }
    if (!words) return this.#join(c, session, before, request)
    const accepted = await session.say({ ...words, wire: door, ...(!answered && common) })
    return this.#stream(c, session, before, { own: new Set() }, accepted)
  }

  /** Nothing is new: a turn that runs is joined where it is, and one that waits says again what for. */
  #join(c: Context<WireEnv>, session: Session, before: Session['state'], request: ChatRequest): Response {
    if (session.status === 'idle')
      throw new TurnwireError(
        'bad_request',
        'messages hold nothing new: add what the user says. If a call was answered elsewhere, load the chat again.',
      )
    const message =
      request.messages.findLast(({ role }) => role === 'assistant')?.id ?? session.state.turn?.id ?? ''
    const accepted = { first: session.state.seq + 1, replayed: false }
    return this.#stream(c, session, before, { message, own: new Set() }, accepted)
  }

  async resume(c: Context<WireEnv>): Promise<Response> {
    const { owner } = c.get('principal')
    const agent = this.#host.old.agent(c.req.param('agent') ?? '')
    const session = await this.#chats.running(owner, agent, c.req.param('id') ?? '')
    if (session?.status !== 'running') return c.body(null, 204)
    const log = await this.#host.old.events(owner, session.id)
    const first = log.findLast(({ event }) => event.type === 'turn.started')?.seq
    if (first === undefined) return c.body(null, 204)
    const { state } = session
    // The whole message is told again, from its first step on.
    const before = { ...state, batch: [], turn: null }
    return this.#stream(c, session, before, { own: new Set() }, { first, replayed: false })
  }

  // ---- the stream -------------------------------------------------------------------------------------------

  #stream(
    c: Context<WireEnv>,
    { id }: Session,
    before: Session['state'],
    shown: Shown,
    { first, replayed }: Pick<Accepted, 'first' | 'replayed'>,
  ): Response {
    c.env.outgoing.setHeader('X-Vercel-AI-UI-Message-Stream', 'v1')
    c.env.outgoing.setHeader('X-Session-Id', id)
    const gone = new AbortController()
    const writer = openSse(c, this.#host, () => gone.abort())
    const view = new MessageView(shown, before, chunk => writer.send(dataFrame(chunk)))
    const place: Place = { owner: c.get('principal').owner, id, first, replayed, until: 'stop' }
    void this.#play(place, view, () => writer.ready(), gone.signal).then(() => {
      view.finish()
      writer.send(doneFrame)
      writer.end()
    })
    return RESPONSE_ALREADY_SENT
  }

  async #play(place: Place, view: MessageView, pace: () => Promise<void>, gone: AbortSignal): Promise<void> {
    try {
      await follow(this.#host.old, place, view, pace, gone)
    } catch (error) {
      this.#host.log('error', 'A turn could not be shown to its end.', { error: String(error) })
      view.lose(error)
    }
  }

  async #settle(owner: string, id: string, { first }: Accepted, c: Context<WireEnv>): Promise<void> {
    const gone = new AbortController()
    c.env.outgoing.once('close', () => gone.abort())
    const unseen = { take: () => {}, lose: () => {}, over: false }
    await follow(
      this.#host.old,
      { owner, id, first, until: 'stop' },
      unseen,
      () => Promise.resolve(),
      gone.signal,
    )
  }
}

// ---- what is new --------------------------------------------------------------------------------------------

function changesOf(settings: Settings, { tools }: ChatRequest): Partial<Settings> | undefined {
  const own = decodeTools(tools)
  return own && changeOwn(settings, door, own)
}

/** What the user says now. Said before: shown again, or put to the model again if that failed. */
function wordsOf(
  { state, agent }: Session,
  { id, messages }: ChatRequest,
  answered: boolean,
): { parts: InputPart[]; request?: RequestKey } | undefined {
  const keyOf = (message: string): string => `${door}:${id}:${message}`
  const partsOf = (list: typeof messages): InputPart[] =>
    list.flatMap(message => decodeWords(message, agent.images))
  const fresh = freshWords(messages, message => state.requests.has(keyOf(message)))
  const last = messages.at(-1)
  if (fresh.length > 0) {
    const parts = partsOf(fresh)
    if (parts.length === 0) throw new TurnwireError('bad_request', 'The user message is empty.')
    return { parts, request: requestOf(keyOf(fresh.at(-1)!.id), partsOf(fresh.slice(-1)) as Json) }
  }
  if (answered) return undefined
  const failed = state.turn === null && state.lastStop?.stop === 'error'
  if (last?.role === 'user') {
    const key = keyOf(last.id)
    const said = partsOf([last]) as Json // Parts are JSON.
    refuseIfChanged(state, requestOf(key, said))
    const tries = triesOf(state, key)
    return { parts: [], request: requestOf(nthOf(key, failed ? tries + 1 : tries), said) }
  }
  const awaits = state.entries.at(-1)?.role
  return state.turn === null && (awaits === 'user' || awaits === 'tool') ? { parts: [] } : undefined
}

function refuseIfChanged({ requests }: Session['state'], { key, hash }: RequestKey): void {
  if (requests.get(key)?.hash === hash) return
  throw new TurnwireError(
    'idempotency_conflict',
    'A message that was sent is recorded and cannot be changed. Send a new one.',
  )
}
