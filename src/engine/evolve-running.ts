// The folds of what calls do while they run: they make calls of their own, are suspended, and ask people. A part of
// evolve.ts, with the same rules.
import type { CallPart } from '../language/calls.ts'
import type { CallNested, CallSuspended, QuestionAnswered, QuestionAsked } from '../language/events.ts'
import { nestedOf } from './nested.ts'
import { addToBatch, type CallState, findCall, type QuestionState, type SessionState } from './state.ts'

export function proposed(part: CallPart, index: number): CallState {
  const call: CallState = { part, index, stage: 'proposed', text: part.text, attempt: 0 }
  if (part.sealed !== undefined) call.sealed = part.sealed
  return call
}

export function addNested(state: SessionState, { parent, key, call: part }: CallNested): void {
  addToBatch(state, { ...proposed(part, state.batch.length), parent, key })
  if (state.turn) state.turn.calls += 1
}

/** One of its calls may have been settled while it stopped: then it runs again at once. */
export function suspend(state: SessionState, { callId, seen }: CallSuspended): void {
  const call = findCall(state, callId)
  if (!call) return
  const settled = nestedOf(state, callId).filter(({ stage }) => stage === 'settled').length
  call.stage = settled > seen ? 'approved' : 'suspended'
  call.suspensions = (call.suspensions ?? 0) + 1
}

export function askQuestion(state: SessionState, event: QuestionAsked): void {
  const call = findCall(state, event.callId)
  if (!call) return
  const { question: id, key, message, schema, url, expiresAt } = event
  const question: QuestionState = { id, key, message }
  if (schema) question.schema = schema
  if (url !== undefined) question.url = url
  if (expiresAt !== undefined) question.expiresAt = expiresAt
  call.questions ??= []
  call.questions.push(question)
}

export function answerQuestion(state: SessionState, event: QuestionAnswered): void {
  const question = closeQuestion(state, event, 'answered')
  if (!question) return
  const { action, content, sealed, by } = event
  question.answer = { action, by }
  if (content) question.answer.content = content
  if (sealed !== undefined) question.answer.sealed = sealed
}

export function closeQuestion(
  state: SessionState,
  { callId, question: id }: { callId: string; question: string },
  closed: NonNullable<QuestionState['closed']>,
): QuestionState | undefined {
  const question = findCall(state, callId)?.questions?.find(each => each.id === id)
  if (question) question.closed = closed
  return question
}
