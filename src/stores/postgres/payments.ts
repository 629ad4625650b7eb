// Payments on PostgreSQL: one statement for each call. A change names the version that it was made from, so nodes need no lease
// to keep each other from writing over what they have not seen.
import type { Event } from '../../language/events.ts'
import { type KeptPayment, type PaymentPage, type PaymentStore, paymentChanged } from '../../payments/port.ts'
import {
  keptPayment,
  oldPayment,
  oldPaymentsWire,
  pageRows,
  paymentColumns,
  sameRequest,
  withChange,
} from '../payment-rows.ts'
import type { Database } from './database.ts'
import type { Statements } from './statements.ts'
import { fromText, toText } from './text.ts'

type PaymentRow = [version: number, body: string, request: string | null, answer: string | null]
type ListedPayment = [position: number, id: string, version: number, body: string]

export class Payments implements PaymentStore {
  readonly #db: Database
  readonly #sql: Statements

  constructor(db: Database, sql: Statements) {
    this.#db = db
    this.#sql = sql
  }

  async reserve(record: KeptPayment['record']): Promise<KeptPayment> {
    const { id, payer, session, open, body, request, answer } = paymentColumns(record)
    const parameters = [toText(id), toText(payer), session && toText(session), open, body, request, answer]
    await this.#db.steadily(() => this.#db.run(this.#sql.insertPayment, parameters))
    const there = await this.find(id)
    if (!there) throw paymentChanged()
    return sameRequest(there, record)
  }

  async record(kept: KeptPayment, change: Parameters<PaymentStore['record']>[1]): Promise<KeptPayment> {
    const changed = withChange(kept, change)
    const { id, session, open, body, request, answer } = paymentColumns(changed.record)
    const parameters = [session && toText(session), open, body, request, answer, toText(id), kept.version]
    const isWritten = await this.#db.steadily(async unknown => {
      const rows = await this.#db.run(this.#sql.updatePayment, parameters)
      return rows.length > 0 || (unknown && (await this.#isThere(id, body, changed.version)))
    })
    if (!isWritten) throw paymentChanged()
    return changed
  }

  /** The attempt before a lost connection has written it. */
  async #isThere(id: string, body: string, version: number): Promise<boolean> {
    const [found] = await this.#db.run<PaymentRow>(this.#sql.selectPayment, [toText(id)])
    return found?.[0] === version && found[1] === body
  }

  async find(id: string): Promise<KeptPayment | undefined> {
    const [found] = await this.#db.steadily(() =>
      this.#db.run<PaymentRow>(this.#sql.selectPayment, [toText(id)]),
    )
    return found && keptPayment(...found)
  }

  async list(page: PaymentPage): ReturnType<PaymentStore['list']> {
    const { after = '', payer, session, open, limit } = page
    const [position = '', id = ''] = after.split(':')
    const by = session ?? payer
    const found = await this.#db.steadily(() =>
      this.#db.run<ListedPayment>(
        this.#sql.listPayments(
          session !== undefined ? 'session' : payer !== undefined ? 'payer' : null,
          open === true,
        ),
        [
          after === '' ? Number.MAX_SAFE_INTEGER : Number(position),
          id,
          pageRows(page),
          ...(by === undefined ? [] : [toText(by)]),
        ],
      ),
    )
    const rows = found.slice(0, limit).map(([, , version, body]) => keptPayment(version, body))
    const last = found[limit - 1]
    return found.length > limit && last ? { rows, next: `${last[0]}:${last[1]}` } : { rows }
  }
}

/**
 * Moves payments of the form before, in which each was a session, into their table. Several nodes may do it at once: each
 * payment is moved in one transaction, and once.
 */
export async function movePayments(db: Database, sql: Statements): Promise<void> {
  const old = await db.run<[session: string, owner: string, key: string, hash: string]>(sql.listOldPayments, [
    `%"wire":"${oldPaymentsWire}"%`,
  ])
  for (const [session, owner, key, hash] of old)
    await db.transaction(async run => {
      const [locked] = await run(sql.lockSession, [session])
      if (!locked) return
      const rows = await run<[body: string]>(sql.selectAllEvents, [session])
      // The bodies were written from events.
      const events = rows.flatMap(([body]) => JSON.parse(body) as Event[])
      const record = oldPayment(events, fromText(hash))
      if (record) {
        const { id, payer, session: bound, open, body } = paymentColumns(record)
        await run(sql.insertPayment, [
          toText(id),
          toText(payer),
          bound && toText(bound),
          open,
          body,
          null,
          null,
        ])
      }
      for (const statement of sql.deleteSession) await run(statement, [session])
      await run(sql.deleteRequest, [owner, key, session])
    })
}
