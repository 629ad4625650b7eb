// Classifies SQLite's result codes: the error that the caller gets, and whether the write, the transaction or the
// connection failed. Nothing in this file acts on it.
import { type ErrorCode, TurnwireError, wordsOf } from '../../language/errors.ts'

/**
 * `write`: this write can never succeed; others of its transaction can. `transaction`: nothing was written, try again
 * later. `connection`: it is unknown what reached the disk, so the connection must be replaced before the next write.
 */
export type SqliteFault = { error: TurnwireError; affects: 'write' | 'transaction' | 'connection' }
type Meaning = [code: ErrorCode, affects: SqliteFault['affects'], text: string]

const locked = 'Another process holds the database. Stop it, or try again.'
const full = 'The database cannot grow. Free disk space or raise its limit, then try again.'
const foreign = 'The file is not a database. Name another file, or move this one away.'
const damaged = 'The database is damaged. Restore it from a backup.'
const unopenable =
  'The database cannot be opened for writing. Check that its folder exists and that both may be written.'
const refusedWrite = 'The database refused the write.'
const diskFailed = 'The disk failed. Nothing was recorded; check the disk, then try again.'

/** By primary result code. Any other code means that the disk failed. */
const meanings: Readonly<Record<number, Meaning>> = {
  1: ['store_failed', 'write', refusedWrite], // ERROR
  3: ['store_failed', 'connection', unopenable], // PERM
  5: ['store_locked', 'transaction', locked], // BUSY
  6: ['store_locked', 'transaction', locked], // LOCKED
  8: ['store_failed', 'connection', unopenable], // READONLY
  11: ['store_failed', 'connection', damaged], // CORRUPT
  13: ['store_full', 'transaction', full], // FULL
  14: ['store_failed', 'connection', unopenable], // CANTOPEN
  18: ['store_failed', 'write', refusedWrite], // TOOBIG
  19: ['store_failed', 'write', refusedWrite], // CONSTRAINT
  20: ['store_failed', 'write', refusedWrite], // MISMATCH
  21: ['store_failed', 'write', refusedWrite], // MISUSE
  25: ['store_failed', 'write', refusedWrite], // RANGE
  26: ['store_foreign', 'connection', foreign], // NOTADB
}

export function sqliteFault(thrown: unknown, file: string): SqliteFault {
  if (thrown instanceof TurnwireError) return { error: thrown, affects: 'transaction' }
  const [code, affects, text] = readFault(thrown)
  const words = `${text} (${file}: ${wordsOf(thrown)})`
  return { error: new TurnwireError(code, words, { cause: thrown }), affects }
}

function readFault(thrown: unknown): Meaning {
  if (!(thrown instanceof Error) || !('errcode' in thrown) || typeof thrown.errcode !== 'number')
    return ['store_failed', 'write', 'The store failed.']
  // An extended result code has the primary one in its low byte.
  return meanings[thrown.errcode & 0xff] ?? ['store_failed', 'connection', diskFailed]
}
