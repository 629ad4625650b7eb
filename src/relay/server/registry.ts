// The agents that are or were attached, each with its machines, its price and how it did. Which of them gets a request is
// chosen here, by data alone.
import type { Hex } from '../viem.ts'
import type { Machine } from './machine.ts'

/** Per token, as the protocol writes them. */
export type Prices = { inputTokenPrice: string; outputTokenPrice: string }

export type Counts = {
  served: number
  failed: number
  left: number
  inputTokens: number
  outputTokens: number
}

export type Provider = {
  readonly agentId: string
  readonly wallet: Hex
  name?: string | undefined
  description?: string | undefined
  prices: Prices
  readonly machines: Set<Machine>
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
  seenAt: number
}

/** Whom a request is for. */
export type Route = 'cheapest' | 'fastest' | { agentId: string }

export const noPrices: Prices = { inputTokenPrice: '0', outputTokenPrice: '0' }

/** Agents without a machine that are remembered. The one that was seen longest ago is forgotten first. */
const mostRemembered = 10_000
/** After a failure an agent rests; the time doubles with each. */
const shortestRestMs = 1_000
const longestRestMs = 60_000
/** The part of a new measurement in the average. */
const newest = 0.3

export class Registry {
  readonly #providers = new Map<string, Provider>()
  readonly #now: () => number
  #turns = 0

  constructor(now: () => number) {
    this.#now = now
  }

  get(agentId: string): Provider | undefined {
    return this.#providers.get(agentId)
  }

  all(): Provider[] {
    return [...this.#providers.values()]
  }

  get machines(): number {
    let count = 0
    for (const { machines } of this.#providers.values()) count += machines.size
    return count
  }

  add(agentId: string, wallet: Hex, machine: Machine): Provider {
    const provider = this.#providers.get(agentId) ?? this.#newProvider(agentId, wallet)
    this.#providers.delete(agentId)
    this.#providers.set(agentId, provider)
    provider.machines.add(machine)
    provider.seenAt = this.#now()
    return provider
  }

  remove(provider: Provider, machine: Machine): void {
    provider.machines.delete(machine)
    provider.seenAt = this.#now()
    if (this.#providers.size <= mostRemembered) return
    for (const [agentId, { machines }] of this.#providers)
      if (machines.size === 0) {
        this.#providers.delete(agentId)
        return
      }
  }

  /** A machine for the request that can take one now. `tried`: machines that are not asked again. */
  choose(route: Route, tried: ReadonlySet<Machine>): { provider: Provider; machine: Machine } | undefined {
    const named = typeof route === 'object' ? this.#providers.get(route.agentId) : undefined
    const candidates = typeof route === 'object' ? (named ? [named] : []) : this.all()
    const now = this.#now()
    let best: { provider: Provider; machine: Machine } | undefined
    for (const provider of candidates) {
      if (provider.restsUntil > now) continue
      const machine = leastLoaded(provider, tried)
      if (machine && (!best || isBefore(route, { provider, machine }, best))) best = { provider, machine }
    }
    if (best) best.provider.turn = ++this.#turns
    return best
  }

  /** Whether the agent is attached and not at rest. */
  isAvailable({ machines, restsUntil }: Provider): boolean {
    return machines.size > 0 && restsUntil <= this.#now()
  }

  succeeded(provider: Provider, firstFrameMs: number): void {
    const before = provider.firstFrameMs ?? firstFrameMs
    provider.firstFrameMs = before + newest * (firstFrameMs - before)
    provider.failures = 0
    provider.counts.served += 1
  }

  failed(provider: Provider): void {
    provider.counts.failed += 1
    const restMs = Math.min(longestRestMs, shortestRestMs * 2 ** Math.min(provider.failures, 10))
    provider.failures += 1
    provider.restsUntil = this.#now() + restMs
  }

  #newProvider(agentId: string, wallet: Hex): Provider {
    const counts = { served: 0, failed: 0, left: 0, inputTokens: 0, outputTokens: 0 }
    const since = { failures: 0, restsUntil: 0, turn: 0, seenAt: this.#now() }
    return { agentId, wallet, prices: noPrices, machines: new Set(), counts, ...since }
  }
}

function leastLoaded({ machines }: Provider, tried: ReadonlySet<Machine>): Machine | undefined {
  let best: Machine | undefined
  for (const machine of machines)
    if (machine.free && !tried.has(machine) && (!best || machine.taken < best.taken)) best = machine
  return best
}

type Choice = { provider: Provider; machine: Machine }

/** By price or by speed; among equals those with less work, then in turn. An agent that has not answered yet counts as fast. */
function isBefore(route: Route, one: Choice, other: Choice): boolean {
  const wanted =
    route === 'fastest'
      ? (one.provider.firstFrameMs ?? 0) - (other.provider.firstFrameMs ?? 0)
      : comparePrices(one.provider.prices, other.provider.prices)
  return (wanted || one.machine.taken - other.machine.taken || one.provider.turn - other.provider.turn) < 0
}

/** The sum of both prices: requests differ in how many tokens of each kind they need. */
function comparePrices(one: Prices, other: Prices): number {
  const difference = sumOf(one) - sumOf(other)
  return difference === 0n ? 0 : difference < 0n ? -1 : 1
}

function sumOf({ inputTokenPrice, outputTokenPrice }: Prices): bigint {
  return BigInt(inputTokenPrice) + BigInt(outputTokenPrice)
}
