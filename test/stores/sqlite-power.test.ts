// Power cuts with torn and reordered writes: every acknowledged event is there, whichever unsynced sectors were written.
import assert from 'node:assert/strict'
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { sqliteStore } from '../../src/stores/sqlite/index.ts'
import { isLong } from '../faults/scale.ts'
import { makeFolder } from './folder.ts'
import { canRecord, cuts, record, seeded } from './power.ts'

const skip = canRecord ? false : 'strace is not installed, or may not trace here'
const CUTS = isLong ? 1_000 : 60
const SESSIONS = 4
const ACKS = 1500

const writer = (name: string): string[] => [process.execPath, fileURLToPath(new URL(name, import.meta.url))]

/** The number of the last acknowledged event of each session. */
function headsOf(acked: readonly string[]): Map<string, number> {
  const heads = new Map<string, number>()
  for (const line of acked) {
    const [, session = '', seq = ''] = line.split(' ')
    heads.set(session, Number(seq))
  }
  return heads
}

async function check(folder: string, acked: readonly string[]): Promise<void> {
  const file = join(folder, 'sessions.db')
  const store = sqliteStore({ file })
  for (const [session, last] of headsOf(acked)) {
    const row = await store.row(session)
    assert.ok(row && row.head >= last, `${session}: ${last} was acked, ${row?.head} is there`)
    const seen = (await store.read(session)).map(({ seq, event }) => [
      seq,
      event.type === 'turn.started' && event.parts[0]?.type === 'text' && event.parts[0].text.split(' x')[0],
    ])
    assert.deepEqual(
      seen,
      Array.from({ length: row.head }, (_, index) => [index + 1, `${session} ${index + 1}`]),
    )
  }
  await store.close()
  const db = new DatabaseSync(file)
  assert.deepEqual({ ...db.prepare('PRAGMA integrity_check').get() }, { integrity_check: 'ok' })
  db.close()
}

for (const place of ['adaptive', 'main', 'thread'])
  test(`after each of ${CUTS} power cuts, every acknowledged event is there (commits: ${place})`, {
    skip,
  }, async () => {
    const folder = makeFolder()
    const file = folder.path('sessions.db')
    const changes = record(file, [...writer('writer.ts'), file, place, String(SESSIONS), '0', String(ACKS)])
    const firstAck = changes.findIndex(change => change.type === 'ack')
    const moved = changes.some(
      (change, at) => at > firstAck && change.type === 'write' && change.file === file,
    )
    assert.ok(moved, 'no checkpoint moved the WAL into the database: write more')
    const again = makeFolder()
    let deepest = 0
    for (const cut of cuts(changes, CUTS, seeded(3), number => again.path(`cut-${number}`))) {
      await check(cut.folder, cut.acked)
      deepest = Math.max(deepest, cut.acked.length)
      rmSync(cut.folder, { recursive: true })
    }
    assert.ok(deepest > ACKS / 2, `only ${deepest} acknowledgements were put to the test`)
    again.remove()
    folder.remove()
  })

test('the same cuts find the losses of a writer that acknowledges before it syncs', { skip }, () => {
  const folder = makeFolder()
  const file = folder.path('loose.db')
  const changes = record(file, [...writer('loose-writer.ts'), file])
  const again = makeFolder()
  let losses = 0
  for (const cut of cuts(changes, CUTS, seeded(3), number => again.path(`cut-${number}`))) {
    const db = new DatabaseSync(join(cut.folder, 'loose.db'))
    const last = Number(cut.acked.at(-1)?.split(' ')[1] ?? 0)
    // Even the table may be lost.
    const there = db.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'said'").get() !== undefined
    const found = there ? Number(db.prepare('SELECT count(*) AS n FROM said').get()?.['n']) : 0
    if (found < last) losses += 1
    db.close()
  }
  assert.ok(losses > CUTS / 4, `only ${losses} losses were seen`)
  again.remove()
  folder.remove()
})
