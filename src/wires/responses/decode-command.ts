// Decodes a request to an existing session into a command: answers to the calls that wait, or a user message. The calls
// that wait must all be answered, as the API demands, so that none is abandoned by accident.
import type { GivenAnswer, GivenDecision, GivenResult, SessionCall } from '../../engine/index.ts'
import type { InputPart } from '../../language/content.ts'
import { callQuestions } from '../waiting-calls.ts'
import type { InputItem } from './decode-items.ts'
import { callNoun, noApprovalFor, noApprovalRequest, noCallFor, noOutputFor } from './wordings.ts'

type Answers = { results: GivenResult[]; decisions: GivenDecision[]; answers: GivenAnswer[] }

/** It waits for an approval, or asks a question, which is shown as a request for one. */
export function isAsking(call: SessionCall): boolean {
  return call.stage === 'asking' || callQuestions(call).length > 0
}

export type Continuation = { do: 'say'; parts: InputPart[] } | ({ do: 'respond' } & Answers)

/** Undefined: one turn of a session cannot take all of it at once. `calls`: those of the session's last answer. */
export function decodeContinuation(
  items: readonly InputItem[],
  calls: readonly SessionCall[],
  by: string,
): Continuation | undefined {
  const answers = pairAnswers(items, calls, by)
  const rest = items.filter(item => item.kind !== 'output' && item.kind !== 'approval')
  if (answers) return rest.length === 0 ? { do: 'respond', ...answers } : undefined
  const parts = rest.flatMap(item => (item.kind === 'user' ? [item.parts] : []))
  return parts.length === rest.length ? { do: 'say', parts: parts.flat() } : undefined
}

/** Undefined when no call waits. */
function pairAnswers(
  items: readonly InputItem[],
  calls: readonly SessionCall[],
  by: string,
): Answers | undefined {
  const open = new Map(
    calls.filter(call => call.stage === 'handed' || isAsking(call)).map(call => [call.part.id, call]),
  )
  const isWaiting = open.size > 0
  const answers: Answers = { results: [], decisions: [], answers: [] }
  for (const item of items) {
    if (item.kind === 'output') {
      const { callId, noun, output, loads } = item
      const call = open.get(callId)
      if (call?.stage !== 'handed' || callNoun(call.part) !== noun) noCallFor(noun, callId)
      open.delete(callId)
      answers.results.push({ callId, parts: output, ...(loads && { loads }) })
    } else if (item.kind === 'approval') {
      const { callId, id, approve, reason } = item
      const call = open.get(callId)
      if (!call || !isAsking(call)) noApprovalRequest(id)
      open.delete(callId)
      const action = approve ? 'accept' : 'decline'
      for (const { id: question, schema } of callQuestions(call))
        answers.answers.push({ question, action, by, ...(approve && schema && { content: {} }) })
      if (call.stage === 'asking')
        answers.decisions.push({ callId, granted: approve, by, ...(reason !== undefined && { reason }) })
    }
  }
  for (const { part, stage } of open.values()) {
    if (stage === 'handed') noOutputFor(part)
    noApprovalFor(part)
  }
  return isWaiting ? answers : undefined
}
