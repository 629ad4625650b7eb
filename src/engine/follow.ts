// Following a session: the one way in which anyone outside the engine sees what happens in it. A reader gets the log in
// pages at its own pace, then the deltas of the current step, then live items, without gaps or repeats. A reader that
// falls far behind loses its live queue and goes back to the log, so a slow reader costs no memory.
import { publicError, TurnwireError } from '../language/errors.ts'
import type { Delta, Event, Recorded } from '../language/events.ts'
import type { FollowItem, FollowOptions, SessionRef } from './boundary.ts'
import type { FeedItem } from './feed.ts'
import { stoppedEngine } from './outcomes.ts'
import type { SessionStatus } from './ports.ts'
import type { Session } from './session.ts'
import { StatusTracker } from './status-tracker.ts'
import { StepDeltas } from './step-deltas.ts'

/** Contract: `hold` gives the live session and counts as a use of it; `read` gives the events after a number, in pages. */
export type FollowSource = {
  hold(ref: SessionRef): Promise<Session>
  read(session: string, after: number, maxBytes: number): Promise<Recorded[]>
}

const pageBytes = 1024 * 1024
/** Live items that may wait for a reader. With more it goes back to the log. */
const mostQueued = 4096

type ShownItem = Extract<FollowItem, { type: 'event' | 'delta' }>
type Result = IteratorResult<readonly FollowItem[]>
const done: Result = { value: undefined, done: true }

export class Follower implements AsyncIterator<readonly FollowItem[]> {
  readonly #source: FollowSource
  readonly #ref: SessionRef
  readonly #options: FollowOptions
  readonly #deltas: StepDeltas | undefined
  /** Follows the status through the log, for a request that was accepted before. */
  #tracker: StatusTracker | undefined
  #session: Session | undefined
  #unwatch: (() => void) | undefined
  #live: FeedItem[] = []
  #out: FollowItem[] = []
  /** The number of the next event to give. */
  #next: number
  #turn: string | undefined
  #resumed = false
  #over = false
  #wake: (() => void) | undefined

  constructor(source: FollowSource, ref: SessionRef, options: FollowOptions, signal?: AbortSignal) {
    this.#source = source
    this.#ref = ref
    this.#options = options
    this.#next = options.from ?? 0
    const { deltas } = options
    this.#deltas = deltas === 'none' || deltas === 'raw' ? undefined : new StepDeltas(deltas)
    if (options.replay) this.#tracker = new StatusTracker()
    if (signal?.aborted) this.#over = true
    else signal?.addEventListener('abort', () => this.#close(), { once: true })
  }

  async next(): Promise<Result> {
    try {
      for (;;) {
        if (this.#live.length > 0) this.#takeLive()
        if (this.#out.length > 0) {
          const value = this.#out
          this.#out = []
          return { value, done: false }
        }
        if (this.#over) return done
        if (!this.#session) await this.#open()
        else if (!this.#unwatch) await this.#readOrAttach(this.#session)
        else await this.#untilWoken()
      }
    } catch (error) {
      if (isRefusal(error)) {
        this.#close()
        throw error
      }
      // The session failed, or the engine stops, while this reader opened it: it learns the same as a reader before it.
      this.#lose(isStopping(error) ? stoppedEngine() : error)
      return this.next()
    }
  }

  async return(): Promise<Result> {
    this.#out = []
    this.#close()
    return done
  }

  #close(): void {
    this.#over = true
    this.#live = []
    this.#detach()
    this.#release()
    this.#wakeReader()
  }

  #detach(): void {
    this.#unwatch?.()
    this.#unwatch = undefined
  }

  #release(): void {
    if (this.#session) this.#session.uses -= 1
    this.#session = undefined
  }

  #untilWoken(): Promise<void> {
    return new Promise(resolve => {
      this.#wake = resolve
    })
  }

  #wakeReader(): void {
    const wake = this.#wake
    this.#wake = undefined
    wake?.()
  }

  // ---- the log ---------------------------------------------------------------------------------------------

  async #open(): Promise<void> {
    const session = await this.#source.hold(this.#ref)
    this.#session = session
    if (this.#over) {
      this.#release()
      return
    }
    const { seq } = session.state
    if (this.#options.from === undefined && this.#next === 0) this.#next = seq + 1
    if (this.#next > seq + 1)
      throw new TurnwireError('bad_request', `There is no event ${this.#next - 1} yet; the last is ${seq}.`)
    if (this.#tracker) await this.#track(session, this.#tracker)
  }

  async #readOrAttach(session: Session): Promise<void> {
    if (session.lost) {
      this.#release()
      await this.#reopen()
      return
    }
    const { feed } = session
    const kept = feed.kept(this.#next)
    if (kept || this.#next > feed.shown) {
      this.#attach(session, kept)
      return
    }
    const page = await this.#source.read(session.id, this.#next - 1, pageBytes)
    for (const recorded of page) {
      if (this.#over) return
      // Later events come through the feed, in their order among the deltas.
      if (recorded.seq <= feed.shown) this.#takeEvent({ type: 'event', ...recorded })
    }
  }

  /** The session was lost while this reader was behind. Once something was given, a refusal is the end of the stream. */
  async #reopen(): Promise<void> {
    try {
      await this.#open()
    } catch (error) {
      this.#lose(error)
    }
  }

  /** Gives the events of an earlier request, up to where the session rested or waited. */
  async #track(session: Session, tracker: StatusTracker): Promise<void> {
    const first = this.#next
    for (let after = 0; !this.#over; ) {
      const page = await this.#source.read(session.id, after, pageBytes)
      if (page.length === 0) return
      for (const recorded of page) {
        after = recorded.seq
        tracker.take(recorded, first)
        if (recorded.seq < first) continue
        this.#takeEvent({ type: 'event', ...recorded })
        if (this.#over) return
        if (tracker.stopped) {
          this.#takeStatus(tracker.status)
          return
        }
      }
    }
  }

  // ---- live ------------------------------------------------------------------------------------------------

  #attach(session: Session, kept: readonly ShownItem[] = []): void {
    const { feed } = session
    const { from, deltas } = this.#options
    const isCurrent = feed.shown === session.state.seq || (from !== undefined && feed.shown >= from)
    const isRunning = feed.shownStatus === 'running'
    const afterEvents = kept.findLastIndex(item => item.type === 'event') + 1
    for (const item of kept.slice(0, afterEvents)) this.#takeKept(item)
    if (isCurrent && isRunning) this.#takeStatus('running')
    for (const item of kept.slice(afterEvents)) this.#takeKept(item)
    if (this.#over) return
    this.#unwatch = feed.watch(item => this.#takeFromFeed(item))
    if (feed.shown < this.#next - 1) return
    const isInSnapshot = deltas === 'raw' || (this.#deltas && kept.length === 0)
    if (isInSnapshot) this.#takeSnapshot(feed.live.snapshot())
    if (isCurrent && !isRunning) this.#takeStatus(feed.shownStatus)
  }

  #takeKept(item: ShownItem): void {
    if (this.#over) return
    if (item.type === 'event') this.#takeEvent(item)
    // A reader of raw deltas gets those of the current step only, from the snapshot.
    else if (this.#deltas) this.#takeDelta(item)
  }

  #takeSnapshot(deltas: readonly Delta[]): void {
    const resumed = this.#resumed
    this.#resumed = false
    const [first] = deltas
    // The reader has part of this step already.
    const isSameStep = resumed && first?.type === 'step.started' && first.step === this.#deltas?.step
    if (isSameStep) this.#takeDelta({ type: 'delta', delta: { type: 'step.reset', step: first.step } })
    for (const delta of deltas) {
      if (isSameStep && delta === first) continue
      if (resumed && delta.type === 'output') continue
      this.#takeDelta({ type: 'delta', delta })
    }
  }

  #takeFromFeed(item: FeedItem): void {
    if (item.type === 'delta' && this.#options.deltas === 'none') return
    if (this.#live.length >= mostQueued && item.type !== 'closed') {
      this.#live = []
      this.#resumed = true
      this.#detach()
      return
    }
    this.#live.push(item)
    if (this.#wake) this.#wakeReader()
  }

  #takeLive(): void {
    const items = this.#live
    this.#live = []
    for (const item of items) {
      if (this.#over) return
      if (item.type === 'event') this.#takeEvent(item)
      else if (item.type === 'closed') this.#lose(item.reason)
      else if (this.#isAhead) continue
      else if (item.type === 'delta') this.#takeDelta(item)
      else this.#takeStatus(item.status)
    }
  }

  /** The reader has events that the feed has not shown yet: what the feed says between them is old. */
  get #isAhead(): boolean {
    return (this.#session?.feed.shown ?? 0) < this.#next - 1
  }

  // ---- what the reader is given ------------------------------------------------------------------------------

  #takeEvent(item: Extract<FollowItem, { type: 'event' }>): void {
    if (item.seq < this.#next || this.#over) return
    this.#next = item.seq + 1
    if (this.#deltas && !this.#resolve(deltas => deltas.event(item.event, this.#give))) return
    this.#out.push(item)
    if (this.#options.until === 'turn' && this.#endsTurn(item.event)) this.#takeStatus('idle')
  }

  #endsTurn(event: Event): boolean {
    if (event.type === 'turn.started') this.#turn = event.turn
    if (event.type !== 'turn.ended') return false
    // A message that starts a turn first ends the turn before it.
    return this.#turn === undefined ? event.stop !== 'abandoned' : this.#turn === event.turn
  }

  #takeDelta(item: Extract<FollowItem, { type: 'delta' }>): void {
    if (this.#deltas) this.#resolve(deltas => deltas.delta(item.delta, this.#give))
    else this.#out.push(item)
  }

  readonly #give = (delta: Delta): void => {
    this.#out.push({ type: 'delta', delta })
  }

  /** False: the mode cannot show what the model did, and the stream is over. */
  #resolve(take: (deltas: StepDeltas) => void): boolean {
    try {
      if (this.#deltas) take(this.#deltas)
      return true
    } catch (error) {
      this.#lose(error)
      return false
    }
  }

  #takeStatus(status: SessionStatus): void {
    if (status === 'running') this.#out.push({ type: 'running' })
    else this.#out.push({ type: status === 'waiting' ? 'waiting' : 'ended' })
    const { until } = this.#options
    if (until === 'never' || status === 'running' || (until === 'turn' && status === 'waiting')) return
    this.#close()
  }

  #lose(reason: unknown): void {
    const { code, message } = publicError(reason)
    this.#out.push({ type: 'lost', error: { code, message } })
    this.#close()
  }
}

function isRefusal(error: unknown): boolean {
  return error instanceof TurnwireError && ['session_not_found', 'bad_request'].includes(error.code)
}

function isStopping(error: unknown): boolean {
  return error instanceof TurnwireError && error.code === 'stopping'
}
