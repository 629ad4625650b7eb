// Records in the database file. Their writes go through group commit as all writes do.
import type { KeptRecord, NewRecord, RecordStore } from '../../engine/ports/index.ts'
import { changedRecord, keptRecord, pageBefore, recordColumns, recordPage } from '../record-rows.ts'
import type { Reader } from './reader.ts'
import type { Statements } from './statements.ts'
import type { Writer } from './writer.ts'

/** `version`: of the one that it changes or removes. */
export type RecordWrite = { kind: 'record' } & (
  | { do: 'add'; record: NewRecord }
  | { do: 'change'; record: NewRecord; version: number }
  | { do: 'remove'; record: NewRecord; version: number }
)

export function sqliteRecords(reader: Reader, writer: Writer): RecordStore {
  const write = (record: NewRecord, what: RecordWrite): Promise<boolean> =>
    // Writes of one record are kept in order, as those of a session are.
    writer.write<boolean>({ session: `${record.kind} ${record.name}`, ...what })
  return {
    add: record => write(record, { kind: 'record', do: 'add', record }),
    async change(kept, to) {
      const changed = changedRecord(kept, to)
      const { version } = kept
      return (await write(kept, { kind: 'record', do: 'change', record: changed, version }))
        ? changed
        : undefined
    },
    remove: kept => write(kept, { kind: 'record', do: 'remove', record: kept, version: kept.version }),
    find: (kind, name) => reader.read(sql => findRecord(sql, kind, name)),
    list: page =>
      reader.read(sql => {
        const { at, name, rows } = pageBefore(page)
        return recordPage(sql.listRecords.all(page.kind, at, name, rows).map(keptRecord), page.limit)
      }),
    due: (kind, limit) => reader.read(sql => sql.listDueRecords.all(kind, limit).map(keptRecord)),
  }
}

/** Gives whether it was written. */
export function writeRecord(sql: Statements, write: RecordWrite): boolean {
  const { kind, name, body, dueAt = null } = write.record
  switch (write.do) {
    case 'add':
      return addRecord(sql, write.record)
    case 'change':
      return sql.updateRecord(body, dueAt, kind, name, write.version).rows > 0
    case 'remove':
      return sql.deleteRecord(kind, name, write.version).rows > 0
  }
}

export function addRecord(sql: Statements, record: NewRecord): boolean {
  return sql.insertRecord(...recordColumns(record)).rows > 0
}

function findRecord(sql: Statements, kind: string, name: string): KeptRecord | undefined {
  const found = sql.selectRecord.one(kind, name)
  return found && keptRecord(found)
}
