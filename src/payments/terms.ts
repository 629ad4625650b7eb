// The terms of a request: its prices in the forms of x402 version 2 and 1 and of Sixerr, the 402 answer that shows them, and
// which of them a given payment takes. Pure.
import { canonicalJson, type JsonObject } from '../lib/json/index.ts'
import { isMetered, priceCap } from './amounts.ts'
import type { PaymentsConfig } from './config.ts'
import type { GivenPayment, PaymentForm } from './given.ts'
import type { Price } from './price.ts'

/** One way to pay one price. `asked`: what the payer is shown, in the words of `form`. */
export type Terms = { form: PaymentForm; price: Price; asked: JsonObject }

/** The abilities of the facilitator. They decide which terms are offered. */
export type Abilities = {
  /** The address that settles metered payments: payers sign it. Absent: it settles none. */
  uptoBy?: string
  /** The name of the network in version 1. Absent: version 1 cannot be paid. */
  v1Network?: string
  /** It settles through a terminal contract. */
  terminal?: boolean
}

export type Shown = { url: string; description: string }

export const defaultValidSeconds = 600

export function termsFor(
  prices: readonly Price[],
  config: PaymentsConfig,
  abilities: Abilities,
  shown: Shown,
): Terms[] {
  return prices.flatMap(price =>
    isMetered(price) ? meteredTerms(price, config, abilities) : fixedTerms(price, config, abilities, shown),
  )
}

function meteredTerms(
  { held, ...price }: Price,
  config: PaymentsConfig,
  { uptoBy, terminal }: Abilities,
): Terms[] {
  const { network, asset } = config
  const timeout = { maxTimeoutSeconds: config.validSeconds ?? defaultValidSeconds }
  const all: Terms[] = []
  if (uptoBy !== undefined) {
    // A payment repeats its terms word for word, so one that was signed before a price changed is not taken.
    const extra = {
      name: asset.name,
      version: asset.version,
      assetTransferMethod: 'permit2',
      facilitatorAddress: uptoBy,
      ...(price.perRequest !== undefined && { requestPrice: price.perRequest }),
      inputTokenPrice: price.inputToken ?? '0',
      outputTokenPrice: price.outputToken ?? '0',
    }
    const paid = { asset: asset.address, amount: priceCap(price), payTo: price.payTo }
    const asked = { scheme: 'upto', network, ...paid, ...timeout, extra }
    all.push({ form: 'x402-2', price, asked })
  }
  if (terminal && config.terminal) {
    const asked = {
      scheme: 'permit2',
      network,
      asset: asset.address,
      payTo: price.payTo,
      permit2Terminal: config.terminal.address,
      maxCost: priceCap(price),
      inputTokenPrice: price.inputToken ?? '0',
      outputTokenPrice: price.outputToken ?? '0',
      platformFeeBps: price.feeBps ?? 0,
      ...timeout,
    }
    // This form does not name the terms that it takes. If a lower price was shown lately, that one is charged.
    all.push({ form: 'sixerr', price: { ...price, ...held }, asked })
  }
  return all
}

function fixedTerms(
  price: Price,
  { network, asset, validSeconds = defaultValidSeconds }: PaymentsConfig,
  { v1Network }: Abilities,
  { url, description }: Shown,
): Terms[] {
  const transfer = asset.transfer ?? ['eip3009']
  const domain = { name: asset.name, version: asset.version }
  const common = { asset: asset.address, payTo: price.payTo, maxTimeoutSeconds: validSeconds }
  const all = transfer.map((through): Terms => {
    const extra = through === 'permit2' ? { ...domain, assetTransferMethod: 'permit2' } : domain
    const asked = { scheme: 'exact', network, amount: priceCap(price), ...common, extra }
    return { form: 'x402-2', price, asked }
  })
  if (v1Network !== undefined && transfer.includes('eip3009')) {
    const asked = {
      scheme: 'exact',
      network: v1Network,
      maxAmountRequired: priceCap(price),
      resource: url,
      description,
      mimeType: 'application/json',
      ...common,
      extra: domain,
    }
    all.push({ form: 'x402-1', price, asked })
  }
  return all
}

/** The answer to a request that is not paid: headers, and a body. */
export type Refusal = { headers: Record<string, string>; body: JsonObject; required: JsonObject }

/** `error`: why a payment was not taken. */
export function refuseWithTerms(
  terms: readonly Terms[],
  { url, description }: Shown,
  error: string,
): Refusal {
  const of = (form: PaymentForm): JsonObject[] =>
    terms.filter(each => each.form === form).map(({ asked }) => asked)
  const resource = { url, description, mimeType: 'application/json' }
  const required = { x402Version: 2, error, resource, accepts: of('x402-2') }
  const sixerr = of('sixerr')
  // One body serves both older forms: no price has terms in both.
  const body =
    sixerr.length > 0
      ? { x402Version: 2, error, accepts: sixerr }
      : { x402Version: 1, error, accepts: of('x402-1') }
  return { headers: { 'PAYMENT-REQUIRED': base64(required), 'Cache-Control': 'no-store' }, body, required }
}

/** The terms that a payment takes. Undefined: it takes none of these. */
export function takenTerms(given: GivenPayment, all: readonly Terms[]): Terms | undefined {
  const { accepted, taken, form, amount } = given
  return all.find(terms => {
    if (terms.form !== form) return false
    if (accepted) return canonicalJson(accepted) === canonicalJson(terms.asked)
    if (taken)
      return (
        taken.scheme === terms.asked['scheme'] &&
        taken.network === terms.asked['network'] &&
        amount === terms.asked['maxAmountRequired']
      )
    // Sixerr: a payer may sign for more than is asked; what it costs is capped by the price.
    return BigInt(amount) >= BigInt(priceCap(terms.price))
  })
}

/** The receipt of a settled payment, in the header of the payment's form. */
export function receiptHeader(
  form: PaymentForm,
  response: { success: boolean; transaction: string; network: string; payer: string } & JsonObject,
): [name: string, value: string] {
  return [form === 'x402-2' ? 'PAYMENT-RESPONSE' : 'X-PAYMENT-RESPONSE', base64(response)]
}

export function base64(value: JsonObject): string {
  return Buffer.from(JSON.stringify(value)).toString('base64')
}
