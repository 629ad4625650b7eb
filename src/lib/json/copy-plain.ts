// A deep copy of plain data: values of JSON and `undefined`. For small values it takes a fraction of the time of
// `structuredClone`, which can copy everything.

export function copyPlain<Value>(value: Value): Value {
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map(copyPlain) as Value // an array of copies of its items
  const copy: Record<string, unknown> = {}
  for (const key of Object.keys(value)) {
    const member = copyPlain((value as Record<string, unknown>)[key])
    // An assignment to this name would change what the copy inherits.
    if (key === '__proto__')
      Object.defineProperty(copy, key, {
        value: member,
        enumerable: true,
        writable: true,
        configurable: true,
      })
    else copy[key] = member
  }
  return copy as Value // it has the same members
}
