// Continuing from what a vendor stored (`previous_response_id`, `previous_interaction_id`). The stored conversation may
// stand for ours only if both are the same. So an answer records digests of the history before it and of itself; a
// history that was edited, compacted or continued by another model no longer matches them and is sent whole.

import type { ModelAnswer } from '../../engine/ports/index.ts'
import type { AnswerPart, AssistantEntry, Entry } from '../../language/history.ts'
import { hashJson, sha256 } from '../../lib/json/hash.ts'
import type { Json } from '../../lib/json/index.ts'
import type { SessionCache } from './session-cache.ts'
import type { WireIds } from './wire-names.ts'

/** A digest of the entries before `end`. */
export function digestHistory(cache: SessionCache, history: readonly Entry[], end = history.length): string {
  const digests = cache.fold<string[]>(history, {
    key: 'digests',
    start: () => [],
    add(known, entries, index) {
      known.push(sha256((known.at(-1) ?? '') + digestValue(entries[index]!)))
    },
  })
  return digests[end - 1] ?? ''
}

/** Our own call ids are left out: they are given after the answer was read. */
export function digestParts(parts: readonly (ModelAnswer['parts'][number] | AnswerPart)[]): string {
  return digestValue(
    parts.map(part => {
      if (!('id' in part)) return part
      const { id: _, ...rest } = part
      return rest
    }),
  )
}

/** Vendors pair results with stored calls by their own ids, so we must send these very ids. */
export function keepsNativeIds(entry: AssistantEntry, index: number, ids: WireIds): boolean {
  return entry.parts.every(part => part.type !== 'call' || ids.of(index, part.id) === part.nativeId)
}

function digestValue(value: Entry | readonly object[]): string {
  // Entries and parts are plain data that came from JSON and goes to JSON; absent members have no place in it.
  return hashJson(value as Json)
}
