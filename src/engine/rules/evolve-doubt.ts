// The folds of calls that may have taken effect, of what is found out about them later, and of calls that are undone. A part of
// evolve.ts, with the same rules.
import type { CallReconciled, CallSettled } from '../../language/events.ts'
import { outcomes } from './outcomes.ts'
import type { CallState, SessionState } from './state.ts'

/** More are not remembered: the oldest is forgotten first. */
const mostDoubts = 100

/** It was settled, and nobody knows whether it took effect. `timeout` and `cancelled`: it had begun. */
export function isDoubtful({ attempt }: CallState, { outcome }: Pick<CallSettled, 'outcome'>): boolean {
  const { kind, checked } = outcome
  if (kind === 'unknown') return true
  return (kind === 'timeout' || kind === 'cancelled') && attempt > 0 && !checked
}

export function doubt(state: SessionState, { part }: CallState): void {
  const doubts = { ...state.doubts, [part.id]: part.name }
  const [oldest] = Object.keys(doubts)
  if (Object.keys(doubts).length > mostDoubts && oldest !== undefined) delete doubts[oldest]
  state.doubts = doubts
}

export function reconcile(state: SessionState, event: CallReconciled): void {
  const { callId, tool, found, outcome, told } = event
  const { [callId]: _known, ...doubts } = state.doubts ?? {}
  if (Object.keys(doubts).length > 0) state.doubts = doubts
  else delete state.doubts
  state.reconciled = { ...state.reconciled, [callId]: { tool, found, outcome } }
  if (told === undefined) state.notices = [...(state.notices ?? []), outcomes.notice(event)]
}

/** The turn that undoes a call has begun. */
export function beginUndo(state: SessionState, callId: string): void {
  state.undone = { ...state.undone, [callId]: 'open' }
}

/** The call that undoes another was settled. One that certainly had no effect may be made again. */
export function endUndo(state: SessionState, callId: string, undo: CallState, event: CallSettled): void {
  const { kind } = event.outcome
  const { [callId]: _open, ...others } = state.undone ?? {}
  if (kind === 'ok') state.undone = { ...others, [callId]: 'done' }
  else if (isDoubtful(undo, event)) state.undone = { ...others, [callId]: 'unknown' }
  else if (Object.keys(others).length > 0) state.undone = others
  else delete state.undone
}
