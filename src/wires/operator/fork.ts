// A fork: the history of a session up to one of its events, as the beginning of another. Results are taken from the log, so
// nothing runs again; a call that had no result by then is told to the model as abandoned.
import type { SessionHistory } from '../../engine/index.ts'
import type { Entry } from '../../language/history.ts'
import { leftOpen } from '../left-open.ts'

export function forkedHistory({ entries, calls }: SessionHistory): Entry[] {
  if (calls.length === 0) return entries
  const results = calls.map(({ part, outcome }) => ({
    callId: part.id,
    name: part.name,
    outcome: outcome ?? leftOpen,
  }))
  return [...entries, { role: 'tool', results }]
}
