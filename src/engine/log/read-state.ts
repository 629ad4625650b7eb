// A session's state as it was at some point of its log, read page by page. The live state is in session.ts.
import type { Recorded } from '../../language/events.ts'
import type { EnginePorts } from '../ports/index.ts'
import { evolve } from '../rules/evolve.ts'
import { emptyState, type SessionState } from '../rules/state.ts'
import { laterTurn } from './later-turn.ts'
import { readSnapshot, type Snapshot } from './snapshots.ts'

const pageBytes = 1024 * 1024

/** The state after the whole log: from a snapshot and the events since, if there is one. */
export async function loadState(
  ports: Pick<EnginePorts, 'store' | 'world'>,
  session: string,
): Promise<{ state: SessionState; snapshot?: Snapshot }> {
  const found = await readSnapshot(ports, session)
  return { ...found, state: await foldFrom(ports, found?.state ?? emptyState(session)) }
}

/** The state before the first event that `isPast` is true of. */
export function readState(
  ports: Pick<EnginePorts, 'store' | 'world'>,
  session: string,
  isPast: (recorded: Recorded) => boolean,
): Promise<SessionState> {
  return foldFrom(ports, emptyState(session), isPast)
}

async function foldFrom(
  { store, world }: Pick<EnginePorts, 'store' | 'world'>,
  state: SessionState,
  isPast: (recorded: Recorded) => boolean = () => false,
): Promise<SessionState> {
  for (let pages = 0; ; pages++) {
    const page = await store.read(state.id, state.seq, { maxBytes: pageBytes })
    if (page.length === 0) return state
    // Pages are parsed on the event loop: others are served between two.
    if (pages > 0) await laterTurn(world)
    for (const recorded of page) {
      if (isPast(recorded)) return state
      evolve(state, recorded.event)
    }
  }
}

export function fold(id: string, events: readonly Recorded[]): SessionState {
  const state = emptyState(id)
  for (const { event } of events) evolve(state, event)
  return state
}
