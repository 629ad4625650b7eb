// The agents that are or were attached, each with its machines, its price and how it did. Which of them gets a request is
// chosen here, by data alone.
import type { Hex } from '../../callers/wallet.ts'
import type { Elsewhere, FarMachine } from './elsewhere.ts'
import type { Machine } from './machine.ts'

/** Per token, as the protocol writes them. */
export type Prices = { inputTokenPrice: string; outputTokenPrice: string }

export type Counts = {
  served: number
  failed: number
  /** Of those that failed, the ones that its machine refused with an error. */
  refused: number
  left: number
  inputTokens: number
  outputTokens: number
}

export type RelayAgent = {
  readonly agentId: string
  readonly wallet: Hex
  name?: string | undefined
  description?: string | undefined
  prices: Prices
  /** The lowest prices before the newest, as long as payments may be signed for them. */
  held?: { prices: Prices; until: number }
  readonly machines: Set<Machine>
  /** Its machines at other nodes, by the id of the node. */
  readonly elsewhere: Map<string, Elsewhere>
  /** Since this server started. */
  readonly counts: Counts
  /** Milliseconds until the first frame of an answer, the newest answers weighing most. Absent: it has not answered yet. */
  firstFrameMs?: number
  /** Failures since the last success. */
  failures: number
  /** It gets no request before this time. */
  restsUntil: number
  /** When it was last given a request, in numbers of requests. */
  turn: number
  /** Its place among all agents: the one whose machine came last has the highest. */
  order: number
  seenAt: number
}

/** The target of a request. `machine`: another node asks for this one. */
export type Route = 'cheapest' | 'fastest' | { agentId: string; machine?: string }

/** A machine of this node or another. */
export type AnyMachine = Machine | FarMachine

const noPrices: Prices = { inputTokenPrice: '0', outputTokenPrice: '0' }

/** Agents without a machine that are remembered. The one that was seen longest ago is forgotten first. */
const mostRemembered = 10_000
/** After a failure an agent rests; the time doubles with each. */
const shortestRestMs = 1_000
const longestRestMs = 60_000
/** The part of a new measurement in the average. */
const newest = 0.3

export class Registry {
  readonly #agents = new Map<string, RelayAgent>()
  readonly #now: () => number
  readonly #holdMs: number
  #turns = 0
  #joins = 0
  #machines = 0

  /** `holdMs`: how long a price that was shown holds for those who were shown it. */
  constructor(now: () => number, holdMs = 0) {
    this.#now = now
    this.#holdMs = holdMs
  }

  get(agentId: string): RelayAgent | undefined {
    return this.#agents.get(agentId)
  }

  all(): RelayAgent[] {
    return [...this.#agents.values()]
  }

  get machines(): number {
    return this.#machines
  }

  /** Up to `limit` agents after this place, and the place to go on from if there may be more. */
  page(after: number, limit: number, onlyAvailable: boolean): { agents: RelayAgent[]; next?: number } {
    const agents: RelayAgent[] = []
    for (const agent of this.#agents.values()) {
      if (agent.order <= after || (onlyAvailable && !this.isAvailable(agent))) continue
      if (agents.length === limit) return { agents, next: agents.at(-1)?.order ?? after }
      agents.push(agent)
    }
    return { agents }
  }

  add(agentId: string, wallet: Hex, machine: Machine): RelayAgent {
    const agent = this.#join(agentId, wallet)
    agent.machines.add(machine)
    this.#machines += 1
    return agent
  }

  /** An agent that has machines at another node. One that is attached keeps its place in lists. */
  met(agentId: string, wallet: Hex): RelayAgent {
    const known = this.#agents.get(agentId)
    return known && isAttached(known) ? known : this.#join(agentId, wallet)
  }

  #join(agentId: string, wallet: Hex): RelayAgent {
    const agent = this.#agents.get(agentId) ?? this.#newAgent(agentId, wallet)
    this.#agents.delete(agentId)
    this.#agents.set(agentId, agent)
    agent.order = ++this.#joins
    agent.seenAt = this.#now()
    return agent
  }

  /** From now on requests cost this. An agent without prices was shown to nobody, so there is nothing to hold. */
  reprice(agent: RelayAgent, prices: Prices): void {
    const before = agent.prices
    agent.prices = prices
    const isSame =
      before.inputTokenPrice === prices.inputTokenPrice && before.outputTokenPrice === prices.outputTokenPrice
    if (isSame || !isPriced(before)) return
    const now = this.#now()
    const { held } = agent
    const lowest = held && held.until > now ? lower(held.prices, before) : before
    agent.held = { prices: lowest, until: now + this.#holdMs }
  }

  /** The lowest prices that payers were shown lately. Undefined: the newest are the only ones. */
  heldPrices({ held, prices }: RelayAgent): Prices | undefined {
    return held && held.until > this.#now() ? lower(held.prices, prices) : undefined
  }

  remove(agent: RelayAgent, machine: Machine): void {
    if (agent.machines.delete(machine)) this.#machines -= 1
    this.left(agent)
  }

  /** The agent has a machine less. */
  left(agent: RelayAgent): void {
    agent.seenAt = this.#now()
    if (this.#agents.size <= mostRemembered) return
    for (const [agentId, each] of this.#agents)
      if (!isAttached(each)) {
        this.#agents.delete(agentId)
        return
      }
  }

  /** A machine for the request that can take one now. `tried`: machines that are not asked again. */
  choose(route: Route, tried: ReadonlySet<AnyMachine>): Choice | undefined {
    const named = typeof route === 'object' ? this.#agents.get(route.agentId) : undefined
    const candidates = typeof route === 'object' ? (named ? [named] : []) : this.all()
    const now = this.#now()
    let best: Choice | undefined
    for (const agent of candidates) {
      if (agent.restsUntil > now) continue
      const machine = leastLoaded(listMachines(agent, route), tried)
      if (machine && (!best || isBefore(route, { agent, machine }, best))) best = { agent, machine }
    }
    if (best) best.agent.turn = ++this.#turns
    return best
  }

  /** The agents that the request can be for, the one that it would be given to first. One that is named may be away. */
  ranked(route: Route): RelayAgent[] {
    if (typeof route === 'object') return [this.#agents.get(route.agentId) ?? []].flat()
    const attached = this.all().filter(isAttached)
    const able = attached.filter(agent => this.isAvailable(agent))
    // All of them rest: one may be back before the request has waited too long.
    const found = able.length > 0 ? able : attached
    return found.sort((one, other) => compare(route, one, other) || one.turn - other.turn)
  }

  /** Whether the agent is attached and not at rest. */
  isAvailable(agent: RelayAgent): boolean {
    const isElsewhere = [...agent.elsewhere.values()].some(({ listed }) => listed.available)
    return this.isAvailableHere(agent) || (isElsewhere && agent.restsUntil <= this.#now())
  }

  /** The same of its machines at this node alone. */
  isAvailableHere({ machines, restsUntil }: RelayAgent): boolean {
    return machines.size > 0 && restsUntil <= this.#now()
  }

  succeeded(agent: RelayAgent, firstFrameMs: number): void {
    const before = agent.firstFrameMs ?? firstFrameMs
    agent.firstFrameMs = before + newest * (firstFrameMs - before)
    agent.failures = 0
    agent.counts.served += 1
  }

  /** A machine that is gone says nothing of the agent's other machines. */
  failed(agent: RelayAgent, how: 'gone' | 'refused' | 'failed'): void {
    agent.counts.failed += 1
    if (how === 'refused') agent.counts.refused += 1
    if (how === 'gone' && [...agent.machines].some(({ open }) => open)) return
    const restMs = Math.min(longestRestMs, shortestRestMs * 2 ** Math.min(agent.failures, 10))
    agent.failures += 1
    agent.restsUntil = this.#now() + restMs
  }

  #newAgent(agentId: string, wallet: Hex): RelayAgent {
    const counts = { served: 0, failed: 0, refused: 0, left: 0, inputTokens: 0, outputTokens: 0 }
    const since = { failures: 0, restsUntil: 0, turn: 0, order: 0, seenAt: this.#now() }
    return { agentId, wallet, prices: noPrices, machines: new Set(), elsewhere: new Map(), counts, ...since }
  }
}

function isAttached({ machines, elsewhere }: RelayAgent): boolean {
  return machines.size > 0 || elsewhere.size > 0
}

/** Those that the request may be given to, the nearest first. */
function listMachines({ machines, elsewhere }: RelayAgent, route: Route): Iterable<AnyMachine> {
  const wanted = typeof route === 'object' ? route.machine : undefined
  if (wanted !== undefined) return [...machines].filter(({ id }) => id === wanted)
  if (elsewhere.size === 0) return machines
  return [...machines, ...[...elsewhere.values()].flatMap(each => [...each.machines.values()])]
}

export function isPriced({ inputTokenPrice, outputTokenPrice }: Prices): boolean {
  return inputTokenPrice !== '0' || outputTokenPrice !== '0'
}

/** The lower price of each kind of token. */
function lower(one: Prices, other: Prices): Prices {
  const least = (name: keyof Prices): string => (BigInt(one[name]) < BigInt(other[name]) ? one : other)[name]
  return { inputTokenPrice: least('inputTokenPrice'), outputTokenPrice: least('outputTokenPrice') }
}

function leastLoaded(machines: Iterable<AnyMachine>, tried: ReadonlySet<AnyMachine>): AnyMachine | undefined {
  let best: AnyMachine | undefined
  for (const machine of machines)
    if (machine.free && !tried.has(machine) && (!best || machine.taken < best.taken)) best = machine
  return best
}

export type Choice = { agent: RelayAgent; machine: AnyMachine }

/** By price or by speed; among equals those with less work, then in turn. An agent that has not answered yet counts as fast. */
function isBefore(route: Route, one: Choice, other: Choice): boolean {
  const wanted = compare(route, one.agent, other.agent)
  return (wanted || one.machine.taken - other.machine.taken || one.agent.turn - other.agent.turn) < 0
}

function compare(route: Route, one: RelayAgent, other: RelayAgent): number {
  return route === 'fastest'
    ? (one.firstFrameMs ?? 0) - (other.firstFrameMs ?? 0)
    : comparePrices(one.prices, other.prices)
}

/** The sum of both prices: requests differ in how many tokens of each kind they need. */
function comparePrices(one: Prices, other: Prices): number {
  const difference = addPrices(one) - addPrices(other)
  return difference === 0n ? 0 : difference < 0n ? -1 : 1
}

function addPrices({ inputTokenPrice, outputTokenPrice }: Prices): bigint {
  return BigInt(inputTokenPrice) + BigInt(outputTokenPrice)
}
