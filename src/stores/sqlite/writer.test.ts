// Where a group is committed: what the disk has been like decides, and the size of the group. And that the WAL stays short.
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { findPlaces } from './places.ts'
import { Reader } from './reader.ts'
import { Commits, DiskPace } from './writer.ts'
import { encodeWrite } from './writes.ts'

function paceAfter(...commits: [count: number, ms: number][]): DiskPace {
  const pace = new DiskPace()
  for (const [count, ms] of commits) for (let n = 0; n < count; n += 1) pace.note(ms)
  return pace
}

test('a disk is quick while its commits take under a millisecond on average', () => {
  assert.equal(paceAfter().isQuick, true)
  assert.equal(paceAfter([1_000, 0.3]).isQuick, true)
  assert.equal(paceAfter([100, 2]).isQuick, false)
  assert.equal(paceAfter([1, 500]).isQuick, false)
})

test('one late commit does not make a quick disk a slow one', () => {
  assert.equal(paceAfter([100, 0.3], [1, 20]).isQuick, true)
  assert.equal(paceAfter([100, 0.3], [1, 20], [50, 0.3], [1, 20]).isQuick, true)
})

test('after a very slow commit, many quick ones are needed', () => {
  assert.equal(paceAfter([1, 500], [100, 0.2]).isQuick, false)
  assert.equal(paceAfter([1, 500], [200, 0.2]).isQuick, true)
})

test('a disk that stalls now and then stays a slow one', () => {
  const pace = new DiskPace()
  let met = 0
  for (let commit = 0; commit < 10_000; commit += 1) {
    const isSlow = commit % 50 === 0
    if (isSlow && pace.isQuick) met += 1
    pace.note(isSlow ? 500 : 0.2)
  }
  assert.equal(met, 1, `${met} of 200 slow commits were met on the main thread`)
})

test('after a stall commits of several sessions stay off the main thread for a minute', () => {
  let now = 0
  const pace = new DiskPace(() => now)
  pace.note(0.3)
  assert.equal(pace.mayHoldLoop(false), true)
  pace.note(25)
  assert.equal(pace.isQuick, true)
  assert.equal(pace.mayHoldLoop(false), false)
  assert.equal(pace.mayHoldLoop(true), true, 'one session alone holds nobody up')
  now = 59_999
  assert.equal(pace.mayHoldLoop(false), false)
  now = 60_000
  assert.equal(pace.mayHoldLoop(false), true)
  pace.note(500)
  assert.equal(pace.mayHoldLoop(true), false, 'a slow disk is slow for all')
})

for (const place of ['adaptive', 'thread'] as const)
  test(`the WAL is copied into the database and starts over (${place})`, async t => {
    const folder = mkdtempSync(join(tmpdir(), 'turnwire-wal-'))
    t.after(() => rmSync(folder, { recursive: true, force: true }))
    const file = join(folder, 'x.db')
    const reader = new Reader({ file })
    const commits = new Commits({ options: { file }, places: findPlaces(file) }, place)
    const blob = encodeWrite({ kind: 'putBlob', session: 's', name: 'b', body: 'x'.repeat(1024 * 1024) })
    const row = { id: 's', owner: 'o', agent: 'a', status: 'idle', createdAt: 1 } as const
    const created = encodeWrite({ kind: 'create', session: 's', created: { row, events: [] } })
    await commits.commit([created.sent], 0)
    for (let n = 0; n < 30; n += 1) await commits.commit([blob.sent], blob.size)
    const { size } = statSync(`${file}-wal`)
    assert.ok(size > 0 && size < 12 * 1024 * 1024, `30 MiB were written, and the WAL has ${size} bytes`)
    reader.close()
    await commits.close()
  })

test('many small commits on the main thread do not lengthen the WAL either', async t => {
  const folder = mkdtempSync(join(tmpdir(), 'turnwire-wal-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  const file = join(folder, 'x.db')
  const reader = new Reader({ file })
  const commits = new Commits({ options: { file }, places: findPlaces(file) })
  const sent = [encodeWrite({ kind: 'probe', session: '', room: 'none' }).sent]
  for (let n = 0; n < 1_000; n += 1) await commits.commit(sent, 0)
  const { size } = statSync(`${file}-wal`)
  assert.ok(size < 500 * 4_200, `1,000 commits of a page, and the WAL has ${size} bytes`)
  reader.close()
  await commits.close()
})
