// The earnings of a relay's agents, from the recorded payments: per agent and asset, less the fee. Summing reads every
// payment, so the sums are kept for a while.
import type { PaymentRecord } from '../../language/payments.ts'
import type { PaymentDesk } from '../../payments/index.ts'

/** `amount`: the settled sum, in the smallest unit of the asset. `pending`: payments that are not settled yet. */
export type Earned = { network: string; asset: string; amount: string; payments: number; pending: number }

/** Payments that are looked at, newest first. */
const mostPayments = 10_000
const keptMs = 1_000
/** Sums are also kept for this many times as long as it took to make them. */
const keptTimes = 20

export class RelayEarnings {
  readonly #desk: PaymentDesk
  #sums: { known: Promise<Map<string, Earned[]>>; until: number } | undefined

  constructor(desk: PaymentDesk) {
    this.#desk = desk
  }

  /** By the id of the agent. */
  all(): Promise<Map<string, Earned[]>> {
    const begun = Date.now()
    if (this.#sums && this.#sums.until > begun) return this.#sums.known
    const known = this.#read()
    const sums = { known, until: Infinity }
    this.#sums = sums
    const keep = (): void => {
      sums.until = Date.now() + Math.max(keptMs, keptTimes * (Date.now() - begun))
    }
    known.then(keep, () => {
      this.#sums = undefined
    })
    return known
  }

  /** In the asset that is paid with now. */
  async of(agentId: string): Promise<Earned> {
    const { network, asset } = this.#desk.config
    const earned = (await this.all()).get(agentId)?.find(each => isSame(each, network, asset.address))
    return earned ?? { network, asset: asset.address, amount: '0', payments: 0, pending: 0 }
  }

  async #read(): Promise<Map<string, Earned[]>> {
    const all = new Map<string, Earned[]>()
    let looked = 0
    for await (const { record } of this.#desk.ledger.list()) {
      if (++looked > mostPayments) break
      if (record.provider !== undefined) add(all, record.provider, record)
    }
    return all
  }
}

function add(all: Map<string, Earned[]>, agentId: string, record: PaymentRecord): void {
  const { network, asset, state, open, amount = '0', fee = '0' } = record
  const own = all.get(agentId) ?? []
  all.set(agentId, own)
  const known = own.find(each => isSame(each, network, asset))
  const earned = known ?? { network, asset, amount: '0', payments: 0, pending: 0 }
  if (!known) own.push(earned)
  if (state === 'settled') {
    earned.payments += 1
    earned.amount = String(BigInt(earned.amount) + BigInt(amount) - BigInt(fee))
  } else if (open) earned.pending += 1
}

function isSame(earned: Earned, network: string, asset: string): boolean {
  return earned.network === network && earned.asset.toLowerCase() === asset.toLowerCase()
}
