// A session's state as it was at some point of its log, read page by page. The live state is in session.ts.
import type { Recorded } from '../language/events.ts'
import { evolve } from './evolve.ts'
import type { EnginePorts, World } from './ports.ts'
import { emptyState, type SessionState } from './state.ts'

const pageBytes = 1024 * 1024

/** The state before the first event that `isPast` is true of. Default: of the whole log. */
export async function readState(
  { store, world }: Pick<EnginePorts, 'store' | 'world'>,
  session: string,
  isPast: (recorded: Recorded) => boolean = () => false,
): Promise<SessionState> {
  const state = emptyState(session)
  for (let pages = 0; ; pages++) {
    const page = await store.read(session, state.seq, { maxBytes: pageBytes })
    if (page.length === 0) return state
    // Pages are parsed on the event loop: others are served between two.
    if (pages > 0) await laterTurn(world)
    for (const recorded of page) {
      if (isPast(recorded)) return state
      evolve(state, recorded.event)
    }
  }
}

/** A later turn of the event loop. */
export function laterTurn(world: World): Promise<void> {
  return new Promise(resolve => void world.timer(0, resolve))
}

export function fold(id: string, events: readonly Recorded[]): SessionState {
  const state = emptyState(id)
  for (const { event } of events) evolve(state, event)
  return state
}
