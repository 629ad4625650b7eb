// Files that were written by published versions are read for ever. Each migration's fixture is a store as that
// migration left it, as SQL text; a new migration adds one and edits none.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { sqliteStore } from '../../src/stores/sqlite/index.ts'
import { migrations } from '../../src/stores/sqlite/migrations/index.ts'
import { batch, newSession, rejects } from '../contracts/store-samples.ts'
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

for (const [index] of migrations.entries())
  test(`migrations up to ${index + 1} make the shape that they made when they were published`, () => {
    assert.deepEqual(schemaOf(migrations.slice(0, index + 1).join('\n')), schemaOf(fixture(index + 1)))
  })

test('a process of an older version that has the file open fails: what it would append, nobody would find', async () => {
  const folder = makeFolder()
  const file = folder.path('sessions.db')
  const old = new DatabaseSync(file)
  old.exec(fixture(2))
  const append = old.prepare('INSERT INTO log (session, seq, count, body) VALUES (?, ?, ?, ?)')
  append.run(2, 1, 1, '[]')
  await sqliteStore({ file }).close()
  assert.throws(() => append.run(2, 2, 1, '[]'), /no such table/)
  old.close()
  folder.remove()
})

for (const [index] of migrations.entries())
  test(`a file of shape ${index + 1} reads as it was written, and is written on`, async () => {
    const folder = makeFolder()
    const file = folder.path('sessions.db')
    const old = new DatabaseSync(file)
    old.exec(fixture(index + 1))
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
    assert.equal((await store.row('ses_three'))?.owner, 'bob\ud800')

    // A cursor that was given out then.
    const { rows } = await store.list('ada', { limit: 1, after: '2.u7kaK2jO9qZrJr2L' })
    assert.equal(rows[0]?.id, 'ses_one')
    const settings = { tools: null, options: {}, clientTools: [] }
    assert.deepEqual(rows[0].card, index === 0 ? undefined : { settings, opening: "it's 🜁" })
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
