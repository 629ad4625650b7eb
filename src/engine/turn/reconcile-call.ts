// The command that asks a tool what became of a call: here, or in a session that works for a call of this one. What was found there
// is recorded in both, so that the models of both are told.
import type { Found } from '../../language/calls.ts'
import { hasCode } from '../../language/errors.ts'
import { reconcileSettled } from '../calls/reconcile.ts'
import type { Command } from '../ports/boundary.ts'
import type { CommandedSession } from './turn-session.ts'

type Reconcile = Extract<Command, { do: 'reconcile' }>

/** Resolves once it is durable. */
export async function reconcileCall(
  session: CommandedSession,
  command: Reconcile,
): Promise<Found | 'unknown'> {
  session.refuseIfGone()
  const { callId, by } = command
  try {
    return await reconcileSettled(session, callId, { by })
  } catch (error) {
    if (!hasCode(error, 'unknown_call')) throw error
    return (await reconcileElsewhere(session, command)) ?? Promise.reject(error)
  }
}

/** Undefined: no session that worked for a call of this one has the call. */
async function reconcileElsewhere(
  session: CommandedSession,
  command: Reconcile,
): Promise<Found | 'unknown' | undefined> {
  const { owner, workers = [] } = session.state
  for (const worker of workers) {
    const ref = { owner, session: worker }
    try {
      const { found = 'unknown' } = await session.subSessions.command(ref, command)
      if (found !== 'unknown') await tellOfWorker(session, ref, command)
      return found
    } catch (error) {
      // It may have been deleted.
      if (!hasCode(error, 'unknown_call', 'session_not_found')) throw error
    }
  }
  return undefined
}

async function tellOfWorker(
  session: CommandedSession,
  ref: { owner: string; session: string },
  { callId, by }: Reconcile,
): Promise<void> {
  const known = (await session.subSessions.state(ref)).reconciled?.[callId]
  const { state, context } = session
  if (!known || state.reconciled?.[callId]) return
  await session.save([
    { v: 1, at: context.now, type: 'call.reconciled', callId, by, ...known, session: ref.session },
  ])
}
