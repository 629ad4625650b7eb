// Time limits and cancellation as plain AbortSignals. Every listener and timer made here is taken away again,
// as a long-lived parent signal would otherwise collect one per call. Runs in a browser too.

/** Timers beyond this fire at once in every JavaScript engine. */
const LONGEST_TIMER_MS = 2 ** 31 - 1

export type Deadline = { readonly signal: AbortSignal; timedOut(): boolean; clear(): void }

/**
 * A signal that aborts after `ms`, or when the parent does, with the parent's reason. The timer keeps the
 * process alive: call `clear()` once the work is over. `Infinity` sets no timer.
 */
export function deadline(ms: number, parent?: AbortSignal): Deadline {
  const controller = new AbortController()
  let timer: ReturnType<typeof setTimeout> | undefined
  let timedOut = false

  const clear = () => {
    if (timer !== undefined) clearTimeout(timer)
    timer = undefined
    parent?.removeEventListener('abort', onParentAbort)
  }
  const expire = () => {
    timedOut = true
    clear()
    controller.abort(new DOMException(`Timed out after ${ms} ms.`, 'TimeoutError'))
  }
  const onParentAbort = () => {
    clear()
    controller.abort(parent?.reason)
  }

  if (parent?.aborted) controller.abort(parent.reason)
  else if (!(ms > 0)) expire()
  else {
    if (ms !== Infinity) timer = setTimeout(expire, Math.min(ms, LONGEST_TIMER_MS))
    parent?.addEventListener('abort', onParentAbort, { once: true })
  }
  return { signal: controller.signal, timedOut: () => timedOut, clear }
}

/**
 * Settles as the promise does, or rejects with `signal.reason` as soon as the signal aborts. The work behind
 * the promise is not stopped: whoever does it must watch the signal too. Its late rejection is swallowed.
 */
export function untilAborted<T>(promise: PromiseLike<T>, signal: AbortSignal): Promise<T> {
  return new Promise<T>((resolve, reject) => {
    const onAbort = () => {
      signal.removeEventListener('abort', onAbort)
      reject(signal.reason)
    }
    if (signal.aborted) onAbort()
    else signal.addEventListener('abort', onAbort)
    promise.then(
      value => {
        signal.removeEventListener('abort', onAbort)
        resolve(value)
      },
      error => {
        signal.removeEventListener('abort', onAbort)
        reject(error)
      },
    )
  })
}

/**
 * An abort whose AbortSignal is made only when someone asks for it: making one, and listening to it, costs more than
 * many a piece of work that it could stop.
 */
export class Abort {
  #controller: AbortController | undefined
  /** Hardly ever is there more than one. */
  #listener: (() => void) | undefined
  #others: (() => void)[] | undefined
  #aborted = false
  #reason: unknown

  get aborted(): boolean {
    return this.#aborted
  }

  get signal(): AbortSignal {
    if (!this.#controller) {
      this.#controller = new AbortController()
      if (this.#aborted) this.#controller.abort(this.#reason)
    }
    return this.#controller.signal
  }

  /** The first reason counts. */
  abort(reason: unknown): void {
    if (this.#aborted) return
    this.#aborted = true
    this.#reason = reason
    this.#controller?.abort(reason)
    const listener = this.#listener
    const others = this.#others
    this.#listener = undefined
    this.#others = undefined
    listener?.()
    for (const other of others ?? []) other()
  }

  /** Called at most once; at once if it is too late. Gives a function that takes the listener away. */
  onAbort(listener: () => void): () => void {
    if (this.#aborted) {
      listener()
      return () => {}
    }
    if (!this.#listener) this.#listener = listener
    else {
      this.#others ??= []
      this.#others.push(listener)
    }
    return () => {
      if (this.#listener === listener) this.#listener = undefined
      const at = this.#others?.indexOf(listener) ?? -1
      if (at >= 0) this.#others?.splice(at, 1)
    }
  }

  /** As `untilAborted`. */
  until<T>(promise: PromiseLike<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      const forget = this.onAbort(() => reject(this.#reason))
      promise.then(
        value => {
          forget()
          resolve(value)
        },
        error => {
          forget()
          reject(error)
        },
      )
    })
  }
}
