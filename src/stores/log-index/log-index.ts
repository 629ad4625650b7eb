// What the index of a store does, whatever its database: a thread of its own drives it (serve-index.ts), the main thread asks it
// (thread.ts).
import type { ActivityQuery, FindQuery, FoundSessions } from '../../engine/ports/index.ts'
import type { ActivityReport } from '../../language/activity.ts'
import type { Recorded } from '../../language/events.ts'
import type { Digest, DigestState } from './digest.ts'

export type * from './digest.ts'
export { digestLog, newDigestState } from './digest.ts'
export { activityReport } from './report.ts'

/** A session whose log is longer than what the index has of it. `from`: the last event that it has. */
export type BehindSession = { session: string; agent: string; from: number; state?: DigestState }

export type LogIndex = {
  /** Some of them, in any order. */
  behind(limit: number): Promise<BehindSession[]>
  /** One page of a log, after event `from`. Empty: it was removed. */
  read(session: string, from: number): Promise<Recorded[]>
  /** All or nothing, and only if the index still ends at `from`: someone else may have added the same. */
  add(behind: BehindSession, upTo: number, digest: Digest): Promise<void>
  /** Removes what it has of sessions that are gone. */
  purge(): Promise<void>
  find(query: FindQuery): Promise<FoundSessions>
  activity(query: ActivityQuery): Promise<ActivityReport>
  close(): Promise<void>
}
