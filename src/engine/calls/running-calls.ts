// The calls of one session that run now: their stops, their places among the calls that may run at the same time, and who
// waits for them to end.
import { Abort } from '../../lib/async/abort.ts'
import type { CallCounter } from '../ports/index.ts'
import { CallRoom } from './call-room.ts'

export class RunningCalls {
  readonly room: CallRoom
  readonly #stops = new Map<string, Abort>()
  /** Of these, calls that wait for calls of their own. They hold no place, so that those can run. */
  readonly #parents = new Set<Abort>()
  /** Calls that have not returned yet, including aborted ones that are no longer waited for. */
  #alive = 0
  #awaitingReturn: (() => void)[] | undefined
  #awaitingQuiet: (() => void)[] | undefined

  constructor(slots: CallCounter | undefined, most: number | undefined) {
    this.room = new CallRoom(slots, most)
  }

  get size(): number {
    return this.#stops.size
  }

  /** Those that count when there is to be room for another. */
  get counted(): number {
    return this.#stops.size - this.#parents.size
  }

  has(callId: string): boolean {
    return this.#stops.has(callId)
  }

  /** From here on it counts as running. There is room for it. */
  add(callId: string): Abort {
    const stop = new Abort()
    this.#stops.set(callId, stop)
    this.room.hold(stop)
    return stop
  }

  /** Its tool was called. */
  entered(): void {
    this.#alive += 1
  }

  /** Its tool has returned. */
  left(): void {
    this.#alive -= 1
    if (this.#alive > 0) return
    const waiting = this.#awaitingReturn
    this.#awaitingReturn = undefined
    for (const resolve of waiting ?? []) resolve()
  }

  over(callId: string, stop: Abort): void {
    if (this.#stops.get(callId) === stop) this.#stops.delete(callId)
    this.#parents.delete(stop)
    this.room.release(stop)
    if (this.#stops.size === 0) this.quiet()
  }

  /** The call makes calls of its own: it gives its place away, for good. */
  giveWay(callId: string): void {
    const stop = this.#stops.get(callId)
    if (!stop || this.#parents.has(stop)) return
    this.#parents.add(stop)
    this.room.release(stop)
  }

  /** Stops one call. It is no longer waited for. */
  abort(callId: string, reason: unknown): void {
    const stop = this.#stops.get(callId)
    if (!stop) return
    this.over(callId, stop)
    stop.abort(reason)
  }

  /** Aborted calls are no longer waited for: a tool that ignores its signal must not block what comes after. */
  abortAll(reason: unknown): void {
    const stops = [...this.#stops.values()]
    this.#stops.clear()
    this.#parents.clear()
    for (const stop of stops) {
      this.room.release(stop)
      stop.abort(reason)
    }
    this.quiet()
  }

  /** Resolves when no call is running any more. */
  whenQuiet(): Promise<void> {
    if (this.#stops.size === 0) return Promise.resolve()
    return new Promise(resolve => {
      this.#awaitingQuiet ??= []
      this.#awaitingQuiet.push(resolve)
    })
  }

  /** Resolves when every started call has returned, including aborted ones. A tool may never return. */
  whenReturned(): Promise<void> {
    if (this.#alive === 0) return Promise.resolve()
    return new Promise(resolve => {
      this.#awaitingReturn ??= []
      this.#awaitingReturn.push(resolve)
    })
  }

  /** Those that still run wait for a person. */
  quiet(): void {
    const waiting = this.#awaitingQuiet
    this.#awaitingQuiet = undefined
    for (const resolve of waiting ?? []) resolve()
  }
}
