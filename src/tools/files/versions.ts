// Which version of a file someone has seen: the model of a session when it read the file, and the person who was asked about
// a call. A change that was made elsewhere in between is then told, and not overwritten. In memory only: after a restart a
// file has to be read again before it is overwritten.
import { sha256 } from '../../lib/json/hash.ts'
import { fileError } from './root.ts'

const mostSessions = 1000
const mostFiles = 2000

/** '' stands for a file that does not exist. */
const textVersion = (text: string | null): string => (text === null ? '' : sha256(text))

export class Versions {
  /** By session, by path. */
  readonly #read = new Map<string, Map<string, string>>()
  /** By call, by path. */
  readonly #shown = new Map<string, Map<string, string>>()

  /** The session knows the file as it is now. */
  seen(session: string, path: string, text: string | null): void {
    keepVersion(this.#read, session, path, textVersion(text))
  }

  /** Remembers the version of the file that was shown to the person who decides about the call. */
  shown(callId: string, path: string, text: string | null): void {
    keepVersion(this.#shown, callId, path, textVersion(text))
  }

  /** Throws if the file is not what the person who allowed the call was shown, or what the session has read. */
  check(session: string, callId: string, path: string, text: string | null): void {
    const version = textVersion(text)
    const shown = this.#shown.get(callId)?.get(path)
    if (shown !== undefined && shown !== version)
      throw fileError(
        path,
        'was changed after the call was shown for approval. Read it again, then repeat the call.',
      )
    const read = this.#read.get(session)?.get(path)
    if (read !== undefined && read !== version)
      throw fileError(
        path,
        'was changed by someone else since you read it. Read it again, then repeat the call.',
      )
  }

  hasRead(session: string, path: string): boolean {
    return this.#read.get(session)?.has(path) === true
  }
}

function keepVersion(
  all: Map<string, Map<string, string>>,
  key: string,
  path: string,
  version: string,
): void {
  const files = all.get(key) ?? new Map<string, string>()
  all.delete(key)
  all.set(key, files)
  files.delete(path)
  files.set(path, version)
  dropOldest(files, mostFiles)
  dropOldest(all, mostSessions)
}

/** A map keeps the order in which its keys came. */
function dropOldest(map: Map<string, unknown>, most: number): void {
  for (const key of map.keys()) {
    if (map.size <= most) return
    map.delete(key)
  }
}
