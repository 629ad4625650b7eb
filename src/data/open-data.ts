// The store of a data folder or a database, for commands that work on sessions as they are stored and start no engine.
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { Store } from '../engine/ports/index.ts'
import { TurnwireError } from '../language/errors.ts'
import { findPlace, isPostgresUrl, openFolderStore } from './data-place.ts'

/** Opens it for `work`, and closes it after. `isNew`: a folder without sessions will do. */
export async function withStore<Result>(
  data: string,
  isNew: boolean,
  work: (store: Store) => Promise<Result>,
): Promise<Result> {
  if (!isNew && !isPostgresUrl(data)) sessionsIn(data)
  const place = findPlace(data)
  const store = place.store ?? (await openFolderStore(place.folder))
  try {
    return await work(store)
  } finally {
    await store.close()
  }
}

/** The file with the sessions of a folder. Throws a TurnwireError if there is none. */
export function sessionsIn(folder: string): string {
  const file = join(folder, 'sessions.db')
  if (existsSync(file)) return file
  throw new TurnwireError(
    'config_invalid',
    `There are no sessions in ${folder}. Name the data folder with --data <folder>.`,
  )
}
