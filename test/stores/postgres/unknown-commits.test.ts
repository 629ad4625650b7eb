// A connection that is lost while a write is under way: nobody knows whether it was committed. It is read again, and never
// recorded twice.
import assert from 'node:assert/strict'
import { afterEach, beforeEach, describe, test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import type { Store } from '../../../src/engine/ports/index.ts'
import { postgresStore } from '../../../src/stores/postgres/index.ts'
import {
  batch,
  eventNumbers,
  events,
  newSession,
  rejects,
  upTo,
} from '../../../src/testing/contracts/store-samples.ts'
import { type Network, networkTo } from './proxy.ts'
import { databaseUrl, newSchema, withClient } from './server.ts'

describe('a lost connection', () => {
  let network: Network
  let schema: string
  beforeEach(async () => {
    network = await networkTo(await databaseUrl())
    schema = newSchema()
  })
  afterEach(async () => {
    for (const store of opened.splice(0)) await store.close()
    await network.close()
    await withClient(await databaseUrl(), sql => sql.unsafe(`DROP SCHEMA IF EXISTS "${schema}" CASCADE`))
  })
  const opened: Store[] = []
  const keep = (store: Store): Store => {
    opened.push(store)
    return store
  }
  const open = (more = {}) =>
    keep(postgresStore({ url: network.url, schema, connections: 2, prepare: false, ...more }))

  /** Once, when a statement with this word among its parameters passes. Words that are no parameters are statements. */
  function atStatement(word: string, act: () => void): void {
    network.onStatement = text => {
      if (!text.includes(word)) return
      network.onStatement = undefined
      act()
    }
  }

  /** The database gets the statement; its answer is lost with the connection. */
  function loseAnswerTo(word: string): void {
    atStatement(word, () => {
      network.toStore = 'cut'
      setTimeout(() => {
        network.toStore = 'pass'
      }, 200)
    })
  }

  /** The statement is lost with the connection. */
  function loseStatement(word: string): void {
    atStatement(word, () => {
      network.toDatabase = 'cut'
      setTimeout(() => {
        network.toDatabase = 'pass'
      }, 200)
    })
  }

  for (const [what, lose] of [
    ['its answer is lost', loseAnswerTo],
    ['it is lost itself', loseStatement],
  ] as const) {
    test(`an append is recorded once when ${what}`, async () => {
      const store = open()
      await store.create(newSession('s', { events: events(1, 1) }))
      await store.create(newSession('t'))
      lose('event 2')
      await Promise.all([
        store.append(batch('s', 2, 3)),
        store.append(batch('t', 1, 1)),
        store.append(batch('s', 5, 1)),
      ])
      await store.append(batch('s', 6, 1))
      assert.deepEqual(await eventNumbers(store, 's'), upTo(6))
      assert.deepEqual(await eventNumbers(store, 't'), [1])
      assert.equal((await store.row('s'))?.head, 6)
    })

    test(`a creation is made once when ${what}`, async () => {
      const store = open()
      await store.create(newSession('before'))
      lose('keyed')
      const request = { key: 'k', hash: 'h' }
      const made = await Promise.all([
        store.create(newSession('plain', { events: events(1, 2) })),
        store.create(newSession('keyed', { events: events(1, 1), request })),
      ])
      assert.deepEqual(made, [{ epoch: 1 }, { epoch: 1 }])
      assert.deepEqual(await eventNumbers(store, 'plain'), [1, 2])
      assert.equal(await store.requested('ada', 'k'), 'keyed')
      assert.deepEqual(await store.create(newSession('again', { request })), { existing: 'keyed', hash: 'h' })
      assert.deepEqual(await store.usage('ada'), {
        sessions: 3,
        bytes: (await store.row('plain'))!.bytes + (await store.row('keyed'))!.bytes,
      })
    })

    test(`a piece of a blob is added once when ${what}`, async () => {
      const store = open()
      await store.create(newSession('s'))
      await store.addPiece('s', 'out', { epoch: 1, at: 0, bytes: new Uint8Array([1, 2]) })
      lose('commit')
      await store.addPiece('s', 'out', { epoch: 1, at: 2, bytes: new Uint8Array([3]), last: true })
      const range = await store.blobRange('s', 'out', 0, 9)
      assert.deepEqual([range?.size, [...range!.bytes]], [3, [1, 2, 3]])
      assert.equal((await store.row('s'))?.blobBytes, 3)
    })

    test(`a claim, a blob and a removal take effect when ${what}`, async () => {
      const store = open()
      const id = 'claimed-session'
      await store.create(newSession(id))
      lose(id)
      const claimed = await store.claim(id)
      assert.ok(claimed && claimed.epoch >= 2)
      await store.append(batch(id, 1, 1, { epoch: claimed.epoch }))
      lose('commit')
      await store.putBlob(id, 'b', 'body', claimed.epoch)
      assert.equal((await store.row(id))?.blobBytes, 4)
      lose('commit')
      assert.equal(await store.remove(id, claimed.epoch), true)
      assert.equal(await store.row(id), undefined)
    })
  }

  test('an append whose answer was lost is known by its epoch, also when another writer has followed', async () => {
    const store = open()
    const other = keep(postgresStore({ url: await databaseUrl(), schema }))
    await store.create(newSession('s'))
    atStatement('event 1', () => {
      network.toStore = 'hold'
    })
    const appended = store.append(batch('s', 1, 1))
    while ((await other.row('s'))?.head !== 1) await pause(20)
    await other.claim('s')
    await other.append(batch('s', 2, 1, { epoch: 2 }))
    network.toStore = 'pass'
    network.cutAll()
    await appended
    await rejects(store.append(batch('s', 2, 1)), 'lease_lost')
    assert.deepEqual(await eventNumbers(store, 's'), [1, 2])
  })

  test('an append that was lost before another writer came is refused', async () => {
    const store = open()
    const other = keep(postgresStore({ url: await databaseUrl(), schema }))
    await store.create(newSession('s'))
    const held = Promise.withResolvers<void>()
    atStatement('event 1', () => {
      network.toDatabase = 'hold'
      held.resolve()
    })
    const refused = rejects(store.append(batch('s', 1, 1)), 'lease_lost')
    await held.promise
    await other.claim('s')
    await other.append(batch('s', 1, 1, { epoch: 2 }))
    network.toDatabase = 'pass'
    network.cutAll()
    await refused
    assert.deepEqual(await eventNumbers(store, 's'), [1])
  })

  test('a database that answers nothing is given up, and found again', async () => {
    const store = open({ answerMs: 500 })
    await store.create(newSession('s'))
    network.toStore = 'hold'
    const appended = store.append(batch('s', 1, 1))
    setTimeout(() => {
      network.toStore = 'pass'
    }, 1_200)
    await appended
    assert.deepEqual(await eventNumbers(store, 's'), [1])
  })
})
