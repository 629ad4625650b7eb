// Moves payments of the form before, in which each was a session, into their table. It runs once for a file, in the transaction
// of its migration.
import type { DatabaseSync } from 'node:sqlite'
import { oldPayment, oldPaymentsWire, paymentColumns } from '../payment-rows.ts'
import { prepareStatements } from './statements.ts'
import { readEvents } from './writes.ts'

type OldSession = { name: string; hash: string | null }

export function movePayments(db: DatabaseSync): void {
  const old = db.prepare(`
    SELECT sessions.name AS name, request_hash AS hash FROM sessions JOIN summaries ON summaries.session = sessions.id
    WHERE summaries.body ->> '$.wire' = ? ORDER BY sessions.id`)
  const sql = prepareStatements(db)
  // The columns have these types: see migrations.ts.
  for (const { name, hash } of old.all(oldPaymentsWire) as unknown as OldSession[]) {
    const events = readEvents(sql, name, 0, Infinity).map(({ event }) => event)
    const record = oldPayment(events, hash ?? '')
    if (record) {
      const { id, payer, session, open, body } = paymentColumns(record)
      sql.insertPayment(id, payer, session, open ? 1 : 0, body, null, null)
    }
    sql.deleteBatches(name)
    sql.deleteSession(name)
  }
}
