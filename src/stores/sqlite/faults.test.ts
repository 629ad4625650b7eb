// Result codes, as SQLite documents them, and what each means to us.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { TurnwireError } from '../../language/errors.ts'
import { faultOf } from './faults.ts'

const cases: [name: string, code: number, error: string, blame: string][] = [
  ['SQLITE_ERROR', 1, 'store_failed', 'write'],
  ['SQLITE_BUSY', 5, 'store_locked', 'world'],
  ['SQLITE_BUSY_SNAPSHOT', 517, 'store_locked', 'world'],
  ['SQLITE_LOCKED', 6, 'store_locked', 'world'],
  ['SQLITE_NOMEM', 7, 'store_failed', 'connection'],
  ['SQLITE_READONLY_DBMOVED', 1032, 'store_failed', 'connection'],
  ['SQLITE_IOERR', 10, 'store_failed', 'connection'],
  ['SQLITE_IOERR_FSYNC', 1034, 'store_failed', 'connection'],
  ['SQLITE_CORRUPT', 11, 'store_failed', 'connection'],
  ['SQLITE_FULL', 13, 'store_full', 'world'],
  ['SQLITE_CANTOPEN', 14, 'store_failed', 'connection'],
  ['SQLITE_TOOBIG', 18, 'store_failed', 'write'],
  ['SQLITE_CONSTRAINT_UNIQUE', 2067, 'store_failed', 'write'],
  ['SQLITE_NOTADB', 26, 'store_foreign', 'connection'],
]

for (const [name, errcode, code, blame] of cases)
  test(`${name} is ${code}, and the ${blame} is to blame`, () => {
    const thrown = Object.assign(new Error('its own words'), { errcode })
    const fault = faultOf(thrown, 'x.db')
    assert.deepEqual([fault.error.code, fault.blame, fault.error.cause], [code, blame, thrown])
    assert.match(fault.error.message, /\(x\.db: its own words\)$/)
  })

test('our own errors pass as they are, and a defect is not taken for a failing disk', () => {
  const ours = new TurnwireError('bad_request', 'no')
  assert.equal(faultOf(ours, 'x.db').error, ours)
  assert.deepEqual(faultOf(new TypeError('oops'), 'x.db').blame, 'write')
})
