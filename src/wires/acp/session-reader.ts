// Follows one session and gives its items to one taker, in order and at the client's pace. Others may wait until an event
// was taken, or hold the items back until they know what a command made.
import type { Engine, FollowItem, SessionRef } from '../../engine/index.ts'
import { TurnwireError } from '../../language/errors.ts'

export type ReaderOptions = {
  engine: Engine
  ref: SessionRef
  take: (item: FollowItem) => void
  /** Nothing more comes, and the reader was not closed. It can be opened again. */
  lost: (error: unknown) => void
  /** Waited for between two batches. */
  pace: () => Promise<void> | undefined
}

export class SessionReader {
  readonly #options: ReaderOptions
  #seq: number
  #stop: AbortController | undefined
  #held: Promise<unknown> = Promise.resolve()
  #waiting: { seq: number; resolve: (taken: boolean) => void }[] = []
  /** Resolves when the reader is closed, or the session is lost. */
  ended: Promise<void> = Promise.resolve()

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
    this.ended = this.#follow(stop.signal).catch(error => {
      if (this.#stop !== stop) return
      this.#options.lost(error)
      this.close()
    })
  }

  close(): void {
    this.#stop?.abort()
    this.#stop = undefined
    for (const { resolve } of this.#waiting) resolve(false)
    this.#waiting = []
  }

  /** Takes no items until this has settled. */
  hold<Result>(act: () => Promise<Result>): Promise<Result> {
    const acting = act()
    this.#held = acting.catch(() => {})
    return acting
  }

  /** Resolves when the event of this number was taken, with false if it will not be. */
  taken(seq: number): Promise<boolean> {
    if (seq <= this.#seq || !this.isOpen) return Promise.resolve(seq <= this.#seq)
    return new Promise(resolve => this.#waiting.push({ seq, resolve }))
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
        if (item.type === 'event') this.#took(item.seq)
      }
      await pace()
    }
    if (!signal.aborted) throw new TurnwireError('internal', 'The session is no longer followed.')
  }

  #took(seq: number): void {
    this.#seq = seq
    if (this.#waiting.length === 0) return
    for (const waiting of this.#waiting) if (waiting.seq <= seq) waiting.resolve(true)
    this.#waiting = this.#waiting.filter(waiting => waiting.seq > seq)
  }
}
