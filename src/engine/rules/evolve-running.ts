// The folds of what calls do while they run: they make calls of their own, are suspended, and ask people. A part of
// evolve.ts, with the same rules.
import { toPerson } from '../../language/approvers.ts'
import { budgetToolName } from '../../language/calls.ts'
import type {
  ApprovalDecided,
  ApprovalRefused,
  ApprovalVoted,
  BudgetDecided,
  CallDelegated,
  CallNested,
  CallPostponed,
  CallSuspended,
  CallUsed,
  QuestionAnswered,
  QuestionAsked,
} from '../../language/events.ts'
import { nestedCalls } from './nested.ts'
import {
  addToBatch,
  type CallState,
  findCall,
  proposed,
  type QuestionState,
  type SessionState,
  spend,
} from './state.ts'

export function addNested(state: SessionState, { parent, key, call: part, mirrors }: CallNested): void {
  const nested: CallState = { ...proposed(part, state.batch.length), parent, key }
  if (mirrors) nested.mirrors = mirrors
  addToBatch(state, nested)
  if (!mirrors && part.name !== budgetToolName) countCalls(state, 1)
}

/** A call counts for the turn and for the session. */
export function countCalls(state: SessionState, calls: number): void {
  state.calls = (state.calls ?? 0) + calls
  if (state.turn) state.turn.calls += calls
}

/** A person let a budget grow, or the turn ends with it. */
export function decidedBudget(state: SessionState, { key, limit, to }: BudgetDecided): void {
  if (to !== undefined) state.raised = { ...state.raised, [key]: to }
  else if (state.turn) state.turn.limit = limit
}

/** If one of its calls was settled or decided while it stopped, it runs again at once. */
export function suspend(state: SessionState, { callId, seen }: CallSuspended): void {
  const call = findCall(state, callId)
  if (!call) return
  const nested = nestedCalls(state, callId)
  const settled = nested.filter(({ stage }) => stage === 'settled').length
  const isMoved = settled > seen || settled === nested.length || nested.some(isDecidedMirror)
  call.stage = isMoved ? 'approved' : 'suspended'
  call.suspensions = (call.suspensions ?? 0) + 1
}

/** Its result comes later. */
export function postpone(state: SessionState, { callId, expiresAt }: CallPostponed): void {
  const call = findCall(state, callId)
  if (!call) return
  call.stage = 'postponed'
  call.expiresAt = expiresAt
}

function isDecidedMirror({ mirrors, stage }: CallState): boolean {
  return mirrors !== undefined && stage === 'started'
}

/** The call was settled or decided: its suspended parent may run again. */
export function resumeParent(state: SessionState, call: CallState): void {
  const parent = call.parent === undefined ? undefined : findCall(state, call.parent)
  if (parent?.stage === 'suspended') parent.stage = 'approved'
}

/** A call that runs in another session counts as started here: its parent tells that session. */
export function decideCall(state: SessionState, event: ApprovalDecided): void {
  const call = findCall(state, event.callId)
  if (!call) return
  const { granted, by, reason, remember } = event
  const votes = call.votes ?? []
  delete call.votes
  if (!call.mirrors) {
    if (!granted) return
    call.stage = 'approved'
    call.approval = { by, rule: call.rule ?? '' }
    if (votes.length > 0) call.approval.votes = votes.map(({ name }) => name)
    return
  }
  call.decided = { granted, by, ...(reason !== undefined && { reason }), ...(remember && { remember }) }
  if (call.approvers) {
    const person = toPerson({ name: by, roles: event.roles })
    call.decided.people = granted ? [...votes.map(toPerson), person] : [person]
  }
  if (!granted) return
  call.stage = 'started'
  resumeParent(state, call)
}

/** A person allowed it, and more people have to. */
export function countVote(state: SessionState, { callId, by, roles, at, remember }: ApprovalVoted): void {
  const call = findCall(state, callId)
  if (!call) return
  const vote = { name: by, at, ...(roles && { roles }), ...(remember && { remember }) }
  call.votes = [...(call.votes ?? []), vote]
}

export function noteRefused(state: SessionState, { callId, by }: ApprovalRefused): void {
  const call = findCall(state, callId)
  if (call) call.refused = [...(call.refused ?? []), by]
}

export function delegateCall(state: SessionState, { callId, agent, session }: CallDelegated): void {
  const call = findCall(state, callId)
  if (call) call.delegated = { session, agent, upTo: 0 }
  state.workers = [...(state.workers ?? []), session]
}

export function countUse(state: SessionState, { callId, upTo, steps, calls, usage }: CallUsed): void {
  const call = findCall(state, callId)
  if (call?.delegated) call.delegated.upTo = upTo
  if (usage) spend(state, usage)
  if (calls > 0) countCalls(state, calls)
  if (state.turn) state.turn.steps += steps
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
