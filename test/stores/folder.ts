// A temporary folder for each test that needs files, and a SQLite store in it.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type SqliteOptions, sqliteStore } from '../../src/stores/sqlite/index.ts'
import type { StoreUnderTest } from '../../src/testing/contracts/store-samples.ts'

export function makeFolder(): { path(name: string): string; remove(): void } {
  const folder = mkdtempSync(join(tmpdir(), 'turnwire-store-'))
  return { path: name => join(folder, name), remove: () => rmSync(folder, { recursive: true, force: true }) }
}

export async function sqliteUnderTest(options: Partial<SqliteOptions> = {}): Promise<StoreUnderTest> {
  const folder = makeFolder()
  const open = () => sqliteStore({ file: folder.path('sessions.db'), ...options })
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
      folder.remove()
    },
  }
}
