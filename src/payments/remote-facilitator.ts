// A facilitator elsewhere, by x402's protocol: GET /supported, POST /verify, POST /settle. An answer that does not come in
// time says nothing about whether the money has moved.
import { TurnwireError, wordsOf } from '../language/errors.ts'
import type { PaymentRecord } from '../language/payments.ts'
import { isJsonObject, type JsonObject, parseBounded } from '../lib/json/index.ts'
import type { ChainEvidence } from './chain-evidence.ts'
import {
  behindMs,
  type Facilitator,
  type Moved,
  type SettleRequest,
  type Unsent,
  type Verified,
} from './facilitator.ts'
import type { GivenPayment } from './given.ts'
import type { Abilities } from './terms.ts'

export type RemoteOptions = {
  url: string
  headers?: Readonly<Record<string, string>>
  network: string
  settleMs: number
  /** Reads the chain when the facilitator does not say how a settlement ended. */
  evidence?: Pick<ChainEvidence, 'look'>
  fetch?: typeof fetch
}

const verifyMs = 20_000
/** `GET /supported` is asked again after this time. */
const supportedForMs = 10 * 60_000

export class RemoteFacilitator implements Facilitator {
  readonly #options: RemoteOptions
  /** Absent: no chain can be looked at. */
  readonly look?: (record: PaymentRecord) => Promise<Moved | Unsent>
  #abilities: { known: Promise<Abilities>; until: number } | undefined

  constructor(options: RemoteOptions) {
    this.#options = options
    const { evidence } = options
    if (evidence) this.look = record => evidence.look(record)
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

  async verify(given: GivenPayment, asked: JsonObject): Promise<Verified> {
    const answer = await this.#ask('POST', '/verify', facilitatorRequest(given.raw, asked), verifyMs)
    const { payer, invalidReason, invalidMessage } = answer
    if (answer['isValid'] === true) return { ok: true, ...(typeof payer === 'string' && { payer }) }
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
      answer = await this.#ask(
        'POST',
        '/settle',
        facilitatorRequest(record.given, asked),
        this.#options.settleMs,
      )
    } catch (error) {
      return this.#pending(record, wordsOf(error))
    }
    const { success, transaction, errorReason } = answer
    const hash = typeof transaction === 'string' ? transaction : ''
    if (success === true) return { state: 'moved', transaction: hash }
    const reason = typeof errorReason === 'string' ? errorReason : 'settlement_failed'
    const isFinal = (record.tries ?? 0) <= 1 && !/pending|timeout|unexpected/.test(reason)
    if (isFinal) return { state: 'failed', reason }
    return { ...this.#pending(record, reason), ...(hash !== '' && { transaction: hash }) }
  }

  /**
   * It was asked before and did not say how that ended. A refusal now, such as of a used nonce, does not say it either:
   * the money may have moved, or its payer may have cancelled the payment. Without a chain to look at, a payment that
   * has expired in this state stays unclear.
   */
  #pending({ validUntil }: PaymentRecord, reason: string): Extract<Moved, { state: 'pending' }> {
    const isOver = validUntil * 1000 + behindMs < Date.now()
    return { state: 'pending', reason, ...(isOver && !this.look && { unclear: true }) }
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
    const answer = parseBounded(text)
    // An error may carry the same answer.
    if (isJsonObject(answer) && (response.ok || 'success' in answer || 'isValid' in answer)) return answer
    throw new TurnwireError(
      'payment_failed',
      `The facilitator answered ${path} with status ${response.status}.`,
    )
  }
}

function facilitatorRequest(given: JsonObject, asked: JsonObject): JsonObject {
  const version = given['x402Version'] ?? 2
  return { x402Version: version, paymentPayload: given, paymentRequirements: asked }
}
