// A person's decision about a call that waits for one: the events that it makes, or a refusal. Where policy names approvers,
// each person is checked, and the call runs once enough different people have allowed it. Pure, like decide.ts.
import {
  type Approvers,
  describeApprovers,
  neededVotes,
  type Person,
  toPerson,
  type Vote,
  whyNotApprover,
} from '../../language/approvers.ts'
import { TurnwireError } from '../../language/errors.ts'
import type {
  ApprovalDecided,
  ApprovalRefused,
  ApprovalRestricted,
  ApprovalVoted,
  CallEdited,
  Event,
  GrantGiven,
} from '../../language/events.ts'
import { awaited } from './awaited.ts'
import { askedLimit } from './budgets.ts'
import type { Context, Decision } from './commands.ts'
import { decideSettled, isOverdue } from './decide-call.ts'
import { outcomes } from './outcomes.ts'
import { type CallState, findRequesters, type SessionState } from './state.ts'

/** Someone decided who may not. `attempt`: to be recorded; absent if the log has the attempt of this person already. */
export class NotApprover extends TurnwireError {
  readonly attempt: ApprovalRefused | undefined
  constructor(message: string, attempt: ApprovalRefused | undefined) {
    super('not_approver', message)
    this.attempt = attempt
  }
}

export function decideApproval(state: SessionState, decision: Decision, context: Context): Event[] {
  const call = awaited(state, decision.callId, 'asking')
  const { granted, edit } = decision
  const approvers = (granted ? edit?.approvers : undefined) ?? call.approvers
  const people = decision.people ?? [{ name: decision.by }]
  if (approvers) checkPeople(state, call, decision, people, context)
  checkShown(call, decision, context)
  if (approvers && granted) return decideVotes(call, decision, people, approvers, context)
  const [person] = people
  return decided(call, approvers && person ? { ...decision, by: person.name } : decision, context, person)
}

/** Throws unless each of them may decide: about the call as it was shown, and about the arguments that replace those. */
function checkPeople(
  state: SessionState,
  call: CallState,
  { granted, edit }: Decision,
  people: readonly Person[],
  { now }: Context,
): void {
  const requesters = [...(call.requesters ?? []), ...findRequesters(state)]
  const demands = [call.approvers, granted ? edit?.approvers : undefined].filter(each => each !== undefined)
  const callId = call.part.id
  for (const person of people)
    for (const approvers of demands) {
      const why = whyNotApprover(approvers, person, requesters)
      if (why === undefined) continue
      const { name: by, roles } = person
      const attempt = { v: 1 as const, at: now, type: 'approval.refused' as const, callId, granted, by, why }
      throw new NotApprover(
        `The call "${callId}" (${call.part.name}) has to be decided by ${describeApprovers(approvers)}: ${why}.`,
        call.refused?.includes(by) ? undefined : { ...attempt, ...(roles?.length && { roles }) },
      )
    }
}

function checkShown(call: CallState, { callId, granted, seen, edit }: Decision, { now }: Context): void {
  if (seen !== undefined && seen !== call.argsHash)
    throw new TurnwireError(
      'stale_approval',
      `The arguments of call "${callId}" are not those that were shown.`,
    )
  if (granted && seen === undefined && !edit && call.approvers && call.editedBy !== undefined)
    throw new TurnwireError(
      'stale_approval',
      `${call.editedBy} changed the arguments of call "${callId}" while others decide. Look at them again, and send the hash of the arguments that you saw.`,
    )
  if (granted && (call.expired || isOverdue(call, now)))
    throw new TurnwireError(
      'approval_expired',
      `The approval of call "${callId}" has expired. Deny it, cancel the turn, or send a new message.`,
    )
}

/** Each yes is a vote. With the last one that is needed the call is allowed. Votes are for the arguments that were shown. */
function decideVotes(
  call: CallState,
  decision: Decision,
  people: readonly Person[],
  approvers: Approvers,
  context: Context,
): Event[] {
  const { edit, remember } = decision
  const { now: at } = context
  const before: readonly Vote[] = edit ? [] : (call.votes ?? [])
  const known = new Set(before.map(({ name }) => name))
  const fresh: Vote[] = []
  for (const { name, roles } of people) {
    if (known.has(name)) continue
    known.add(name)
    fresh.push({ name, at, ...(roles?.length && { roles }), ...(remember && { remember }) })
  }
  const last = fresh.at(-1)
  const needed = neededVotes(approvers)
  if (!last)
    throw new TurnwireError(
      'already_decided',
      `${people[0]?.name} has allowed the call "${call.part.id}" before: ${before.length} of ${needed}. Another person must allow it too.`,
    )
  const votes = [...before, ...fresh]
  if (votes.length < needed)
    return [
      ...(edit ? [edited(call, edit, last.name, context), askAgain(call, edit.argsHash, approvers, at)] : []),
      ...fresh.map(vote => voted(call, vote, edit?.argsHash)),
    ]
  const remembering = votes.filter(vote => vote.remember)
  const { remember: _, ...once } = decision
  const final: Decision = { ...once, by: last.name, ...(remembering.length >= needed && { remember: true }) }
  return [
    ...fresh.slice(0, -1).map(vote => voted(call, vote, edit?.argsHash)),
    ...decided(call, final, context, last, remembering.map(toPerson)),
  ]
}

function voted(
  call: CallState,
  { name, roles, at, remember }: Vote,
  argsHash = call.argsHash,
): ApprovalVoted {
  return {
    v: 1,
    at,
    type: 'approval.voted',
    callId: call.part.id,
    by: name,
    ...(roles && { roles }),
    argsHash: argsHash ?? '',
    ...(remember && { remember }),
  }
}

/** The arguments are others now, so everyone is asked about these. The time to decide stays the same. */
function askAgain(call: CallState, argsHash: string, approvers: Approvers, at: number): ApprovalRestricted {
  const { part, toolHash = '', rule = '', reason, expiresAt, requesters } = call
  return {
    v: 2,
    at,
    type: 'approval.requested',
    callId: part.id,
    argsHash,
    toolHash,
    rule,
    ...(reason !== undefined && { reason }),
    ...(expiresAt !== undefined && { expiresAt }),
    approvers,
    ...(requesters && { requesters }),
  }
}

function edited(
  call: CallState,
  { text, argsHash }: { text: string; argsHash: string },
  by: string,
  { now }: Context,
): CallEdited {
  return { v: 1, at: now, type: 'call.edited', callId: call.part.id, by, text, argsHash }
}

/** `person`: who decided, where only some people may. `givers`: those who also want it to be remembered. */
function decided(
  call: CallState,
  decision: Decision,
  context: Context,
  person?: Person,
  givers?: readonly Person[],
): Event[] {
  const { callId, granted, by, reason, edit } = decision
  const roles = call.approvers && person?.roles
  const events: Event[] = []
  if (granted && edit) events.push(edited(call, edit, by, context))
  const event: ApprovalDecided = {
    v: 1,
    at: context.now,
    type: 'approval.decided',
    callId,
    granted,
    by,
    argsHash: edit?.argsHash ?? call.argsHash ?? '',
    ...(roles?.length && { roles }),
    ...(reason !== undefined && { reason }),
    ...(call.mirrors && decision.remember && { remember: true }),
  }
  events.push(event)
  if (decision.remember && !call.mirrors) events.push(remembered(call, decision, context, givers))
  if (!granted) {
    const limit = askedLimit(call)
    const settled = decideSettled(call, outcomes.deniedByPerson(by, reason), context)
    events.push(limit ? { ...settled, limit } : settled)
  }
  return events
}

function remembered(
  call: CallState,
  { granted, by }: Decision,
  context: Context,
  people?: readonly Person[],
): GrantGiven {
  const id = context.id('grant')
  const bound = { id, tool: call.part.name, toolHash: call.toolHash ?? '', by }
  return {
    v: 1,
    at: context.now,
    type: 'grant.given',
    grant: granted ? { ...bound, ...(people && { people }) } : { ...bound, deny: true },
  }
}
