// A session's state as plain JSON and back, for snapshots. The entries of its history never change once they are there,
// so they are kept apart: a snapshot adds the new ones. Pure.
import type { Entry } from '../../language/history.ts'
import { sessionStatus } from './next.ts'
import { indexBatch, type SessionState, type TurnState } from './state.ts'

/**
 * Of the states that this program folds. Raise it when `evolve` or the shape of the state changes: older snapshots are then
 * not used. A test compares it with what the golden transcripts fold to.
 */
export const stateVersion = 9

/** A view that differs from the entries: the first and last so many of them, and other entries in between. */
type View = { first: number; between: Entry[]; last: number }

export type StateWithoutEntries = {
  state: Omit<SessionState, 'entries' | 'view' | 'byId' | 'status' | 'turn' | 'grants' | 'requests' | 'kept'>
  turn: (Omit<TurnState, 'admitted'> & { admitted: [string, unknown][] }) | null
  grants: [string, unknown][]
  requests: [string, unknown][]
  kept?: [string, unknown][]
  view?: View
}

export function stateToJson(whole: SessionState): StateWithoutEntries {
  const { entries, view, byId: _byId, status: _status, turn, grants, requests, kept, ...state } = whole
  return {
    state,
    turn: turn && { ...turn, admitted: [...turn.admitted] },
    grants: [...grants],
    requests: [...requests],
    ...(kept && { kept: [...kept] }),
    ...(view !== entries && { view: packView(view, entries) }),
  }
}

/** `json` came from `stateToJson` of this version, through JSON. */
export function stateFromJson(json: StateWithoutEntries, entries: Entry[]): SessionState {
  const { state, turn, grants, requests, kept, view } = json
  const maps = { grants: new Map(grants), requests: new Map(requests), ...(kept && { kept: new Map(kept) }) }
  const turnNow = turn && ({ ...turn, admitted: new Map(turn.admitted) } as TurnState) // The same, through JSON.
  return {
    ...state,
    ...maps,
    entries,
    view: view ? viewIn(view, entries) : entries,
    turn: turnNow,
    status: sessionStatus({ ...state, turn: turnNow }),
    byId: indexBatch(state.batch),
  } as SessionState // Maps and derived members are rebuilt here; the rest is as it was.
}

function packView(view: readonly Entry[], entries: readonly Entry[]): View {
  let first = 0
  while (first < view.length && view[first] === entries[first]) first += 1
  let last = 0
  while (last < view.length - first && view.at(-1 - last) === entries.at(-1 - last)) last += 1
  return { first, between: view.slice(first, view.length - last), last }
}

function viewIn({ first, between, last }: View, entries: readonly Entry[]): Entry[] {
  return [...entries.slice(0, first), ...between, ...entries.slice(entries.length - last)]
}
