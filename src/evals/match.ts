// Compares a value with what a case expects of it. An object names the members that matter; a pattern is searched in a text; a
// function decides by itself.

export type Match = unknown

export function matches(expected: Match, actual: unknown): boolean {
  if (typeof expected === 'function') return (expected as (value: unknown) => unknown)(actual) === true // Any function may decide.
  if (expected instanceof RegExp) return typeof actual === 'string' && actual.search(expected) >= 0
  if (Array.isArray(expected))
    return (
      Array.isArray(actual) &&
      actual.length === expected.length &&
      expected.every((each, index) => matches(each, actual[index]))
    )
  if (typeof expected !== 'object' || expected === null) return Object.is(expected, actual)
  if (typeof actual !== 'object' || actual === null) return false
  const members = actual as Record<string, unknown> // An object.
  return Object.entries(expected).every(
    ([name, value]) => Object.hasOwn(members, name) && matches(value, members[name]),
  )
}

/** The expectation in words, for reports. */
export function describeMatch(expected: Match): string {
  const words = JSON.stringify(expected, (_key, value: unknown) => {
    if (value instanceof RegExp) return String(value)
    return typeof value === 'function' ? value.name || 'a function' : value
  })
  return words ?? 'undefined'
}
