// Watches a session over connections that break. It checks that every event is durable when it is shown, comes once and
// in order, and that the status fits the events.

import { type FollowItem, type LocalEngine, sessionStatus } from '../../src/engine/index.ts'
import { evolve } from '../../src/engine/rules/evolve.ts'
import { emptyState, type SessionState } from '../../src/engine/rules/state.ts'
import { joinText } from '../../src/language/content.ts'
import type { Disk } from './disk.ts'
import type { Machine } from './scheduler.ts'
import type { Trace } from './trace.ts'

export class Watching {
  readonly #name: string
  readonly #session: string
  readonly #disk: Disk
  readonly #trace: Trace
  readonly #seen: SessionState
  #connection = 0
  #words = ''
  #unwatch: (() => void) | undefined

  constructor(name: string, session: string, disk: Disk, trace: Trace) {
    this.#name = name
    this.#session = session
    this.#disk = disk
    this.#trace = trace
    this.#seen = emptyState(session)
  }

  get last(): number {
    return this.#seen.seq
  }

  /** Resumes after the last event that it has seen. */
  async connect(engine: LocalEngine, machine: Machine, owner: string): Promise<void> {
    this.disconnect()
    const connection = this.#connection
    const leave = new AbortController()
    this.#unwatch = () => leave.abort()
    this.#words = ''
    this.#trace.note(`${this.#name} watches from ${this.last}`)
    const ref = { owner, session: this.#session }
    const options = { from: this.last + 1, until: 'never', deltas: 'raw' } as const
    const batches = engine.follow(ref, options, leave.signal)[Symbol.asyncIterator]()
    const take = ({ value = [], done }: IteratorResult<readonly FollowItem[], unknown>): boolean => {
      if (!machine.alive || connection !== this.#connection) return false
      for (const item of Array.isArray(value) ? value : []) this.#take(item)
      return done !== true
    }
    // A refusal is the caller's; from then on the session is read in the background.
    let more = take(await batches.next())
    void (async () => {
      while (more) more = take(await batches.next())
    })()
  }

  disconnect(): void {
    this.#connection += 1
    this.#unwatch?.()
    this.#unwatch = undefined
  }

  #take(item: FollowItem): void {
    if (item.type === 'event') this.#takeEvent(item)
    else if (item.type === 'delta') this.#takeDelta(item.delta)
    else if (item.type !== 'lost') {
      const status = { running: 'running', waiting: 'waiting', ended: 'idle' }[item.type]
      this.#trace.check(
        sessionStatus(this.#seen) === status,
        () => `${this.#name} is told ${status} where the events say ${sessionStatus(this.#seen)}`,
      )
    }
  }

  #takeEvent({ seq, event }: Extract<FollowItem, { type: 'event' }>): void {
    this.#trace.check(seq === this.last + 1, () => `${this.#name} is shown event ${seq} after ${this.last}`)
    const durable = this.#disk.shadows.get(this.#session)?.texts[seq - 1]
    this.#trace.check(
      durable === JSON.stringify(event),
      () => `${this.#name} is shown event ${seq} (${event.type}), which is not durable`,
    )
    evolve(this.#seen, event)
    if (event.type !== 'model.answered') return
    const said = joinText(event.parts)
    if (!event.model.startsWith('person:'))
      this.#trace.check(
        this.#words === said || this.#words === '',
        () =>
          `${this.#name} was shown the words ${JSON.stringify(this.#words)}, recorded are ${JSON.stringify(said)}`,
      )
    this.#words = ''
  }

  #takeDelta(delta: Extract<FollowItem, { type: 'delta' }>['delta']): void {
    if (delta.type === 'step.started' || delta.type === 'step.reset') this.#words = ''
    if (delta.type === 'text') this.#words += delta.text
  }
}
