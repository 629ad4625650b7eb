// A new session, at epoch 1. Gives its number in this file.
import type { DatabaseSync } from 'node:sqlite'
import type { NewSession } from '../../../engine/ports.ts'
import { toColumn } from '../text.ts'

const SQL = `
INSERT INTO sessions (name, owner, agent, status, epoch, head, created_at, updated_at, request_key, request_hash)
VALUES (?, ?, ?, ?, 1, ?, ?, ?, ?, ?)`

export type InsertSession = (session: NewSession, updatedAt: number) => number

export function prepareInsertSession(db: DatabaseSync): InsertSession {
  const statement = db.prepare(SQL)
  return ({ row, events, request }, updatedAt) => {
    const { lastInsertRowid } = statement.run(
      toColumn(row.id),
      toColumn(row.owner),
      toColumn(row.agent),
      row.status,
      events.length,
      row.createdAt,
      updatedAt,
      request ? toColumn(request.key) : null,
      request ? toColumn(request.hash) : null,
    )
    return Number(lastInsertRowid)
  }
}
