// Payments as others may read them: a payer its own, an operator everyone's. Signatures are in none of them.
import type { PaymentRecord } from '../language/payments.ts'
import type { JsonObject } from '../lib/json/index.ts'
import { printable } from '../lib/text/index.ts'
import { type Ledger, type PaymentDesk, toWhole } from './index.ts'

type Total = { network: string; asset: string; amount: bigint; payments: number }

/** A payment without what was signed. */
function publicPayment(record: PaymentRecord): JsonObject {
  const {
    given: _,
    asked: __,
    price: ___,
    hash: ____,
    request: _____,
    answer: ______,
    work,
    ...rest
  } = record
  return JSON.parse(JSON.stringify({ ...rest, ...(work && { session: work.session }) })) as JsonObject // It is plain data.
}

/** The newest payments of a wallet, and what they come to. */
export async function listPayments(ledger: Ledger, payer: string, limit: number): Promise<JsonObject> {
  const { data, totals } = await collect(ledger, { payer }, limit)
  return { object: 'list', data, totals }
}

export async function operatorPayments({ ledger, config }: PaymentDesk, limit: number): Promise<JsonObject> {
  const { data, totals } = await collect(ledger, {}, limit)
  const { address, name, decimals = 6 } = config.asset
  return { asset: { address, name, decimals }, payments: data, totals }
}

async function collect(
  ledger: Ledger,
  which: Parameters<Ledger['list']>[0],
  limit: number,
): Promise<{ data: JsonObject[]; totals: JsonObject[] }> {
  const data: JsonObject[] = []
  const totals = new Map<string, Total>()
  for await (const { record } of ledger.list(which)) {
    data.push(publicPayment(record))
    if (record.state === 'settled') addTo(totals, record)
    if (data.length >= limit) break
  }
  return { data, totals: [...totals.values()].map(total => ({ ...total, amount: total.amount.toString() })) }
}

function addTo(totals: Map<string, Total>, { network, asset, amount = '0' }: PaymentRecord): void {
  const key = `${network} ${asset}`
  const total = totals.get(key) ?? { network, asset, amount: 0n, payments: 0 }
  totals.set(key, { ...total, amount: total.amount + BigInt(amount), payments: total.payments + 1 })
}

const columns = [
  'id',
  'state',
  'reservedFor',
  'payer',
  'payTo',
  'network',
  'asset',
  'amount',
  'fee',
  'transaction',
  'settledAt',
  'inputTokens',
  'outputTokens',
  'provider',
  'reason',
] as const

/** For a spreadsheet: one line per payment, in whole units of the asset. */
export function writeCsv(records: readonly PaymentRecord[], decimals: number): string {
  const line = (record: PaymentRecord): string => {
    const whole = (amount: string | undefined): string =>
      amount === undefined ? '' : toWhole(amount, decimals)
    const fields: Record<(typeof columns)[number], string> = {
      id: record.id,
      state: record.unclear ? 'unclear' : record.state,
      reservedFor: record.agent,
      payer: record.payer,
      payTo: record.payTo,
      network: record.network,
      asset: record.asset,
      amount: whole(record.amount),
      fee: whole(record.fee),
      transaction: record.transaction ?? '',
      settledAt: record.settledAt === undefined ? '' : new Date(record.settledAt).toISOString(),
      inputTokens: String(record.usage?.input ?? ''),
      outputTokens: String(record.usage?.output ?? ''),
      provider: record.provider ?? '',
      reason: record.reason ?? '',
    }
    return columns.map(name => cell(fields[name])).join(',')
  }
  return [columns.join(','), ...records.map(line)].join('\r\n').concat('\r\n')
}

/** A spreadsheet takes some first characters for a formula. */
function cell(text: string): string {
  const shown = printable(text)
  const safe = /^[=+\-@]/.test(shown) ? `'${shown}` : shown
  return /[",]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe
}
