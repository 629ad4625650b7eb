// How the durable stores write a record, and where a page of records begins and ends. It knows no database.
import type { KeptRecord, NewRecord, RecordPage } from '../engine/ports/index.ts'
import { checkLimit } from './cursor.ts'

export type RecordColumns = [
  kind: string,
  name: string,
  session: string | null,
  at: number,
  dueAt: number | null,
  version: number,
  body: string,
]

export function recordColumns({ kind, name, session, at, dueAt, body }: NewRecord): RecordColumns {
  return [kind, name, session ?? null, at, dueAt ?? null, 1, body]
}

export function keptRecord([kind, name, session, at, dueAt, version, body]: RecordColumns): KeptRecord {
  return {
    kind,
    name,
    at,
    body,
    version,
    ...(dueAt !== null && { dueAt }),
    ...(session !== null && { session }),
  }
}

/** After `change`. */
export function changedRecord(record: KeptRecord, to: Pick<NewRecord, 'body' | 'dueAt'>): KeptRecord {
  const { dueAt: _, ...kept } = record
  const { body, dueAt } = to
  return { ...kept, body, version: kept.version + 1, ...(dueAt !== undefined && { dueAt }) }
}

/** The page begins before this time and name. One row more than `limit` tells whether there is a next page. */
export function pageBefore({ after, limit }: RecordPage): { at: number; name: string; rows: number } {
  checkLimit(limit)
  if (after === undefined) return { at: Number.MAX_SAFE_INTEGER, name: '', rows: limit + 1 }
  const cut = after.indexOf(':')
  return { at: Number(after.slice(0, cut)), name: after.slice(cut + 1), rows: limit + 1 }
}

export function recordPage(
  found: readonly KeptRecord[],
  limit: number,
): { rows: KeptRecord[]; next?: string } {
  const rows = found.slice(0, limit)
  const last = rows.at(-1)
  return found.length > limit && last ? { rows, next: `${last.at}:${last.name}` } : { rows }
}
