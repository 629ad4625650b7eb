// What attached agents cost, for the desk that takes payments. Each agent has the prices that its owner set, and its own
// wallet is paid. A payer takes the price of one agent by paying it, and the request then goes to that agent and no other.
import type { Price, PriceSource } from '../../payments/price.ts'
import { unavailable } from './dispatch.ts'
import { decodeRelayRequest, pinned } from './model.ts'
import type { Registry, RelayAgent } from './registry.ts'
import { attachedAgent } from './target.ts'

export type PriceOptions = {
  registry: Registry
  /** The most that one request may cost, in the asset's smallest unit. */
  maxCost: string
  /** The share of each payment that Sixerr's terminal keeps, in ten-thousandths. */
  feeBps?: number | undefined
}

/** Prices that are offered for one request. */
const mostOffers = 8

/** Agents that cost nothing are for those who have a key. */
export function relayPrices(options: PriceOptions): PriceSource {
  return {
    prices({ agent, model }) {
      if (agent !== attachedAgent || model === undefined) return Promise.resolve(undefined)
      const { route } = decodeRelayRequest(model)
      const found = options.registry.ranked(route)
      if (found.length === 0) return Promise.reject(unavailable('No agent is attached.'))
      const priced = found.filter(isPriced).slice(0, mostOffers)
      return Promise.resolve(priced.map(each => priceOf(each, options)))
    },
  }
}

function isPriced({ prices }: RelayAgent): boolean {
  return prices.inputTokenPrice !== '0' || prices.outputTokenPrice !== '0'
}

function priceOf({ agentId, wallet, prices }: RelayAgent, { maxCost, feeBps }: PriceOptions): Price {
  return {
    payTo: wallet,
    inputToken: prices.inputTokenPrice,
    outputToken: prices.outputTokenPrice,
    cap: maxCost,
    ...(feeBps !== undefined && { feeBps }),
    provider: agentId,
    body: pinned(agentId),
  }
}
