// Time limits and cancellation on top of AbortSignal. Every timer and listener made here is removed when it is no
// longer needed, because a long-lived parent signal would otherwise collect one per call. Runs in a browser too.

/** A longer timer fires at once in every JavaScript engine. */
export const longestTimerMs = 2 ** 31 - 1

type Deadline = { readonly signal: AbortSignal; timedOut(): boolean; clear(): void }

/**
 * A signal that aborts after `ms`, or when the parent does, with the parent's reason. The timer keeps the
 * process alive: call `clear()` when the work is over. `Infinity` sets no timer.
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
    if (ms !== Infinity) timer = setTimeout(expire, Math.min(ms, longestTimerMs))
    parent?.addEventListener('abort', onParentAbort, { once: true })
  }
  return { signal: controller.signal, timedOut: () => timedOut, clear }
}

/**
 * Settles as the promise does, or rejects with `signal.reason` as soon as the signal aborts. The work behind the
 * promise goes on unless it watches the signal itself. Its late rejection is swallowed.
 */
export function untilAborted<T>(promise: PromiseLike<T>, signal: AbortSignal): Promise<T> {
  return settleOrReject(promise, reject => {
    const onAbort = () => reject(signal.reason)
    if (signal.aborted) onAbort()
    else signal.addEventListener('abort', onAbort, { once: true })
    return () => signal.removeEventListener('abort', onAbort)
  })
}

/** `watch` may reject early. The function that it returns is called when the promise settles. */
function settleOrReject<T>(
  promise: PromiseLike<T>,
  watch: (reject: (reason: unknown) => void) => () => void,
): Promise<T> {
  return new Promise<T>((resolve, reject) => {
    const unwatch = watch(reject)
    promise.then(
      value => {
        unwatch()
        resolve(value)
      },
      error => {
        unwatch()
        reject(error)
      },
    )
  })
}

/**
 * An abort that makes its AbortSignal only on demand. Making a signal and listening to it costs more than many calls
 * that it could stop.
 */
export class Abort {
  #controller: AbortController | undefined
  #listeners: (() => void)[] = []
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

  /** Only the first call has an effect. */
  abort(reason: unknown): void {
    if (this.#aborted) return
    this.#aborted = true
    this.#reason = reason
    this.#controller?.abort(reason)
    const listeners = this.#listeners
    this.#listeners = []
    for (const listener of listeners) listener()
  }

  /** Calls the listener at most once: now, if already aborted. Returns a function that removes it. */
  onAbort(listener: () => void): () => void {
    if (this.#aborted) {
      listener()
      return () => {}
    }
    this.#listeners.push(listener)
    return () => {
      const at = this.#listeners.indexOf(listener)
      if (at >= 0) this.#listeners.splice(at, 1)
    }
  }

  /** Like `untilAborted`, without making a signal. */
  until<T>(promise: PromiseLike<T>): Promise<T> {
    return settleOrReject(promise, reject => this.onAbort(() => reject(this.#reason)))
  }
}
