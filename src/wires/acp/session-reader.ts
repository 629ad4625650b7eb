// Follows one session and gives its items to one taker, in order and at the client's pace. Others may wait until an event
// was taken, or hold the items back until they know what a command made.
import type { Engine, FollowItem, SessionRef } from '../../engine/index.ts'
import { TurnwireError } from '../../language/errors.ts'

export type ReaderOptions = {
  engine: Engine
  ref: SessionRef
  take(item: FollowItem): void
  /** Nothing more comes, and the reader was not closed. It can be opened again. */
  lost(error: unknown): void
  /** Waited for between two batches. */
  pace(): Promise<void> | undefined
}

export class SessionReader {
  readonly #options: ReaderOptions
  #seq: number
  #held: Promise<unknown> = Promise.resolve()
  #stop: AbortController | undefined
  #reading: Promise<void> = Promise.resolve()
  #waiting: { seq: number; resolve: (taken: boolean) => void }[] = []

  /** `seq`: the number of the last event that is not wanted. */
  constructor(options: ReaderOptions, seq: number) {
    this.#options = options
    this.#seq = seq
  }

  get isOpen(): boolean {
    return this.#stop !== undefined
  }

  /** Goes on after the last event that was taken. */
  open(): void {
    this.close()
    const stop = new AbortController()
    this.#stop = stop
    this.#reading = this.#read(stop)
  }

  close(): void {
    this.#stop?.abort()
    this.#stop = undefined
    this.#wake(Number.POSITIVE_INFINITY, false)
  }

  /** Resolves when the reader was closed, or the session was lost. */
  get ended(): Promise<void> {
    return this.#reading
  }

  /** Takes no items until this has settled. */
  async hold<Result>(act: () => Promise<Result>): Promise<Result> {
    const acting = act()
    this.#held = acting.catch(() => {})
    return acting
  }

  /** Resolves when the event of this number was taken, with false if none will be. */
  taken(seq: number): Promise<boolean> {
    if (seq <= this.#seq) return Promise.resolve(true)
    if (!this.isOpen) return Promise.resolve(false)
    return new Promise(resolve => this.#waiting.push({ seq, resolve }))
  }

  async #read(stop: AbortController): Promise<void> {
    try {
      await this.#follow(stop.signal)
    } catch (error) {
      this.#lost(stop, error)
    }
  }

  async #follow(signal: AbortSignal): Promise<void> {
    const { engine, ref, take, pace } = this.#options
    const options = { from: this.#seq + 1, until: 'never', deltas: 'take-back' } as const
    for await (const items of engine.follow(ref, options, signal)) {
      await this.#held
      for (const item of items) {
        if (signal.aborted) return
        if (item.type === 'lost') throw new TurnwireError(item.error.code, item.error.message)
        take(item)
        if (item.type === 'event') this.#wake(item.seq, true)
      }
      await pace()
    }
    if (!signal.aborted) throw new TurnwireError('internal', 'The session is no longer followed.')
  }

  #lost(stop: AbortController, error: unknown): void {
    if (this.#stop !== stop) return
    this.#options.lost(error)
    this.close()
  }

  #wake(seq: number, taken: boolean): void {
    if (taken) this.#seq = seq
    const ready = this.#waiting.filter(waiting => waiting.seq <= seq)
    if (ready.length === 0) return
    this.#waiting = this.#waiting.filter(waiting => waiting.seq > seq)
    for (const { resolve } of ready) resolve(taken)
  }
}
