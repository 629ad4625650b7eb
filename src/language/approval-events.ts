// The events of a call that waits for a person: asked, voted, refused, expired, decided. A part of events.ts, with the same
// rules: a published version is never edited.
import type { Approvers } from './approvers.ts'
import type { CallPart } from './calls.ts'
import type { At } from './events.ts'
import type { FlowFact } from './flow.ts'
import type { Report } from './report.ts'

export type ApprovalRequested = At & {
  type: 'approval.requested'
  callId: string
  argsHash: string
  toolHash: string
  rule: string
  reason?: string
  expiresAt?: number
  /** The tool's preview of the effects of the call, for the person who decides. */
  preview?: Report
  /** Where its arguments came from, if that is why it asks. */
  flow?: FlowFact[]
  /** Set if the call was allowed before and its tool has changed since: the call, for readers that did not see it. */
  again?: Pick<CallPart, 'name' | 'form' | 'text'>
}

/** The same, of a call that only some people may decide about. A version that cannot read it must not let others decide. */
export type ApprovalRestricted = Omit<ApprovalRequested, 'v'> & {
  v: 2
  approvers: Approvers
  /** Those who asked for the turn, if they may not decide. */
  requesters?: readonly string[]
}

/** A person said yes, and more people have to. `argsHash`: of the arguments that they saw. */
export type ApprovalVoted = At & {
  type: 'approval.voted'
  callId: string
  by: string
  roles?: readonly string[]
  argsHash: string
  remember?: true
}

/** Someone who may not decide about the call tried to. Nothing came of it. */
export type ApprovalRefused = At & {
  type: 'approval.refused'
  callId: string
  granted: boolean
  by: string
  roles?: readonly string[]
  why: string
}

/** The time to approve is over, whatever a clock says later: from here on the call can only be refused. */
export type ApprovalExpired = At & { type: 'approval.expired'; callId: string }

export type ApprovalDecided = At & {
  type: 'approval.decided'
  callId: string
  granted: boolean
  by: string
  /** Of the person, where only some people may decide. */
  roles?: readonly string[]
  argsHash: string
  reason?: string
  /** Of a call that runs in another session: the decision is remembered there. */
  remember?: true
}
