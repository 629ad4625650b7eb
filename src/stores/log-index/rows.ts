// What both databases select for their index, and what is made of it.
import type { FoundRow, FoundSessions, ListSummary, SessionRow } from '../../engine/ports/index.ts'
import { failedStops } from '../../language/events.ts'
import type { SessionColumns } from '../session-rows.ts'
import type { ActivityRow, BehindSession, DigestState } from './log-index.ts'
import { encodePlace } from './place.ts'

/** What one row of `activity` counts by, and what it counts. */
export const activityKey = 'hour, kind, agent, name, outcome, bucket'
export const activityColumns = [
  ...(['hour', 'kind', 'agent', 'name', 'outcome', 'bucket'] as const),
  ...(['n', 'input', 'output', 'cost', 'unpriced'] as const),
] satisfies (keyof ActivityRow)[]

/** As a list of SQL. */
export const listedFailures = failedStops.map(stop => `'${stop}'`).join(', ')

export type BehindColumns = [session: string, agent: string, from: number | null, state: string | null]

export function behindSession([session, agent, from, state]: BehindColumns): BehindSession {
  // `add` wrote the state.
  return {
    session,
    agent,
    from: from ?? 0,
    ...(state !== null && { state: JSON.parse(state) as DigestState }),
  }
}

/** `key`: what the sessions are ordered by. */
export type FoundColumns = [
  key: number,
  seq: number | null,
  places: number | null,
  summary: string | null,
  ...SessionColumns,
]

/** `found`: one more than `limit` where there is a next page. */
export function foundPage(
  found: readonly FoundColumns[],
  limit: number,
  sessionRow: (columns: SessionColumns) => SessionRow,
): Pick<FoundSessions, 'rows' | 'next'> {
  const rows = found.slice(0, limit).map(
    ([, seq, count, summary, ...columns]): FoundRow => ({
      ...sessionRow(columns),
      // It was written from a ListSummary.
      ...(summary !== null && { summary: JSON.parse(summary) as ListSummary }),
      ...(seq !== null && count !== null && { hit: { seq, count } }),
    }),
  )
  const last = found.length > limit ? found[limit - 1] : undefined
  if (!last) return { rows }
  const [key, , , , position, id] = last
  return { rows, next: encodePlace({ key: Number(key), position, id }) }
}
