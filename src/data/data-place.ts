// Where a configuration keeps sessions, and which folder holds the rest: keys, tokens, and the key that seals secrets. With
// PostgreSQL these are two places.
import { existsSync } from 'node:fs'
import { join, resolve } from 'node:path'
import type { NodeStore, RecordStore, Store } from '../engine/ports/index.ts'
import type { Log } from '../log.ts'
import type { KeepsPayments } from '../payments/port.ts'
import { memoryStore } from '../stores/memory.ts'
import { postgresStore } from '../stores/postgres/index.ts'
import { makePrivateFolder } from './private-folder.ts'

export const defaultFolder = '.turnwire'

/** A store of ours, with everything that one keeps. */
export type KeptStore = Store & KeepsPayments & { readonly records: RecordStore }

/** `store` undefined: sessions are in the folder. `folder` undefined: nothing is kept on this machine. */
export type DataPlace = { folder: string; store?: undefined } | { folder?: string; store: Store }

export function isPostgresUrl(text: string): boolean {
  return /^postgres(?:ql)?:\/\//i.test(text)
}

export function isNodeStore(store: Store): store is NodeStore {
  return 'join' in store
}

/** Whether several nodes can share what is there. */
export function isShared(data: string | Store = defaultFolder): boolean {
  return typeof data === 'string' ? isPostgresUrl(data) : isNodeStore(data)
}

/** Makes the folder if there is one. */
export function findPlace(data: string | Store = defaultFolder, log?: Log): DataPlace {
  if (typeof data !== 'string') return { store: data }
  if (data === 'memory') return { store: memoryStore() }
  if (!isPostgresUrl(data)) return { folder: makeFolder(data) }
  const store = postgresStore({
    url: data,
    onChange: failure =>
      failure
        ? log?.('error', 'The database cannot be used.', { code: failure.code, error: failure.message })
        : log?.('warn', 'The database can be used again.', {}),
  })
  return needsFolder() ? { store, folder: makeFolder(defaultFolder) } : { store }
}

/** A node whose secrets are sealed with a key from the environment may run where no folder can be made. */
function needsFolder(): boolean {
  return !process.env['TURNWIRE_VAULT_KEY'] || existsSync(resolve(defaultFolder))
}

function makeFolder(data: string): string {
  const folder = resolve(data)
  makePrivateFolder(folder)
  return folder
}

/** SQLite is loaded only when needed: a session in memory should not pay for a database. */
export async function openFolderStore(folder: string, log?: Log): Promise<KeptStore> {
  const { sqliteStore } = await import('../stores/sqlite/index.ts')
  return sqliteStore({
    file: join(folder, 'sessions.db'),
    group: {
      onFailure: ({ code, message }) =>
        log?.('error', 'The store cannot be written.', { folder, code, error: message }),
      onRecovery: () => log?.('warn', 'The store can be written again.', { folder }),
    },
  })
}

/**
 * Opens the sessions of a place for `work`, and closes them after. For commands that work on sessions as they are stored.
 * `place`: a data folder, or the address of a PostgreSQL.
 */
export async function withStore<Result>(
  place: string,
  work: (store: KeptStore) => Promise<Result>,
): Promise<Result> {
  const store = isPostgresUrl(place)
    ? postgresStore({ url: place, connections: 2 })
    : await openFolderStore(place)
  try {
    return await work(store)
  } finally {
    await store.close()
  }
}
