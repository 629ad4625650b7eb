// The store behind a pooler of transactions: each statement may run on another connection of the server.
import assert from 'node:assert/strict'
import { rmSync } from 'node:fs'
import { after, describe, test } from 'node:test'
import { Database } from '../../../src/stores/postgres/database.ts'
import { storeContract } from '../../../src/testing/contracts/store.ts'
import { batch, eventNumbers, newSession, upTo } from '../../../src/testing/contracts/store-samples.ts'
import { findPgbouncer, type Pooler, startPgbouncer } from './pgbouncer.ts'
import { databaseUrl, makeFolder, postgresUnderTest } from './server.ts'

const folder = makeFolder()
const program = findPgbouncer(folder)
let pooler: Pooler | undefined

if (typeof program === 'string') test('behind a pooler of transactions', { skip: program }, () => {})
else {
  pooler = await startPgbouncer(program, await databaseUrl())
  const { url } = pooler
  storeContract('PostgreSQL behind pgbouncer', () => postgresUnderTest({ url, connections: 6 }))

  describe('a pooler', () => {
    test('is noticed, so that no statement has a name', async () => {
      for (const [address, isDirect] of [
        [url, false],
        [await databaseUrl(), true],
      ] as const) {
        const database = new Database({ url: address })
        assert.equal(await database.isDirect(), isDirect)
        await database.close()
      }
    })

    test('may give each statement another connection', async () => {
      const { store, cleanup } = await postgresUnderTest({ url, connections: 12, group: { maxGroups: 6 } })
      const ids = upTo(30).map(number => `s${number}`)
      await Promise.all(ids.map(id => store.create(newSession(id))))
      await Promise.all(
        ids.map(async id => {
          for (let seq = 1; seq <= 10; seq++) {
            await store.append(batch(id, seq, 1))
            await store.putBlob(id, 'last', String(seq))
            assert.equal((await store.row(id))?.head, seq)
          }
        }),
      )
      for (const id of ids) assert.deepEqual(await eventNumbers(store, id), upTo(10))
      await cleanup()
    })
  })
}

after(async () => {
  await pooler?.stop()
  rmSync(folder, { recursive: true, force: true })
})
