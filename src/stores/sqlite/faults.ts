// What SQLite's result codes mean here: the error that the caller gets, and what the failure affects. Nothing in this
// file acts on it.
import { type ErrorCode, TurnwireError } from '../../language/errors.ts'

/**
 * `write`: this write can never succeed; others of its transaction can. `transaction`: nothing was written, try again
 * later. `connection`: it is unknown what reached the disk, so the connection must be replaced before the next write.
 */
export type SqliteFault = { error: TurnwireError; affects: 'write' | 'transaction' | 'connection' }

type Meaning = { code: ErrorCode; affects: SqliteFault['affects']; text: string }

const DEFECT: Meaning = { code: 'store_failed', affects: 'write', text: 'The store failed.' }
const DISK_FAILED: Meaning = {
  code: 'store_failed',
  affects: 'connection',
  text: 'The disk failed. Nothing was recorded; check the disk, then try again.',
}

/** By primary result code. All others mean that the disk failed. */
const meanings: { results: number[]; meaning: Meaning }[] = [
  {
    // BUSY, LOCKED
    results: [5, 6],
    meaning: {
      code: 'store_locked',
      affects: 'transaction',
      text: 'Another process holds the database. Stop it, or try again.',
    },
  },
  {
    // FULL
    results: [13],
    meaning: {
      code: 'store_full',
      affects: 'transaction',
      text: 'The database cannot grow. Free disk space or raise its limit, then try again.',
    },
  },
  {
    // NOTADB
    results: [26],
    meaning: {
      code: 'store_foreign',
      affects: 'connection',
      text: 'The file is not a database. Name another file, or move this one away.',
    },
  },
  {
    // CORRUPT
    results: [11],
    meaning: {
      code: 'store_failed',
      affects: 'connection',
      text: 'The database is damaged. Restore it from a backup.',
    },
  },
  {
    // PERM, READONLY, CANTOPEN
    results: [3, 8, 14],
    meaning: {
      code: 'store_failed',
      affects: 'connection',
      text: 'The database cannot be opened for writing. Check that its folder exists and that both may be written.',
    },
  },
  {
    // ERROR, TOOBIG, CONSTRAINT, MISMATCH, MISUSE, RANGE
    results: [1, 18, 19, 20, 21, 25],
    meaning: { code: 'store_failed', affects: 'write', text: 'The database refused the write.' },
  },
]

export function sqliteFault(thrown: unknown, file: string): SqliteFault {
  if (thrown instanceof TurnwireError) return { error: thrown, affects: 'transaction' }
  const { code, affects, text } = meaningOf(thrown)
  const words = thrown instanceof Error ? thrown.message : String(thrown)
  return { error: new TurnwireError(code, `${text} (${file}: ${words})`, { cause: thrown }), affects }
}

function meaningOf(thrown: unknown): Meaning {
  if (!(thrown instanceof Error) || !('errcode' in thrown) || typeof thrown.errcode !== 'number')
    return DEFECT
  // An extended result code has the primary one in its low byte.
  const primary = thrown.errcode & 0xff
  return meanings.find(({ results }) => results.includes(primary))?.meaning ?? DISK_FAILED
}
