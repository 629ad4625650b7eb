// Where the engine of a session is, as one who looks for it is told. A folder has one engine, in one process or another; a
// cluster has an engine on each node. Only they know where to look, and how long to wait before they look again.
import type { Engine } from '../../engine/ports/boundary.ts'

export type Place = {
  engine: Engine
  /** Whether the session is elsewhere now, or will be. `error`: with which a call or a stream ended here. */
  hasMoved(error: unknown): boolean
  /** The same, after a stream that has no end of its own ended without an error. */
  hasMovedQuietly(): Promise<boolean>
  /** Waits until it is worth looking again. Rejects with the error once one has looked for long enough. */
  leave(error: unknown): Promise<void>
}

/** One call or stream that looks for its engine: each time it is called, it looks again. */
export type Find = () => Promise<Place>
