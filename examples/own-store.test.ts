// How to test a store of your own: it must pass the contract suite. This one adds a limit on the size of blobs to the
// SQLite store. Run it with:
//   npx node --test examples/own-store.test.ts
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Store, sqliteStore, TurnwireError } from 'turnwire'
import { storeContract } from 'turnwire/testing'

function limitedStore(file: string, maxBlob: number): Store {
  const store = sqliteStore({ file })
  return {
    ...store,
    async putBlob(session, name, body, epoch) {
      if (body.length > maxBlob) throw new TurnwireError('store_full', `Blob ${name} is too large.`)
      return store.putBlob(session, name, body, epoch)
    },
  }
}

storeContract('SQLite with a limit on blobs', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'own-store-'))
  const open = () => limitedStore(join(folder, 'sessions.db'), 2_000_000)
  let store = open()
  return {
    store,
    async reopen() {
      await store.close()
      store = open()
      return store
    },
    async cleanup() {
      await store.close()
      rmSync(folder, { recursive: true })
    },
  }
})
