// Everything that works on the tables of an open database. Loaded when a store is first used: most programs have none on PostgreSQL.
import type { Database } from './database.ts'
import { Nodes } from './nodes.ts'
import { openDatabase } from './open.ts'
import { Payments } from './payments.ts'
import { Reader } from './reader.ts'
import { Records } from './records.ts'
import { makeStatements, type Statements } from './statements.ts'
import { Writer } from './writer.ts'

export type OpenTables = {
  sql: Statements
  reader: Reader
  writer: Writer
  nodes: Nodes
  payments: Payments
  records: Records
}

/** `schema`: quoted. `selfId`: the node that takes sessions, if there is one. */
export async function openTables(
  db: Database,
  schema: string,
  selfId: () => string | null,
): Promise<OpenTables> {
  const sql = makeStatements(schema)
  const { cursorSecret } = await db.steadily(() => openDatabase(db, sql, schema))
  return {
    sql,
    reader: new Reader(db, sql, cursorSecret),
    writer: new Writer(db, sql, selfId),
    nodes: new Nodes(db, sql),
    payments: new Payments(db, sql),
    records: new Records(db, sql),
  }
}
