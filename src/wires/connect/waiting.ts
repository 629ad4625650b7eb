// The question of a call that waits until its owner is connected: whether it still stands, and its answer, which the way back from
// the login gives by itself. A session that works for a call is answered through the session of that call.
import type { Engine, SessionRef, SessionSummary } from '../../engine/index.ts'
import { openQuestions } from '../waiting-calls.ts'
import type { WantedConnection } from './backend.ts'

type WaitingCall = NonNullable<WantedConnection['call']>

/** Whether the call still asks. */
export async function stillAsks(engine: Engine, { session, callId }: WaitingCall): Promise<boolean> {
  const owner = await engine.lookUp({ get: 'owner', session })
  if (owner === undefined) return false
  const { calls } = await engine.summary({ owner, session })
  return openQuestions(calls.filter(({ part }) => part.id === callId)).length > 0
}

/** Answers the question whose address ends so, in the session or in one that it works for. */
export async function answerWaiting(engine: Engine, call: WaitingCall, path: string): Promise<void> {
  for (let session: string | undefined = call.session; session !== undefined; ) {
    const owner = await engine.lookUp({ get: 'owner', session })
    if (owner === undefined) return
    const ref: SessionRef = { owner, session }
    const summary: SessionSummary = await engine.summary(ref)
    const asked = openQuestions(summary.calls).find(question => question.url?.endsWith(path))
    if (asked && !summary.parent) {
      const answers = [{ question: asked.id, action: 'accept' as const, by: owner }]
      await engine.command(ref, { do: 'respond', results: [], decisions: [], answers, skipAnswered: true })
      return
    }
    session = summary.parent?.session
  }
}
