// The calls that run now: those of one session, with their stops and who waits for them to end; how many more it may start;
// and how many all sessions of the process may run at the same time. Each running call holds its place until it is over, or
// no longer waited for.
import { Abort } from '../../lib/async/abort.ts'
import type { CallCounter } from '../ports/index.ts'

export class RunningCalls {
  readonly room: CallRoom
  readonly #stops = new Map<string, Abort>()
  /** Of these, calls that wait for calls of their own. They hold no place, so that those can run. */
  #parents: Set<Abort> | undefined
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
    return this.#stops.size - (this.#parents?.size ?? 0)
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
    this.#parents?.delete(stop)
    this.room.release(stop)
    if (this.#stops.size === 0 && this.#awaitingQuiet) this.quiet()
  }

  /** The call makes calls of its own: it gives its place away, for good. */
  giveWay(callId: string): void {
    const stop = this.#stops.get(callId)
    if (!stop || this.#parents?.has(stop)) return
    this.#parents ??= new Set()
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
    this.#parents = undefined
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

/** How many calls of one session may still be started: as many as a turn may run at the same time, and as there are slots. */
class CallRoom {
  readonly #slots: CallCounter | undefined
  readonly #most: number
  /** Made with the first call: most sessions wait for something else. */
  #held: Set<Abort> | undefined
  /** Calls wait for room. */
  isWanted = false

  constructor(slots: CallCounter | undefined, most = Number.POSITIVE_INFINITY) {
    this.#slots = slots
    this.#most = most
  }

  /** Room for as many of the wanted calls as there is. `running`: the calls of the turn that run already. */
  take(wanted: number, running: number): number {
    const own = Math.max(Math.min(wanted, this.#most - running), 0)
    return this.#slots ? this.#slots.take(own) : own
  }

  force(count: number): void {
    this.#slots?.force(count)
  }

  /** The place that was taken belongs to this call. */
  hold(call: Abort): void {
    this.#held ??= new Set()
    this.#held.add(call)
  }

  release(call: Abort): void {
    if (this.#held?.delete(call)) this.#slots?.release()
  }

  /** `run` is called when another session has given a place back. */
  whenFree(run: () => void): () => void {
    this.isWanted = true
    const forget = this.#slots?.whenFree(run)
    return () => {
      this.isWanted = false
      forget?.()
    }
  }
}

/**
 * How many calls of all sessions of a process may run at the same time. A call that finds no slot is not started: it waits,
 * allowed but without an intent, until one is free. Who waited longest is told first.
 */
export class CallSlots implements CallCounter {
  #free: number
  readonly #waiting = new Set<() => void>()

  constructor(count: number) {
    this.#free = count
  }

  /** How many wait to be told. */
  get waiting(): number {
    return this.#waiting.size
  }

  /** Takes as many as are free, at most `wanted`. */
  take(wanted: number): number {
    const taken = Math.max(Math.min(wanted, this.#free), 0)
    this.#free -= taken
    return taken
  }

  /** For calls that were started before a crash: they count, and wait for nobody. */
  force(count: number): void {
    this.#free -= count
  }

  release(): void {
    this.#free += 1
    if (this.#free <= 0) return
    const [first] = this.#waiting
    if (!first) return
    this.#waiting.delete(first)
    first()
  }

  /** Calls `run` once when a slot is free. Gives a function that takes this back. */
  whenFree(run: () => void): () => void {
    const told = (): void => run()
    this.#waiting.add(told)
    return () => void this.#waiting.delete(told)
  }
}
