// About how long a value is as JSON, without making the JSON. Long strings cost nothing to count, so that it can be asked
// of every event. Escapes and digits are not counted exactly. Throws for a value that cannot be written as JSON.

const perValue = 6
/** Writing a value needs some stack for each level. */
const deepest = 1_000

export function roughSize(value: unknown, depth = 0): number {
  if (typeof value === 'string') return value.length + 2
  if (typeof value === 'bigint') throw new TypeError('A bigint cannot be written as JSON.')
  if (typeof value !== 'object' || value === null) return perValue
  if (depth > deepest) throw new RangeError(`The value nests deeper than ${deepest} levels, or holds itself.`)
  let size = 2
  if (Array.isArray(value)) for (const item of value) size += roughSize(item, depth + 1) + 1
  // Plain data inherits nothing, and this makes no list of its keys.
  else
    for (const key in value)
      size += key.length + 4 + roughSize((value as Record<string, unknown>)[key], depth + 1)
  return size
}
