// A session's state as plain data, for readers outside the engine. Everything is a copy.
import type { Settings } from '../language/events.ts'
import { copyPlain } from '../lib/copy-plain.ts'
import type { NextAction, SessionSummary } from './boundary.ts'
import type { HistoryFold } from './history-fold.ts'
import { type Action, next, statusOf } from './next.ts'
import type { Limits } from './ports.ts'
import type { SessionState } from './state.ts'

export function summarise(
  known: SessionState | HistoryFold,
  limits: Limits | undefined,
  keys: readonly string[] = [],
): SessionSummary {
  const state = 'state' in known ? known.state : known
  const { entries, lastRole, compaction } = 'state' in known ? known : lengthOf(known)
  const { turn } = state
  return copyPlain({
    id: state.id,
    owner: state.owner,
    agent: state.agent,
    wire: state.wire,
    status: statusOf(state),
    createdAt: state.createdAt,
    updatedAt: state.updatedAt,
    seq: state.seq,
    settings: withoutSecrets(state.settings),
    entries,
    calls: state.batch,
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
    ...(state.controlledBy !== undefined && { controlledBy: state.controlledBy }),
  })
}

function lengthOf({
  entries,
  compaction,
}: SessionState): Pick<SessionSummary, 'entries' | 'lastRole' | 'compaction'> {
  const last = entries.at(-1)
  return { entries: entries.length, ...(last && { lastRole: last.role }), ...(compaction && { compaction }) }
}

/** Sealed values mean nothing to a reader. */
export function withoutSecrets(settings: Settings): Settings {
  const options = Object.fromEntries(
    Object.entries(settings.options).map(([name, value]) => [
      name,
      typeof value === 'string' ? value : { sealed: '' },
    ]),
  )
  return { ...settings, options }
}

function nextAction(action: Action): NextAction {
  if ('calls' in action) return { do: action.do, calls: action.calls.map(call => call.part.id) }
  return action
}
