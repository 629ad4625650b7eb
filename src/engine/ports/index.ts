// The ports of the engine: the interfaces that adapters implement. Each port has a contract suite, in
// src/testing/contracts or test/contracts, and an adapter is right when it passes it. Nothing here does any work.

import type { Approvers } from '../../language/approvers.ts'
import type { Budgets } from '../../language/budgets.ts'
import type { CallForm, Outcome } from '../../language/calls.ts'
import type {
  HostedPart,
  InputPart,
  Native,
  Origin,
  Phase,
  ResultPart,
  TextPart,
  ThinkingPart,
} from '../../language/content.ts'
import type { ErrorCode } from '../../language/errors.ts'
import type {
  Grant,
  LimitName,
  ModelStop,
  OptionValue,
  Settings,
  Usage,
  VendorAnswer,
} from '../../language/events.ts'
import type { CallFlow } from '../../language/flow.ts'
import type { AnswerFormat } from '../../language/format.ts'
import type { Entry } from '../../language/history.ts'
import type { Notice } from '../../language/notices.ts'
import type { CallHistory, ForeseenVerdict, ShadowVerdict, ShownPolicy } from '../../language/policy.ts'
import type { Report } from '../../language/report.ts'
import type { SealUse } from '../../language/seals.ts'
import type { PromptMessage, ServerPrompt, ServerResource, ToolServerInfo } from '../../language/servers.ts'
import type { ToolCaller, ToolChoice, ToolDeclaration } from '../../language/tools.ts'
import type { TraceContext } from '../../language/trace.ts'
import type { ImageLimits } from '../../lib/images/index.ts'
import type { Json, JsonObject } from '../../lib/json/index.ts'
import type { Egress } from '../../lib/net/egress.ts'
import type { FlowLog } from './flow.ts'
import type { HookSubject, Hooks } from './hooks.ts'
import type { Observer } from './observer.ts'
import type { ReceiptSigner } from './receipts.ts'
import type { NewRecord } from './records.ts'
import type { Store } from './store.ts'
import type { AppContext, Tool, ToolOutput } from './tool.ts'

export type { Budget, Budgets } from '../../language/budgets.ts'
export type * from './finder.ts'
export type { FlowLog } from './flow.ts'
export type { HookSubject, Hooks } from './hooks.ts'
export type * from './node.ts'
export type * from './observer.ts'
export type * from './receipts.ts'
export type * from './records.ts'
export type * from './store.ts'

export * from './tool.ts'

// ---- the world -------------------------------------------------------------------------------------------

/**
 * Contract: the engine takes time, chance and timers from here and nowhere else, so that a simulator can
 * hold all three. `crashPoint` is called at each named point of `crashPoints`; only tests have one.
 */
export type World = {
  /** The time of day, in milliseconds. It may jump, so it is no measure of how long something takes. */
  now(): number
  /** Milliseconds of a clock that nobody sets. Only differences of two of its times mean something. */
  elapsed(): number
  id(prefix: string): string
  timer(ms: number, run: () => void): () => void
  /** Bytes that the process may still take for sessions. Absent: unlimited. */
  freeMemory?(): number
  crashPoint?(name: CrashPoint): void
}

export const crashPoints = [
  'input-decided',
  'input-recorded',
  'model-asked',
  'model-answered',
  'answer-recorded',
  'intent-decided',
  'intent-recorded',
  'call-ran',
  'outcome-decided',
  'outcome-recorded',
  'approval-recorded',
  'decision-recorded',
  'question-recorded',
  'answer-given',
  'turn-ended',
  'message-recorded',
  'message-delivered',
  'message-withdrawn',
  'check-asked',
  'check-recorded',
  'undo-run',
] as const
export type CrashPoint = (typeof crashPoints)[number]

// ---- models ----------------------------------------------------------------------------------------------

export type ModelRequest = {
  session: string
  /** `summary`: the answer takes the place of this history, and is no step of the turn. */
  purpose?: 'summary'
  /** The agent's own instructions; they come before any system entry of the history. */
  system?: string
  /** Whole entries, every call settled. Entries are never changed once given. */
  history: readonly Entry[]
  tools: readonly ToolDeclaration[]
  choice: ToolChoice
  /** False: at most one call per answer. */
  parallel: boolean
  maxTokens?: number
  /** The form of the answer's text. A model that cannot keep to it rejects the request. */
  format?: AnswerFormat
  /** The agent's options as the client set them, secrets opened. */
  options: Readonly<Record<string, string>>
  /** The vendor is to search the deferred tools. Otherwise each of them has been found already. */
  vendorSearch?: true
  /** False: of the vendor's own tools none is declared either, since the caller is to run every tool itself. */
  hosted?: false
  /** By protocol name, the vendor's own tools that the caller declares; they are declared in any case. */
  clientHosted?: Readonly<Record<string, readonly JsonObject[]>>
  /** By protocol name, fields for the request body as they are; they come after the provider's own. */
  body?: Readonly<Record<string, JsonObject>>
  /** The agent that a relay's model passes the request on to. Other models ignore it. */
  to?: JsonObject
  /** The reader cannot take back what it was shown: no other model may go on with the answer then. */
  shownStays?: true
  /** Another model is asked if this one does not answer in time, so it is not asked a second time. */
  hasNext?: true
  /** Sent along as headers, so that the vendor's own traces can be joined. */
  trace?: TraceContext
  /** Absent: a single request, of which the model keeps nothing. */
  memory?: ModelMemory
}

/** Kept by a session for its model between requests, such as encoded entries. Only the model reads it. */
export type ModelMemory = { kept?: unknown }

/** `index` counts the calls of this answer from 0, in the order in which they open. */
export type ModelDelta =
  /** `phase`: that of the part that the text belongs to. */
  | { type: 'text'; text: string; phase?: Phase }
  | { type: 'thinking'; text: string }
  /**
   * One block of the vendor's own is over: thinking, whose words were shown, or what a hosted tool did. `native` is what
   * its part will have, if it has any. A model that says so of one such block says so of all.
   */
  | { type: 'block'; native?: Native }
  | { type: 'call'; index: number; name: string; form: CallForm }
  | { type: 'arguments'; index: number; text: string }
  /** All that was shown of this answer is void; it starts over. */
  | { type: 'reset' }
  /** A request failed and is made again. Not for readers: it is logged and recorded. */
  | { type: 'retry'; code: ErrorCode; message: string }

export type ModelCall = {
  type: 'call'
  name: string
  form: CallForm
  text: string
  cut?: true
  /** A program that runs at the vendor made the call: its id there. */
  caller?: string
  nativeId?: string
  native?: Native
}

export type ModelAnswer = {
  /** The id of the model that answered, where another one was asked first. */
  model?: string
  parts: (TextPart | ThinkingPart | HostedPart | ModelCall)[]
  stop: Exclude<ModelStop, 'cancelled'>
  origin?: Origin
  usage?: Usage
  /** Data that the vendor wants back with the next request, such as a container or a response id. */
  continuity?: Native
  warnings?: string[]
  /** The vendor's own id of the request, by which its support finds it. */
  requestId?: string
  vendor?: VendorAnswer
  /** The tools that the vendor's own search found. */
  loads?: string[]
  /** The digest of the body that was sent for it. */
  sent?: string
}

/**
 * Contract: resolves with the whole answer, whose calls stand in the order in which their deltas opened and whose
 * texts equal the sum of their deltas. Deltas are optional and come before it resolves. When `signal` aborts it
 * rejects soon and gives no further delta. It rejects with a TurnwireError (`model_failed`, `model_rejected`,
 * `model_timeout`). It never changes the request and keeps nothing of it outside `memory`.
 */
export type Model = {
  readonly id: string
  /** Its vendor may ask before it runs a tool of its own: the question is a call of `hostedApproval`. */
  readonly asksApproval?: true
  /** Its vendor runs programs that call tools: it is declared those that programs alone may call too. */
  readonly programs?: true
  /** How many tokens a request may hold, where that is known. */
  readonly contextTokens?: number
  /** How many tools a request may hold, where the vendor limits them. */
  readonly mostTools?: number
  /** Larger pictures in the results of tools are scaled down to this. Absent: they are sent as they are. */
  readonly images?: ImageLimits
  /** Its vendor can search deferred tools itself. */
  readonly searchesTools?: boolean
  /** The origin of the artifacts that it makes and takes back. Absent: it has no artifacts. */
  readonly origin?: Origin
  /** The models that it asks in turn. Absent: it answers itself. */
  readonly members?: readonly Model[]
  /** The same model with other members. */
  withMembers?(members: readonly Model[]): Model
  respond(
    request: ModelRequest,
    watch: (delta: ModelDelta) => void,
    signal: AbortSignal,
  ): Promise<ModelAnswer>
}

// ---- the gate --------------------------------------------------------------------------------------------

/** `argsHash` is made when it is first asked for. */
export type Admission =
  | { ok: true; readonly input: Json; readonly argsHash: string }
  | { ok: false; reason: string }

export type Question = {
  session: string
  owner: string
  agent: string
  callId: string
  tool: ToolDeclaration
  toolHash: string
  input: Json
  argsHash: string
  /** The operator's word on the tool; for a client's tool always `trusted`. */
  trust: Tool['trust']
  /** How the definition differs from the one that was accepted before. Undefined: it does not. */
  changed?: string
  /** Why the tool wants a person to decide about this very call. Undefined: it does not. */
  demands?: string
  /** The client's word, when the tool is exposed and the client has spoken. */
  clientTrust?: boolean
  grants: readonly Grant[]
  /** Those who asked for the turn. Absent: the owner. */
  readonly requesters?: readonly string[]
  now: number
  /** Where its arguments came from, of a call that acts. Undefined: the agent has no flow control, or the call only reads. */
  flow?: CallFlow
  /** The calls before it. Made when a rule asks for it. */
  readonly history: CallHistory
  /** The log, for a gate that `followsValues`. Rules are not given it. */
  log?: FlowLog
}

/** What is known of a call before its arguments are. */
export type ToolQuestion = Omit<Question, 'callId' | 'input' | 'argsHash' | 'toolHash' | 'history'>

/**
 * Of a gate with rules: their version. `shadowPolicy`: that of the rules beside them. `shadow`: those would have decided
 * otherwise; `shadowLater`: they ask elsewhere. It never rejects.
 */
type ByRules = {
  policy?: string
  shadowPolicy?: string
  shadow?: ShadowVerdict
  shadowLater?: Promise<ShadowVerdict | undefined>
}

export type Verdict = ByRules & PlainVerdict

type PlainVerdict =
  /** `overrules`: a rule allows it although its arguments lack a warrant. */
  | { verdict: 'allow'; rule: string; grantId?: string; overrules?: true }
  | {
      verdict: 'ask'
      rule: string
      reason?: string
      expiresInMs?: number
      flow?: CallFlow
      /** Absent: anyone who reaches the session may decide. */
      approvers?: Approvers
    }
  | { verdict: 'deny'; rule: string; reason: string }

export type Finished = { outcome: Outcome; blob?: { name: string; body: string } }

/** Contract: `take` gets the live output of a tool piece by piece, and gives the text that may be shown, in order. */
export type Live = {
  take(piece: string): string
  /** Called after the last piece: gives the text that was held back. */
  rest(): string
}

/**
 * Contract: `admit` and `finish` are pure and bounded in time. They give a promise, which never rejects, when a check
 * takes more time than the event loop has to give; costly checks of one `owner` wait for each other. `authorise` may
 * ask elsewhere; what it throws is taken as a denial. None of them runs anything.
 */
export type Gate = {
  admit(
    call: { name: string; form: CallForm; text: string; cut?: true },
    tool: ToolDeclaration,
    owner: string,
  ): Admission | Promise<Admission>
  authorise(question: Question): Verdict | Promise<Verdict>
  /** It asks where arguments came from, so questions have the log. */
  readonly followsValues?: true
  /** A rule names approvers, so grants say who gave them. */
  readonly namesApprovers?: true
  /** Whether every call of this tool would be denied, whatever its arguments. Absent: nobody knows before it is called. */
  denies?(question: ToolQuestion): boolean
  /** The verdict on a tool as far as it is known before a call. Absent: nobody knows. */
  foresee?(question: ToolQuestion): ForeseenVerdict
  /** The rules in force, as data. Undefined: there are none. They may change while the engine runs. */
  rules?(): ShownPolicy | undefined
  /** Prepares a tool's output: checks it against its schema, bounds it, redacts it, labels it. */
  finish(
    output: ToolOutput,
    tool: Pick<Tool, 'name' | 'output' | 'outputLimit'>,
    callId: string,
    owner: string,
  ): Finished | Promise<Finished>
  /** A redactor for the live output of one call. Undefined: live output is shown as it is. */
  live(): Live | undefined
  /** Prepares a tool's report for the log and for people: bounds it, and redacts it like output. */
  report(report: Report): Report
  /** Arguments as they may be recorded and shown: the same text when they hold no secret. Absent: there are no rules. */
  redactArguments?: (text: string, form: CallForm) => string
  /** Prepares a client's result of its own tool as `finish` does, without the check of a schema. */
  finishClient(parts: ResultPart[], failed: boolean, callId: string): Finished
}

// ---- agents ----------------------------------------------------------------------------------------------

export type Limits = Record<LimitName, number>

export type AgentOption = {
  name: string
  type: 'text' | 'select' | 'secret'
  title?: string
  description?: string
  default: string
  options?: string[]
  /** The kind of choice, for wires that show kinds differently: `mode`, `model`, `thought_level`, … */
  category?: string
  /** Of a secret: nothing works without it, so a wire that can do so asks for it first. */
  required?: boolean
}

export type Compaction = {
  /** When the last request and its answer came to more tokens than this, the next request is preceded by a summary. */
  afterTokens: number
  /** The newest entries that are never summarised. Default 8. */
  keepEntries?: number
  /** The instructions for the summary, in place of the built-in ones. */
  instructions?: string
}

/** Contract: `isAlways` is pure. Of the agent's tools, those that are not always declared are found by a search. */
export type AgentSearch = {
  isAlways(tool: string): boolean
  /** The vendor searches where it can. Otherwise the agent has a tool for it, with `finds`. */
  byVendor: boolean
}

/** Contract: one agent as the operator configured it. Stable for the life of the engine, except `tools`: see there. */
export type Agent = {
  name: string
  title?: string
  version: string
  description?: string
  system?: string
  /** Another list when tools have come, gone or changed; the same one otherwise. */
  readonly tools: readonly Tool[]
  /** The agent as sessions of this owner have it. Absent: it is the same for all. */
  forOwner?(owner: string): Agent
  /** Of such an agent: resolves when its tools are known. Undefined: they are. It never rejects. */
  ready?(): Promise<unknown> | undefined
  /** The callers that may use a tool of the list, where they differ from its own declaration. */
  callersOf?(tool: Tool): readonly ToolCaller[] | undefined
  /** Absent: all tools are declared. */
  search?: AgentSearch
  options: readonly AgentOption[]
  gate: Gate
  limits: Limits
  /** Absent: there are none. */
  budgets?: Budgets
  choice: ToolChoice
  parallel: boolean
  /** How many calls of one turn run here at the same time; the others wait, in order. Absent: all of them. */
  callsAtOnce?: number
  maxTokens?: number
  /** The form of its answers, unless a caller asks for another. */
  format?: AnswerFormat
  /** Absent: the history is summarised only when someone asks for it. */
  compaction?: Compaction
  /** False: its model is asked without the vendor's own tools. */
  hosted?: false
  /** False: clients may not bring tools of their own. */
  clientTools: boolean
  /** Clients may remember a permission for all sessions of the agent. */
  agentGrants?: true
  /** Absent when the history that clients read may have been redacted. */
  fullHistory: boolean
  images: { http: boolean; data: boolean }
  /** The model for these settings. Throws `unknown_model`. */
  model(settings: Settings): Model
}

/** Contract: `seal` gives text that only `open` of the same installation can read, for the same use only. */
export type Vault = { seal(text: string, use: SealUse): string; open(sealed: string, use: SealUse): string }

// ---- servers that bring tools ------------------------------------------------------------------------------

/** Contract: rejects with `not_found` for what an agent does not have. A server that is down has no resources. */
export type ToolServers = {
  describe(): ToolServerInfo[]
  resources(agent: string): Promise<ServerResource[]>
  read(agent: string, server: string, uri: string): Promise<InputPart[]>
  prompts(agent: string): Promise<ServerPrompt[]>
  prompt(
    agent: string,
    server: string,
    name: string,
    values: Readonly<Record<string, string>>,
  ): Promise<PromptMessage[]>
}

// ---- running calls -----------------------------------------------------------------------------------------

/** Contract: counts the calls of all sessions of a process that run at the same time. Who waited longest is told first. */
export type CallCounter = {
  /** Takes as many places as are free, at most `wanted`. */
  take(wanted: number): number
  /** For calls that were started before a crash: they count, and wait for nobody. */
  force(count: number): void
  release(): void
  /** Calls `run` once when a place is free. Gives a function that takes this back. */
  whenFree(run: () => void): () => void
}

// ---- notices -----------------------------------------------------------------------------------------------

/** Contract: `address` is pure and quick. Its records are stored with the event of the notice; then `stored` is called. */
export type NoticePort = { address(notice: Notice): readonly NewRecord[]; stored(): void }

// ---- the whole -------------------------------------------------------------------------------------------

export type EnginePorts = {
  store: Store
  world: World
  vault: Vault
  agent(name: string): Agent | undefined
  /** Every agent, in the order of the configuration, with the configured name of its model. */
  agents?(): readonly { agent: Agent; model?: string }[]
  /** The configured models, by name. */
  models?: Readonly<Record<string, Model>>
  /** Of Turnwire; recorded with each turn. */
  version?: string
  /** Absent: there are none. */
  servers?: ToolServers
  /** Absent: tools fetch nothing through the engine. */
  egress?: Pick<Egress, 'fetch'> & Partial<Pick<Egress, 'connect'>>
  /** Absent: any number of calls may run at the same time. */
  callSlots?: CallCounter
  hooks?: Hooks
  /** An agent has a budget of agents or owners: what sessions spend is counted in the store. */
  countsSpending?: true
  /** Absent: nobody watches. */
  observer?: Observer
  /** Signs the logs of sessions. Absent: they are not signed. */
  receipts?: ReceiptSigner
  /** Absent: nobody outside is told of anything. */
  notices?: NoticePort
  /** The address to which the result of a postponed call can be posted. Undefined: there is no server. */
  callback?: (call: { session: string; callId: string; expiresAt: number }) => string | undefined
  /** Another node gives this session up, if one has it, so that it can be claimed here. Absent: there are no others. */
  summon?: (session: string) => Promise<void>
  /** Makes the `context.app` that the program gives its tools. */
  app?: (subject: HookSubject) => AppContext
  /** How much a log grows between two snapshots of its state. Absent: 1,000 events, or 4 MiB. */
  snapshotGrowth?: { events: number; bytes: number }
  /** One line for operators; never holds secrets, arguments or results. */
  log(level: 'debug' | 'info' | 'warn' | 'error', message: string, fields?: Record<string, Json>): void
}

export type { OptionValue }
