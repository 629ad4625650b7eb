// A file that a published version wrote can be read and written for ever. Each migration has a fixture: a database as
// that migration made it, as SQL text. A new migration adds a fixture; existing ones are never edited.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { sqliteStore } from '../../src/stores/sqlite/index.ts'
import { migrations } from '../../src/stores/sqlite/migrations.ts'
import { batch, newSession, readInPages, rejects, upTo } from '../../src/testing/contracts/store-samples.ts'
import { makeFolder } from './folder.ts'

const BORN = 1_700_000_000_000

function fixture(version: number): string {
  const name = `fixtures/sqlite-${String(version).padStart(4, '0')}.sql`
  return readFileSync(new URL(name, import.meta.url), 'utf8')
}

function schemaOf(sql: string): unknown[] {
  const db = new DatabaseSync(':memory:')
  db.exec(sql)
  const schema = db.prepare('SELECT type, name, sql FROM sqlite_schema ORDER BY name').all()
  db.close()
  return schema
}

for (const version of upTo(migrations.length)) {
  test(`migrations up to ${version} make the published schema`, () => {
    assert.deepEqual(schemaOf(migrations.slice(0, version).join('\n')), schemaOf(fixture(version)))
  })

  test(`a file of schema ${version} can be read and written`, async () => {
    const folder = makeFolder()
    const file = folder.path('sessions.db')
    const old = new DatabaseSync(file)
    old.exec(fixture(version))
    old.close()

    const store = sqliteStore({ file })
    assert.deepEqual(await store.row('ses_one'), {
      id: 'ses_one',
      owner: 'ada',
      agent: 'helper',
      status: 'waiting',
      createdAt: BORN,
      updatedAt: BORN + 3,
      head: 5,
      bytes: 640,
      blobBytes: 41,
      recoveries: 0,
    })
    const recorded = await store.read('ses_one')
    assert.deepEqual(
      recorded.map(({ seq, event }) => [seq, event.type]),
      [
        [1, 'session.created'],
        [2, 'request.accepted'],
        [3, 'turn.started'],
        [4, 'call.settled'],
        [5, 'turn.ended'],
      ],
    )
    assert.deepEqual(recorded[2]?.event, {
      v: 1,
      type: 'turn.started',
      at: BORN + 1,
      turn: 'turn_1',
      wire: 'aap',
      parts: [{ type: 'text', text: "it's 🜁 and \ud800 and \u0000" }],
    })
    assert.match(JSON.stringify(recorded[3]?.event), /"structured":\{"__proto__":1\}/)
    assert.deepEqual(await store.unfinished(), ['ses_two'])
    assert.equal(await store.blob('ses_one', 'call_1'), 'a long result')
    assert.equal(await store.blob('ses_one', 'call_2'), 'half a pair: \ud800')
    const inPieces = await store.blobRange('ses_two', 'call_3.output', 1, 9)
    assert.deepEqual(inPieces && [...inPieces.bytes], version < 3 ? undefined : [1, 255, 65, 66])
    const spent = version < 5 ? { tokens: 0, money: 0, calls: 0 } : { tokens: 1200, money: 0.5, calls: 3 }
    assert.deepEqual(await store.spent?.({ owner: 'ada' }, '2023-11'), spent)
    const due = (await store.records?.due('webhook ops', 9))?.map(({ name, version }) => [name, version])
    assert.deepEqual(due, version < 6 ? [] : [['msg_1', 2]])
    assert.equal((await store.row('ses_three'))?.owner, 'bob\ud800')
    const pages = await readInPages(store, 'ses_long', 4_000)
    assert.deepEqual(
      pages.flat().map(({ seq }) => seq),
      upTo(600),
    )
    assert.ok(pages.length > 5)

    // The cursor is one that was given out when the file was written.
    const { rows } = await store.list('ada', { limit: 1, after: '2.Pnz8w1z6vNzdlc-H' })
    assert.equal(rows[0]?.id, 'ses_one')
    const settings = { tools: null, options: {}, clientTools: [] }
    assert.deepEqual(rows[0].summary, { settings, opening: "it's 🜁" })
    const request = { key: 'key-1', hash: 'another' }
    assert.deepEqual(await store.create(newSession('x', { request })), {
      existing: 'ses_one',
      hash: 'hash-1',
    })

    await rejects(store.append(batch('ses_one', 6, 1, { epoch: 1 })), 'lease_lost')
    await store.append(batch('ses_one', 6, 2, { epoch: 2 }))
    assert.equal((await store.claim('ses_one'))?.epoch, 3)
    assert.equal((await store.read('ses_one', 5)).length, 2)
    await store.close()
    folder.remove()
  })
}
