// What is found in a history entry by entry. A session's history only grows and its entries never change, so what was
// found in its beginning is kept, and the next request looks at its new entries alone.

import type { Entry } from '../../language/history.ts'

export type Finder<Found, Given> = {
  /** Names all that is looked for beside the entries. */
  key(given: Given): string
  begin(): Found
  /** Called for each place in turn. What stands after it may not be there yet. */
  add(found: Found, history: readonly Entry[], index: number, given: Given): void
}

/** What it gives is for reading, and until the next call. */
export function grown<Found, Given>(
  finder: Finder<Found, Given>,
): (history: readonly Entry[], given: Given) => Found {
  type Known = { entries: Entry[]; found: Found }
  const remembered = new WeakMap<Entry, Map<string, Known>>()
  return (history, given) => {
    const [first] = history
    if (first === undefined) return finder.begin()
    const byKey = remembered.get(first) ?? new Map<string, Known>()
    remembered.set(first, byKey)
    const key = finder.key(given)
    const before = byKey.get(key)
    const known: Known =
      before && beginsWith(history, before.entries) ? before : { entries: [], found: finder.begin() }
    byKey.set(key, known)
    for (let index = known.entries.length; index < history.length; index++) {
      finder.add(known.found, history, index, given)
      known.entries.push(history[index]!)
    }
    return known.found
  }
}

function beginsWith(history: readonly Entry[], entries: readonly Entry[]): boolean {
  if (entries.length > history.length) return false
  for (let index = 0; index < entries.length; index++) if (entries[index] !== history[index]) return false
  return true
}
