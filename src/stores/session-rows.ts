// What the durable stores select of a session, and the row that it gives. It knows no database.
import type { SessionFacts, SessionRow, SessionStatus } from '../engine/ports/index.ts'

/** `position` grows with each creation. */
export type SessionColumns = [
  position: number,
  id: string,
  owner: string,
  agent: string,
  status: SessionStatus,
  createdAt: number,
  updatedAt: number,
  head: number,
  bytes: number,
  blobBytes: number,
  recoveries: number,
  facts: string | null,
]

export function sessionRow(columns: SessionColumns): SessionRow {
  const [, id, owner, agent, status, createdAt, updatedAt, head, bytes, blobBytes, recoveries, facts] =
    columns
  const row = { id, owner, agent, status, createdAt, updatedAt, head, bytes, blobBytes, recoveries }
  // They were written from SessionFacts.
  return facts === null ? row : { ...row, facts: JSON.parse(facts) as SessionFacts }
}
