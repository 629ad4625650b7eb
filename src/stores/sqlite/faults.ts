// What SQLite's result codes mean to us: which error the caller gets, whether the write alone is at fault, and
// whether the connection can still be trusted. Nothing here acts on it.
import { TurnwireError } from '../../language/errors.ts'

/**
 * `write`: this write can never succeed, others may. `world`: try again later. `connection`: what reached the disk
 * is not known, so the connection is closed and a new one reads the file afresh before anything more is written.
 */
export type Blame = 'write' | 'world' | 'connection'
export type Fault = { error: TurnwireError; blame: Blame }

const LOCKED = new Set([5, 6])
const FULL = 13
const NOT_A_DATABASE = 26
const DAMAGED = 11
const CANNOT_OPEN = new Set([3, 8, 14])
/** SQL logic error, too big, constraint, datatype mismatch, misuse, range. */
const WRITE_AT_FAULT = new Set([1, 18, 19, 20, 21, 25])

export function faultOf(thrown: unknown, file: string): Fault {
  if (thrown instanceof TurnwireError) return { error: thrown, blame: 'world' }
  const code = resultCode(thrown)
  const words = thrown instanceof Error ? thrown.message : String(thrown)
  const fault = (
    name: 'store_locked' | 'store_full' | 'store_foreign' | 'store_failed',
    blame: Blame,
    text: string,
  ) => ({
    error: new TurnwireError(name, `${text} (${file}: ${words})`, { cause: thrown }),
    blame,
  })
  if (code === undefined) return fault('store_failed', 'write', 'The store failed.')
  if (LOCKED.has(code))
    return fault('store_locked', 'world', 'Another process holds the database. Stop it, or try again.')
  if (code === FULL)
    return fault(
      'store_full',
      'world',
      'The database cannot grow. Free disk space or raise its limit, then try again.',
    )
  if (code === NOT_A_DATABASE)
    return fault(
      'store_foreign',
      'connection',
      'The file is not a database. Name another file, or move this one away.',
    )
  if (code === DAMAGED)
    return fault('store_failed', 'connection', 'The database is damaged. Restore it from a backup.')
  if (CANNOT_OPEN.has(code))
    return fault(
      'store_failed',
      'connection',
      'The database cannot be opened for writing. Check that its folder exists and that both may be written.',
    )
  if (WRITE_AT_FAULT.has(code)) return fault('store_failed', 'write', 'The database refused the write.')
  return fault(
    'store_failed',
    'connection',
    'The disk failed. Nothing was recorded; check the disk, then try again.',
  )
}

/** The primary result code: the extended ones carry it in their low byte. */
function resultCode(thrown: unknown): number | undefined {
  if (!(thrown instanceof Error) || !('errcode' in thrown) || typeof thrown.errcode !== 'number')
    return undefined
  return thrown.errcode & 0xff
}
