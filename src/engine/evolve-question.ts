// The events of questions, applied to a state, in place: a part of evolve.ts.
import type { QuestionAnswered, QuestionAsked } from '../language/events.ts'
import { findCall, type QuestionState, type SessionState } from './state.ts'

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
