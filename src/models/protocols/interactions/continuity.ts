// Going on from an interaction that the vendor keeps (`previous_interaction_id`). What it keeps is sound for us only
// if it is the very history that we have: so an answer remembers a digest of all that stood before it and of itself,
// and a history that was edited, compacted or gone on with elsewhere no longer fits and is sent whole.

import type { ModelAnswer } from '../../../engine/ports.ts'
import type { Native, Origin } from '../../../language/content.ts'
import type { AnswerPart, Entry } from '../../../language/history.ts'
import { hashJson, sha256 } from '../../../lib/hash.ts'
import { isJsonObject, type Json, type JsonObject } from '../../../lib/json.ts'
import { nativeFor } from '../../common/artifacts.ts'
import type { WireIds } from '../../common/wire-ids.ts'
import { stringOf } from '../google/decode.ts'

/** `id`: empty when the vendor keeps nothing that we may go on from. `token`: empty when the answer is complete. */
export function continuityOf(
  origin: Origin,
  kept: { id: string; seen: string; token: string },
  parts: ModelAnswer['parts'],
): Native | undefined {
  const data: JsonObject = {
    ...(kept.id !== '' && { id: kept.id, seen: kept.seen, said: digestParts(parts) }),
    ...(kept.token !== '' && { token: kept.token }),
  }
  return Object.keys(data).length === 0 ? undefined : { origin, data }
}

/** The interaction whose answer is the entry at `at`, when it remembers exactly what stands up to there. */
export function keptInteraction(
  history: readonly Entry[],
  at: number,
  origin: Origin,
  ids: WireIds,
): string | undefined {
  const entry = history[at]
  if (entry?.role !== 'assistant' || entry.continuity === undefined) return undefined
  const data = nativeFor({ native: entry.continuity }, origin)
  if (!isJsonObject(data) || stringOf(data['id']) === '') return undefined
  // Results are paired by the vendor's own ids, so these must be the ids that we would send.
  const paired = entry.parts.every(
    part => part.type !== 'call' || (part.cut !== true && ids.of(at, part.id) === part.nativeId),
  )
  const same = data['said'] === digestParts(entry.parts) && data['seen'] === digestHistory(history, at)
  return paired && same ? stringOf(data['id']) : undefined
}

const digests = new WeakMap<Entry, string>()

export function digestHistory(history: readonly Entry[], end = history.length): string {
  let digest = ''
  for (const entry of history.slice(0, end)) {
    let own = digests.get(entry)
    if (own === undefined) {
      own = digestValue(entry)
      digests.set(entry, own)
    }
    digest = sha256(digest + own)
  }
  return digest
}

/** Our own call ids are given after the answer was read, and are no part of what the vendor said. */
function digestParts(parts: readonly (ModelAnswer['parts'][number] | AnswerPart)[]): string {
  return digestValue(
    parts.map(part => {
      if (!('id' in part)) return part
      const { id: _, ...rest } = part
      return rest
    }),
  )
}

function digestValue(value: Entry | readonly object[]): string {
  // Entries and parts are plain data that came from JSON and goes to JSON; absent members have no place in it.
  return hashJson(value as Json)
}
