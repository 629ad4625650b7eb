// next(state): the one thing to do now. The driver does it, or a person with manual control looks at it first; neither
// decides anything itself.
import type { LimitName, TurnStop } from '../../language/events.ts'
import type { Limits, SessionStatus } from '../ports/index.ts'
import { type CallState, isInQuestion, type SessionState } from './state.ts'

export type Action =
  | { do: 'ask-model' }
  /** The gate is to look at these calls. */
  | { do: 'judge'; calls: CallState[] }
  /** These may run: record the intent, then run. */
  | { do: 'run'; calls: CallState[] }
  /** Calls are running; there is nothing to start. */
  | { do: 'await'; calls: CallState[] }
  /** Only the application or a person can go on. */
  | { do: 'wait'; calls: CallState[] }
  | { do: 'end'; stop: TurnStop; limit?: LimitName }
  | { do: 'rest' }

/** `stored`: how large the session is in the store. */
export function next(state: SessionState, limits: Limits, stored = 0): Action {
  if (!state.turn) return { do: 'rest' }
  if (state.batch.length > 0) return nextOfBatch(state.batch)
  return nextOfTurn(state.turn, limits, stored)
}

/** A call that can be moved on comes before one that must be waited for. */
const stages = ['proposed', 'approved', 'started'] as const
const actions = { proposed: 'judge', approved: 'run', started: 'await' } as const

/** A suspended call waits for its own calls, which are in the batch too. */
function nextOfBatch(batch: CallState[]): Action {
  for (const stage of stages) {
    const calls = batch.filter(call => call.stage === stage && (!call.questions || !isInQuestion(call)))
    if (calls.length > 0) return { do: actions[stage], calls }
  }
  return { do: 'wait', calls: batch.filter(call => call.stage !== 'settled') }
}

function nextOfTurn(turn: NonNullable<SessionState['turn']>, limits: Limits, stored: number): Action {
  if (turn.limit !== undefined) return { do: 'end', stop: 'limit', limit: turn.limit }
  if (turn.answered !== undefined && turn.answered !== 'pause')
    return { do: 'end', stop: toTurnStop(turn.answered) }
  if (turn.ask?.direct && turn.called) return { do: 'end', stop: 'end' }
  if (turn.steps >= limits.steps) return { do: 'end', stop: 'limit', limit: 'steps' }
  if (turn.tokens > limits.tokens) return { do: 'end', stop: 'limit', limit: 'tokens' }
  if (turn.money >= limits.money) return { do: 'end', stop: 'limit', limit: 'money' }
  if (turn.bytes > limits.bytes) return { do: 'end', stop: 'limit', limit: 'bytes' }
  if (stored >= limits.sessionBytes) return { do: 'end', stop: 'limit', limit: 'sessionBytes' }
  return { do: 'ask-model' }
}

/** A model that stops with `calls` or `pause` but makes no call has simply ended. */
function toTurnStop(answered: NonNullable<NonNullable<SessionState['turn']>['answered']>): TurnStop {
  return answered === 'calls' || answered === 'pause' ? 'end' : answered
}

/** For `evolve`; everything else reads `state.status`. */
export function sessionStatus({ turn, batch }: Pick<SessionState, 'turn' | 'batch'>): SessionStatus {
  if (!turn) return 'idle'
  if (batch.length === 0) return 'running'
  // From the end: calls are mostly settled in order.
  for (let at = batch.length - 1; at >= 0; at--) {
    const call = batch[at]!
    const { stage } = call
    if (stage === 'proposed' || stage === 'approved') return 'running'
    if (stage === 'started' && (!call.questions || !isInQuestion(call))) return 'running'
  }
  return 'waiting'
}
