// Files that the SQLite store must not use, or cannot use now, and the errors it reports.
import assert from 'node:assert/strict'
import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { afterEach, beforeEach, describe, test } from 'node:test'
import type { ErrorCode } from '../../src/language/errors.ts'
import { sqliteStore } from '../../src/stores/sqlite/index.ts'
import { checkDurable, openDatabase } from '../../src/stores/sqlite/open.ts'
import {
  batch,
  eventNumbers,
  events,
  newSession,
  rejects,
  upTo,
} from '../../src/testing/contracts/store-samples.ts'
import { makeFolder } from './folder.ts'

describe('the file of a SQLite store', () => {
  let folder: ReturnType<typeof makeFolder>
  let file: string
  beforeEach(() => {
    folder = makeFolder()
    file = folder.path('sessions.db')
  })
  afterEach(() => folder.remove())

  function refuses(code: ErrorCode, saying: RegExp): void {
    assert.throws(
      () => sqliteStore({ file, busyMs: 20 }),
      (error: Error & { code?: string }) => {
        assert.equal(error.code, code)
        assert.match(error.message, saying)
        assert.ok(error.message.includes(file), `does not name the file: ${error.message}`)
        return true
      },
    )
  }

  test('a text file of any length is refused and left unchanged', () => {
    for (const text of ['x', 'a note\n', 'dear diary\n'.repeat(1_000)]) {
      writeFileSync(file, text)
      refuses('store_foreign', /not a database.*Name another file/)
      assert.equal(readFileSync(file, 'utf8'), text)
    }
  })

  test("another application's database is refused and left unchanged", () => {
    const other = new DatabaseSync(file)
    other.exec('CREATE TABLE notes (body TEXT)')
    other.close()
    const before = readFileSync(file)
    refuses('store_foreign', /another application's database.*Name another file/)
    assert.deepEqual(readFileSync(file), before)
    assert.equal(existsSync(`${file}-wal`), false)
  })

  test("an empty database with another application's id is refused", () => {
    const other = new DatabaseSync(file)
    other.exec('PRAGMA application_id = 7; CREATE TABLE t (a); DROP TABLE t')
    other.close()
    refuses('store_foreign', /another application's database/)
  })

  test('an empty file becomes a store', async () => {
    writeFileSync(file, '')
    const store = sqliteStore({ file })
    await store.create(newSession('s'))
    await store.close()
  })

  test('a file of a newer schema is refused', async () => {
    await sqliteStore({ file }).close()
    const newer = new DatabaseSync(file)
    newer.exec('PRAGMA user_version = 9999')
    newer.close()
    refuses('store_newer', /schema 9999.*Upgrade/)
  })

  test('a missing folder, and a folder in place of a file, are refused', () => {
    file = folder.path('no/such/sessions.db')
    refuses('store_failed', /folder exists/)
    file = folder.path('folder.db')
    mkdirSync(file)
    refuses('store_failed', /folder exists/)
  })

  test('a file that another process has locked can be opened only after the lock is released', async () => {
    await sqliteStore({ file }).close()
    const other = new DatabaseSync(file)
    other.exec('BEGIN IMMEDIATE')
    refuses('store_locked', /Another process holds/)
    other.exec('ROLLBACK')
    other.close()
    await sqliteStore({ file }).close()
  })

  test('while another process has the lock, writes fail with store_locked and reads go on', async () => {
    const store = sqliteStore({ file, busyMs: 20 })
    await store.create(newSession('s', { events: events(1, 1) }))
    await store.create(newSession('u'))
    const other = new DatabaseSync(file)
    other.exec('BEGIN IMMEDIATE')
    await Promise.all([
      rejects(store.append(batch('u', 1, 0)), 'store_locked'),
      rejects(store.append(batch('s', 2, 1)), 'store_locked'),
      rejects(store.append(batch('s', 3, 1)), 'store_locked'),
      rejects(store.create(newSession('t')), 'store_locked'),
    ])
    assert.equal((await store.read('s')).length, 1)
    other.exec('ROLLBACK')
    other.close()
    await store.append(batch('s', 2, 1))
    assert.equal((await store.row('s'))?.head, 2)
    await store.append(batch('u', 1, 0))
    assert.equal((await store.row('u'))?.status, 'running')
    await store.close()
  })

  test('two stores on one file fence one another', async () => {
    const one = sqliteStore({ file })
    const two = sqliteStore({ file })
    await one.create(newSession('s'))
    await one.append(batch('s', 1, 1))
    assert.equal((await two.claim('s'))?.row.head, 1)
    await two.append(batch('s', 2, 1, { epoch: 2 }))
    await rejects(one.append(batch('s', 2, 1)), 'lease_lost')
    assert.equal((await one.read('s')).length, 2)
    await Promise.all([one.close(), two.close()])
  })

  test('changes by another process between two appends are noticed, and no stray batch is left', async () => {
    const mine = sqliteStore({ file })
    const other = sqliteStore({ file })
    await mine.create(newSession('ses_a'))
    await mine.append(batch('ses_a', 1, 2))
    await other.claim('ses_a')
    await other.append(batch('ses_a', 3, 2, { epoch: 2 }))
    await rejects(mine.append(batch('ses_a', 3, 5)), 'lease_lost')
    await mine.claim('ses_a')
    await mine.append(batch('ses_a', 5, 1, { epoch: 3 }))
    assert.deepEqual(await eventNumbers(other, 'ses_a'), upTo(5))

    // Removed, and its row id reused by another session with the same head.
    await mine.create(newSession('ses_b'))
    await mine.append(batch('ses_b', 1, 2))
    await other.remove('ses_b')
    await other.create(newSession('ses_c'))
    await other.append(batch('ses_c', 1, 2))
    await rejects(mine.append(batch('ses_b', 3, 1)), 'lease_lost')
    assert.deepEqual(await eventNumbers(other, 'ses_c'), upTo(2))

    // Removed, so that a new batch would reuse the row id of its last one.
    await mine.create(newSession('ses_d'))
    await mine.append(batch('ses_d', 1, 2))
    await other.remove('ses_d')
    await rejects(mine.append(batch('ses_d', 3, 1)), 'lease_lost')
    await Promise.all([mine.close(), other.close()])
    const db = new DatabaseSync(file)
    assert.equal(
      db.prepare('SELECT sum(last_seq - first_seq + 1) AS events FROM batches').get()?.['events'],
      7,
    )
    db.close()
  })

  test('after a write the connection still syncs each commit, and one that does not is refused', () => {
    const db = openDatabase({ file })
    db.exec("UPDATE meta SET value = value + 1 WHERE key = 'opened'")
    const ask = (name: string) => Object.values(db.prepare(`PRAGMA ${name}`).get()!)[0]
    const names = ['journal_mode', 'synchronous', 'foreign_keys', 'mmap_size', 'busy_timeout']
    assert.deepEqual(names.map(ask), ['wal', 2, 1, 0, 2_000])
    db.exec('PRAGMA synchronous = NORMAL')
    assert.throws(() => checkDurable(db, file), { code: 'store_failed', message: /synchronous is 1/ })
    db.close()
  })

  test('a new file and its WAL files are readable by their owner only', async t => {
    if (process.platform === 'win32') return t.skip('this platform has no file modes')
    const store = sqliteStore({ file })
    await store.create(newSession('s'))
    for (const name of [file, `${file}-wal`, `${file}-shm`])
      assert.equal(statSync(name).mode & 0o077, 0, name)
    await store.close()
  })

  test('a closed store refuses reads and writes, and can be closed twice', async () => {
    const store = sqliteStore({ file })
    await store.close()
    await store.close()
    await rejects(store.row('s'), 'stopping')
    await rejects(store.append(batch('s', 1, 1)), 'stopping')
  })
})
