// What a session has from the engine that it lives in, and what it says of a request that it took.
import type { Offer } from './offer.ts'
import type { Agent } from './ports.ts'
import type { Session } from './session.ts'
import type { Snapshot } from './snapshots.ts'
import type { SubSessions } from './sub-sessions.ts'

/**
 * `first` is the number of the first event of the request; `replayed`: it was accepted before, and nothing was done.
 * `turn` is the turn that it started or continued, which may be over by the time that it is durable.
 */
export type Recorded = { first: number; replayed: boolean; count: number; at: number; turn?: string }

/** What all sessions of an engine share. */
export type SessionHome = {
  /** The offer of this agent's own tools, to sessions that change nothing about it. */
  ownOffer(agent: Agent): Offer
  lost(session: Session, reason: unknown): void
  /** Sessions that work for calls of others. */
  readonly subSessions: SubSessions
  readonly listChanges: { changed(session: Session): void }
}

/** The right to write to a session, how large it is, and the snapshot that it was loaded from. */
export type Claim = { epoch: number; bytes: number; blobBytes: number; snapshot?: Snapshot }
