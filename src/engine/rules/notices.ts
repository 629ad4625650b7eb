// Which event is told outside, and what is said of it. Pure. The state is the one before the event: a call that is settled by it is
// still there.
import { budgetToolName } from '../../language/calls.ts'
import { type Event, isFailure } from '../../language/events.ts'
import type { Notice } from '../../language/notices.ts'
import { present } from '../../lib/json/present.ts'
import { printable } from '../../lib/text/index.ts'
import { findCall, type SessionState } from './state.ts'

/** Words of a rule or a question are shown in one message of a chat. */
const mostWords = 500

/**
 * A session that works for a call tells only of its own calls that may have happened: what waits in it waits in its parent too, and
 * is told there.
 */
export function readNotice(state: SessionState, event: Event): Notice | undefined {
  const about = describe(state, event)
  if (!about || (state.parent && about.type !== 'call.unknown')) return undefined
  const { id: session, seq, owner, agent, turn } = state
  return {
    at: event.at,
    session,
    seq: seq + 1,
    owner,
    agent,
    ...present({ turn: turn?.id }),
    ...about,
  }
}

type About = Omit<Notice, 'at' | 'session' | 'seq' | 'owner' | 'agent'>

function describe(state: SessionState, event: Event): About | undefined {
  switch (event.type) {
    case 'approval.requested': {
      const { callId, argsHash, toolHash, rule, reason, expiresAt } = event
      const words = reason === undefined ? undefined : printable(reason, mostWords)
      return {
        type: 'approval.requested',
        ...named(state, callId),
        argsHash,
        toolHash,
        rule,
        ...present({ reason: words, expiresAt }),
      }
    }
    case 'question.asked': {
      const { callId, question, expiresAt } = event
      const call = named(state, callId)
      return {
        type: call.tool === budgetToolName ? 'budget.reached' : 'question.asked',
        ...call,
        question,
        message: printable(event.message, mostWords),
        ...present({ expiresAt }),
      }
    }
    case 'call.handed':
      return { type: 'client_tool.requested', ...named(state, event.callId) }
    case 'call.settled':
      // One that is shown here for a session that works for this one is told by that session.
      return event.outcome.kind === 'unknown' && !findCall(state, event.callId)?.mirrors
        ? { type: 'call.unknown', ...named(state, event.callId) }
        : undefined
    case 'turn.ended': {
      const { turn, stop, limit, error } = event
      return {
        type: isFailure(stop) ? 'turn.failed' : 'turn.ended',
        turn,
        stop,
        ...present({ limit, error: error?.code }),
      }
    }
    default:
      return undefined
  }
}

function named(state: SessionState, callId: string): { call: string; tool?: string } {
  return { call: callId, ...present({ tool: findCall(state, callId)?.part.name }) }
}
