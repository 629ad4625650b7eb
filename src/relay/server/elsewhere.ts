// Machines that are attached to other nodes of a cluster, as those nodes say. A request for one of them is sent to its node,
// which asks that machine and no other, and never passes the request on. Counts, rests and the rules of the protocol are
// kept by the node that has the machine.

import type { Hex } from '../../callers/wallet.ts'
import type { ModelAnswer, ModelDelta, ModelRequest } from '../../engine/index.ts'
import type { Ending, Machine } from './machine.ts'
import type { Counts, Prices, Registry, RelayAgent } from './registry.ts'

/** How one machine answered. `shown`: something was said before it failed. */
export type RemoteResult = { answer: ModelAnswer } | { ending: Ending; shown: boolean }

/** `slots`: requests that the machine can still take. */
type ListedMachine = { id: string; taken: number; slots: number }

/** An attached agent, as its node describes it to the others. Plain data. */
export type ListedAgent = {
  agentId: string
  wallet: Hex
  name?: string | undefined
  description?: string | undefined
  prices: Prices
  available: boolean
  counts: Counts
  firstFrameMs?: number | undefined
  machines: ListedMachine[]
}

/** A request for a machine of the node that it is sent to. Plain data. */
export type Forwarded = { agentId: string; machine: string; request: ModelRequest }

export type RelayNode = {
  id: string
  /** Rejects only as the signal says. A node that goes away is a machine that is gone. */
  answer(forwarded: Forwarded, watch: (delta: ModelDelta) => void, signal: AbortSignal): Promise<RemoteResult>
}

/** A machine of another node. */
export class FarMachine {
  readonly id: string
  /** The slots that its node said last, changed by the requests that this node gave or took back since. */
  taken = 0
  #node: RelayNode
  #listed: ListedMachine

  constructor(node: RelayNode, listed: ListedMachine) {
    this.id = listed.id
    this.#node = node
    this.#listed = listed
  }

  get node(): RelayNode {
    return this.#node
  }

  get free(): boolean {
    return this.taken - this.#listed.taken < this.#listed.slots
  }

  /** `node`: over the newest connection. */
  update(node: RelayNode, listed: ListedMachine): void {
    this.#node = node
    this.#listed = listed
    this.taken = listed.taken
  }

  /** It gets no request before its node has spoken again. */
  rest(): void {
    this.#listed = { ...this.#listed, slots: 0 }
  }
}

/** The machines of one agent at one other node. */
export type Elsewhere = { listed: ListedAgent; machines: Map<string, FarMachine> }

/** The agents that are attached to this node, for the others. */
export function attachedHere(registry: Registry): ListedAgent[] {
  return registry.all().flatMap(agent => {
    if (agent.machines.size === 0) return []
    const { agentId, wallet, name, description, prices, counts, firstFrameMs } = agent
    const machines = [...agent.machines].map(({ id, taken, slots }) => ({ id, taken, slots }))
    const available = registry.isAvailableHere(agent)
    return [{ agentId, wallet, name, description, prices, available, counts, firstFrameMs, machines }]
  })
}

/** The machine that another node names, if it can be asked. */
export function machineHere(registry: Registry, { agentId, machine }: Forwarded): Machine | undefined {
  const agent = registry.get(agentId)
  if (!agent || !registry.isAvailableHere(agent)) return undefined
  return [...agent.machines].find(({ id, open }) => id === machine && open)
}

/** The latest lists of the other nodes. */
export class OtherNodes {
  readonly #registry: Registry
  readonly #agentsAt = new Map<string, Set<RelayAgent>>()

  constructor(registry: Registry) {
    this.#registry = registry
  }

  /** All that is attached to the node now. */
  hear(node: RelayNode, listed: readonly ListedAgent[]): void {
    const before = this.#agentsAt.get(node.id) ?? new Set()
    const now = new Set(listed.map(each => this.#addMachine(node, each)))
    if (now.size > 0) this.#agentsAt.set(node.id, now)
    else this.#agentsAt.delete(node.id)
    for (const agent of before)
      if (!now.has(agent)) {
        agent.elsewhere.delete(node.id)
        this.#registry.left(agent)
      }
  }

  /** The node cannot be reached any more. */
  lose(id: string): void {
    this.hear({ id, answer: () => Promise.reject(new Error('The node is gone.')) }, [])
  }

  #addMachine(node: RelayNode, listed: ListedAgent): RelayAgent {
    const { agentId, wallet, name, description, prices, firstFrameMs, available } = listed
    const agent = this.#registry.met(agentId, wallet)
    const known = agent.elsewhere.get(node.id)?.machines
    const machines = new Map<string, FarMachine>()
    for (const each of listed.machines) {
      const machine = known?.get(each.id) ?? new FarMachine(node, each)
      machine.update(node, available ? each : { ...each, slots: 0 })
      machines.set(each.id, machine)
    }
    agent.elsewhere.set(node.id, { listed, machines })
    // An agent that is attached here too is as its machines here say; otherwise as the first node says.
    const [first] = agent.elsewhere.keys()
    if (agent.machines.size === 0 && first === node.id) {
      this.#registry.reprice(agent, prices)
      agent.name = name
      agent.description = description
      if (firstFrameMs === undefined) delete agent.firstFrameMs
      else agent.firstFrameMs = firstFrameMs
    }
    return agent
  }
}

const countNames = ['served', 'failed', 'refused', 'left', 'inputTokens', 'outputTokens'] as const

/** The sums of an agent's counts over its machines, here and at other nodes. */
export function totalCounts({ machines, counts, elsewhere }: RelayAgent): Counts & {
  machines: number
  inFlight: number
} {
  const sum = { ...counts, machines: machines.size, inFlight: inFlight(machines) }
  for (const { listed, machines: far } of elsewhere.values()) {
    sum.machines += far.size
    sum.inFlight += inFlight(far.values())
    for (const name of countNames) sum[name] += listed.counts[name]
  }
  return sum
}

function inFlight(machines: Iterable<{ taken: number }>): number {
  let sum = 0
  for (const { taken } of machines) sum += taken
  return sum
}
