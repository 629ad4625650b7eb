// A fork: the history of a session up to one of its events, as the beginning of another. Results are taken from the log, so
// nothing runs again; a call that had no result by then is told to the model as abandoned.
import type { SessionHistory } from '../../engine/index.ts'
import { TurnwireError } from '../../language/errors.ts'
import type { Entry } from '../../language/history.ts'
import { leftOpen } from '../left-open.ts'
import type { ChangedResult } from './schema.ts'

/** `changed`: results in place of the recorded ones. Throws `bad_request` for a call that has none there. */
export function forkedHistory(history: SessionHistory, changed: readonly ChangedResult[] = []): Entry[] {
  return changed.reduce(changeResult, wholeHistory(history))
}

/** A worker's task was written by a model, so flow control must not take it for the user's words in the fork either. */
export function taskAsAttached(entries: readonly Entry[]): Entry[] {
  return entries.map(entry =>
    entry.role === 'user'
      ? {
          ...entry,
          parts: entry.parts.map(part => (part.type === 'text' ? { ...part, attached: true } : part)),
        }
      : entry,
  )
}

function changeResult(entries: Entry[], { callId, text, failed = false }: ChangedResult): Entry[] {
  let found = false
  const others = entries.map((entry): Entry => {
    if (entry.role !== 'tool') return entry
    const results = entry.results.map(result => {
      if (result.callId !== callId) return result
      found = true
      const { structured: _, report: __, ...outcome } = result.outcome
      const kind = failed ? ('error' as const) : ('ok' as const)
      const { native: ___, ...rest } = result
      return { ...rest, outcome: { ...outcome, kind, parts: [{ type: 'text' as const, text }] } }
    })
    return { ...entry, results }
  })
  if (!found)
    throw new TurnwireError('bad_request', `The history up to there has no result of a call "${callId}".`)
  return others
}

function wholeHistory({ entries, calls }: SessionHistory): Entry[] {
  if (calls.length === 0) return entries
  const results = calls.map(({ part, outcome }) => ({
    callId: part.id,
    name: part.name,
    outcome: outcome ?? leftOpen,
  }))
  return [...entries, { role: 'tool', results }]
}
