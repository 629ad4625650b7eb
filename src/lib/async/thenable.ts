// Tells promises of any kind from plain values, so that code which mostly gets plain values can stay synchronous.

export function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof value === 'object' && value !== null && 'then' in value && typeof value.then === 'function'
}
