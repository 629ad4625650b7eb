// Writes that go beside a session's log (a blob, its deletion). They carry the epoch of its writer as appends do: of the copy
// in memory, or of a claim of their own, which loads nothing.
import { TurnwireError } from '../language/errors.ts'
import type { Store } from './ports.ts'
import type { Session } from './session.ts'

/** `loaded`: the copy in memory, also one that is being loaded. Rejects with `session_not_found`. */
export async function writeBeside(
  store: Store,
  id: string,
  loaded: () => Promise<Session | undefined>,
  write: (epoch: number) => Promise<unknown>,
): Promise<void> {
  for (let tries = 1; ; tries++) {
    try {
      const { epoch } = (await loaded()) ?? (await store.claim(id)) ?? {}
      if (epoch === undefined) throw new TurnwireError('session_not_found', 'Session not found')
      await write(epoch)
      return
    } catch (error) {
      // The session was loaded meanwhile, and that copy is its writer now.
      const isBehind = error instanceof TurnwireError && error.code === 'lease_lost' && tries < 3
      if (!isBehind) throw error
    }
  }
}
