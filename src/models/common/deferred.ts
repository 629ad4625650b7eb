// Deferred tools as a history introduces them: where a search found them. A vendor that takes
// declarations inside the history is given each tool there, so that the beginning of a request never changes.
import type { Entry } from '../../language/history.ts'
import { type ToolDeclaration, toolHash } from '../../language/tools.ts'
import type { SessionCache } from './session-cache.ts'

/** The tools that are offered from this entry on. */
export function loadedNames(entry: Entry | undefined): readonly string[] {
  if (entry?.role !== 'tool') return none
  const found = entry.results.flatMap(({ outcome }) => outcome.loads ?? none)
  return found.length === 0 ? none : [...new Set(found)]
}

const none: readonly string[] = []

/** By our name: the index of the entry that first loads the tool. */
export function introductions(cache: SessionCache, history: readonly Entry[]): ReadonlyMap<string, number> {
  return cache.fold<Map<string, number>>(history, {
    key: 'introductions',
    start: () => new Map(),
    add(first, entries, index) {
      for (const name of loadedNames(entries[index])) if (!first.has(name)) first.set(name, index)
    },
  })
}

/** The part of an entry's cache key for the definitions of the tools it loads. '' for an entry that loads none. */
export function loadsVariant(entry: Entry | undefined, tools: ReadonlyMap<string, ToolDeclaration>): string {
  const names = loadedNames(entry)
  if (names.length === 0) return ''
  const hashes = names.map(name => {
    const tool = tools.get(name)
    return tool ? toolHash(tool).slice(0, 12) : '-'
  })
  return `loads ${hashes.join(' ')}`
}
