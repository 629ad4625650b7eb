// The place of a session's engine, as a `MovingEngine` is given it. A folder has one engine, in one process or another;
// a cluster has an engine on each node. Only they know where to look, and how long to wait before they look again.
import type { Engine } from '../../engine/ports/boundary.ts'

export type Place = {
  engine: Engine
  /** Whether the session is elsewhere now, or will be. `error`: the error that ended a call or a stream here. */
  hasMoved(error: unknown): boolean
  /** The same, after a stream that has no end of its own ended without an error. */
  hasMovedQuietly(): Promise<boolean>
}

/** One call or stream that looks for its engine, perhaps several times. */
export type Search = {
  /** Rejects if there is no engine now. */
  find(): Promise<Place>
  /**
   * Waits until it is worth looking again. `error`: with which the engine ended, or was not found. Rejects with it once the
   * patience is used up.
   */
  again(error: unknown): Promise<void>
  /** The stream was given something: its patience begins anew. */
  renew(): void
}
