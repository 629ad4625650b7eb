// Prepares the answers of a client or a person for `decide`: results pass the gate, changed arguments are judged.
import { TurnwireError } from '../../language/errors.ts'
import { isAsShown } from '../calls/hidden-arguments.ts'
import { afterClientCall } from '../calls/hooks.ts'
import { judgeEdit } from '../calls/judge.ts'
import type { GivenAnswer } from '../ports/boundary.ts'
import { awaited } from '../rules/awaited.ts'
import type { Decision, EditedArguments, Respond } from '../rules/commands.ts'
import { findQuestion } from '../rules/decide-question.ts'
import { type CallState, findCall } from '../rules/state.ts'
import type { Answers, TurnSession } from './turn-session.ts'

type Blob = { name: string; body: string }

/** The caller stores `blobs` before it records the answers. */
export async function prepareAnswers(
  session: TurnSession,
  answers: Answers,
): Promise<{ respond: Respond; blobs: Blob[] }> {
  const blobs: Blob[] = []
  const results: Respond['results'] = []
  for (const { callId, parts, failed, loads } of answers.results) {
    const finished = session.agent.gate.finishClient(parts, failed === true, callId)
    const { outcome, blob } = await afterClientCall(session, callId, finished)
    // Kept only for an open call: an unknown id must leave no trace.
    if (blob && findCall(session.state, callId)?.stage === 'handed') blobs.push(blob)
    results.push({ callId, outcome: loads && outcome.kind === 'ok' ? { ...outcome, loads } : outcome })
  }
  const decisions: Decision[] = []
  for (const { edit, ...decision } of answers.decisions) {
    const call = findCall(session.state, decision.callId)
    if (edit === undefined || !decision.granted || (call && isAsShown(call, edit))) decisions.push(decision)
    else decisions.push({ ...decision, edit: await checkEdit(session, decision.callId, edit) })
  }
  const { ask, settings, request, answers: given } = answers
  return {
    blobs,
    respond: {
      results,
      decisions,
      ...(given && { answers: given }),
      ...(ask && { ask }),
      ...(settings && { settings }),
      ...(request && { request }),
    },
  }
}

/** Refuses answers to calls that wait already, as long as others still run. */
export function refuseWhileRunning(
  { state, status }: Pick<TurnSession, 'state' | 'status'>,
  { results, decisions, answers = [] }: Answers,
): void {
  if (status !== 'running') return
  const isOpen = ({ callId }: { callId: string }): boolean => {
    const stage = findCall(state, callId)?.stage
    return stage === 'handed' || stage === 'asking'
  }
  const isAsked = ({ question }: GivenAnswer): boolean =>
    findQuestion(state, question)?.question.closed === undefined
  if ([...results, ...decisions].every(isOpen) && answers.every(isAsked))
    throw new TurnwireError('busy', 'The turn is still running. Wait for it to stop, then answer.')
}

/** A call that runs in another session is judged there. */
function judge(session: TurnSession, call: CallState, text: string): Promise<EditedArguments> {
  const { mirrors } = call
  if (!mirrors) return judgeEdit(session, call, text)
  const ref = { owner: session.state.owner, session: mirrors.session }
  return session.subSessions.judgeEdit(ref, mirrors.callId, text)
}

async function checkEdit(session: TurnSession, callId: string, text: string): Promise<EditedArguments> {
  const call = awaited(session.state, callId, 'asking')
  const late = Promise.withResolvers<never>()
  late.promise.catch(() => {})
  const stopClock = session.ports.world.timer(session.agent.limits.time, () =>
    late.reject(new TurnwireError('invalid_edit', 'Policy has not judged the changed arguments in time.')),
  )
  try {
    return await Promise.race([judge(session, call, text), late.promise])
  } finally {
    stopClock()
  }
}
