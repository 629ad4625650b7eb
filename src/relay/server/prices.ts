// The prices of attached agents, for the payment desk. Each agent has the prices that its owner set, and its own
// wallet is paid. A payer takes the price of one agent by paying it, and the request then goes to that agent and no other.
import type { Price, PriceSource } from '../../payments/price.ts'
import { unavailable } from './dispatch.ts'
import { relayedTo } from './model.ts'
import { isPriced, type Registry, type RelayAgent } from './registry.ts'
import { attachedAgent } from './target.ts'

export type PriceOptions = {
  registry: Registry
  /** The most that one request may cost, in the asset's smallest unit. */
  maxCost: string
  /** The share of each payment that Sixerr's terminal keeps, in ten-thousandths. */
  feeBps?: number | undefined
}

/** Prices that one request is shown. */
const mostShown = 8

/** Agents that cost nothing are for those who have a key. */
export function relayPrices(options: PriceOptions): PriceSource {
  return {
    prices({ agent, to }) {
      const relayed = relayedTo(to)
      if (agent !== attachedAgent || !relayed) return Promise.resolve(undefined)
      const found = options.registry.ranked(relayed.route)
      if (found.length === 0) return Promise.reject(unavailable('No agent is attached.'))
      const priced = found.filter(({ prices: set }) => isPriced(set)).slice(0, mostShown)
      return Promise.resolve(priced.map(each => relayPrice(each, options)))
    },
  }
}

function relayPrice(agent: RelayAgent, { registry, maxCost, feeBps }: PriceOptions): Price {
  const { agentId, wallet, prices } = agent
  const held = registry.heldPrices(agent)
  return {
    payTo: wallet,
    inputToken: prices.inputTokenPrice,
    outputToken: prices.outputTokenPrice,
    ...(held && { held: { inputToken: held.inputTokenPrice, outputToken: held.outputTokenPrice } }),
    cap: maxCost,
    ...(feeBps !== undefined && { feeBps }),
    provider: agentId,
    to: { route: { agentId } },
  }
}
