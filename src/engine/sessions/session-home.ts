// The part of the engine that its sessions use.

import type { CallSession, WorkingSessions } from '../calls/call-session.ts'
import type { Snapshot } from '../log/snapshots.ts'
import type { NewSession } from '../ports/index.ts'

/** Shared by all sessions of an engine. */
export type SessionHome = {
  lost(session: CallSession, reason: unknown): void
  /** Sessions that work for calls of others. */
  readonly subSessions: WorkingSessions
  /** A session calls `changed` only while there are watchers. */
  readonly listChanges: { readonly watchers: { readonly size: number }; changed(session: CallSession): void }
}

/**
 * The right to write to a session, how large it is, and the snapshot that it was loaded from. `unwritten`: it is not in the store
 * yet, and is created with its first write.
 */
export type Claim = {
  epoch: number
  bytes: number
  blobBytes: number
  snapshot?: Snapshot
  unwritten?: NewSession
}
