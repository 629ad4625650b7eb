// Checks before a file is used: the version of SQLite, and that the connection syncs its commits.
import assert from 'node:assert/strict'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { checkDurable, checkText, checkVersion } from './open.ts'

test('a SQLite before 3.51.3 is refused', () => {
  for (const version of ['3.51.2', '3.40.1', '3.9.0', '2.99.99', '3.51'])
    assert.throws(
      () => checkVersion(version),
      { code: 'store_failed', message: /3\.51\.3 or newer/ },
      version,
    )
  for (const version of ['3.51.3', '3.51.10', '3.52.0', '3.53.4', '4.0.0']) checkVersion(version)
})

test('a Node that cuts texts at a NUL is refused', () => {
  const db = new DatabaseSync(':memory:')
  checkText(db)
  const cutting = { prepare: () => db.prepare("SELECT 'a' AS text WHERE ? IS NOT NULL") }
  assert.throws(() => checkText(cutting), { code: 'store_failed', message: /Use Node 24\.16 or newer/ })
  db.close()
})

test('a connection without a write-ahead log is refused', () => {
  const db = new DatabaseSync(':memory:')
  assert.throws(() => checkDurable(db, 'x.db'), { code: 'store_failed', message: /journal is "memory"/ })
  db.close()
})
