// The price of a request, its recipient, and the port that gives prices. `PriceSource` is for prices that the
// configuration does not know: of agents on their owners' machines, each with a wallet and prices of its own. A source
// is given to the server beside the configuration (`source` of src/payments/serve.ts). The desk (desk.ts) asks it for
// every request that must be paid, shows its prices, and takes a payment only for one of them. Nothing here touches a
// chain, a header or HTTP.
//
// A request reaches the provider that was paid by `Price.to`, which is added to the turn's `Ask.to`. It is recorded
// with the turn, so a model sees it in `ModelRequest.to`, also when the turn is continued after a crash.
import type { JsonObject } from '../lib/json/index.ts'

/**
 * Amounts are decimal texts in the smallest unit of the asset (for USDC: 1 is a millionth of a dollar). Prices of tokens may
 * have a fraction; what a request costs is rounded up to a whole unit.
 */
export type Price = {
  /** The wallet that is paid. */
  payTo: string
  /** Paid for every answered request, beside the price of its tokens. */
  perRequest?: string
  /** With a price for tokens a payment is metered: the payer signs for `cap` and pays what was used. */
  inputToken?: string
  outputToken?: string
  /** Lower prices of tokens that payers were shown lately. They hold for payments that do not name the price they take. */
  held?: { inputToken: string; outputToken: string }
  /** The most that one request may cost. Needed when tokens have a price. */
  cap?: string
  /** Sixerr's terminal contract keeps this share of each payment, in ten-thousandths. Default 0. */
  feeBps?: number
  /** Names who answers, such as an attached machine. Recorded with the payment. */
  provider?: string
  /** Added to the turn's `ask.to`: see above. */
  to?: JsonObject
}

export type PricedRequest = {
  agent: string
  /** The configured model that the request names, if it is not the agent's own. */
  model?: string
  /** The target of the request, where the agent's model passes requests on. */
  to?: JsonObject
  /** The path of the request. */
  path: string
}

/** A payment that moved. */
export type Receipt = {
  /** Names the payment: the same for every repetition of it. */
  payment: string
  payer: string
  payTo: string
  network: string
  asset: string
  /** The amount that moved, in the smallest unit. */
  amount: string
  transaction: string
  agent: string
  provider?: string
  usage: { input: number; output: number }
  at: number
}

/**
 * Contract: `prices` gives every price at which the request can be had now, the one to show first at the front; a payer takes
 * one by paying it. An empty list: it costs nothing. Undefined: this source does not know the agent, and the
 * configuration's price holds. It rejects with a TurnwireError if the request cannot be served at all. `paid` is told of
 * every settled payment, at least once; it must not throw.
 */
export type PriceSource = {
  prices(request: PricedRequest): Promise<readonly Price[] | undefined>
  paid?(receipt: Receipt): void
}
