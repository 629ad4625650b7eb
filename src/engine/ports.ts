// What the engine needs from the world, as types. Each port has a contract suite, in src/testing/contracts or
// test/contracts, and an adapter is right when it passes it. Nothing here does anything.

import type { CallForm, Outcome } from '../language/calls.ts'
import type {
  HostedPart,
  InputPart,
  Native,
  Origin,
  ResultPart,
  TextPart,
  ThinkingPart,
} from '../language/content.ts'
import type {
  Event,
  Grant,
  LimitName,
  ModelStop,
  OptionValue,
  Recorded,
  Settings,
  Usage,
} from '../language/events.ts'
import type { Entry } from '../language/history.ts'
import type { ToolChoice, ToolDeclaration } from '../language/tools.ts'
import type { Json, JsonObject } from '../lib/json.ts'

// ---- the world -------------------------------------------------------------------------------------------

/**
 * Contract: the engine takes time, chance and timers from here and nowhere else, so that a simulator can
 * hold all three. `crashPoint` is called at each named point of `crashPoints` and normally does nothing.
 */
export type World = {
  now(): number
  id(prefix: string): string
  timer(ms: number, run: () => void): () => void
  crashPoint(name: CrashPoint): void
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
  'turn-ended',
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
  /** The agent's options as the client set them, secrets opened. */
  options: Readonly<Record<string, string>>
  /** False: of the vendor's own tools none is declared either, since the caller is to run every tool itself. */
  hosted?: false
  /** By protocol name, fields for the request body as they are; they come after the provider's own. */
  body?: Readonly<Record<string, JsonObject>>
  /** Absent: a single request, of which the model keeps nothing. */
  memory?: ModelMemory
}

/** Kept by a session for its model between requests, such as encoded entries. Only the model reads it. */
export type ModelMemory = { kept?: unknown }

/** `index` counts the calls of this answer from 0, in the order in which they open. */
export type ModelDelta =
  | { type: 'text'; text: string }
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

export type ModelCall = {
  type: 'call'
  name: string
  form: CallForm
  text: string
  cut?: true
  nativeId?: string
  native?: Native
}

export type ModelAnswer = {
  parts: (TextPart | ThinkingPart | HostedPart | ModelCall)[]
  stop: Exclude<ModelStop, 'cancelled'>
  origin?: Origin
  usage?: Usage
  /** What this vendor wants back with the next request, such as a container or a response id. */
  continuity?: Native
  warnings?: string[]
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
  /** How many tokens a request may hold, where that is known. */
  readonly contextTokens?: number
  /** Whose artifacts it makes and takes back. Absent: nobody's. */
  readonly origin?: Origin
  respond(
    request: ModelRequest,
    watch: (delta: ModelDelta) => void,
    signal: AbortSignal,
  ): Promise<ModelAnswer>
}

// ---- tools -----------------------------------------------------------------------------------------------

export type Progress = { message?: string; done?: number; total?: number } | { output: string }

export type ToolContext = {
  signal: AbortSignal
  session: string
  owner: string
  callId: string
  /** The call's id, and so the same for every attempt at it, also after a crash: for whatever must not happen twice. */
  idempotencyKey: string
  attempt: number
  progress(update: Progress): void
  options: Readonly<Record<string, string>>
}

export type ToolOutput = { parts: ResultPart[]; structured?: Json; failed?: boolean }

/**
 * Contract: `run` is called only with an input that passed `input` and policy, at most `retries + 1` times per
 * call, and never again after a crash unless `readOnly` or `idempotent`. It heeds `signal`. What it throws becomes
 * the outcome `error`; an `InvalidInput` becomes `invalid`.
 */
export type Tool = ToolDeclaration & {
  side: 'server'
  /** Listed to clients, who then decide about it. A hidden one runs as its `trust` says. */
  exposed: boolean
  /** What the operator says of it when the client has said nothing: run, ask first, or never. */
  trust: 'trusted' | 'ask' | 'deny'
  timeoutMs: number
  retries: number
  outputLimit: number
  run(input: Json, context: ToolContext): Promise<ToolOutput> | ToolOutput
}

/** Thrown by a tool whose own, finer check refused the input; nothing has happened. */
export class InvalidInput extends Error {
  override readonly name = 'InvalidInput'
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
  /** The client's word, when the tool is exposed and the client has spoken. */
  clientTrust?: boolean
  grants: readonly Grant[]
  now: number
}

export type Verdict =
  | { verdict: 'allow'; rule: string; grantId?: string }
  | { verdict: 'ask'; rule: string; reason?: string; expiresInMs?: number }
  | { verdict: 'deny'; rule: string; reason: string }

export type Finished = { outcome: Outcome; blob?: { name: string; body: string } }

/** Contract: what a tool shows while it runs goes in piece by piece; what comes out, in order, may be shown. */
export type Live = {
  take(piece: string): string
  /** What was held back, once no more will come. */
  rest(): string
}

/**
 * Contract: `admit` and `finish` are pure and bounded in time. `authorise` may ask elsewhere; what it throws is
 * taken as a denial. None of them runs anything.
 */
export type Gate = {
  admit(call: { name: string; form: CallForm; text: string; cut?: true }, tool: ToolDeclaration): Admission
  authorise(question: Question): Verdict | Promise<Verdict>
  /** What a tool gave: checked against its output schema, bounded, redacted, labelled. */
  finish(output: ToolOutput, tool: Pick<Tool, 'name' | 'output' | 'outputLimit'>, callId: string): Finished
  /** For one call: what it shows while it runs is redacted as its result will be. Undefined: it may be shown as it is. */
  live(): Live | undefined
  /** What a client sent for its own tool: the same, less the schema. */
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
  /** What kind of choice it is, for doors that show one kind unlike another: `mode`, `model`, `thought_level`, … */
  category?: string
  /** Of a secret: nothing works without it, so a door that can tell is to say so first. */
  required?: boolean
}

export type Compaction = {
  /** When the last request and its answer came to more tokens than this, the next request is preceded by a summary. */
  afterTokens: number
  /** The newest entries that are never summarised. Default 8. */
  keepEntries?: number
  /** What the model is told to write, in place of our own words. */
  instructions?: string
}

/** Contract: one agent as the operator configured it. Stable for the life of the engine. */
export type Agent = {
  name: string
  title?: string
  version: string
  description?: string
  system?: string
  tools: readonly Tool[]
  options: readonly AgentOption[]
  gate: Gate
  limits: Limits
  choice: ToolChoice
  parallel: boolean
  maxTokens?: number
  /** Absent: the history is summarised only when someone asks for it. */
  compaction?: Compaction
  /** False: its model is asked without the vendor's own tools. */
  hosted?: false
  /** False: clients may not bring tools of their own. */
  clientTools: boolean
  /** Absent when the history that clients read may have been redacted. */
  fullHistory: boolean
  images: { http: boolean; data: boolean }
  /** The model for these settings. Throws `unknown_model`. */
  model(settings: Settings): Model
}

/** Contract: `seal` gives text that only `open` of the same installation can read. */
export type Vault = { seal(text: string): string; open(sealed: string): string }

// ---- the store -------------------------------------------------------------------------------------------

export type SessionStatus = 'idle' | 'running' | 'waiting'

export type SessionRow = {
  id: string
  owner: string
  agent: string
  status: SessionStatus
  createdAt: number
  updatedAt: number
  head: number
}

/** What a list of sessions shows of each. Stored beside the log, so that listing reads no log. */
export type ListSummary = {
  settings: Settings
  /** The beginning of the first user message. */
  opening?: string
}

/** `summary` is the newest one written, if any was. */
export type ListedRow = SessionRow & { summary?: ListSummary }

export type Append = {
  session: string
  epoch: number
  /** The number of the first of these events: one more than the last recorded. */
  seq: number
  events: readonly Event[]
  status: SessionStatus
  /** Only when it changed. */
  summary?: ListSummary
}

export type NewSession = {
  row: Omit<SessionRow, 'head' | 'updatedAt'>
  events: readonly Event[]
  summary?: ListSummary
  /** An idempotency key: a second creation with the same owner and key gives the first session. */
  request?: { key: string; hash: string }
}

export type ReadOptions = {
  /**
   * Stop after about this many bytes of stored JSON, for reading a log in pages: the events before the last one of a
   * page take less than this. A page has at least one event, unless there is none. Absent: read everything.
   */
  maxBytes?: number
}

/**
 * Contract.
 * - A write is all or nothing: one that rejects has recorded nothing. A write that resolves is durable.
 * - Writes of one session are recorded in the order of the calls. A write that fails also fails the writes of its
 *   session that were called before the caller could know.
 * - `append` rejects with `lease_lost` if `epoch` is not the session's current epoch or `seq` is not next.
 * - Methods never throw; they reject, with a TurnwireError (`store_*`, `lease_lost`, `bad_request`).
 * - Reads see every write that resolved before.
 */
export type Store = {
  /** `existing`: this owner used the request key before, and nothing was written. */
  create(session: NewSession): Promise<{ epoch: number } | { existing: string; hash: string }>
  /** Makes the caller the only writer: all earlier epochs become invalid. Undefined: no such session. */
  claim(session: string): Promise<{ epoch: number; row: SessionRow } | undefined>
  append(batch: Append): Promise<void>
  /**
   * How long the engine may hold back deferrable events, so that one append carries several. Absent: appends are so
   * cheap that it should hold back nothing.
   */
  readonly lingerMs?: number
  row(session: string): Promise<SessionRow | undefined>
  /** The session that this owner's request key created. */
  requested(owner: string, key: string): Promise<string | undefined>
  /** Events with a number greater than `after`, in order. Empty: there are no more. */
  read(session: string, after?: number, options?: ReadOptions): Promise<Recorded[]>
  /** Newest first. `after` is the `next` of the page before. */
  list(owner: string, page: { after?: string; limit: number }): Promise<{ rows: ListedRow[]; next?: string }>
  /** All owners that have a session, in any order. For the operator only. */
  owners(): Promise<string[]>
  /** All sessions whose status is `running`. Asked once, when a process starts: it may look at every session. */
  unfinished(): Promise<string[]>
  remove(session: string): Promise<boolean>
  putBlob(session: string, name: string, body: string): Promise<void>
  blob(session: string, name: string): Promise<string | undefined>
  close(): Promise<void>
}

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
  /** One line for operators; never holds secrets, arguments or results. */
  log(level: 'info' | 'warn' | 'error', message: string, fields?: Record<string, Json>): void
}

/** What a user says, as wires hand it over. */
export type UserInput = InputPart[]
export type { OptionValue }
