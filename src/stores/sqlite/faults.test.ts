// SQLite's documented result codes, and what each means to the store.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { TurnwireError } from '../../language/errors.ts'
import { sqliteFault } from './faults.ts'

const cases: [name: string, code: number, error: string, affects: string][] = [
  ['SQLITE_ERROR', 1, 'store_failed', 'write'],
  ['SQLITE_BUSY', 5, 'store_locked', 'transaction'],
  ['SQLITE_BUSY_SNAPSHOT', 517, 'store_locked', 'transaction'],
  ['SQLITE_LOCKED', 6, 'store_locked', 'transaction'],
  ['SQLITE_NOMEM', 7, 'store_failed', 'connection'],
  ['SQLITE_READONLY_DBMOVED', 1032, 'store_failed', 'connection'],
  ['SQLITE_IOERR', 10, 'store_failed', 'connection'],
  ['SQLITE_IOERR_FSYNC', 1034, 'store_failed', 'connection'],
  ['SQLITE_CORRUPT', 11, 'store_failed', 'connection'],
  ['SQLITE_FULL', 13, 'store_full', 'transaction'],
  ['SQLITE_CANTOPEN', 14, 'store_failed', 'connection'],
  ['SQLITE_TOOBIG', 18, 'store_failed', 'write'],
  ['SQLITE_CONSTRAINT_UNIQUE', 2067, 'store_failed', 'write'],
  ['SQLITE_NOTADB', 26, 'store_foreign', 'connection'],
]

for (const [name, errcode, code, affects] of cases)
  test(`${name} is ${code} and affects the ${affects}`, () => {
    const thrown = Object.assign(new Error('its own words'), { errcode })
    const fault = sqliteFault(thrown, 'x.db')
    assert.deepEqual([fault.error.code, fault.affects, fault.error.cause], [code, affects, thrown])
    assert.match(fault.error.message, /\(x\.db: its own words\)$/)
  })

test('our own errors pass unchanged, and a defect does not count as a disk failure', () => {
  const ours = new TurnwireError('bad_request', 'no')
  assert.equal(sqliteFault(ours, 'x.db').error, ours)
  assert.deepEqual(sqliteFault(new TypeError('oops'), 'x.db').affects, 'write')
})
