// Finds the call that waits for an answer of this kind. An answer to any other call is refused, and the refusal lists
// the calls that wait: a client may know no more of the session than the call that it answered. Pure.
import { TurnwireError } from '../../language/errors.ts'
import type { Decision } from './commands.ts'
import { type CallState, findCall, isInQuestion, type SessionState, settledCalls } from './state.ts'

/** `handed`: the call waits for the result of a client. `asking`: it waits for a permission. */
export function awaited(state: SessionState, callId: string, stage: 'handed' | 'asking'): CallState {
  const call = findCall(state, callId)
  if (call?.stage === stage) return call
  if (!call && !settledCalls(state).includes(callId))
    throw new TurnwireError('unknown_call', `There is no call "${callId}" in this session.`)
  if (!call || call.stage === 'settled')
    throw new TurnwireError('call_settled', `The call "${callId}" already has its result.`)
  if (call.stage === 'handed')
    throw new TurnwireError(
      'wrong_party',
      `The call "${callId}" is yours to run: send its result, not a permission.`,
    )
  if (call.stage === 'asking')
    throw new TurnwireError(
      'wrong_party',
      `The call "${callId}" is run by Turnwire: send a permission, not a result.`,
    )
  if (isInQuestion(call))
    throw new TurnwireError(
      'wrong_party',
      `The call "${callId}" runs and asks a question: answer that question.`,
    )
  throw new TurnwireError(
    stage === 'asking' ? 'already_decided' : 'wrong_party',
    `The call "${callId}" is at work and takes no answer. ${whatWaits(state)}`,
  )
}

/** The call was allowed before, and stopped only because its own calls, or a result that comes later, are waited for. */
export function isNeedlessGrant(state: SessionState, { callId, granted, edit }: Decision): boolean {
  const stage = findCall(state, callId)?.stage
  return granted && edit === undefined && (stage === 'suspended' || stage === 'postponed')
}

/** Enough to go on with; all of them are in the history. */
const mostNamed = 20

function whatWaits({ batch }: SessionState): string {
  const open = batch.flatMap(call => {
    const { part, stage } = call
    const named = `"${part.id}" (${part.name})`
    if (stage === 'handed') return [`${named} for its result`]
    if (stage === 'asking') return [`${named} for a permission`]
    return isInQuestion(call) ? [`${named} for the answer to its question`] : []
  })
  if (open.length === 0) return 'No call waits for you.'
  const more = open.length > mostNamed ? `, and ${open.length - mostNamed} more` : ''
  return `These calls wait: ${open.slice(0, mostNamed).join(', ')}${more}.`
}
