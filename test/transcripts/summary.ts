// What a log folds to, as plain JSON: everything that a model, a wire or the loop goes on from.
import { next, type SessionState, sessionStatus } from '../../src/engine/index.ts'
import type { Recorded } from '../../src/language/events.ts'
import type { Json } from '../../src/lib/json/index.ts'
import { defaultLimits } from '../../src/policy/index.ts'

export type Transcript = { about: string; log: Recorded[]; summary: Json }

export function summaryOf(state: SessionState): Json {
  const { turn } = state
  const summary = {
    ...state,
    status: sessionStatus(state),
    next: next(state, defaultLimits).do,
    turn: turn && { ...turn, admitted: [...turn.admitted] },
    view: state.view === state.entries ? 'entries' : state.view,
    grants: [...state.grants.values()],
    requests: [...state.requests],
  }
  // Plain data once the maps and sets are lists.
  return JSON.parse(JSON.stringify(summary)) as Json
}
