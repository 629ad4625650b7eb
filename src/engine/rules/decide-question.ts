// Makes the events of a question that a running call asks a person: asked, answered once, expired, withdrawn. Pure:
// time and ids come in with the context.
import { TurnwireError } from '../../language/errors.ts'
import type { QuestionAnswered, QuestionAsked, QuestionExpired } from '../../language/events.ts'
import { type CallAnswer, type CallQuestion, contentFault } from '../../language/questions.ts'
import type { GivenAnswer } from '../ports/boundary.ts'
import type { Context } from './commands.ts'
import type { CallState, QuestionState, SessionState } from './state.ts'

type Now = Pick<Context, 'now'>

export function decideAsk(
  call: CallState,
  question: CallQuestion,
  { key, expiresInMs }: { key: string; expiresInMs?: number },
  { now, id }: Pick<Context, 'now' | 'id'>,
): QuestionAsked {
  const { message } = question
  const asked = { question: id('question'), key, message }
  const event: QuestionAsked = { v: 1, at: now, type: 'question.asked', callId: call.part.id, ...asked }
  if ('url' in question) event.url = question.url
  else event.schema = question.schema
  if (expiresInMs !== undefined) event.expiresAt = now + expiresInMs
  return event
}

/** The first answer wins. One that does not fit the form is refused, and the question stays open. */
export function decideAnswered(state: SessionState, given: GivenAnswer, { now }: Now): QuestionAnswered {
  const { call, question } = openQuestion(state, given.question, now)
  const { action, content, by } = given
  const event: QuestionAnswered = {
    v: 1,
    at: now,
    type: 'question.answered',
    callId: call.part.id,
    question: question.id,
    action,
    by,
  }
  if (action !== 'accept' || !question.schema) return event
  const fault = contentFault(question.schema, content)
  if (fault || !content) throw new TurnwireError('bad_request', `The answer does not fit the form: ${fault}`)
  return { ...event, content }
}

function openQuestion(
  state: SessionState,
  id: string,
  now: number,
): { call: CallState; question: QuestionState } {
  const found = findQuestion(state, id)
  if (!found)
    throw new TurnwireError(
      'unknown_call',
      `No call of this session waits for an answer to "${id}". It was answered or taken back, or there was no such question. See what waits now.`,
    )
  const { closed } = found.question
  if (closed === 'answered')
    throw new TurnwireError('already_decided', `The question "${id}" was answered before.`)
  if (closed === 'expired' || isOverdue(found.question, now))
    throw new TurnwireError('approval_expired', `The question "${id}" has expired.`)
  if (closed === 'withdrawn') throw new TurnwireError('call_settled', `The question "${id}" was withdrawn.`)
  return found
}

export function findQuestion(
  { batch }: SessionState,
  id: string,
): { call: CallState; question: QuestionState } | undefined {
  for (const call of batch) {
    const question = call.questions?.find(each => each.id === id)
    if (question) return { call, question }
  }
  return undefined
}

function isOverdue({ closed, expiresAt }: QuestionState, now: number): boolean {
  return !closed && expiresAt !== undefined && expiresAt <= now
}

/** The questions that had to be answered by `deadline`. */
export function decideQuestionExpiry(
  { batch }: SessionState,
  deadline: number,
  { now }: Now,
): QuestionExpired[] {
  return batch.flatMap(({ part, questions = [] }) =>
    questions
      .filter(question => isOverdue(question, deadline))
      .map(({ id }) => ({ v: 1, at: now, type: 'question.expired', callId: part.id, question: id })),
  )
}

export function questionDeadlines({ batch }: SessionState): number[] {
  return batch.flatMap(({ questions = [] }) =>
    questions.flatMap(({ closed, expiresAt }) => (closed || expiresAt === undefined ? [] : [expiresAt])),
  )
}

/** The answer for the call. Undefined: it still has to wait. */
export function givenAnswer({ closed, answer }: QuestionState): CallAnswer | undefined {
  if (closed === 'expired') return { action: 'cancel', expired: true }
  if (closed !== 'answered' || !answer) return undefined
  const { action, content } = answer
  return action === 'accept' && content ? { action, content } : { action }
}
