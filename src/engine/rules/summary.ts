// A session's state as plain data, for readers outside the engine. Everything is a copy.
import { settingsWithoutSeals, withoutSeal } from '../../language/seals.ts'
import { copyPlain } from '../../lib/json/plain.ts'
import type { NextAction, SessionCall, SessionMessage, SessionSummary } from '../ports/boundary.ts'
import type { Limits } from '../ports/index.ts'
import type { HistoryFold } from './history-fold.ts'
import { waitsForOthers } from './nested.ts'
import { type Action, next } from './next.ts'
import type { CallState, SessionState, WaitingMessage } from './state.ts'

export function summarise(
  known: SessionState | HistoryFold,
  limits: Limits | undefined,
  keys: readonly string[] = [],
): SessionSummary {
  const state = 'state' in known ? known.state : known
  const { entries, lastRole, compaction } = 'state' in known ? known : describeLength(known)
  const { turn } = state
  return copyPlain({
    id: state.id,
    owner: state.owner,
    agent: state.agent,
    wire: state.wire,
    status: state.status,
    createdAt: state.createdAt,
    updatedAt: state.updatedAt,
    seq: state.seq,
    settings: settingsWithoutSeals(state.settings),
    entries,
    calls: shownCalls(state.batch),
    used: state.used,
    next: limits ? nextAction(next(state, limits)) : { do: 'rest' as const },
    grants: [...state.grants.values()],
    known: keys.filter(key => state.requests.has(key)),
    ...(state.opening !== undefined && { opening: state.opening }),
    ...(lastRole && { lastRole }),
    ...(compaction && { compaction }),
    ...(state.contextTokens !== undefined && { contextTokens: state.contextTokens }),
    ...(turn && {
      turn: {
        id: turn.id,
        wire: turn.wire,
        startedAt: turn.startedAt,
        first: turn.first,
        steps: turn.steps,
        ...(turn.ask && { ask: turn.ask }),
      },
    }),
    ...(state.parent && { parent: state.parent }),
    ...(state.lastStop && { lastStop: state.lastStop }),
    ...(state.messages && { messages: state.messages.map(shownMessage) }),
    ...(state.doubts && {
      doubts: Object.entries(state.doubts).map(([callId, tool]) => ({ callId, tool })),
    }),
    ...(state.reconciled && {
      reconciled: Object.entries(state.reconciled).map(([callId, { tool, found }]) => ({
        callId,
        tool,
        found,
      })),
    }),
    ...(state.undone && {
      undone: Object.entries(state.undone).map(([callId, undone]) => ({ callId, state: undone })),
    }),
    ...(state.controlledBy !== undefined && { controlledBy: state.controlledBy }),
  })
}

function describeLength({
  entries,
  compaction,
}: SessionState): Pick<SessionSummary, 'entries' | 'lastRole' | 'compaction'> {
  const last = entries.at(-1)
  return { entries: entries.length, ...(last && { lastRole: last.role }), ...(compaction && { compaction }) }
}

function shownMessage({ id, during, parts, wire, at }: WaitingMessage): SessionMessage {
  return { id, during, parts, wire, at }
}

/** Calls as readers outside the engine are given them: without what only the engine knows, and without seals. */
export function shownCalls(calls: readonly CallState[]): SessionCall[] {
  return calls.map(({ questions, part, ...state }) => {
    const {
      key: _key,
      mirrors: _mirrors,
      decided: _decided,
      refused: _refused,
      sealed: _sealed,
      ...more
    } = state
    const { claim: _claim, expired: _expired, suspensions: _suspensions, approval: _approval, ...rest } = more
    const { reference: _reference, ...call } = rest
    const shown: SessionCall = { ...call, part: withoutSeal(part) }
    if (questions) shown.questions = questions.map(({ answer: _answer, ...question }) => question)
    return shown
  })
}

/** The calls that only others can move on, as a reader is given them. Mostly there is no call at all. */
export function waitingCalls(batch: readonly CallState[]): SessionCall[] {
  return batch.length === 0 ? [] : copyPlain(shownCalls(batch.filter(waitsForOthers)))
}

function nextAction(action: Action): NextAction {
  if ('calls' in action) return { do: action.do, calls: action.calls.map(call => call.part.id) }
  return action
}
