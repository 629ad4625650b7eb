// The port for a store that several nodes share. The store provides mutual exclusion and the clock. Messages between
// nodes do not pass through it.
import type { Store } from './store.ts'

/** One process that works on sessions. A process that starts again is another node: it gets a new id. */
export type NodeInfo = {
  id: string
  /** Where other nodes reach it, as host:port. Absent: it takes no calls of other nodes. */
  address?: string
  version: string
}

/** `leftMs`: what is left of its lease, by the clock of the store. 0 or less: it has ended. */
export type SeenNode = NodeInfo & { leftMs: number }

/** The node that has a session. `node` absent: none. A node that the store no longer knows has no lease left. */
export type Holder = { epoch: number; node?: SeenNode }

/** `parent`: the session whose call it works for. `rests`: nothing of it runs until a time that its row has (`dueAt`). */
export type AbandonedSession = { id: string; epoch: number; parent?: string; rests?: true }

/**
 * Contract.
 * - A node has one lease, not one per session. It lasts `leaseMs` from each `renew`, by the clock of the store, and nothing
 *   else ends it but `leave`. The clocks of nodes play no part.
 * - A node has the sessions that it created, claimed or adopted. Nobody else can claim them while its lease lasts: `claim`
 *   rejects with `moved` and changes nothing, `adopt` gives false. Once the lease has ended, or the session was released,
 *   anyone can. The epoch is raised in the same write that checks this, so of several nodes that try one succeeds.
 * - A node whose lease has ended claims, adopts and creates nothing: it is refused with `lease_lost`. Its epochs stay good
 *   until someone claims the session: then every write that carries an older epoch is refused with `lease_lost`.
 * - A store that has not joined is no node: it claims what nobody has, and has nothing itself.
 * - `unfinished` gives only sessions that nobody with a lease has, and those of this node.
 */
export type NodeStore = Store & {
  /** Begins a lease under a new id. Sessions of an earlier id of this store are those of another node. */
  join(node: NodeInfo, leaseMs: number): Promise<void>
  /**
   * Begins the lease anew. It takes the same way as appends, so that it fails when they do. False: the lease has ended while
   * other nodes live, and they may have taken its sessions. A node that is alone can renew late.
   */
  renew(): Promise<boolean>
  /** Ends the lease. Others can claim its sessions at once. */
  leave(): Promise<void>
  /** All nodes that joined, but for those whose lease ended long ago. */
  nodes(): Promise<SeenNode[]>
  /** Undefined: there is no such session. */
  holder(session: string): Promise<Holder | undefined>
  /** Makes this node the holder without loading anything, if the session still has this epoch and nobody has it. */
  adopt(session: string, epoch: number): Promise<boolean>
  /** Nobody has the session any more, if it still has this epoch. */
  release(session: string, epoch: number): Promise<void>
  /** Unfinished sessions that nobody with a lease has, in the order of their ids, after the id given. */
  abandoned(after: string, limit: number): Promise<AbandonedSession[]>
}
