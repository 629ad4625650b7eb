// Prepared statements that give rows as arrays, which node:sqlite builds faster than objects. Each statement's
// own file says what its columns are; this is the one place where that word is taken for it.
import type { DatabaseSync, SQLInputValue } from 'node:sqlite'

export type Query<Row> = {
  one(...params: SQLInputValue[]): Row | undefined
  all(...params: SQLInputValue[]): Row[]
}

export type Column = string | Uint8Array

export function prepareQuery<Row extends readonly unknown[]>(db: DatabaseSync, sql: string): Query<Row> {
  const statement = db.prepare(sql)
  statement.setReturnArrays(true)
  return {
    // node:sqlite types its rows as objects even when it returns arrays; the columns are the statement's word.
    one: (...params) => statement.get(...params) as unknown as Row | undefined,
    all: (...params) => statement.all(...params) as unknown as Row[],
  }
}
