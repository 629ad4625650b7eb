// One node of a simulated cluster: the lease, the fence, the take-over and the hand-over of the product, on the simulated store,
// time and chance. What is simulated beside them is the wire between nodes: offers and news arrive late, or never.
import type { LocalEngine, NodeStore, Store } from '../../src/engine/index.ts'
import { fencedStore } from '../../src/engines/cluster/fenced-store.ts'
import { HandOver } from '../../src/engines/cluster/hand-over.ts'
import { NodeLease } from '../../src/engines/cluster/node-lease.ts'
import { TakeOver } from '../../src/engines/cluster/take-over.ts'
import type { Timing } from '../../src/engines/cluster/timing.ts'
import { TurnwireError } from '../../src/language/errors.ts'
import type { Chance } from './chance.ts'
import type { Machine, Scheduler } from './scheduler.ts'
import type { Trace } from './trace.ts'

export const leaseMs = 600

/** What a node does with a store beside reading and writing sessions. */
export type NodeCalls = Pick<
  NodeStore,
  'join' | 'renew' | 'leave' | 'nodes' | 'abandoned' | 'adopt' | 'release'
>

export type SimulatedNodeParts = {
  machine: Machine
  scheduler: Scheduler
  chance: Chance
  trace: Trace
  store: Store
  calls: NodeCalls
  /** The engine does not ask the lease before it writes: the store alone has to refuse it. */
  isDeceived: boolean
  /** The other nodes that can be reached now. */
  others: () => readonly SimulatedNode[]
}

export class SimulatedNode {
  readonly machine: Machine
  readonly #parts: SimulatedNodeParts
  readonly #lease: NodeLease
  readonly #takeOver: TakeOver
  /** The store as the engine of the node uses it. */
  readonly store: Store
  #engine: LocalEngine | undefined

  constructor(parts: SimulatedNodeParts) {
    const { machine, store, calls, trace } = parts
    this.machine = machine
    this.#parts = parts
    const timing = timingOf(parts)
    const log = (): void => {}
    let ids = 0
    this.#lease = new NodeLease({
      store: calls,
      leaseMs,
      newId: () => `${machine.name}.${++ids}`,
      address: () => undefined,
      version: '1',
      canWork: async () => {},
      onLost: reason => {
        trace.note(`${this.#lease.id} lost its lease`)
        this.#engine?.sessions.loseAll(reason)
      },
      onJoined: () => {
        trace.note(`${this.#lease.id} joined again`)
        void this.#takeOver.sweep()
      },
      onSeen: nodes => this.#takeOver.seen(nodes),
      log,
      timing,
    })
    this.#takeOver = new TakeOver({
      store: calls,
      self: () => this.#lease.id,
      recover: async sessions => (await this.#engine?.sessions.recoverThese(sessions)) ?? 0,
      isAwaited: () => false,
      log,
      timing,
    })
    this.store = parts.isDeceived ? store : fencedStore(store, () => this.#lease.check())
  }

  /** As a real node does: another one hears of it before it has joined. */
  async begin(engine: LocalEngine): Promise<void> {
    this.#engine = engine
    this.#parts.others()[0]?.meet()
    // A store that fails is asked again, as by someone who starts the process again.
    for (;;)
      try {
        await this.#lease.begin()
        break
      } catch (error) {
        if (!(error instanceof TurnwireError)) throw error
        await this.#parts.scheduler.sleep(20, this.machine)
      }
  }

  recover(): Promise<number> {
    return this.#takeOver.sweep()
  }

  meet(): void {
    this.#lease.meetOther()
  }

  /** Sessions that a stopping node offers. */
  take(sessions: readonly string[]): void {
    void this.#engine?.sessions.recoverThese(sessions).catch(() => {})
  }

  hearOfLeaving(): void {
    void this.#takeOver.sweep()
  }

  async stop(graceMs: number): Promise<void> {
    const { calls, others } = this.#parts
    this.#takeOver.stop()
    const takers = others().map(node => ({
      takeOver: (sessions: readonly string[]) => this.#tell(node, () => node.take(sessions)),
    }))
    const handOver = new HandOver(calls, Promise.resolve(takers), () => {})
    await this.#engine?.stop(graceMs, session => handOver.give(session))
    await handOver.done()
    await this.#lease.end().catch(error => {
      // The lease ends by itself.
      if (!(error instanceof TurnwireError)) throw error
    })
    for (const node of others()) void this.#tell(node, () => node.hearOfLeaving())
  }

  /** One in ten messages between nodes is lost, and nobody is told. */
  async #tell(node: SimulatedNode, hear: () => void): Promise<void> {
    const { scheduler, chance } = this.#parts
    const isLost = chance.maybe(0.1)
    await scheduler.sleep(chance.whole(0, 10), this.machine)
    if (!isLost) scheduler.after(0, hear, node.machine)
  }
}

function timingOf({ scheduler, chance, machine }: SimulatedNodeParts): Timing {
  return {
    now: () => scheduler.now,
    after: (ms, run) => scheduler.after(ms, run, machine),
    random: () => chance.whole(0, 999) / 1000,
  }
}
