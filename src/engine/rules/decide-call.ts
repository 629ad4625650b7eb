// Makes the events of one call: the gate's verdict, its start, its outcome. Pure: time and ids come in with the
// context. The verdict and the tool's output come from judge.ts and run-call.ts.
import type { Approvers } from '../../language/approvers.ts'
import type { Outcome } from '../../language/calls.ts'
import { TurnwireError } from '../../language/errors.ts'
import type {
  Allowed,
  ApprovalExpired,
  ApprovalRequested,
  ApprovalRestricted,
  CallClaimed,
  CallEdited,
  CallLate,
  CallSettled,
  CallStarted,
  Event,
  LimitName,
  QuestionWithdrawn,
} from '../../language/events.ts'
import type { Report } from '../../language/report.ts'
import { toolHash } from '../../language/tools.ts'
import type { Admission, Limits, Verdict } from '../ports/index.ts'
import type { Context } from './commands.ts'
import type { Offered } from './offer.ts'
import { outcomes } from './outcomes.ts'
import {
  type CallState,
  findCall,
  findRequesters,
  hasBegun,
  type SessionState,
  settledCalls,
} from './state.ts'

export type AdmittedCall = Extract<Admission, { ok: true }>
type Now = Pick<Context, 'now'>

/** `verdict` is absent for a client's tool: no policy stands between a model and its own application. */
export function decideVerdict(
  state: Pick<SessionState, 'turn' | 'owner'>,
  call: CallState,
  offered: Offered,
  { argsHash }: AdmittedCall,
  verdict: Verdict | undefined,
  { now: at }: Now,
  preview?: Report,
): Event {
  const callId = call.part.id
  const hash = toolHash(offered.tool)
  if (!verdict) return { v: 1, at, type: 'call.handed', callId, argsHash, toolHash: hash }
  switch (verdict.verdict) {
    case 'deny':
      return decideSettled(call, outcomes.deniedByPolicy(verdict.reason), { now: at })
    case 'allow':
      return { v: 1, at, type: 'call.allowed', callId, ...allowedBy(verdict, offered) }
    case 'ask': {
      const { rule, reason, expiresInMs, flow, approvers } = verdict
      const event: Omit<ApprovalRequested, 'v'> = {
        at,
        type: 'approval.requested',
        callId,
        argsHash,
        toolHash: hash,
        rule,
      }
      if (reason !== undefined) event.reason = reason
      if (expiresInMs !== undefined) event.expiresAt = at + expiresInMs
      if (preview) event.preview = preview
      if (flow) event.flow = flow.facts
      if (call.stage !== 'proposed') {
        event.again = { name: call.part.name, form: call.part.form, text: call.text }
        event.reason ??= 'Its tool has changed since this call was allowed.'
      }
      return approvers ? restrict(event, approvers, findRequesters(state)) : { v: 1, ...event }
    }
  }
}

/** Only some people may decide about the call. */
export function restrict(
  event: Omit<ApprovalRequested, 'v'>,
  approvers: Approvers,
  requesters: readonly string[] | undefined,
): ApprovalRestricted {
  return { v: 2, ...event, approvers, ...(approvers.notRequester && requesters && { requesters }) }
}

/** The call was judged and starts in one event. */
export function decideStartAllowed(
  call: CallState,
  offered: Offered,
  verdict: Extract<Verdict, { verdict: 'allow' }>,
  context: Now,
): CallStarted {
  return { ...decideStart(call, context), allowed: allowedBy(verdict, offered) }
}

function allowedBy({ rule, grantId }: Extract<Verdict, { verdict: 'allow' }>, { tool }: Offered): Allowed {
  const allowed: Allowed = { toolHash: toolHash(tool), rule }
  if (grantId !== undefined) allowed.grantId = grantId
  return allowed
}

/** The intent to run a call: durable before the tool runs. */
export function decideStart(call: CallState, { now }: Now): CallStarted {
  return { v: 1, at: now, type: 'call.started', callId: call.part.id, attempt: call.attempt + 1 }
}

/** How often it was tried since it was last suspended. */
export function countTries({ attempt, suspensions = 0 }: CallState): number {
  return attempt - suspensions
}

/** The approvals that had to be decided by `deadline`, a time that is over whatever the clock says now. */
export function decideExpiry(state: SessionState, deadline: number, { now }: Now): ApprovalExpired[] {
  return state.batch
    .filter(call => isOverdue(call, deadline))
    .map(({ part }) => ({ v: 1, at: now, type: 'approval.expired', callId: part.id }))
}

/** When approvals have to be decided. */
export function approvalDeadlines({ batch }: SessionState): number[] {
  return batch.flatMap(({ stage, expired, expiresAt }) =>
    stage === 'asking' && !expired && expiresAt !== undefined ? [expiresAt] : [],
  )
}

export function isOverdue({ stage, expired, expiresAt }: CallState, now: number): boolean {
  return stage === 'asking' && !expired && expiresAt !== undefined && expiresAt <= now
}

/** For the same client again: the claim lasts longer. */
export function decideClaim(
  state: SessionState,
  { callId, by, forMs }: { callId: string; by: string; forMs: number },
  { now }: Now,
): CallClaimed {
  const call = findCall(state, callId)
  if (!call) throw new TurnwireError('unknown_call', `No call "${callId}" waits in this session.`)
  const { stage, claim } = call
  if (stage === 'settled') throw new TurnwireError('call_settled', `The call "${callId}" has its result.`)
  if (stage !== 'handed')
    throw new TurnwireError('wrong_party', `The call "${callId}" is not one that a client runs.`)
  if (claim && claim.by !== by && claim.until > now)
    throw new TurnwireError('call_claimed', `Another client runs the call "${callId}".`, {
      retryAfterMs: claim.until - now,
    })
  return { v: 1, at: now, type: 'call.claimed', callId, by, until: now + forMs }
}

/** Adds to the outcome the approval that let its call run, and how much of the result it shows. */
function withProvenance({ approval: allowed }: CallState, outcome: Outcome): Outcome {
  const wholeBytes = outcome.produced ?? outcome.kept?.bytes
  if (!allowed && wholeBytes === undefined) return outcome
  const provenance = { ...outcome.provenance }
  if (allowed) provenance.allowed = allowed
  if (wholeBytes !== undefined) provenance.wholeBytes = wholeBytes
  return { ...outcome, provenance }
}

export function decideSettled(call: CallState, outcome: Outcome, { now }: Now): CallSettled {
  return { v: 1, at: now, type: 'call.settled', callId: call.part.id, outcome: withProvenance(call, outcome) }
}

/** A result that comes after its call was settled is recorded, and shown to no model. */
export function decideResult(call: CallState, outcome: Outcome, context: Now): CallSettled | CallLate {
  if (call.stage !== 'settled') return decideSettled(call, outcome, context)
  return { v: 1, at: context.now, type: 'call.late', callId: call.part.id, outcome }
}

/** The outcome of a call that may have asked something: nobody needs to answer any more. */
export function decideFinished(
  call: CallState,
  outcome: Outcome,
  context: Now,
): (QuestionWithdrawn | CallSettled | CallLate)[] {
  const result = decideResult(call, outcome, context)
  return call.questions ? [...decideUnasked(call, context), result] : [result]
}

/** The attempt that asked is over. */
export function decideUnasked({ part, questions = [] }: CallState, context: Now): QuestionWithdrawn[] {
  return questions.filter(({ closed }) => !closed).map(({ id }) => decideWithdrawn(part.id, id, context))
}

export function decideWithdrawn(callId: string, question: string, { now }: Now): QuestionWithdrawn {
  return { v: 1, at: now, type: 'question.withdrawn', callId, question }
}

/** A person stops one call. The others go on. */
export function decideCancelCall(
  state: SessionState,
  { callId, by, reason }: { callId: string; by: string; reason?: string },
  context: Now,
): Event[] {
  const call = findCall(state, callId)
  if (call && call.stage !== 'settled')
    return decideFinished(call, outcomes.cancelledBy(hasBegun(call), by, reason), context)
  if (call || settledCalls(state).includes(callId))
    throw new TurnwireError('call_settled', `The call "${callId}" already has its result.`)
  throw new TurnwireError('unknown_call', `There is no call "${callId}" in this session.`)
}

/** Other arguments, already found valid, replace those of the model. */
export function decideEdit(
  state: SessionState,
  { callId, text, argsHash, by }: Pick<CallEdited, 'callId' | 'text' | 'argsHash' | 'by'>,
  { now }: Now,
): CallEdited {
  if (findCall(state, callId)?.stage !== 'proposed')
    throw new TurnwireError('already_decided', `The call "${callId}" was judged before.`)
  return { v: 1, at: now, type: 'call.edited', callId, text, argsHash, by }
}

/**
 * Refuses a call that is over a limit of its turn; undefined if it is within all of them. Only a call that was not judged
 * before counts. `uses`: how often the turn has called this tool with these arguments. `serverCalls`: the calls of this
 * turn that ran here or are about to; absent for a client's tool.
 */
export function decideLimit(
  state: SessionState,
  call: CallState,
  limits: Limits,
  counted: { uses: () => number; serverCalls: (() => number) | undefined },
  context: Now,
): CallSettled | undefined {
  const { turn } = state
  if (!turn || call.stage !== 'proposed') return undefined
  const over = (limit: LimitName, words: string): CallSettled => ({
    ...decideSettled(call, outcomes.limit(words), context),
    limit,
  })
  if (turn.steps >= limits.steps)
    return over('steps', `the turn has used its ${limits.steps} model requests.`)
  if (turn.calls - state.batch.length + call.index >= limits.calls)
    return over('calls', `the turn has used its ${limits.calls} tool calls.`)
  if (turn.bytes > limits.bytes)
    return over('bytes', `the turn has produced more than ${limits.bytes} bytes.`)
  const uses = counted.uses()
  if (uses >= limits.identicalCalls)
    return over('identicalCalls', `it was called ${uses} times with the same arguments in this turn.`)
  const maxCalls = turn.ask?.maxCalls
  if (maxCalls === undefined || !counted.serverCalls || counted.serverCalls() < maxCalls) return undefined
  return decideSettled(call, outcomes.limit(`the request allows ${maxCalls} tool calls.`), context)
}
