// Writes a session's events to its log. An event changes the state at once and is shown once it is durable. Events that
// are recorded in the same microtask turn are written together.
import type { Event, TurnStop } from '../../language/events.ts'
import { soon } from '../../lib/async/promises.ts'
import { roughSize } from '../../lib/json/plain.ts'
import type {
  Append,
  CrashPoint,
  EnginePorts,
  ListSummary,
  NewRecord,
  NewSession,
  NoticePort,
  SessionFacts,
  SessionStatus,
  World,
} from '../ports/index.ts'
import { evolve } from '../rules/evolve.ts'
import { readNotice } from '../rules/notices.ts'
import { readSpending } from '../rules/spending.ts'
import { type SessionState, sessionFacts, summariseForList, unusualStop } from '../rules/state.ts'
import type { Feed, HeldItems } from './feed.ts'
import { noteDiscarded } from './note-discarded.ts'

/** The events of one write. `written` is made when someone waits for it. */
type Batch = {
  seq: number
  events: Event[]
  held: HeldItems
  /** Made of the events for programs outside. */
  records?: NewRecord[]
  written: PromiseWithResolvers<void> | undefined
  sent: boolean
  /** Set while the batch is deferred: stops its timer. */
  stopClock: (() => void) | undefined
}

/** The session that the journal writes for. `lose` is called when the store refuses a write. */
type Keeper = {
  readonly ports: EnginePorts
  /** About the JSON of the log. */
  bytes: number
  readonly state: SessionState
  readonly feed: Feed
  readonly driver: { readonly callsRunning: number }
  /** Absent: the log is not signed. */
  readonly signer: { take(events: readonly Event[]): void } | undefined
  /** Absent: none are kept. */
  readonly snapshots: { readonly dueSeq: number; readonly dueBytes: number; consider(): void } | undefined
  lose(reason: unknown): void
}

export class Journal {
  readonly #keeper: Keeper
  readonly #epoch: number
  readonly #listed: () => void
  /** The session, while it is not in the store. */
  #unwritten: NewSession | undefined
  #lost: unknown
  #shownStatus: SessionStatus
  #summary: ListSummary
  #used: SessionState['used']
  #waits = false
  #stop: TurnStop | undefined
  /** Not given to the store yet. */
  #batch: Batch | undefined
  /** The newest that is not durable yet. */
  #last: Batch | undefined

  /** `listed` is called once a change of the session's list row is durable. */
  constructor(keeper: Keeper, claim: { epoch: number; unwritten?: NewSession }, listed: () => void) {
    this.#listed = listed
    this.#keeper = keeper
    this.#epoch = claim.epoch
    this.#unwritten = claim.unwritten
    this.#shownStatus = keeper.state.status
    this.#summary = summariseForList(keeper.state)
    this.#used = keeper.state.used
    this.#waits = this.#shownStatus === 'waiting'
    this.#stop = unusualStop(keeper.state)
  }

  /**
   * Events recorded in one microtask turn go to the store together. Deferrable events wait up to the store's `lingerMs`; any
   * other event, or `flush`, sends them at once.
   */
  record(events: readonly Event[], deferrable: boolean): void {
    if (this.#lost !== undefined || events.length === 0) return
    // Throws for an event that no store could write, before any of them has an effect.
    const size = roughSize(events)
    const { state, ports } = this.#keeper
    this.#keeper.bytes += size
    this.#batch ??= this.#newBatch(state.seq + 1)
    const batch = this.#batch
    const { store, world, notices } = ports
    for (const event of events) {
      if (notices) addressNotice(notices, batch, state, event)
      evolve(state, event)
      batch.events.push(event)
      batch.held.items.push({ type: 'event', seq: state.seq, event })
    }
    this.#keeper.signer?.take(events)
    if (!deferrable || store.lingerMs === undefined) this.#send(batch)
    else if (!batch.sent) batch.stopClock ??= world.timer(store.lingerMs, () => this.#send(batch))
  }

  /** A write without events. */
  touch(): void {
    if (this.#lost !== undefined) return
    this.#batch ??= this.#newBatch(this.#keeper.state.seq + 1)
    this.#send(this.#batch)
  }

  /** Records nothing more; everyone who waits gets the reason now. */
  lose(reason: unknown): void {
    this.#lost = reason
    this.flush()
  }

  /** Why the session was lost. */
  get lost(): unknown {
    return this.#lost
  }

  /** Sends deferred events now. */
  flush(): void {
    if (this.#last) this.#send(this.#last)
  }

  /** Sends deferred events and resolves when everything so far is durable. */
  flushed(): Promise<void> {
    this.flush()
    return this.durable()
  }

  /** Resolves when everything so far is durable; deferred events keep their time. */
  durable(): Promise<void> {
    if (this.#lost !== undefined) return refused(this.#lost)
    const last = this.#last
    if (!last) return Promise.resolve()
    last.written ??= Promise.withResolvers()
    return last.written.promise
  }

  /** Every event is durable. */
  get clean(): boolean {
    return this.#last === undefined
  }

  #newBatch(seq: number): Batch {
    const batch: Batch = {
      seq,
      events: [],
      held: this.#keeper.feed.hold(),
      written: undefined,
      sent: false,
      stopClock: undefined,
    }
    this.#last = batch
    return batch
  }

  #send(batch: Batch): void {
    if (batch.sent) return
    batch.sent = true
    batch.stopClock?.()
    soon(() => this.#write(batch))
  }

  #refuse({ events, written }: Batch, reason: unknown): void {
    const { state, ports } = this.#keeper
    const settled = events.flatMap(event => (event.type === 'call.settled' ? [event.callId] : []))
    noteDiscarded({ id: state.id, epoch: this.#epoch, lostBecause: reason, ports }, settled)
    this.#keeper.lose(reason)
    if (!written) return
    written.promise.catch(() => {})
    written.reject(reason)
  }

  #write(batch: Batch): void {
    this.#batch = undefined
    if (this.#lost !== undefined) {
      this.#refuse(batch, this.#lost)
      return
    }
    const { seq, events, records } = batch
    const { state, feed } = this.#keeper
    const { world, store, observer, countsSpending, notices } = this.#keeper.ports
    const { status } = state
    // Repeated if it is the same and not running, so that a reader learns that nothing more comes of its request. A signature
    // comes of no request: repeated for it, the status could be taken for that of a turn which begins at the same time.
    const isSignature = events.length === 1 && events[0]?.type === 'log.signed'
    if (status !== this.#shownStatus || (status !== 'running' && !isSignature)) feed.status(status)
    const append: Append = { session: state.id, epoch: this.#epoch, seq, events, status }
    const summary = this.#newSummary()
    if (summary) append.summary = summary
    const facts = this.#newFacts(status)
    if (facts) append.facts = facts
    if (countsSpending) append.spending = readSpending(events, state)
    if (records) append.records = records
    const isListed = status !== this.#shownStatus || summary !== undefined || facts?.waits !== undefined
    this.#shownStatus = status
    const begun = observer?.wrote ? world.elapsed() : 0
    const kept = (): void => {
      observer?.wrote?.((world.elapsed() - begun) / 1000)
      if (world.crashPoint) for (const { type } of events) reached(type, world)
      if (this.#last === batch) this.#last = undefined
      batch.written?.resolve()
      feed.release(batch.held)
      if (records) notices?.stored()
      if (!isListed) return
      this.#listed()
      const { snapshots, bytes } = this.#keeper
      if (snapshots && (state.seq >= snapshots.dueSeq || bytes >= snapshots.dueBytes)) snapshots.consider()
    }
    try {
      if (this.#unwritten) {
        // The store takes both writes in this order, in one commit if it can. If this one fails, so does the next.
        store.create(this.#unwritten).catch(() => {})
        this.#unwritten = undefined
      }
      store.append(append).then(kept, reason => {
        observer?.wrote?.((world.elapsed() - begun) / 1000)
        this.#refuse(batch, reason)
      })
    } catch (error) {
      this.#refuse(batch, error)
    }
  }

  /** The list summary, only if it changed. */
  #newSummary(): ListSummary | undefined {
    const { state } = this.#keeper
    const { settings, opening } = state
    const { settings: before, opening: begun } = this.#summary
    if (settings === before && opening === begun) return undefined
    this.#summary = summariseForList(state)
    return this.#summary
  }

  /** The list's facts about the session's work, only if they changed. */
  #newFacts(status: SessionStatus): SessionFacts | undefined {
    const { state } = this.#keeper
    const waits = status === 'waiting'
    const stop = unusualStop(state)
    if (state.used === this.#used && waits === this.#waits && !waits && stop === this.#stop) return undefined
    this.#stop = stop
    this.#used = state.used
    this.#waits = waits
    const facts = sessionFacts(state, status)
    return waits && this.#keeper.driver.callsRunning > 0 ? { ...facts, atWork: true } : facts
  }
}

/** Before the event changes the state. */
function addressNotice(notices: NoticePort, batch: Batch, state: SessionState, event: Event): void {
  const notice = readNotice(state, event)
  const made = notice ? notices.address(notice) : []
  if (made.length > 0) batch.records = [...(batch.records ?? []), ...made]
}

/** A rejection that may be ignored. */
function refused(reason: unknown): Promise<never> {
  const promise = Promise.reject(reason)
  promise.catch(() => {})
  return promise
}

const pointOf: Partial<Record<Event['type'], CrashPoint>> = {
  'turn.started': 'input-recorded',
  'model.answered': 'answer-recorded',
  'approval.requested': 'approval-recorded',
  'approval.voted': 'decision-recorded',
  'approval.decided': 'decision-recorded',
  'question.asked': 'question-recorded',
  'question.answered': 'answer-given',
  'call.started': 'intent-recorded',
  'call.settled': 'outcome-recorded',
  'turn.ended': 'turn-ended',
  'message.queued': 'message-recorded',
  'message.delivered': 'message-delivered',
  'message.withdrawn': 'message-withdrawn',
  'call.reconciled': 'check-recorded',
}

function reached(type: Event['type'], world: World): void {
  const point = pointOf[type]
  if (point) world.crashPoint?.(point)
}
