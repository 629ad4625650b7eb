// The event types of the log. Events are durable and are read forever: a published version of an event is never edited;
// a change is a new version beside it, and `evolve` reads both.
import type { JsonObject } from '../lib/json/index.ts'
import type {
  ApprovalDecided,
  ApprovalExpired,
  ApprovalRefused,
  ApprovalRequested,
  ApprovalRestricted,
  ApprovalVoted,
} from './approval-events.ts'
import type { Person } from './approvers.ts'
import type { ArgumentPatterns } from './argument-patterns.ts'
import type { CallReconciled, CallReferenced } from './call-events.ts'
import type { CallPart, Outcome } from './calls.ts'
import type { HostedPart, InputPart, Native, Origin, Phase, TextPart, ThinkingPart } from './content.ts'
import type { ErrorCode } from './errors.ts'
import type { AnswerFormat } from './format.ts'
import type { Entry } from './history.ts'
import type { LogSigned } from './log-signed.ts'
import type { PaymentRecord } from './payments.ts'
import type { ShadowVerdict } from './policy.ts'
import type { AnswerAction, FormContent, FormSchema } from './questions.ts'
import type { Report } from './report.ts'
import type { ToolChoice, ToolDeclaration } from './tools.ts'
import type { TraceContext } from './trace.ts'

export type * from './approval-events.ts'
export type * from './call-events.ts'

/** A secret option's value is sealed before it comes near the log. */
export type OptionValue = string | { sealed: string }

/** Requests of a caller to the model for one turn. They override the agent's own settings. */
export type Ask = {
  choice?: ToolChoice
  parallel?: boolean
  maxTokens?: number
  /** How many calls the server may run in the turn. Further calls are refused, and the model continues without them. */
  maxCalls?: number
  system?: string
  /** The form of the answer. Every model keeps to it: by its vendor's own way, or checked and asked again. */
  format?: AnswerFormat
  /** By protocol name: fields that are copied into that vendor's request body (effort, sampling). */
  body?: Record<string, JsonObject>
  /** The recipient, for a model that passes requests on. Only that model reads it, and no client writes it. */
  to?: JsonObject
  /** By protocol name: tools that the vendor runs, which the client declares for this turn. */
  hosted?: Record<string, JsonObject[]>
  /** The client wants its deferred tools to be searched by the vendor. */
  vendorSearch?: true
  /** Only the client's tools are offered: none of the agent's own, and none that the vendor hosts. */
  clientOnly?: true
  /** The caller asked for a tool itself: the turn ends with its result, and no model is asked. */
  direct?: true
  /** With `direct`: the call that the turn undoes. */
  undoes?: string
}

/** The settings that a client may choose for its session and change from turn to turn. */
export type Settings = {
  /** The exposed server tools that are on, and whether each runs without asking. `null`: all, as the operator declared them. */
  tools: { name: string; trust: boolean }[] | null
  options: Record<string, OptionValue>
  clientTools: ToolDeclaration[]
  /** The name of a configured model, when it is not the agent's own. */
  model?: string
  /** One record per wire, by the wire's name. Only that wire reads its record. */
  wires?: Record<string, JsonObject>
}

export type Usage = {
  input: number
  output: number
  cacheRead?: number
  cacheWrite?: number
  thinking?: number
  /** US dollars, by the operator's prices or the vendor's list. Absent: no price is known. */
  cost?: number
}

/** Why the model stopped talking. `pause`: the next request sends its unfinished answer back for it to continue. */
export type ModelStop = 'end' | 'calls' | 'length' | 'refusal' | 'filter' | 'pause' | 'cancelled'

/** Why a turn is over. */
export type TurnStop = 'end' | 'length' | 'refusal' | 'filter' | 'limit' | 'cancelled' | 'abandoned' | 'error'

/** The others are of turns that ended normally, were cancelled or were abandoned. */
export const failedStops: readonly TurnStop[] = ['length', 'refusal', 'filter', 'limit', 'error']

export function isFailure(stop: TurnStop | undefined): boolean {
  return stop !== undefined && failedStops.includes(stop)
}

export const limitNames = [
  'steps',
  'calls',
  'identicalCalls',
  'time',
  'bytes',
  'tokens',
  'money',
  'sessionBytes',
] as const
export type LimitName = (typeof limitNames)[number]

export const budgetNames = ['turn', 'session', 'agentDay', 'ownerDay', 'ownerMonth'] as const
export type BudgetName = (typeof budgetNames)[number]
export const budgetLimits = ['tokens', 'money', 'calls'] as const satisfies readonly LimitName[]
export type BudgetLimit = (typeof budgetLimits)[number]

export type Grant = {
  id: string
  tool: string
  toolHash: string
  /** Canonical hash of the only arguments it covers; absent: any arguments. */
  argsHash?: string
  /** The arguments that it covers, by patterns; absent: any arguments, or those of `argsHash`. */
  where?: ArgumentPatterns
  by: string
  /** Those who gave it, as the server knew them, where policy asks for approvers. */
  people?: readonly Person[]
  expiresAt?: number
  usesLeft?: number
  /** A remembered refusal: no further call of the tool runs, whatever its definition has become. */
  deny?: true
  /** The grant for all sessions of the agent that this one is a copy of. */
  copyOf?: string
}

export type At = { v: 1; at: number }

/** Facts that the vendor reports about its answer: the id, the model that gave it, and the version of the API. */
export type VendorAnswer = { id?: string; model?: string; version?: string }

/** A request to a model that failed and was made again. */
export type RetriedRequest = { at: number; code: ErrorCode; message: string }

/** A session that works for a call of another one. `depth`: 1, or one more than its parent's. */
export type SessionParent = { session: string; call: string; depth: number }

export type SessionCreated = At & {
  type: 'session.created'
  owner: string
  agent: string
  wire: string
  settings: Settings
  seed: Entry[]
  /** The call that it works for. */
  parent?: SessionParent
  /** Limits of its turns that are lower than its agent's limits. */
  caps?: Partial<Record<LimitName, number>>
}
export type SessionConfigured = At & { type: 'session.configured'; settings: Partial<Settings> }
/** Precedes the `events` events that a request with an idempotency key gave: the key and a hash of what was asked. */
export type RequestAccepted = At & { type: 'request.accepted'; key: string; hash: string; events: number }
/** Without parts: the history already ends with what the model is to answer. */
export type TurnStarted = At & {
  type: 'turn.started'
  turn: string
  parts: InputPart[]
  wire: string
  ask?: Ask
  /** Those who asked for it. Absent: the owner of the session. */
  requesters?: readonly string[]
  /** The trace that it belongs to: its own first span where traces are made, otherwise that of its caller. */
  trace?: TraceContext
  /** Of Turnwire, when the turn began. */
  version?: string
}
/** The caller that continues the turn asks something else of the model from here on. */
export type TurnAsked = At & { type: 'turn.asked'; ask: Ask }
export type ModelAnswered = At & {
  type: 'model.answered'
  parts: (TextPart | ThinkingPart | CallPart | HostedPart)[]
  stop: ModelStop
  model: string
  origin?: Origin
  usage?: Usage
  /** Vendor data that the next request must send back, such as a container or a response id. */
  continuity?: Native
  /** Content that this vendor cannot take and that was adapted or left out, in words. */
  warnings?: string[]
  /** The vendor's own id of the request, by which its support finds it. */
  requestId?: string
  vendor?: VendorAnswer
  /** SHA-256, in base64url, of the body that was sent. A replay makes the body anew from the log and compares. */
  sent?: string
  /** The requests of this step that failed before this answer. */
  retries?: RetriedRequest[]
  /** The tools that the vendor's own search found. */
  loads?: string[]
  /** The tools that a hook withheld in this step: calls of them are not run. */
  withheld?: string[]
  /** Of an answer that was interrupted: everything that readers were shown, if that is more than `parts`. */
  shown?: ShownPart[]
}
export type ShownPart = TextPart | ThinkingPart
/** The application is to run it. */
export type CallHanded = At & { type: 'call.handed'; callId: string; argsHash: string; toolHash: string }
/** One of several clients says that it runs the call, until a time: the others leave it alone. */
export type CallClaimed = At & { type: 'call.claimed'; callId: string; by: string; until: number }
/** A person changed the arguments while approving: from here on these are the call's arguments. */
export type CallEdited = At & {
  type: 'call.edited'
  callId: string
  text: string
  /** As in a CallPart. */
  sealed?: string
  argsHash: string
  by: string
}
/** Policy let a call run without asking anyone: this call, by this rule or grant. */
export type Allowed = { toolHash: string; rule: string; grantId?: string }
/**
 * The gate's verdicts from here on are given by the rules of this version. `shadow`: the version of the rules beside them whose
 * verdicts are only recorded. Agents without rules have none.
 */
export type PolicyApplied = At & { type: 'policy.applied'; version: string; shadow?: string }
/** A rule of the policy denies the call. Its outcome follows. */
export type CallForbidden = At & { type: 'call.forbidden'; callId: string; rule: string }
/** Shadow rules would have decided otherwise. Nothing comes of it. `given`: the verdict that counts. */
export type PolicyShadowed = At & {
  type: 'policy.shadowed'
  callId: string
  given: ShadowVerdict['verdict']
} & ShadowVerdict
/** It may run, but has not been started yet. */
export type CallAllowed = At & { type: 'call.allowed'; callId: string } & Allowed
/** The intent. It is durable before the tool runs. `allowed`: it was judged and started in one go. */
export type CallStarted = At & {
  type: 'call.started'
  callId: string
  attempt: number
  allowed?: Allowed
}
/**
 * A call made a call of its own: a program that the model wrote, or an agent that works for another. It passes the same
 * gate as any call. Only its parent reads its result; no model does.
 */
export type CallNested = At & {
  type: 'call.nested'
  parent: string
  /** Names it among the calls of its parent: a parent that runs again finds it by this, and it is not made twice. */
  key: string
  call: CallPart
  /** It stands for a call that waits in a session that works for the parent. It is decided here, and runs there. */
  mirrors?: { session: string; callId: string }
}
/**
 * It ran as far as it could: its own calls wait for a person or the application. It runs again when one of them is settled.
 * `seen`: how many of them were settled when it stopped.
 */
export type CallSuspended = At & { type: 'call.suspended'; callId: string; seen: number }
/**
 * A running call asks a person: to fill in the form `schema`, or to open `url`. `key` is the same when the call runs again
 * after a crash and asks again.
 */
export type QuestionAsked = At & {
  type: 'question.asked'
  callId: string
  question: string
  key: string
  message: string
  schema?: FormSchema
  url?: string
  expiresAt?: number
}
/** The first answer counts. */
export type QuestionAnswered = At & {
  type: 'question.answered'
  callId: string
  question: string
  action: AnswerAction
  content?: FormContent
  /** Set when `content` was redacted: the exact content, which only the installation itself can open. */
  sealed?: string
  by: string
}
/** Nobody answered in time: the call goes on as if it was cancelled. */
export type QuestionExpired = At & { type: 'question.expired'; callId: string; question: string }
/** The call no longer waits for an answer: it has ended, or takes its question back. */
export type QuestionWithdrawn = At & { type: 'question.withdrawn'; callId: string; question: string }
/** The tool ran and will give its result later, until `expiresAt`. Nothing of it runs in this process. */
export type CallPostponed = At & { type: 'call.postponed'; callId: string; expiresAt: number }
/** The call is carried out by an agent, in a session of its own. */
export type CallDelegated = At & { type: 'call.delegated'; callId: string; agent: string; session: string }
/** Usage of the session that works for the call. It counts for this turn too. `upTo`: the last event counted there. */
export type CallUsed = At & {
  type: 'call.used'
  callId: string
  upTo: number
  steps: number
  calls: number
  usage?: Usage
}
/** Another agent goes on with the conversation, once the calls of this answer are settled. */
export type AgentChanged = At & { type: 'agent.changed'; callId: string; agent: string; settings: Settings }
/** `limit`: it was refused because that limit of the turn is reached, and the turn ends with it. */
export type CallSettled = At & { type: 'call.settled'; callId: string; outcome: Outcome; limit?: LimitName }
/** A result that came after its call was settled. Kept for the record, shown to no model. */
export type CallLate = At & { type: 'call.late'; callId: string; outcome: Outcome }
export type TurnEnded = At & {
  type: 'turn.ended'
  turn: string
  stop: TurnStop
  limit?: LimitName
  error?: { code: ErrorCode; message: string }
  /** The parts of an unfinished answer that readers were shown. Later readers are shown the same parts. */
  shown?: ShownPart[]
  /** Estimated tokens of a model step that was aborted with the turn. Its vendor did not report them. */
  cut?: { input: number; output: number }
  /** The requests of the step that failed, before the last one. */
  retries?: RetriedRequest[]
}
/** When a message that was said while a turn is under way is delivered. */
export const waitModes = ['queue', 'steer', 'interrupt'] as const
export type WaitMode = (typeof waitModes)[number]

/**
 * A message was said while a turn was under way, and waits. `queue`: until the turn has ended. `steer`: until the model is asked
 * next. `interrupt`: the same, and what could be stopped was stopped. `key`: of the request that said it.
 */
export type MessageQueued = At & {
  type: 'message.queued'
  message: string
  during: WaitMode
  parts: InputPart[]
  wire: string
  ask?: Ask
  settings?: Partial<Settings>
  /** As of a turn. */
  requesters?: readonly string[]
  trace?: TraceContext
  key?: string
}
/** With `parts`: it joins this turn, and the model reads it next. Without: this turn starts with it, by the next event. */
export type MessageDelivered = At & {
  type: 'message.delivered'
  message: string
  turn: string
  parts?: InputPart[]
}
/** It was taken back before it was delivered. No model reads it. */
export type MessageWithdrawn = At & {
  type: 'message.withdrawn'
  message: string
  by: string
  reason?: string
}
export type GrantGiven = At & { type: 'grant.given'; grant: Grant }
export type GrantRevoked = At & { type: 'grant.revoked'; grantId: string; by: string }
/** A person or program drives the loop by hand until control is returned. */
export type ControlTaken = At & { type: 'control.taken'; by: string }
export type ControlReturned = At & { type: 'control.returned'; by: string }
/** From here on a model reads `entries` in place of the first `replaces` entries of the history. */
export type HistoryCompacted = At & {
  type: 'history.compacted'
  replaces: number
  entries: Entry[]
  /** The model that wrote the summary, and the tokens it used. */
  model?: string
  usage?: Usage
}
/**
 * The history is rewound: from here on a model reads the first `keeps` entries of what it read before, then `entries`.
 * The entries that this removes stay in the log.
 */
export type HistoryRewound = At & { type: 'history.rewound'; keeps: number; entries: Entry[] }

export const hookNames = [
  'beforeStep',
  'afterStep',
  'beforeCall',
  'afterCall',
  'repair',
  'turnEnded',
] as const
export type HookName = (typeof hookNames)[number]

/** A hook of the operator refused something, or replaced the input or the output. The effect is recorded next. */
export type HookActed = At & {
  type: 'hook.acted'
  hook: HookName
  change: 'refused' | 'input' | 'output'
  /** The call that it is about. */
  call?: string
  reason?: string
}

/** A running call asked the model something of its own, on behalf of `by`. It counts to the turn; no history holds it. */
export type ModelSampled = At & {
  type: 'model.sampled'
  call: string
  by: string
  model: string
  stop: ModelStop
  usage?: Usage
}

/**
 * A person was asked whether the turn may go on although a budget is spent. `to`: what may be spent from here on, in this
 * session. Without it the turn ends. `key`: the budget, its limit, and the day or month that the answer holds for.
 */
export type BudgetDecided = At & {
  type: 'budget.decided'
  callId: string
  budget: BudgetName
  limit: BudgetLimit
  key: string
  to?: number
}

/** In old logs only: how a payment changed, or the receipt of one in the session whose turn it paid for. */
export type PaymentRecorded = At & {
  type: 'payment.recorded'
  payment: string
  change: Partial<PaymentRecord>
}

export type Event =
  | SessionCreated
  | SessionConfigured
  | RequestAccepted
  | TurnStarted
  | TurnAsked
  | ModelAnswered
  | CallHanded
  | CallClaimed
  | ApprovalRequested
  | ApprovalRestricted
  | ApprovalVoted
  | ApprovalRefused
  | ApprovalExpired
  | ApprovalDecided
  | CallEdited
  | PolicyApplied
  | CallForbidden
  | PolicyShadowed
  | CallAllowed
  | CallStarted
  | QuestionAsked
  | BudgetDecided
  | QuestionAnswered
  | QuestionExpired
  | QuestionWithdrawn
  | CallNested
  | CallSuspended
  | CallPostponed
  | CallDelegated
  | CallUsed
  | AgentChanged
  | CallSettled
  | CallReferenced
  | CallReconciled
  | CallLate
  | TurnEnded
  | MessageQueued
  | MessageDelivered
  | MessageWithdrawn
  | GrantGiven
  | GrantRevoked
  | ControlTaken
  | ControlReturned
  | HistoryCompacted
  | HistoryRewound
  | HookActed
  | ModelSampled
  | LogSigned
  | PaymentRecorded

export type EventType = Event['type']

/** An event at its place in a session's log. Numbers start at 1 and have no gaps. */
export type Recorded = { seq: number; event: Event }

/** Live only: broadcast while they happen, never stored. */
export type Delta =
  | { type: 'step.started'; step: number }
  /** Discard everything that this step has shown so far: the model is asked again. */
  | { type: 'step.reset'; step: number }
  /** `phase`: of the message that the text belongs to, where the vendor says it. */
  | { type: 'text'; text: string; phase?: Phase }
  | { type: 'thinking'; text: string }
  /** A block of the vendor's own has ended: the thinking that was shown last, or the work of a hosted tool. */
  | { type: 'block'; native?: Native }
  | { type: 'call.opened'; callId: string; name: string; form: CallPart['form'] }
  | { type: 'arguments'; callId: string; text: string }
  | { type: 'progress'; callId: string; message?: string; done?: number; total?: number }
  /** `terminal`: the one of the call's terminals that shows it. */
  | { type: 'output'; callId: string; text: string; terminal?: string }
  /** Each member replaces what was reported before. */
  | { type: 'report'; callId: string; report: Report }
