// Finds the engine that has a session: that of this node, or that of another one over the wire between nodes. The place
// is remembered with the session's epoch, and looked up again once a node answers that it does not have the session.
import type { Engine, SessionRef } from '../../engine/ports/boundary.ts'
import type { EngineHere } from '../../engine/ports/local.ts'
import type { NodeInfo, NodeStore } from '../../engine/ports/node.ts'
import { TurnwireError } from '../../language/errors.ts'
import type { Place, Search } from '../moving/place.ts'
import { isStopping } from '../socket/index.ts'
import type { NodeLease } from './node-lease.ts'
import { type Peer, type Peers, Unreachable } from './peers.ts'
import { pause, realTiming, type Timing } from './timing.ts'

export type RouterParts = {
  local: EngineHere
  store: NodeStore
  lease: NodeLease
  peers: Pick<Peers, 'to'>
  /** How long a call waits for the node that has the session, or for the end of its lease. */
  patienceMs: number
  timing?: Timing
}

/** `peer` absent: the engine of this node. */
type Routed = { engine: Engine; peer?: Peer }

/** Codes with which a call or a stream ends because its session is elsewhere, or its node is gone. */
const movedCodes: ReadonlySet<string> = new Set(['moved', 'stopping', 'lease_lost'])

type NodePlace = { node: NodeInfo; epoch: number }

/** Places that are remembered. */
const mostPlaces = 10_000
/** Readers wait at least so long: one who waits for a whole answer would take the loss for its end. */
const readerPatienceMs = 60_000
/** How soon a node that was not reached, or a lease that was not over, is looked at again. */
const lookAgainMs = 100

/** One call or stream that looks for its session, perhaps several times. */
class NodeSearch {
  readonly ref: SessionRef
  /** Makes this node the holder if nobody is, so that others find the session here. */
  readonly adopts: boolean
  readonly #patienceMs: number
  readonly #timing: Timing
  #deadline: number | undefined
  /** Why the engine of this node is of no use: it stops. */
  notHere: unknown
  tries = 0

  constructor(ref: SessionRef, adopts: boolean, patienceMs: number, timing: Timing) {
    this.ref = ref
    this.adopts = adopts
    this.#patienceMs = patienceMs
    this.#timing = timing
  }

  /** The patience is counted from when it is first asked for: a stream may have gone well for hours before. */
  get isLate(): boolean {
    const now = this.#timing.now()
    this.#deadline ??= now + this.#patienceMs
    return now > this.#deadline
  }

  renew(): void {
    this.#deadline = undefined
    this.tries = 0
  }
}

export class Router {
  readonly #parts: RouterParts
  /** The least recently used comes first. */
  readonly #places = new Map<string, NodePlace>()
  readonly #here: Routed
  readonly #timing: Timing
  #closed = false

  constructor(parts: RouterParts) {
    this.#parts = parts
    this.#here = { engine: parts.local }
    this.#timing = parts.timing ?? realTiming()
  }

  /** A call of this node's engine, wherever its session is. */
  get here(): Search {
    const place: Place = {
      engine: this.#parts.local,
      hasMoved: () => false,
      hasMovedQuietly: () => Promise.resolve(false),
    }
    return {
      find: () => Promise.resolve(place),
      again: error => Promise.reject(error),
      renew: () => {},
    }
  }

  /** `name`: of the call or stream. Those who read along make this node the holder if nobody else is. */
  search(name: keyof Engine, ref: SessionRef): Search {
    const { patienceMs } = this.#parts
    const reads = name === 'follow' || name === 'attach'
    const patience = reads ? Math.max(patienceMs, readerPatienceMs) : patienceMs
    const search = new NodeSearch(ref, reads, patience, this.#timing)
    let routed: Routed | undefined
    return {
      find: async () => {
        routed = undefined
        routed = await this.#find(search)
        return this.#place(search, routed, name === 'attach')
      },
      again: error => {
        if (!routed?.peer && isStopping(error)) search.notHere = error
        return this.#again(search, error)
      },
      renew: () => search.renew(),
    }
  }

  /** `isAttachment`: tools of a client of this node, which ends with the node. */
  #place(search: NodeSearch, { engine, peer }: Routed, isAttachment: boolean): Place {
    return {
      engine,
      hasMoved: error => {
        if (!(error instanceof TurnwireError) || (isAttachment && !peer && isStopping(error))) return false
        // Another node may be cut off from the store while this one is not.
        return movedCodes.has(error.code) || (!!peer && !isAttachment && error.code.startsWith('store_'))
      },
      hasMovedQuietly: async () => (await this.#parts.store.holder(search.ref.session)) !== undefined,
    }
  }

  /** This node has stopped: every search for a session fails with that reason. */
  close(): void {
    this.#closed = true
  }

  /** Nothing that was found is known any more. */
  clear(): void {
    this.#places.clear()
  }

  /** Whether the session is in the memory of this node. */
  isHere(ref: SessionRef): boolean {
    return this.#parts.lease.held && this.#parts.local.heldEpoch(ref) !== undefined
  }

  async #find(search: NodeSearch): Promise<Routed> {
    const { ref } = search
    if (search.notHere === undefined && this.isHere(ref)) return this.#here
    for (;;) {
      if (this.#closed) throw new TurnwireError('stopping', 'This node has stopped. Ask another one.')
      // A look may take longer than the patience, and the lease may end meanwhile: only a look that began late is the last.
      const isLast = search.isLate
      const known = this.#known(ref.session)
      const routed = known ? await this.#reach(known) : await this.#lookUp(search)
      if (routed) return routed
      this.#places.delete(ref.session)
      if (isLast)
        throw new TurnwireError(
          'moved',
          'The node that has this session cannot be reached, and its lease lasts. Try again.',
          { retryAfterMs: 1000 },
        )
      await this.#pause()
    }
  }

  /** A node answered that it does not have the session. Throws the error once the patience is used up. */
  async #again(search: NodeSearch, error: unknown): Promise<void> {
    this.#places.delete(search.ref.session)
    if (search.isLate) throw error
    search.tries += 1
    // The first time the place was simply old.
    if (search.tries > 1) await this.#pause()
  }

  #pause(): Promise<void> {
    return pause(this.#timing, lookAgainMs * (0.5 + this.#timing.random() / 2))
  }

  #known(session: string): NodePlace | undefined {
    const place = this.#places.get(session)
    if (place) {
      this.#places.delete(session)
      this.#places.set(session, place)
    }
    return place
  }

  async #reach({ node, epoch }: NodePlace): Promise<Routed | undefined> {
    try {
      const peer = await this.#parts.peers.to(node)
      return { engine: peer.engine.at(epoch), peer }
    } catch (error) {
      if (error instanceof Unreachable) return undefined
      throw error
    }
  }

  /** Undefined: it has to be looked up again in a moment. */
  async #lookUp(search: NodeSearch): Promise<Routed | undefined> {
    const { store, lease } = this.#parts
    const { session } = search.ref
    // A node without a lease takes nothing up, and nobody but itself could say so.
    if (!lease.held && !search.isLate) return undefined
    const holder = await store.holder(session)
    const node = holder?.node
    if (!holder || node?.id === lease.id) return this.#hereUnless(search)
    if (node && node.leftMs > 0) {
      const place = { node, epoch: holder.epoch }
      // A node that is paused takes a connection and never answers. Once its lease is over it has nothing to say.
      const leaseOver = pause(this.#timing, node.leftMs).then(() => undefined)
      const routed = await Promise.race([this.#reach(place), leaseOver])
      if (routed) this.#remember(session, place)
      return routed
    }
    if (search.notHere !== undefined) throw search.notHere
    if (!search.adopts || (await store.adopt(session, holder.epoch))) return this.#here
    return undefined
  }

  #hereUnless({ notHere }: NodeSearch): Routed {
    if (notHere !== undefined) throw notHere
    return this.#here
  }

  #remember(session: string, place: NodePlace): void {
    this.#places.set(session, place)
    if (this.#places.size <= mostPlaces) return
    for (const oldest of this.#places.keys()) {
      this.#places.delete(oldest)
      return
    }
  }
}
