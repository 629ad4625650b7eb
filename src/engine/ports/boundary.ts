// The engine's boundary: all that wires, the library, the command and other processes may use of it. Only asynchronous
// calls, async iterables and plain data cross it (an AbortSignal or a broken-off loop ends an iterable), so the engine
// behind it may live in another process. Nothing that crosses it is a live object of a session.
import type { ActivityReport } from '../../language/activity.ts'
import type { Found } from '../../language/calls.ts'
import type { InputPart, Native, Origin } from '../../language/content.ts'
import type { ErrorCode } from '../../language/errors.ts'
import type {
  Ask,
  Delta,
  Grant,
  LimitName,
  ModelStop,
  Recorded,
  SessionParent,
  Settings,
  TurnStop,
  Usage,
} from '../../language/events.ts'
import type { AnswerPart, Entry } from '../../language/history.ts'
import type { Report } from '../../language/report.ts'
import type { PromptMessage, ServerPrompt, ServerResource } from '../../language/servers.ts'
import type { DeltaMode } from '../../language/step-deltas.ts'
import type { ToolDeclaration } from '../../language/tools.ts'
import type { TraceContext } from '../../language/trace.ts'
import type { Json } from '../../lib/json/index.ts'
import type { EngineDescription } from './description.ts'
import type {
  ActivityQuery,
  AppContext,
  BlobRange,
  FindQuery,
  FoundRow,
  FoundSessions,
  ListPage,
  ListSummary,
  ModelAnswer,
  ModelRequest,
  Progress,
  SessionRow,
  SessionStatus,
  Tool,
  ToolOutput,
} from './index.ts'
import type { GivenAnswer, GivenDecision, GivenResult } from './session-answer.ts'
import type { SessionCall } from './session-call.ts'
import type { AfterCallCommand, SessionDoubts } from './session-doubts.ts'
import type { During, MessageState, SessionMessage } from './session-message.ts'

export type { DeltaMode } from '../../language/step-deltas.ts'
export type * from './description.ts'
export type * from './session-answer.ts'
export type * from './session-call.ts'
export type * from './session-doubts.ts'
export type * from './session-message.ts'

/** At most 16 calls. Those that answer several questions take the question as a value, whose `get` says which. */
export type Engine = {
  /** The agents and models that are configured, which do not change while the engine runs, and how tool servers are now. */
  describe(): Promise<EngineDescription>
  /** Resources and prompts that the tool servers of an agent have for its messages. A server that is down has none. */
  fromServers<Query extends ServerQuery>(agent: string, query: Query): Promise<ServerAnswer<Query>>

  /**
   * Makes a session. With a request key that this owner used before, gives the session of that request. With `say` it resolves once
   * the message is durable too.
   */
  create(create: CreateSession): Promise<CreatedSession>
  /** Resolves once what the command recorded is durable. Rejects with a TurnwireError and leaves no trace if refused. */
  command(ref: SessionRef, command: Command): Promise<Accepted>
  /** Deletes a session, with those that worked for its calls. */
  remove(ref: SessionRef): Promise<void>

  /**
   * Reads a session in batches: durable events from number `from` on, first from the log at the reader's pace, then
   * live, with deltas of the current step. No event is missed or given twice.
   */
  follow(ref: SessionRef, options: FollowOptions, signal?: AbortSignal): AsyncIterable<readonly FollowItem[]>
  /** One answer of a model with no session, no log and no tools of the server. Ends with the item `answer`, or throws. */
  answerOnce(request: OnceRequest, signal?: AbortSignal): AsyncIterable<readonly OnceItem[]>

  /**
   * Offers tools that the caller runs, until the signal aborts, the loop is left or the session is lost. Their calls pass
   * the same gate and come as items; the caller answers each with `report`. A later attachment replaces this one.
   */
  attach(
    ref: SessionRef,
    tools: readonly AttachedTool[],
    signal?: AbortSignal,
  ): AsyncIterable<readonly AttachedItem[]>
  /** Progress or the result of a call that `attach` gave. A report for a call that is over is ignored. */
  report(ref: SessionRef, report: AttachedReport): Promise<void>

  /** A session as it stands. `keys`: request keys whose use is to be looked up. */
  summary(ref: SessionRef, keys?: readonly string[]): Promise<SessionSummary>
  /** The conversation: all of it, as the model reads it, or as the request that the model would be sent next. */
  history<Query extends HistoryQuery>(ref: SessionRef, query: Query): Promise<HistoryAnswer<Query>>
  /**
   * One page of the log: the events after number `after`, up to about `maxBytes` of them. No event: the end. Small pages,
   * of 32 KiB or less, are shared by their readers: they are for readers that wait for a client between two pages.
   */
  events(ref: SessionRef, after?: number, maxBytes?: number): Promise<Recorded[]>
  /** Text or bytes that are kept beside the log. Rejects with `not_found`. */
  blob<Query extends BlobQuery>(ref: SessionRef, query: Query): Promise<BlobAnswer<Query>>

  /** Sessions, newest first. `owner` null: of all owners, for operators. */
  list(owner: string | null, page: ListPage): Promise<SessionPage>
  /** The list row of each session that changes from now on. For operators. */
  changes(signal?: AbortSignal): AsyncIterable<readonly SessionChange[]>
  /** One fact about an owner or its sessions. */
  lookUp<Query extends LookUpQuery>(query: Query): Promise<LookUpAnswer<Query>>
}

/** To anyone but its owner a session does not exist. */
export type SessionRef = { owner: string; session: string }

// ---- questions -------------------------------------------------------------------------------------------

export type ServerQuery =
  | { get: 'resources' }
  /** As parts of a message. Rejects with `not_found`. */
  | { get: 'resource'; server: string; uri: string }
  | { get: 'prompts' }
  /** Its messages. Rejects with `not_found`. */
  | { get: 'prompt'; server: string; name: string; values: Readonly<Record<string, string>> }
type ServerAnswers = {
  resources: ServerResource[]
  resource: InputPart[]
  prompts: ServerPrompt[]
  prompt: PromptMessage[]
}
export type ServerAnswer<Query extends ServerQuery> = ServerAnswers[Query['get']]

/** `upTo`: as it was after the event of this number. */
export type HistoryQuery =
  | { get: 'entries'; upTo?: number }
  /** The entries that the model reads: those before a compaction are replaced by its summary. */
  | { get: 'view'; upTo?: number }
  /** The request that the model would be sent next. `text`: if a user said this first. */
  | { get: 'request'; text?: string }
type HistoryAnswers = { entries: SessionHistory; view: SessionHistory; request: ModelRequest }
export type HistoryAnswer<Query extends HistoryQuery> = HistoryAnswers[Query['get']]

export type BlobQuery =
  /** A result that was cut for the model, or what the command `keep` was given. */
  | { get: 'text'; name: string }
  /**
   * Of an output that was too large to keep whole in memory: up to `length` bytes, and at most 1 MiB, from `from` on, and the
   * size of the whole. While the output is being written, there is nothing of this name.
   */
  | { get: 'bytes'; name: string; from: number; length: number }
type BlobAnswers = { text: string; bytes: BlobRange }
export type BlobAnswer<Query extends BlobQuery> = BlobAnswers[Query['get']]

export type LookUpQuery =
  /** The session that this owner created with this request key. */
  | { get: 'session'; owner: string; key: string }
  /** The owner of a session. For operators. */
  | { get: 'owner'; session: string }
  /**
   * How much an owner has now. Counting may read a row of each of its sessions. `all`: of all owners whose names begin so;
   * then only what runs is counted.
   */
  | { get: 'usage'; owner: string; all?: boolean }
  /** Sessions by the words in their logs, and in other orders than that of `list`. Undefined: the store has no index. */
  | ({ get: 'sessions' } & FindQuery)
  /** What all sessions did, by the hour. For operators. Undefined: as above. */
  | ({ get: 'activity'; owner: null } & ActivityQuery)
type LookUpAnswers = {
  session: string | undefined
  owner: string | undefined
  usage: OwnerUsage
  sessions: FoundPage | undefined
  activity: ActivityReport | undefined
}
export type LookUpAnswer<Query extends LookUpQuery> = LookUpAnswers[Query['get']]

// ---- sessions --------------------------------------------------------------------------------------------

/**
 * An idempotency key, and a hash of the whole request that carried it.
 *
 * `retry`: if the turn of this request failed, ask the model again instead of giving the failed turn again.
 * `again`: a message may be said anew under its key: whenever its hash is another (`changed`), or also when it is the
 * same (`always`). The view goes back to before the message was said first. The log keeps everything.
 */
export type RequestKey = { key: string; hash: string; retry?: true; again?: 'changed' | 'always' }

/** A secret option comes as plain text and is sealed before it is recorded. `null` leaves a secret as it is. */
export type GivenSettings = Omit<Settings, 'options'> & { options: Record<string, string | null> }

export type CreateSession = {
  owner: string
  agent: string
  wire: string
  settings: GivenSettings
  /** Results of the client's tools in it are bounded and redacted like other results of clients. */
  seed: Entry[]
  /** The client's tools may have the names of the agent's own: turns will be asked for with `clientOnly`. */
  clientOnly?: true
  request?: RequestKey
  /** The first message. The session is written together with what comes of it. Not said in a session that exists. */
  say?: Extract<Command, { do: 'say' }>
}

/** `existing`: the request key was used before, and this is the session that it made. `accepted`: of the first message. */
export type CreatedSession = { session: string; existing: boolean; accepted?: Accepted }

export type Command =
  | {
      do: 'say'
      wire: string
      /** Default: `refuse`. */
      during?: During
      /** Empty: the history already ends with what the model is to answer. */
      parts: InputPart[]
      /** Those who ask for it, as the server knows them. Absent: the owner of the session. */
      requesters?: readonly string[]
      /** Added to what tools are given, for this turn. It stays in this process: it is neither logged nor sent elsewhere. */
      app?: Partial<AppContext>
      ask?: Ask
      settings?: Partial<GivenSettings>
      request?: RequestKey
      /** The trace that the turn belongs to. */
      trace?: TraceContext
    }
  | {
      do: 'respond'
      results: GivenResult[]
      decisions: GivenDecision[]
      answers?: GivenAnswer[]
      ask?: Ask
      settings?: Partial<GivenSettings>
      request?: RequestKey
      /** Refused with `busy` while the turn still runs, although the calls wait already. */
      afterStop?: true
      /** Answers to calls that were answered before are left out instead of refused. */
      skipAnswered?: true
    }
  /** Asks for a tool in place of a model. It passes the same gate, and the turn ends with its result. */
  | {
      do: 'call'
      wire: string
      by: string
      tool: string
      text: string
      /** As of a message. */
      requesters?: readonly string[]
      request?: RequestKey
      trace?: TraceContext
    }
  /** The result of a postponed call of a server tool, from the program that does its work. The first counts. */
  | { do: 'complete'; callId: string; output: ToolOutput }
  /** This client runs the call that was handed out, and others leave it alone for a time. */
  | { do: 'claim'; callId: string; by: string; forMs: number }
  | { do: 'configure'; settings: Partial<GivenSettings> }
  /** Keeps text beside the log, such as a mark of a wire. It records no event, and loads no session. */
  | { do: 'keep'; name: string; text: string }
  | { do: 'grant'; grant: Omit<Grant, 'id'> }
  | { do: 'revoke'; grantId: string; by: string }
  /**
   * Ends the turn now. `turn`: only if it is this one. `settled`: resolves once the tools that it stopped have returned,
   * also if the turn was over before.
   */
  | {
      do: 'cancel'
      turn?: string
      settled?: true
      /** Messages that wait are withdrawn too, in this name. Otherwise the first of them starts the next turn. */
      withdraw?: string
    }
  /** Settles one call as cancelled and stops it; the others and the turn go on. Also a call of an agent that works for one. */
  | { do: 'cancel-call'; callId: string; by: string; reason?: string }
  | AfterCallCommand
  /** Takes back a message that waits. Refused with `message_delivered` if it waits no longer. */
  | { do: 'withdraw'; message: string; by: string; reason?: string }
  /** Puts a summary in place of all but the newest entries that the model reads. */
  | { do: 'compact' }
  /** Signs the log as far as it can be signed now: up to the end of the last turn. */
  | { do: 'sign' }
  | ControlCommand

/** Manual control: the loop does nothing until the session is released; `by` does one action at a time. */
export type ControlCommand =
  /** `force` takes it from someone else who has it. */
  | { do: 'take-control'; by: string; force?: boolean }
  /** Does the next action as the loop would, and waits for the calls that it started. */
  | { do: 'perform'; by: string }
  | { do: 'answer-model'; by: string; answer: ModelAnswer }
  | { do: 'answer-call'; by: string; callId: string; output: ToolOutput }
  | { do: 'replace-arguments'; by: string; callId: string; text: string }
  | { do: 'release-control'; by: string }

export type Accepted = {
  /** The number of the first event that the command recorded; the next free number if it recorded none. */
  first: number
  /** How many events it recorded. */
  count: number
  /** When. */
  at: number
  /** The turn that the session is in after the command. */
  turn?: string
  /** The calls that waited for a client, a person, or calls of their own, when the command came. */
  waited: SessionCall[]
  /** The same request was accepted before: nothing was done, and `first` is the first event of that time. */
  replayed: boolean
  /** The id of the grant that was given. */
  grant?: string
  /** A message that could not start a turn at once: its id, and what has become of it. */
  message?: { id: string; state: MessageState }
  /** What a tool says of the call that it was asked about. */
  found?: Found | 'unknown'
}

export type SessionSummary = SessionDoubts & {
  id: string
  owner: string
  agent: string
  wire: string
  status: SessionStatus
  createdAt: number
  updatedAt: number
  /** The number of the last event. */
  seq: number
  /** Sealed values are replaced by an empty text. */
  settings: Settings
  /** The beginning of the first user message. */
  opening?: string
  entries: number
  /** The role of the last entry. */
  lastRole?: Entry['role']
  contextTokens?: number
  /** The last compaction: its event, and how many of the entries before it a model still reads, the newest. */
  compaction?: { seq: number; kept: number }
  turn?: { id: string; wire: string; startedAt: number; first: number; steps: number; ask?: Ask }
  /** The calls of the last answer, and those that they made, until all of them are settled. */
  calls: SessionCall[]
  /** The next action of the loop. */
  next: NextAction
  /** Of all model requests so far. */
  used: { tokens: number; cost?: number }
  grants: Grant[]
  lastStop?: { stop: TurnStop; limit?: LimitName; error?: { code: ErrorCode; message: string } }
  /** The messages that wait, in the order in which they were said. Absent: there is none. */
  messages?: SessionMessage[]
  controlledBy?: string
  /** The call of another session that it works for. Calls that agents work for name their sessions (`delegated`). */
  parent?: SessionParent
  /** Its turn is not continued: it ended the server several times, or is too large for its memory. */
  leftAlone?: ErrorCode
  /** Those who follow it now, on any node, and said who they are. */
  readers?: string[]
  /** The keys among those asked for that were used. */
  known: string[]
}

export type NextAction = {
  do: 'ask-model' | 'judge' | 'run' | 'await' | 'wait' | 'end' | 'rest'
  /** Ids of the calls that it is about. */
  calls?: string[]
  stop?: TurnStop
  limit?: LimitName
}

/** `calls`: those of the last answer, until all of them are settled; their results are not among the entries yet. */
export type SessionHistory = { entries: Entry[]; calls: SessionCall[] }

/** `leftAlone`: its turn is not continued after a start. */
export type ListedSession = SessionRow & { summary: ListSummary; leftAlone?: true }
export type SessionPage = { rows: ListedSession[]; next?: string }
export type FoundPage = Omit<FoundSessions, 'rows'> & { rows: (ListedSession & Pick<FoundRow, 'hit'>)[] }

/** It was created, has another status or summary; or it was deleted. */
export type SessionChange =
  | { type: 'changed'; row: ListedSession }
  | { type: 'removed'; owner: string; session: string }

/** `running`: the sessions that are at work, not those that rest or wait for someone. */
export type OwnerUsage = { running: string[]; sessions: number; bytes: number }

// ---- following -------------------------------------------------------------------------------------------

export type FollowOptions = {
  /** The number of the first event to give. Default: the next one. */
  from?: number
  /** `stop`: until the session rests or waits. `turn`: until its turn has ended. `never`: until the reader leaves. */
  until: 'stop' | 'turn' | 'never'
  /** Only what came of the request whose first event is `from`, and which was accepted before. */
  replay?: boolean
  deltas: DeltaMode
  /** The reader's name. The summary of the session lists it while this stream is open. */
  as?: string
}

/** The encoded forms of an item, by wire, so that each is made once for all readers of the item. */
type Encoded = { encoded?: Record<string, string> }

export type FollowItem =
  | ({ type: 'event' } & Recorded & Encoded)
  | ({ type: 'delta'; delta: Delta } & Encoded)
  /** The session is at work. */
  | { type: 'running' }
  /** The session waits for a client or a person. */
  | { type: 'waiting' }
  /** No turn is under way. */
  | { type: 'ended' }
  /** Nothing more comes from here: the session was deleted, the server stops, or the stream cannot go on. */
  | { type: 'lost'; error: PlainError }

export type PlainError = { code: ErrorCode; message: string; retryAfterMs?: number }

// ---- one answer without a session ----------------------------------------------------------------------

export type OnceRequest = {
  owner: string
  agent: string
  /** A configured model, if it is not the agent's own. */
  model?: string
  clientTools: ToolDeclaration[]
  /** Results in it are bounded and redacted as any result of a client. */
  history: Entry[]
  ask?: Ask
  deltas: DeltaMode
  trace?: TraceContext
}

export type OnceItem = { type: 'delta'; delta: Delta } | { type: 'answer'; answer: OnceAnswer }

export type OnceAnswer = {
  parts: AnswerPart[]
  stop: Exclude<ModelStop, 'cancelled' | 'pause'>
  model: string
  origin?: Origin
  usage?: Usage
  /** Data that the vendor wants back with the next request, such as a container or a response id. */
  continuity?: Native
  warnings?: string[]
}

// ---- tools that a connection offers and runs ------------------------------------------------------------

/** `hasPreview`: the connection can say what a call would do. */
export type AttachedTool = Omit<Tool, 'run' | 'preview' | 'reconcile' | 'undo'> & { hasPreview?: true }

export type AttachedItem =
  /** The first item: from now on the model is offered these tools. */
  | { type: 'attached' }
  /** `run` names this attempt; `report` refers to it. */
  | {
      type: 'run'
      run: string
      callId: string
      name: string
      input: Json
      attempt: number
      trace?: TraceContext
    }
  /** Asks what this call would do. The answer is a report of `preview`, or an error. */
  | { type: 'preview'; run: string; callId: string; name: string; input: Json }
  /** The call was cancelled or ran out of time. Its result is no longer waited for. */
  | { type: 'abort'; run: string }

export type AttachedReport =
  | { run: string; progress: Progress }
  | { run: string; report: Report }
  | { run: string; preview: Report }
  | { run: string; output: ToolOutput }
  /** It failed. `refused`: its own check refused the input, and nothing happened. `unanswered`: it may have taken effect. */
  | { run: string; error: string; refused?: true; unanswered?: true }
