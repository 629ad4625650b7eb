// An open session, as the log's code uses it.
import type { EnginePorts, SessionStatus } from '../ports/index.ts'
import type { SessionState } from '../rules/state.ts'
import type { Feed } from './feed.ts'

export type LoggedSession = {
  readonly id: string
  readonly state: SessionState
  readonly status: SessionStatus
  readonly ports: EnginePorts
  readonly feed: Feed
  /** Of its writer, which is this copy. */
  readonly epoch: number
  /** About the JSON of its log, and of what is kept beside it. */
  bytes: number
  blobBytes: number
  /** Every event of the state is durable. */
  readonly clean: boolean
  /** This copy no longer counts, for this reason. */
  readonly lost: boolean
  readonly lostBecause: unknown
  /** It left memory while it was at rest. The next command or reader opens it again. */
  readonly released: boolean
}
