// Stops one call: it is settled as cancelled, its signal aborts, and the turn goes on. A call that runs in a session that works
// for another call is cancelled there.
import { hasCode } from '../../language/errors.ts'
import type { Command } from '../ports/boundary.ts'
import { decideCancelCall } from '../rules/decide-call.ts'
import { findCall } from '../rules/state.ts'
import type { CommandedSession } from './turn-session.ts'

type CancelCall = Extract<Command, { do: 'cancel-call' }>

/** Resolves once it is durable. */
export async function cancelCall(session: CommandedSession, command: CancelCall): Promise<void> {
  session.refuseIfGone()
  const { state } = session
  const call = findCall(state, command.callId)
  if (!call && (await cancelElsewhere(session, command))) return
  const { mirrors } = call ?? {}
  if (mirrors && call?.stage !== 'settled') {
    const ref = { owner: state.owner, session: mirrors.session }
    await session.subSessions.command(ref, { ...command, callId: mirrors.callId }).catch(ignoreSettled)
    // The session that the call is mirrored for may have told its end meanwhile.
    if (call?.outcome) return session.flushed()
  }
  // An aborted call is told by the feature that sees its outcome.
  await session.save(decideCancelCall(state, command, session.context))
  session.driver.wake()
}

/** True: a session that works for a call of this one has the call. */
async function cancelElsewhere(session: CommandedSession, command: CancelCall): Promise<boolean> {
  const { batch, owner } = session.state
  for (const { delegated, stage } of batch) {
    if (!delegated || stage === 'settled') continue
    try {
      await session.subSessions.command({ owner, session: delegated.session }, command)
      return true
    } catch (error) {
      if (!hasCode(error, 'unknown_call')) throw error
    }
  }
  return false
}

function ignoreSettled(error: unknown): void {
  if (!hasCode(error, 'call_settled')) throw error
}
