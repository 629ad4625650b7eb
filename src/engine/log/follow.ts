// Following a session: the one way in which anyone outside the engine sees what happens in it. A reader gets the log in
// pages at its own pace, then the deltas of the current step, then live items, without gaps or repeats. A reader that
// falls far behind loses its live queue and goes back to the log, so a slow reader costs no memory. A session that
// rests in the store is read there: following claims nothing, and works while the store cannot be written.
import { hasCode, publicError, TurnwireError } from '../../language/errors.ts'
import type { Delta, Event, MessageDelivered } from '../../language/events.ts'
import { sealingTypes, withoutSeals } from '../../language/seals.ts'
import { StepDeltas } from '../../language/step-deltas.ts'
import { soon } from '../../lib/async/promises.ts'
import type { FollowItem, FollowOptions, SessionRef } from '../ports/boundary.ts'
import type { SessionStatus } from '../ports/index.ts'
import { stoppedEngine } from '../rules/outcomes.ts'
import type { FeedItem } from './feed.ts'
import type { LogPages } from './log-pages.ts'
import type { LoggedSession } from './logged-session.ts'
import { mayPass } from './passing-failure.ts'
import { StatusTracker } from './status-tracker.ts'

/** A session that is in the store and not in memory. `stuck`: why nobody will continue its turn. */
export type Resting = { head: number; status: SessionStatus; stuck?: TurnwireError }

/**
 * Contract: `find` gives the session if it is in memory or at work, else what the store has of it. `onChange` calls back
 * when a session is loaded into memory, or with the reason when it is deleted or the engine stops.
 */
export type FollowSource = {
  find(ref: SessionRef): LoggedSession | Promise<LoggedSession | Resting>
  onChange(session: string, changed: (gone?: unknown) => void): () => void
  readonly pages: LogPages
}

/** Live items that may wait for a reader. With more it goes back to the log. */
const mostQueued = 4096

type ShownItem = Extract<FollowItem, { type: 'event' | 'delta' }>
type Tracking = { tracker: StatusTracker; first: number; after: number }
type FollowResult = IteratorResult<readonly FollowItem[]>
const done: FollowResult = { value: undefined, done: true }

export class Follower implements AsyncIterator<readonly FollowItem[]> {
  readonly #source: FollowSource
  readonly #ref: SessionRef
  readonly #options: FollowOptions
  readonly #deltas: StepDeltas | undefined
  /** Follows the status through the log, for a request that was accepted before. */
  #tracking: Tracking | undefined
  #session: LoggedSession | undefined
  /** In place of the session while it is not in memory. */
  #resting: Resting | undefined
  #begun = false
  /** The last status that the reader was given. */
  #status: SessionStatus | undefined
  #unsubscribe: (() => void) | undefined
  #unwatch: (() => void) | undefined
  #live: FeedItem[] = []
  /** The number of the last event that the feed had shown at this place of the queue. */
  #shown = 0
  #out: FollowItem[] = []
  /** The number of the next event to give. */
  #next: number
  #turn: string | undefined
  /** The reader was given the end of a turn. */
  #turnOver = false
  #resumed = false
  #over = false
  #wake: (() => void) | undefined
  #waiting: ((result: FollowResult | Promise<FollowResult>) => void) | undefined

  constructor(source: FollowSource, ref: SessionRef, options: FollowOptions, signal?: AbortSignal) {
    this.#source = source
    this.#ref = ref
    this.#options = options
    this.#next = options.from ?? 0
    const { deltas } = options
    this.#deltas = deltas === 'none' || deltas === 'raw' ? undefined : new StepDeltas(deltas)
    if (options.replay) this.#tracking = { tracker: new StatusTracker(), first: this.#next, after: 0 }
    if (signal?.aborted) this.#over = true
    else signal?.addEventListener('abort', () => this.#close(), { once: true })
  }

  /** Thousands may wait for the same session, so a reader that is up to date costs one promise and no async function. */
  next(): Promise<FollowResult> {
    const isUpToDate = this.#unwatch && !this.#over && this.#live.length === 0 && this.#out.length === 0
    if (!isUpToDate || this.#tracking) return this.#advance()
    return new Promise(resolve => {
      this.#waiting = resolve
    })
  }

  /** The items that can be given now. Undefined: the reader has to wait. */
  #ready(): FollowResult | undefined {
    if (this.#live.length > 0) this.#takeLive()
    if (this.#out.length === 0) return this.#over ? done : undefined
    const value = this.#out
    this.#out = []
    return { value, done: false }
  }

  async #advance(): Promise<FollowResult> {
    try {
      for (;;) {
        const ready = this.#ready()
        if (ready) return ready
        if (!this.#session && !this.#resting) await (this.#begun ? this.#reopen() : this.#open())
        else if (this.#tracking) await this.#track(this.#tracking)
        else if (this.#resting) await this.#readResting(this.#resting)
        else if (!this.#session) continue
        else if (!this.#unwatch) await this.#readOrAttach(this.#session)
        else await this.#untilWoken()
      }
    } catch (error) {
      if (hasCode(error, 'session_not_found', 'bad_request')) {
        this.#close()
        throw error
      }
      // The session failed, or the engine stops, while this reader opened it: it learns the same as a reader before it.
      this.#lose(hasCode(error, 'stopping') ? stoppedEngine() : error)
      return this.#advance()
    }
  }

  async return(): Promise<FollowResult> {
    this.#out = []
    this.#close()
    return done
  }

  #close(): void {
    this.#over = true
    this.#live = []
    this.#detach()
    this.#unsubscribe?.()
    this.#unsubscribe = undefined
    this.#session = undefined
    this.#resting = undefined
    this.#wakeReader()
  }

  #detach(): void {
    this.#unwatch?.()
    this.#unwatch = undefined
  }

  #untilWoken(): Promise<void> {
    return new Promise(resolve => {
      this.#wake = resolve
    })
  }

  #wakeReader(): void {
    const [wake, waiting] = [this.#wake, this.#waiting]
    this.#wake = undefined
    this.#waiting = undefined
    wake?.()
    // One microtask later, so that everything that one tick brings is one batch.
    if (waiting) soon(() => waiting(this.#ready() ?? this.#advance()))
  }

  // ---- the log ---------------------------------------------------------------------------------------------

  async #open(): Promise<void> {
    const found = await this.#find()
    if (this.#over) return
    this.#begun = true
    const seq = 'feed' in found ? found.state.seq : found.head
    if ('feed' in found) this.#session = found
    else this.#resting = found
    if (this.#options.from === undefined && this.#next === 0) this.#next = seq + 1
    if (this.#next > seq + 1)
      throw new TurnwireError('bad_request', `There is no event ${this.#next - 1} yet; the last is ${seq}.`)
  }

  async #find(): Promise<LoggedSession | Resting> {
    const finding = this.#source.find(this.#ref)
    const found = finding instanceof Promise ? await finding : finding
    if ('feed' in found || this.#over) {
      this.#unsubscribe?.()
      this.#unsubscribe = undefined
      return found
    }
    if (this.#unsubscribe) return found
    this.#unsubscribe = this.#source.onChange(this.#ref.session, gone => this.#changed(gone))
    // It may have been loaded before this reader subscribed.
    return this.#find()
  }

  /** It was loaded into memory, or is gone for the reason given. */
  #changed(gone: unknown): void {
    if (gone !== undefined && !this.#session) this.#lose(gone)
    this.#resting = undefined
    this.#wakeReader()
  }

  /** The rest of the log, then its status, then nothing until the session is loaded by someone who does something. */
  async #readResting(resting: Resting): Promise<void> {
    const items = await this.#source.pages.after(this.#ref.session, this.#next - 1)
    if (this.#over || this.#resting !== resting) return
    for (const item of items) this.#takeEvent(item)
    if (items.length > 0 || this.#over) return
    // Someone wrote to it since it was looked up: its status is another.
    if (this.#next - 1 > resting.head) this.#resting = undefined
    else if (resting.stuck && this.#options.until !== 'never') this.#lose(resting.stuck)
    else if (this.#status === resting.status) await this.#untilWoken()
    else this.#takeStatus(resting.status)
  }

  async #readOrAttach(session: LoggedSession): Promise<void> {
    if (session.lost || session.released) {
      this.#session = undefined
      // As long as the store refuses to continue it, it would be lost again.
      if (mayPass(session.lostBecause)) this.#lose(session.lostBecause)
      return
    }
    const { feed } = session
    const kept = feed.kept(this.#next)
    if (kept || this.#next > feed.shown) {
      this.#attach(session, kept)
      return
    }
    for (const item of await this.#source.pages.after(session.id, this.#next - 1)) {
      if (this.#over) return
      // Later events come through the feed, in their order among the deltas.
      if (item.seq <= feed.shown) this.#takeEvent(item)
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
  async #track(tracking: Tracking): Promise<void> {
    const { tracker, first } = tracking
    const items = await this.#source.pages.after(this.#ref.session, tracking.after)
    if (items.length === 0) this.#tracking = undefined
    for (const item of items) {
      if (this.#over) return
      tracking.after = item.seq
      tracker.take(item, first)
      if (item.seq < first) continue
      this.#takeEvent(item)
      if (!this.#over && tracker.stopped) {
        this.#tracking = undefined
        this.#takeStatus(tracker.status)
        return
      }
    }
  }

  // ---- live ------------------------------------------------------------------------------------------------

  #attach(session: LoggedSession, kept: readonly ShownItem[] = []): void {
    const { feed } = session
    const { from, deltas } = this.#options
    const isCurrent = feed.shown === session.state.seq || (from !== undefined && feed.shown >= from)
    const isRunning = feed.shownStatus === 'running'
    const afterEvents = kept.findLastIndex(item => item.type === 'event') + 1
    this.#takeKept(kept.slice(0, afterEvents))
    if (isCurrent && isRunning) this.#takeStatus('running')
    if (kept.length > afterEvents) this.#takeKept(kept.slice(afterEvents))
    if (this.#over) return
    this.#shown = feed.shown
    this.#unwatch = feed.watch(this.#takeFromFeed)
    if (feed.shown < this.#next - 1) return
    const isInSnapshot = deltas === 'raw' || (this.#deltas && kept.length === 0)
    if (isInSnapshot) this.#takeSnapshot(feed.live.snapshot())
    if (isCurrent && !isRunning) this.#takeStatus(feed.shownStatus)
  }

  #takeKept(items: readonly ShownItem[]): void {
    for (const item of items) {
      if (this.#over) return
      if (item.type === 'event') this.#takeEvent(item)
      // A reader of raw deltas gets those of the current step only, from the snapshot.
      else if (this.#deltas) this.#takeDelta(item)
    }
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

  readonly #takeFromFeed = (item: FeedItem): void => {
    if (item.type === 'delta' && this.#options.deltas === 'none') return
    if (this.#live.length >= mostQueued && item.type !== 'closed') {
      this.#live = []
      this.#resumed = true
      this.#detach()
      return
    }
    this.#live.push(item)
    if (this.#waiting || this.#wake) this.#wakeReader()
  }

  #takeLive(): void {
    const items = this.#live
    this.#live = []
    try {
      for (const item of items) {
        if (this.#over) return
        if (item.type === 'event') {
          this.#shown = item.seq
          this.#takeEvent(item)
        } else if (item.type === 'closed') this.#lose(item.reason)
        else if (item.type === 'released') this.#leave()
        // The reader got these events from the log before the feed showed them: items between them are out of date.
        else if (this.#shown < this.#next - 1) continue
        else if (item.type === 'delta') this.#takeDelta(item)
        else this.#takeStatus(item.status)
      }
    } catch (error) {
      this.#lose(error)
    }
  }

  /** The session is no longer in memory: it is read from the store until it is loaded again. */
  #leave(): void {
    this.#detach()
    this.#session = undefined
  }

  // ---- what the reader is given ------------------------------------------------------------------------------

  /** Throws if the mode cannot show what the model did: then the stream is over. */
  #takeEvent(item: Extract<FollowItem, { type: 'event' }>): void {
    if (item.seq < this.#next || this.#over) return
    if (item.event.type === 'message.delivered' && this.#isNextTurn(item.event)) {
      this.#takeStatus('idle')
      return
    }
    this.#next = item.seq + 1
    this.#deltas?.event(item.event, this.#give)
    const event = sealingTypes.has(item.event.type) ? withoutSeals(item.event) : item.event
    this.#out.push(event === item.event ? item : { ...item, event })
    if (item.event.type === 'turn.ended') this.#turnOver = true
    if (this.#options.until === 'turn' && this.#endsTurn(item.event)) this.#takeStatus('idle')
  }

  /** A message that waited starts another turn in the write that ends this one: the session has rested in between. */
  #isNextTurn({ parts }: MessageDelivered): boolean {
    return !parts && this.#options.until !== 'never' && this.#turnOver
  }

  #endsTurn(event: Event): boolean {
    if (event.type === 'turn.started') this.#turn = event.turn
    if (event.type !== 'turn.ended') return false
    // A message that starts a turn first ends the turn before it.
    return this.#turn === undefined ? event.stop !== 'abandoned' : this.#turn === event.turn
  }

  /** Throws as `#takeEvent` does. */
  #takeDelta(item: Extract<FollowItem, { type: 'delta' }>): void {
    if (this.#deltas) this.#deltas.delta(item.delta, this.#give)
    else this.#out.push(item)
  }

  readonly #give = (delta: Delta): void => {
    this.#out.push({ type: 'delta', delta })
  }

  #takeStatus(status: SessionStatus): void {
    this.#status = status
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

/**
 * Counts the open streams of each session by the name that the reader gave (`as`). The session's summary lists these
 * names, so a wire learns on any node whether a turn that it started still has a reader.
 */
export class Readers {
  /** By session: how many streams each name has open. */
  readonly #open = new Map<string, Map<string, number>>()

  /** The items, counted as read for as long as someone takes them. */
  async *counted<Item>(session: string, name: string, items: AsyncIterable<Item>): AsyncGenerator<Item> {
    this.#add(session, name, 1)
    try {
      yield* items
    } finally {
      this.#add(session, name, -1)
    }
  }

  of(session: string): string[] {
    return [...(this.#open.get(session)?.keys() ?? [])]
  }

  #add(session: string, name: string, count: number): void {
    const names = this.#open.get(session) ?? new Map<string, number>()
    const now = (names.get(name) ?? 0) + count
    if (now > 0) names.set(name, now)
    else names.delete(name)
    if (names.size > 0) this.#open.set(session, names)
    else this.#open.delete(session)
  }
}
