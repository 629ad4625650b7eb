// Shows a stored response: live, from the moment that its request was taken, or from the log, and then live where the log
// ends. Either way nothing is missed and nothing comes twice; the response itself never waits for a reader.
import type { Context } from 'hono'
import {
  type Taken as Accepted,
  evolve,
  type FeedItem,
  type RequestKey,
  type Session,
  statusOf,
} from '../../engine/index.ts'
import type { CallPart } from '../../language/calls.ts'
import { TurnwireError } from '../../language/errors.ts'
import type { SseWriter } from '../../lib/sse.ts'
import type { WireEnv, WireHost } from '../host.ts'
import { openSse, RESPONSE_ALREADY_SENT, sendJson } from '../http/index.ts'
import { type Asked, splitAsk } from './decode.ts'
import { Emitter } from './emitter.ts'
import { responseId, stemOf } from './ids.ts'
import { Resource, requestFields } from './resource.ts'
import { findResponse, type StoredResponse, viewOfStored } from './stored-log.ts'
import { Diverged } from './track.ts'
import { ResponseView } from './view.ts'

// ---- live -----------------------------------------------------------------------------------------------------------

type Starting = { session: Session; asked: Asked; open: readonly CallPart[]; take: () => Promise<Accepted> }

/** Undefined when the request was taken before: then the log has it. */
export async function serveLive(
  c: Context<WireEnv>,
  host: WireHost,
  { session, asked, open, take }: Starting,
): Promise<Response | undefined> {
  const live = new LiveRun(session)
  let first: number
  let at: number
  try {
    const accepted = await take()
    if (accepted.replayed) {
      live.stop()
      return undefined
    }
    first = accepted.first
    at = accepted.at
  } catch (error) {
    live.stop()
    throw error
  }
  const { state, agent } = session
  const id = responseId({ session: session.id, first })
  const view = (emitter: Emitter): ResponseView =>
    new ResponseView({
      emitter,
      resource: new Resource(
        id,
        at,
        requestFields(agent, state.settings, splitAsk(asked.settings).ask, session.id),
      ),
      at: { stem: stemOf(session.id), first },
      agent: agent.name,
      live: false,
      open,
    })
  if (asked.stream) {
    const writer = openSse(c, host, () => live.stop(), true)
    void live.play(first, view(new Emitter(frame => writer.send(frame))), true).finally(() => writer.end())
    return RESPONSE_ALREADY_SENT
  }
  const shown = view(new Emitter())
  if (asked.background) {
    live.stop()
    return sendJson(c, shown.unfinished)
  }
  c.env.outgoing.once('close', () => live.stop())
  const whole = await live.play(first, shown, false)
  if (whole === undefined) throw gone()
  return sendJson(c, whole)
}

function gone(): TurnwireError {
  return new TurnwireError('stopping', 'The response goes on elsewhere. Retrieve it in a moment.')
}

/** Watches from before the request is made, so that its first event cannot slip by. */
class LiveRun {
  readonly #unwatch: () => void
  #early: FeedItem[] | undefined = []
  #take: (item: FeedItem) => void = () => {}
  #done: (whole: string | undefined) => void = () => {}

  constructor(session: Session) {
    this.#unwatch = session.feed.watch(item => (this.#early ? this.#early.push(item) : this.#take(item)))
  }

  stop(): void {
    this.#unwatch()
    this.#take = () => {}
    this.#done(undefined)
  }

  /** Gives the whole response, or undefined when it was not seen to its end. */
  play(first: number, view: ResponseView, deltas: boolean): Promise<string | undefined> {
    return new Promise(resolve => {
      this.#done = resolve
      this.#take = item => {
        const ended = showItem(view, item, deltas)
        if (ended === 'on') return
        if (ended !== 'broken') resolve(ended.whole)
        this.stop()
      }
      view.begin()
      const early = this.#early ?? []
      this.#early = undefined
      const at = early.findIndex(
        item => item.type === 'closed' || (item.type === 'event' && item.seq >= first),
      )
      for (const item of at < 0 ? [] : early.slice(at)) this.#take(item)
    })
  }
}

type Shown = 'on' | 'broken' | { whole: string }

/** A status other than running says that nothing more will come of the request. */
function showItem(view: ResponseView, item: FeedItem, deltas: boolean): Shown {
  try {
    if (item.type === 'closed') {
      view.break('server_error', gone().message)
      return 'broken'
    }
    if (item.type === 'status') return item.status === 'running' ? 'on' : { whole: view.finish() }
    if (item.type === 'event' || deltas) view.take(item)
    return 'on'
  } catch (error) {
    if (!(error instanceof Diverged)) throw error
    view.break('server_error', 'The model started over. Retrieve the response once it is finished.')
    return 'broken'
  }
}

// ---- from the log ---------------------------------------------------------------------------------------------------

type Again = { owner: string; session: Session; asked: Asked; request: RequestKey }

/** The answer to a request that was taken before. */
export async function serveReplayed(
  c: Context<WireEnv>,
  host: WireHost,
  { owner, session, asked, request }: Again,
): Promise<Response> {
  await session.flushed()
  const first = session.state.requests.get(request.key)?.seq ?? 0
  const response = await findResponse(host, owner, responseId({ session: session.id, first }))
  if (asked.stream) return streamStored(c, host, owner, response, -1)
  if (asked.background || response.over) return sendJson(c, jsonOf(host, response))
  const whole = await follow(host, owner, response, new Emitter(), () => Promise.resolve())
  if (whole === undefined) throw gone()
  return sendJson(c, whole)
}

/** The response as it is now. */
export function jsonOf(host: WireHost, response: StoredResponse): string {
  const view = viewOfStored(host, response, new Emitter())
  for (const recorded of response.events) view.take({ type: 'event', ...recorded })
  return response.over ? view.finish() : view.unfinished
}

/** From the beginning, or after the event `after`; then live, while the response is being made. */
export function streamStored(
  c: Context<WireEnv>,
  host: WireHost,
  owner: string,
  response: StoredResponse,
  after: number,
): Response {
  let stop = (): void => {}
  const writer = openSse(c, host, () => stop(), true)
  const emitter = new Emitter(frame => writer.send(frame), after)
  void follow(
    host,
    owner,
    response,
    emitter,
    () => writer.ready(),
    writer,
    end => {
      stop = end
    },
  )
    .catch(error => host.log('warn', 'A stored response could not be shown.', { error: String(error) }))
    .finally(() => writer.end())
  return RESPONSE_ALREADY_SENT
}

async function follow(
  host: WireHost,
  owner: string,
  response: StoredResponse,
  emitter: Emitter,
  pace: () => Promise<void>,
  writer?: SseWriter,
  onStop: (stop: () => void) => void = () => {},
): Promise<string | undefined> {
  const view = viewOfStored(host, response, emitter)
  view.begin()
  for (const recorded of response.events) {
    view.take({ type: 'event', ...recorded })
    await pace()
    if (writer?.closed) return undefined
  }
  if (response.over) return view.finish()
  const { promise, resolve } = Promise.withResolvers<string | undefined>()
  onStop(() => resolve(undefined))
  const ends = endOf(response)
  let last = response.events.at(-1)?.seq ?? response.first
  let over = false
  const unwatch = await host.old.watch(owner, response.session, last, item => {
    if (over || item.type === 'status') return
    const ended = showItem(view, item, writer !== undefined)
    if (item.type === 'event') last = item.seq
    if (ended === 'on' && !(item.type === 'event' && ends(item))) return
    over = true
    resolve(ended === 'broken' ? undefined : view.finish())
  })
  if (writer?.closed) resolve(undefined)
  return promise.finally(unwatch)
}

/** Tells of each further event whether the response is over with it. */
function endOf({ before, events }: StoredResponse): (item: Extract<FeedItem, { type: 'event' }>) => boolean {
  let own = 0
  const state = before
  const take = ({ seq, event }: { seq: number; event: Parameters<typeof evolve>[1] }): boolean => {
    evolve(state, event)
    if (seq === events[0]?.seq) own = event.type === 'request.accepted' ? event.events : 0
    else if (own > 0) own -= 1
    return own === 0 && statusOf(state) !== 'running'
  }
  for (const recorded of events) take(recorded)
  return take
}
