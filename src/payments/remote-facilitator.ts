// A facilitator elsewhere, by x402's protocol: GET /supported, POST /verify, POST /settle. An answer that does not come in
// time says nothing about whether the money has moved.
import { TurnwireError } from '../language/errors.ts'
import type { PaymentRecord } from '../language/payments.ts'
import { isJsonObject, type Json, type JsonObject } from '../lib/json.ts'
import type { Facilitator, Moved, SettleRequest, Verified } from './facilitator.ts'
import type { GivenPayment } from './given.ts'
import type { Abilities } from './offers.ts'

export type RemoteOptions = {
  url: string
  headers?: Readonly<Record<string, string>>
  network: string
  settleMs: number
  fetch?: typeof fetch
}

const verifyMs = 20_000
/** What it supports is asked again after this time. */
const supportedForMs = 10 * 60_000
/** A facilitator says so of a payment that it, or another, has settled before. */
const usedBefore = /nonce_already_used|already_settled|already_processed|invalid_nonce|duplicate_settlement/

export class RemoteFacilitator implements Facilitator {
  readonly #options: RemoteOptions
  #abilities: { known: Promise<Abilities>; until: number } | undefined

  constructor(options: RemoteOptions) {
    this.#options = options
  }

  abilities(): Promise<Abilities> {
    const now = Date.now()
    if (!this.#abilities || this.#abilities.until < now) {
      const known = this.#supported()
      this.#abilities = { known, until: now + supportedForMs }
      known.catch(() => {
        this.#abilities = undefined
      })
    }
    return this.#abilities.known
  }

  async #supported(): Promise<Abilities> {
    const { network } = this.#options
    const { kinds } = await this.#ask('GET', '/supported', undefined, verifyMs)
    const list = Array.isArray(kinds) ? kinds.filter(isJsonObject) : []
    const upto = list.find(kind => kind['scheme'] === 'upto' && kind['network'] === network)
    const { extra } = upto ?? {}
    const uptoBy = isJsonObject(extra) ? extra['facilitatorAddress'] : undefined
    const v1 = list.find(({ x402Version, scheme }) => x402Version === 1 && scheme === 'exact')
    const { networkNameV1 } = await import('./networks.ts')
    const name = await networkNameV1(network)
    const hasV1 = v1 !== undefined && list.some(kind => kind['x402Version'] === 1 && kind['network'] === name)
    return {
      ...(typeof uptoBy === 'string' && { uptoBy }),
      ...(hasV1 && name !== undefined && { v1Network: name }),
    }
  }

  verify(given: GivenPayment, asked: JsonObject): Promise<Verified> {
    return this.#verify(given.raw, asked)
  }

  async #verify(raw: JsonObject, asked: JsonObject): Promise<Verified> {
    const answer = await this.#ask('POST', '/verify', requestOf(raw, asked), verifyMs)
    if (answer['isValid'] === true) return { ok: true }
    const { invalidReason, invalidMessage } = answer
    return {
      ok: false,
      reason: typeof invalidReason === 'string' ? invalidReason : 'invalid_payment',
      ...(typeof invalidMessage === 'string' && { message: invalidMessage }),
    }
  }

  async settle({ record, amount }: SettleRequest): Promise<Moved> {
    const asked = record.form === 'x402-2' ? { ...record.asked, amount } : record.asked
    let answer: JsonObject
    try {
      answer = await this.#ask('POST', '/settle', requestOf(record.given, asked), this.#options.settleMs)
    } catch (error) {
      return { state: 'pending', reason: error instanceof Error ? error.message : String(error) }
    }
    const { success, transaction, errorReason } = answer
    const hash = typeof transaction === 'string' ? transaction : ''
    if (success === true) return { state: 'moved', transaction: hash }
    const reason = typeof errorReason === 'string' ? errorReason : 'settlement_failed'
    const before = await this.#movedBefore(record, reason)
    if (before === 'yes') return { state: 'moved', transaction: record.transaction ?? hash }
    return before === 'unclear' || /pending|timeout|unexpected/.test(reason)
      ? { state: 'pending', reason, ...(hash !== '' && { transaction: hash }) }
      : { state: 'failed', reason }
  }

  /**
   * It was asked before: if the payment is used up by now, it was that settlement that used it. A refusal that does not say
   * so leaves it open, since a payer who is told to pay again might pay twice.
   */
  async #movedBefore(record: PaymentRecord, reason: string): Promise<'yes' | 'no' | 'unclear'> {
    const { tries = 0, given, asked, validUntil } = record
    if (tries <= 1) return 'no'
    if (usedBefore.test(reason)) return 'yes'
    const verified = await this.#verify(given, asked).catch(() => undefined)
    if (verified?.ok === false && usedBefore.test(verified.reason)) return 'yes'
    return verified?.ok === true || validUntil * 1000 < Date.now() ? 'no' : 'unclear'
  }

  async #ask(
    method: 'GET' | 'POST',
    path: string,
    body: JsonObject | undefined,
    ms: number,
  ): Promise<JsonObject> {
    const { url, headers, fetch: ask = fetch } = this.#options
    const response = await ask(`${url.replace(/\/$/, '')}${path}`, {
      method,
      headers: { ...headers, 'content-type': 'application/json' },
      signal: AbortSignal.timeout(ms),
      redirect: 'error',
      ...(body && { body: JSON.stringify(body) }),
    })
    const text = await response.text()
    const answer = objectIn(text)
    // An error may carry the same answer.
    if (answer && (response.ok || 'success' in answer || 'isValid' in answer)) return answer
    throw new TurnwireError(
      'payment_failed',
      `The facilitator answered ${path} with status ${response.status}.`,
    )
  }
}

function requestOf(given: JsonObject, asked: JsonObject): JsonObject {
  const version = given['x402Version'] ?? 2
  return { x402Version: version, paymentPayload: given, paymentRequirements: asked }
}

function objectIn(text: string): JsonObject | undefined {
  try {
    const value = JSON.parse(text) as Json // JSON text gives only Json.
    return isJsonObject(value) ? value : undefined
  } catch {
    return undefined
  }
}
