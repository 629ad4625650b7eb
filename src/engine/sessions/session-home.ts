// What a session has from the engine that it lives in.

import type { CallSession, WorkingSessions } from '../calls/call-session.ts'
import type { Snapshot } from '../log/snapshots.ts'

/** What all sessions of an engine share. */
export type SessionHome = {
  lost(session: CallSession, reason: unknown): void
  /** Sessions that work for calls of others. */
  readonly subSessions: WorkingSessions
  /** `changed` is for when someone watches. */
  readonly listChanges: { readonly watchers: { readonly size: number }; changed(session: CallSession): void }
}

/** The right to write to a session, how large it is, and the snapshot that it was loaded from. */
export type Claim = { epoch: number; bytes: number; blobBytes: number; snapshot?: Snapshot }
