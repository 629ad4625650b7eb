// What a session has from the engine that it lives in.

import type { CallSession, WorkingSessions } from '../calls/call-session.ts'
import type { Snapshot } from '../log/snapshots.ts'
import type { Agent } from '../ports/index.ts'
import type { Offer } from '../rules/offer.ts'

/** What all sessions of an engine share. */
export type SessionHome = {
  /** The offer of this agent's own tools, to sessions that change nothing about it. */
  ownOffer(agent: Agent): Offer
  lost(session: CallSession, reason: unknown): void
  /** Sessions that work for calls of others. */
  readonly subSessions: WorkingSessions
  readonly listChanges: { changed(session: CallSession): void }
}

/** The right to write to a session, how large it is, and the snapshot that it was loaded from. */
export type Claim = { epoch: number; bytes: number; blobBytes: number; snapshot?: Snapshot }
