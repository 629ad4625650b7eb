// Avoids promises where they cost more than the work around them: runs a microtask without one, and tells plain values
// from promises. Runs in a browser too.

const resolved = Promise.resolve()

/** Runs a function as a microtask. Node's `queueMicrotask` makes an async resource for each call, which costs several times as much. */
export function soon(run: () => void): void {
  void resolved.then(run)
}

/** True for promises of any kind. Code that mostly gets plain values can stay synchronous. */
export function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof value === 'object' && value !== null && 'then' in value && typeof value.then === 'function'
}
