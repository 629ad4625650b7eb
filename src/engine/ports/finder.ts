// The port for finding sessions: by the words in their logs, in several orders, with counts; and what all sessions did, hour
// by hour. A store answers from an index that it builds beside the loop, from logs that are durable. The index can be
// thrown away and built again: nothing of the engine reads it. Types only.
import type { ActivityReport, SessionOrder } from '../../language/activity.ts'
import type { ListedRow, SessionStatus } from './store.ts'

export type FindQuery = {
  /** Null: of all owners, for operators. */
  owner: string | null
  limit: number
  /** The `next` of the page before. */
  after?: string
  order: SessionOrder
  /** The smallest, or the oldest, first. */
  ascending?: true
  /** `failed`: at rest, and its last turn failed. */
  status?: SessionStatus | 'failed'
  agent?: string
  /** `agents`: those whose own model it is. Their sessions use it unless they name another. */
  model?: { name: string; agents: readonly string[] }
  /** Words that one event has, all of them, as beginnings of its words; or a part of the session's id or opening. */
  words?: string
  /** Sessions that something was recorded in from this time on, and that were created before `to`. */
  from?: number
  to?: number
}

/** `hit`: the newest event with the words, and how many there are. Absent: they are in its id or opening, or there were none. */
export type FoundRow = ListedRow & { hit?: { seq: number; count: number } }

export type FoundSessions = {
  rows: FoundRow[]
  next?: string
  /** All that match, on the first page. */
  total?: number
  /** Sessions whose newest events the index does not have yet, on the first page: to count them it looks at every session. */
  behind?: number
}

/** `slotMs`: an hour, or days that begin at `zoneMs` before midnight UTC. */
export type ActivityQuery = { since: number; until: number; slotMs: number; zoneMs: number }

/**
 * Contract.
 * - Every session that is found can be read: none was removed, and none belongs to another owner.
 * - The rows are as the store has them now. Only the words, and the counts of `activity`, may be behind the logs.
 * - Everything that resolved before is found within seconds, without being asked for, once `start` was called.
 * - `activity` counts each event once, also over restarts and nodes. Removing a session takes nothing back.
 */
export type SessionFinder = {
  find(query: FindQuery): Promise<FoundSessions>
  activity(query: ActivityQuery): Promise<ActivityReport>
  /** From here on the index is kept up to date without being asked. For the process that works on the sessions. */
  start(): void
}
