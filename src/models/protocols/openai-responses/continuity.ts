// Going on from a response that the vendor keeps (`previous_response_id`). What it keeps is sound for us only if
// it is the very history that we were given: so an answer remembers a digest of all that stood before it and of
// itself, and a history that was edited, compacted or continued by another model no longer fits and is sent whole.

import type { Native, Origin } from '../../../language/content.ts'
import type { AnswerPart, Entry } from '../../../language/history.ts'
import { hashJson, sha256 } from '../../../lib/hash.ts'
import { isJsonObject, type Json } from '../../../lib/json.ts'
import { sameOrigin } from '../../common/artifacts.ts'
import type { WireIds } from '../../common/wire-ids.ts'
import { isWhollyKept } from './encode.ts'
import { type Part, stringOf } from './items.ts'

export type Resumption = {
  response: string
  /** The first entry that the vendor has not seen. */
  from: number
}

/** What the next request needs to go on from `response`; `before` is the digest of the history it answered. */
export function continuityOf(
  origin: Origin,
  before: string,
  response: string,
  parts: readonly Part[],
): Native {
  return { origin, data: { response, before, said: digestParts(parts) } }
}

/** Undefined when the whole history has to be sent. */
export function resumption(
  history: readonly Entry[],
  origin: Origin,
  ids: WireIds,
  plain: ReadonlySet<number>,
): Resumption | undefined {
  const at = history.findLastIndex(entry => entry.role === 'assistant')
  const entry = history[at]
  if (entry?.role !== 'assistant' || at === history.length - 1 || plain.has(at)) return undefined
  const { continuity } = entry
  if (continuity === undefined || !sameOrigin(continuity.origin, origin)) return undefined
  if (!isJsonObject(continuity.data) || !isWhollyKept(entry, origin)) return undefined
  // Results are paired by the vendor's own ids, so these must be the ids that we would send.
  const paired = entry.parts.every(part => part.type !== 'call' || ids.of(at, part.id) === part.nativeId)
  const { response, before, said } = continuity.data
  if (!paired || said !== digestParts(entry.parts) || before !== digestHistory(history, at)) return undefined
  return stringOf(response) === '' ? undefined : { response: stringOf(response), from: at + 1 }
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
function digestParts(parts: readonly (Part | AnswerPart)[]): string {
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
