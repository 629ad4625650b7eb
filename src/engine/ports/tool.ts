// The port for tools: a tool, the context it is run with, the output it gives, and the errors it may throw.
import type { Socket } from 'node:net'
import type { Outcome, OutcomeSource } from '../../language/calls.ts'
import type { InputPart, ResultPart } from '../../language/content.ts'
import type { LimitName, ModelStop } from '../../language/events.ts'
import type { CallAnswer, CallQuestion } from '../../language/questions.ts'
import type { Report } from '../../language/report.ts'
import type { ToolDeclaration } from '../../language/tools.ts'
import type { TraceContext } from '../../language/trace.ts'
import type { Json } from '../../lib/json/index.ts'
import type { EgressInit } from '../../lib/net/egress.ts'

/**
 * The program's own context for its tools: database handles, the user, the tenant. A program declares its own members:
 * `declare module 'turnwire' { interface AppContext { db: Database } }`.
 */
// biome-ignore lint/suspicious/noEmptyInterface: programs add their members to it.
export interface AppContext {}

/** `terminal`: the id of the terminal that shows the output, as `report` named it. */
export type Progress =
  | { message?: string; done?: number; total?: number }
  | { output: string; terminal?: string }

export type SampleMessage = { role: 'user' | 'assistant'; parts: InputPart[] }

/** `by`: who asks, for the log. */
export type SampleRequest = {
  by: string
  messages: readonly SampleMessage[]
  system?: string
  maxTokens: number
  signal?: AbortSignal
}

export type SampleAnswer = { text: string; model: string; stop: ModelStop }

export type AskOptions = {
  /** Names the question within its call. Default: made of the question itself. */
  key?: string
  /** After this time the answer is `{ action: 'cancel', expired: true }`. Default: it waits for as long as it takes. */
  expiresInMs?: number
  /** Takes the question back. */
  signal?: AbortSignal
}

export type ToolContext = {
  signal: AbortSignal
  session: string
  owner: string
  callId: string
  /** The call's id, and so the same for every attempt at it, also after a crash: for whatever must not happen twice. */
  idempotencyKey: string
  attempt: number
  progress(update: Progress): void
  /** Shows people which files the call works on, what it changes and what it runs. The last report stays in the log. */
  readonly report: (report: Report) => void
  /**
   * Asks a person or the application, and waits for the answer: the time that takes counts neither for the call nor for
   * the turn. The question survives a restart if the tool may run twice; then the call runs again, asks again, and gets
   * the answer that was given.
   */
  readonly ask: (question: CallQuestion, options?: AskOptions) => Promise<CallAnswer>
  /**
   * Records a name for the work of this call at the service that does it, such as the id of a task or a payment. `reconcile` is
   * given it. Resolves once it is durable.
   */
  readonly refer: (reference: string) => Promise<void>
  /** Records the arguments that the tool goes on with, where they differ from the call's: defaults, transforms. */
  used?(input: Json): void
  options: Readonly<Record<string, string>>
  /**
   * An address to which the result of this call can be posted once, after `run` has returned `later()`. It works until
   * `expires`: a Date, or milliseconds from now. Throws if this engine is not served over HTTP.
   */
  readonly callback: (options: { expires: Date | number }) => string
  /** The `context` of the program's configuration, with the members that the request added. Never logged. */
  readonly app: AppContext
  /**
   * Asks the session's model something of the tool's own: without the history and without tools. It counts to the turn's
   * tokens and money, and is recorded.
   */
  sample(request: SampleRequest): Promise<SampleAnswer>
  /** The trace for requests that the tool makes for this call, if traces are made. `fetch` adds it by itself. */
  readonly trace?: TraceContext | undefined
  /** Fetches within the configured egress rule: private networks are not reached, and size, time and rate are limited. */
  fetch(input: string | URL, init?: EgressInit): Promise<Response>
  /** A connection within the same rule, which outlives the call. `hosts` narrows the rule. Absent: none is made. */
  readonly connect?: (url: URL, hosts?: readonly string[]) => Promise<Socket>
  /** The tools that this session can call: not those that its settings switch off, or that policy always denies. */
  readonly tools: SessionTools
  /** Calls of its own. Absent: the tool is not `resumable`. */
  readonly nested?: NestedCalls
}

export type SessionTools = {
  /** The tools that the agent has by configuration, which many sessions share: the same list until they change. */
  readonly shared: readonly ToolDeclaration[]
  /** A tool of this session; undefined if it may not be called, or does not exist. */
  find(name: string): ToolDeclaration | undefined
}

/**
 * How a running call makes calls of its own. Each passes the gate and is recorded, as any call. A `key` names a call among
 * those of its parent: in a run after a suspension or a crash, the same key gives the call that was made before, and its
 * result.
 */
export type NestedCalls = {
  /** The tools that may be called from here. */
  readonly tools: readonly ToolDeclaration[]
  /** Resolves when the call is settled, however it ended. Rejects if no call can be made: the turn has reached a limit. */
  call(key: string, name: string, text: string): Promise<NestedResult>
  /** A time that is the same in every run of this call. */
  readonly since: number
  /** None of the open calls can go on without a person or the application. */
  readonly isWaiting: boolean
  /**
   * `told` is called whenever none of the open calls can go on without a person or the application. `run` then finishes what
   * it has to do and throws `Suspended`.
   */
  onWaiting(told: () => void): void
  /**
   * Has another agent do a task in a session of its own, which belongs to this call: it is the same one in every run, is
   * cancelled with the call, and counts for its turn. Gives its last words. Throws `Suspended` when that session waits.
   */
  delegate(task: Delegated, context: ToolContext): Promise<ToolOutput>
  /** Another agent goes on with the conversation, once the calls of this answer are settled. Throws if it cannot. */
  handOver(agent: string): void
}

/** A task for another agent. */
export type Delegated = {
  agent: string
  /** The task, given to it as a user's message. */
  text: string
  /** The client's tools that it may use: those named, or all. Default: none. */
  clientTools?: true | readonly string[]
  /** Its own limits. They never exceed what is left of the turn. */
  limits?: Partial<Record<LimitName, number>>
}

/** `outcome` is whole, also where a model would be shown a part of it. `edited`: the arguments that it ran with instead. */
export type NestedResult = { callId: string; outcome: Outcome; edited?: string }

/**
 * `stream`: text or bytes that follow the parts, read as they come. Of a long one the model gets the beginning and the end;
 * the whole is kept in the store. `loads`: names of tools of this session that the model is offered from here on. `report`:
 * in place of what was reported while it ran, member by member.
 */
export type ToolOutput = {
  /** The content that the model reads. */
  parts: ResultPart[]
  structured?: Json
  failed?: boolean
  stream?: AsyncIterable<string | Uint8Array>
  /** For the application and people only: no model reads it. */
  details?: Json
  /** The result comes later, within this time. The other members are ignored. */
  later?: { expiresInMs: number }
  loads?: readonly string[]
  report?: Report
  /** Sources that it read for this result, beside those that it fetched through its context. */
  sources?: readonly Omit<OutcomeSource, 'at'>[]
}

/** The context of a preview, besides the input of the call. */
export type PreviewContext = Pick<ToolContext, 'session' | 'owner' | 'callId' | 'signal'>

/**
 * What became of a call, as its tool says: it ran, with this output; it took no effect, and will take none; or it is not known.
 */
export type ReconcileAnswer = { ran: ToolOutput } | 'did-not-run' | 'unknown'

/** `key`: the idempotency key of the call. `reference`: the last that the tool recorded with `context.refer`. */
export type ReconcileContext = Pick<
  ToolContext,
  'session' | 'owner' | 'callId' | 'signal' | 'fetch' | 'app' | 'options' | 'trace'
> & { readonly key: string; readonly reference?: string }

/** `undoes`: the id of the call that is undone. */
export type UndoContext = ToolContext & { readonly undoes: string }

/** Each wait is `factor` times as long as the one before, up to `mostMs`. */
export type BackOff = { ms: number; factor: number; mostMs: number }

/**
 * Contract: `run` is called only with an input that passed `input` and policy, at most `retries + 1` times per
 * call, and never again after a crash unless `readOnly` or `idempotent`. It heeds `signal`. What it throws becomes
 * the outcome `error`; an `InvalidInput` becomes `invalid`; an `Unanswered` becomes `unknown`, unless the tool may be repeated.
 */
export type Tool = ToolDeclaration & {
  side: 'server'
  /** Listed to clients, who then decide about it. A hidden one runs as its `trust` says. */
  exposed: boolean
  /** The operator's setting for when the client has none: run, ask first, or never. */
  trust: 'trusted' | 'ask' | 'deny'
  timeoutMs: number
  retries: number
  /** How long to wait before each of them. Absent: not at all. */
  readonly backOff?: BackOff
  outputLimit: number
  /** A message that interrupts may stop its calls while they run. Absent: if they may be repeated. */
  readonly interruptible?: boolean
  /** How its definition differs from the one that was accepted before. While it is set, every call asks first. */
  readonly changed?: string | undefined
  /** The definition that was accepted before, if this is another. */
  readonly accepted?: ToolDeclaration | undefined
  /** Why it cannot run now. It stays declared, so that requests do not change with every outage. */
  readonly unavailable?: string | undefined
  /** Why no process may start with it: it could reach what must be kept from it. It completes "the tool …". */
  readonly unsafe?: string | undefined
  /** Probable mistakes in its declaration, in sentences for the operator. Logged when a process starts. */
  readonly warnings?: readonly string[]
  /**
   * It makes calls of its own, and has no effect but theirs. Given the same input and the same results it makes the same
   * calls, so it can be stopped at any point and run again from its beginning.
   */
  readonly resumable?: true
  /** The agent that it gives a task, or the conversation, to. */
  readonly toAgent?: string
  /** The folder that relative paths in its input are in, for clients that show files. */
  readonly folder?: string
  /** Its description beside these others, where it depends on them. */
  offeredBeside?(others: readonly ToolDeclaration[]): Pick<ToolDeclaration, 'description'>
  /**
   * Why a person has to decide about this call, whatever policy allows; undefined if nobody has to. It changes nothing, and
   * may be asked several times about one call. A grant covers such a call only if it names these very arguments.
   */
  demandsApproval?(
    input: Json,
    about: { session: string; owner: string; callId: string },
  ): string | undefined | Promise<string | undefined>
  /**
   * The arguments of a call as they may be recorded and shown, when they hold what nobody may read: the same text otherwise.
   * The exact text is sealed beside it, and the tool runs with that. It is called when the model has answered, and never throws.
   */
  hideArguments?(text: string, session: string): string
  /** Called when the process is done with it. */
  close?(): Promise<void>
  run(input: Json, context: ToolContext): Promise<ToolOutput> | ToolOutput
  /**
   * Says what the call would do, for the person who is asked to approve it. It changes nothing, and may be called at
   * any time with an input that passed `input`. If it throws or takes more than a few seconds, it is left out.
   */
  preview?(input: Json, context: PreviewContext): Promise<Report> | Report
  /**
   * Says what became of a call of which it is not known whether it took effect: the process ended, the connection was lost, it ran
   * out of time. It changes nothing, and may be asked several times. If it throws or takes too long, the answer is `unknown`.
   */
  reconcile?(input: Json, context: ReconcileContext): Promise<ReconcileAnswer> | ReconcileAnswer
  /**
   * Undoes a call that ran with this input and ended with this outcome. It is run by a call of its own, at most once if that
   * succeeds. `idempotent`: after a crash it may run again.
   */
  readonly undo?: {
    run(input: Json, outcome: Outcome, context: UndoContext): Promise<ToolOutput> | ToolOutput
    readonly idempotent?: boolean
  }
}

/** Thrown by a tool whose server refused the request itself: an error of the protocol, not a result of the tool. */
export class ProtocolFailure extends Error {
  override readonly name = 'ProtocolFailure'
  readonly code: number

  constructor(code: number, message: string, options?: ErrorOptions) {
    super(message, options)
    this.code = code
  }
}

/** Thrown by a tool whose own, finer check refused the input; nothing has happened. */
export class InvalidInput extends Error {
  override readonly name = 'InvalidInput'
}

/** Thrown by a resumable tool whose calls wait for someone. It runs again when one of them is settled. */
export class Suspended extends Error {
  override readonly name = 'Suspended'
}
