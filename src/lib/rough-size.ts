// About how long a value is as JSON, without making the JSON. Long strings cost nothing to count, so that it can be asked
// of every event. Escapes and digits are not counted exactly.

const perValue = 6

export function roughSize(value: unknown): number {
  if (typeof value === 'string') return value.length + 2
  if (typeof value !== 'object' || value === null) return perValue
  let size = 2
  if (Array.isArray(value)) for (const item of value) size += roughSize(item) + 1
  // Plain data inherits nothing, and this makes no list of its keys.
  else for (const key in value) size += key.length + 4 + roughSize((value as Record<string, unknown>)[key])
  return size
}
