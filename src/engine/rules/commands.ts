// The inputs of `decide` as types: a command from outside, and the context that brings time, ids and the agent.
import type { Approvers, Person } from '../../language/approvers.ts'
import type { CallForm, Outcome } from '../../language/calls.ts'
import type { InputPart } from '../../language/content.ts'
import type { Ask, LimitName, SessionParent, Settings } from '../../language/events.ts'
import type { Entry } from '../../language/history.ts'
import type { TraceContext } from '../../language/trace.ts'
import type { GivenAnswer, RequestKey } from '../ports/boundary.ts'
import type { Agent } from '../ports/index.ts'

/** `version`: of Turnwire, if it is recorded. */
export type Context = { agent: Agent; now: number; id(prefix: string): string; version?: string | undefined }

export type Decision = {
  callId: string
  granted: boolean
  by: string
  reason?: string
  /** New arguments, already found valid, with their hash. `approvers`: who may allow a call with these. */
  edit?: EditedArguments
  /** Those who decide, as the server knows them. Absent: `by`, without roles. */
  people?: readonly Person[]
  /** The hash of the arguments that the approver saw, when the wire carries one. */
  seen?: string
  /** The decision also holds for every further call of this tool in this session, until it is revoked. */
  remember?: true
}

export type EditedArguments = { text: string; argsHash: string; approvers?: Approvers }

export type Create = {
  owner: string
  agent: string
  wire: string
  settings: Settings
  seed: Entry[]
  /** The client's tools may have the names of the agent's own: turns will be asked for with `clientOnly`. */
  clientOnly?: true
  /** The call of another session that it works for, and what it may use. */
  parent?: SessionParent
  caps?: Partial<Record<LimitName, number>>
}
export type Say = {
  parts: InputPart[]
  wire: string
  ask?: Ask
  settings?: Partial<Settings>
  request?: RequestKey
  requesters?: readonly string[]
  trace?: TraceContext
  /** Set if the message was said before and is said anew: the view before it was said first. */
  rewindTo?: Entry[]
}
/** `undoes`: the call that it undoes. */
export type DirectCall = {
  undoes?: { callId: string; tool: string }
  wire: string
  by: string
  tool: string
  form: CallForm
  text: string
  request?: RequestKey
  requesters?: readonly string[]
  trace?: TraceContext
}
export type Respond = {
  /** Outcomes of the application's own tools. */
  results: { callId: string; outcome: Outcome }[]
  decisions: Decision[]
  /** A person's answers to questions of running calls. */
  answers?: GivenAnswer[]
  /** Replaces what the turn asks of the model. */
  ask?: Ask
  settings?: Partial<Settings>
  request?: RequestKey
}
