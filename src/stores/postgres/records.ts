// Records on PostgreSQL: one statement for each call. A change names the version that it was made from, so that of several nodes
// that want the same record one gets it.
import type { KeptRecord, NewRecord, RecordPage, RecordStore } from '../../engine/ports/index.ts'
import {
  changedRecord,
  keptRecord,
  pageBefore,
  type RecordColumns,
  recordColumns,
  recordPage,
} from '../record-rows.ts'
import type { Database, Parameter } from './database.ts'
import type { Statements } from './statements.ts'
import { fromText, toText } from './text.ts'

export class Records implements RecordStore {
  readonly #db: Database
  readonly #sql: Statements

  constructor(db: Database, sql: Statements) {
    this.#db = db
    this.#sql = sql
  }

  add(record: NewRecord): Promise<boolean> {
    return this.#db.steadily(async unknown => {
      const rows = await this.#db.run(this.#sql.insertRecord, recordTexts(record))
      if (rows.length > 0 || !unknown) return rows.length > 0
      const there = await this.#select(record.kind, record.name)
      return there?.version === 1 && there.body === record.body && there.at === record.at
    })
  }

  async change(kept: KeptRecord, to: Pick<NewRecord, 'body' | 'dueAt'>): Promise<KeptRecord | undefined> {
    const changed = changedRecord(kept, to)
    const { kind, name, body, dueAt = null, version } = changed
    const parameters = [toText(body), dueAt, toText(kind), toText(name), kept.version]
    const isWritten = await this.#db.steadily(async unknown => {
      const rows = await this.#db.run(this.#sql.updateRecord, parameters)
      if (rows.length > 0 || !unknown) return rows.length > 0
      // The attempt before a lost connection may have written it.
      const there = await this.#select(kind, name)
      return there?.version === version && there.body === body && (there.dueAt ?? null) === dueAt
    })
    return isWritten ? changed : undefined
  }

  remove({ kind, name, version }: KeptRecord): Promise<boolean> {
    return this.#db.steadily(async () => {
      const rows = await this.#db.run(this.#sql.deleteRecord, [toText(kind), toText(name), version])
      return rows.length > 0
    })
  }

  find(kind: string, name: string): Promise<KeptRecord | undefined> {
    return this.#db.steadily(() => this.#select(kind, name))
  }

  async list(page: RecordPage): ReturnType<RecordStore['list']> {
    const { at, name, rows } = pageBefore(page)
    const parameters = [toText(page.kind), at, toText(name), rows]
    return recordPage(await this.#rows(this.#sql.listRecords, parameters), page.limit)
  }

  due(kind: string, limit: number): Promise<KeptRecord[]> {
    return this.#rows(this.#sql.listDueRecords, [toText(kind), limit])
  }

  async #select(kind: string, name: string): Promise<KeptRecord | undefined> {
    const parameters = [toText(kind), toText(name)]
    const [found] = await this.#db.run<RecordColumns>(this.#sql.selectRecord, parameters)
    return found && recordFrom(found)
  }

  async #rows(statement: string, parameters: Parameter[]): Promise<KeptRecord[]> {
    const found = await this.#db.steadily(() => this.#db.run<RecordColumns>(statement, parameters))
    return found.map(recordFrom)
  }
}

/** Its columns, with texts as the database takes them. */
export function recordTexts(record: NewRecord): (string | number | null)[] {
  return recordColumns(record).map(value => (typeof value === 'string' ? toText(value) : value))
}

function recordFrom([kind, name, session, at, dueAt, version, body]: RecordColumns): KeptRecord {
  const texts = [fromText(kind), fromText(name), session === null ? null : fromText(session)] as const
  return keptRecord([...texts, at, dueAt, version, fromText(body)])
}
