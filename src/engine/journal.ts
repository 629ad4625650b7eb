// A session's way into its log. Events change the state at once and are shown once they are durable; between the two
// they wait here, and what is recorded together is written together.
import type { Event } from '../language/events.ts'
import { soon } from '../lib/soon.ts'
import { evolve } from './evolve.ts'
import type { Feed, Held } from './feed.ts'
import { statusOf } from './next.ts'
import type { Card, CrashPoint, EnginePorts, SessionStatus, World } from './ports.ts'
import { cardOf, type SessionState } from './state.ts'

/** What goes to the store in one write. `written` is made when someone waits for it. */
type Batch = {
  seq: number
  events: Event[]
  held: Held
  written: PromiseWithResolvers<void> | undefined
  leaving: boolean
  /** Set while it lingers: ends that. */
  stopClock: (() => void) | undefined
}

/** Whose journal it is. `lose` is told when the store refuses a write. */
type Keeper = {
  readonly ports: EnginePorts
  readonly state: SessionState
  readonly feed: Feed
  lose(reason: unknown): void
}

export class Journal {
  readonly #keeper: Keeper
  readonly #epoch: number
  #lost: unknown
  #shownStatus: SessionStatus
  #card: Card
  /** Not given to the store yet. */
  #batch: Batch | undefined
  /** The newest that is not durable yet. */
  #last: Batch | undefined

  constructor(keeper: Keeper, epoch: number) {
    this.#keeper = keeper
    this.#epoch = epoch
    this.#shownStatus = statusOf(keeper.state)
    this.#card = cardOf(keeper.state)
  }

  /**
   * What is recorded before the next turn of the microtask queue goes to the store together. What is patient lingers as
   * long as the store likes: until something follows it that is not, or it is hurried.
   */
  record(events: readonly Event[], patient: boolean): void {
    if (this.#lost !== undefined || events.length === 0) return
    const { state, ports } = this.#keeper
    this.#batch ??= this.#newBatch(state.seq + 1)
    const batch = this.#batch
    const { store, world } = ports
    for (const event of events) {
      evolve(state, event)
      batch.events.push(event)
      batch.held.items.push({ type: 'event', seq: state.seq, event })
    }
    if (!patient || store.lingerMs === undefined) this.#send(batch)
    else if (!batch.leaving) batch.stopClock ??= world.timer(store.lingerMs, () => this.#send(batch))
  }

  /** Nothing is recorded any more, and whoever waits for something is told so now. */
  lose(reason: unknown): void {
    this.#lost = reason
    this.hurry()
  }

  /** Why the session was lost. */
  get lost(): unknown {
    return this.#lost
  }

  /** Nothing lingers any longer. */
  hurry(): void {
    if (this.#last) this.#send(this.#last)
  }

  /** Durable up to here, and at once. */
  flushed(): Promise<void> {
    this.hurry()
    return this.durable()
  }

  /** Durable up to here, in its own time. */
  durable(): Promise<void> {
    if (this.#lost !== undefined) return refused(this.#lost)
    const last = this.#last
    if (!last) return Promise.resolve()
    last.written ??= Promise.withResolvers()
    return last.written.promise
  }

  /** Nothing is still on its way to the store. */
  get clean(): boolean {
    return this.#last === undefined
  }

  #newBatch(seq: number): Batch {
    const batch: Batch = {
      seq,
      events: [],
      held: this.#keeper.feed.hold(),
      written: undefined,
      leaving: false,
      stopClock: undefined,
    }
    this.#last = batch
    return batch
  }

  #send(batch: Batch): void {
    if (batch.leaving) return
    batch.leaving = true
    batch.stopClock?.()
    soon(() => this.#write(batch))
  }

  #write(batch: Batch): void {
    this.#batch = undefined
    const refuse = (reason: unknown): void => {
      this.#keeper.lose(reason)
      if (!batch.written) return
      batch.written.promise.catch(() => {})
      batch.written.reject(reason)
    }
    if (this.#lost !== undefined) {
      refuse(this.#lost)
      return
    }
    const { seq, events } = batch
    const { state, feed } = this.#keeper
    const { world, store } = this.#keeper.ports
    const status = statusOf(state)
    // Said again when it is the same: whoever asked for something must learn that nothing more will come of it.
    if (status !== 'running' || this.#shownStatus !== 'running') feed.status(status)
    this.#shownStatus = status
    const kept = (): void => {
      for (const { type } of events) reached(type, world)
      if (this.#last === batch) this.#last = undefined
      batch.written?.resolve()
      feed.release(batch.held)
    }
    try {
      store
        .append({ session: state.id, epoch: this.#epoch, seq, events, status, ...this.#newCard() })
        .then(kept, refuse)
    } catch (error) {
      refuse(error)
    }
  }

  /** Looked at with every write, and hardly ever another. */
  #newCard(): { card?: Card } {
    const { state } = this.#keeper
    const { settings, opening } = state
    const { settings: before, opening: begun } = this.#card
    if (settings === before && opening === begun) return unchanged
    this.#card = cardOf(state)
    return { card: this.#card }
  }
}

const unchanged = {}

/** A rejection that whoever does not look at it may ignore. */
function refused(reason: unknown): Promise<never> {
  const promise = Promise.reject(reason)
  promise.catch(() => {})
  return promise
}

const pointOf: Partial<Record<Event['type'], CrashPoint>> = {
  'turn.started': 'input-recorded',
  'model.answered': 'answer-recorded',
  'approval.requested': 'approval-recorded',
  'approval.decided': 'decision-recorded',
  'call.started': 'intent-recorded',
  'call.settled': 'outcome-recorded',
  'turn.ended': 'turn-ended',
}

function reached(type: Event['type'], world: World): void {
  const point = pointOf[type]
  if (point) world.crashPoint(point)
}
