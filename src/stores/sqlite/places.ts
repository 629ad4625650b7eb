// Where the files of a database were when it was opened. A file that was removed or replaced since then can still be
// written through its open descriptor, and nobody would ever read it again.
import { statSync } from 'node:fs'
import { TurnwireError } from '../../language/errors.ts'

/** The identity of each file by its path: device and inode. */
export type FilePlaces = Readonly<Record<string, string>>

/** Call it after a write: the WAL file is there only then. */
export function findPlaces(file: string): FilePlaces {
  return Object.fromEntries([file, `${file}-wal`].map(path => [path, fileIdentity(path) ?? '']))
}

/** Throws `store_failed` unless each path still leads to its file. */
export function checkFilePlaces(places: FilePlaces): void {
  const failure = placesFailure(places)
  if (failure) throw failure
}

export function placesFailure(places: FilePlaces): TurnwireError | undefined {
  for (const path in places) {
    const found = fileIdentity(path)
    if (found === places[path]) continue
    return new TurnwireError(
      'store_failed',
      `${path} was ${found === undefined ? 'removed' : 'replaced'} while it was in use, so nothing can be recorded. Put it back, or restart.`,
    )
  }
  return undefined
}

function fileIdentity(path: string): string | undefined {
  const found = statSync(path, { throwIfNoEntry: false })
  return found && `${found.dev}:${found.ino}`
}
