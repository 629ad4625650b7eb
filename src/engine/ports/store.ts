// The port for stores: the interface of the place where sessions are kept. Types only.
import type { ErrorCode } from '../../language/errors.ts'
import type { Event, Recorded, Settings, TurnStop } from '../../language/events.ts'
import type { SessionFinder } from './finder.ts'
import type { NewRecord, RecordStore } from './records.ts'

export type SessionStatus = 'idle' | 'running' | 'waiting'

/** The facts about a session's work that a list shows. */
export type SessionFacts = {
  /** Of all model requests, input and output. */
  tokens: number
  /** Absent: no price is known. */
  cost?: number
  /** While it waits: the tools whose calls wait for a client or a person. */
  waits?: readonly string[]
  /** While it waits: how many of them wait for a person's approval. */
  asks?: number
  /** At rest: how its last turn ended, unless it simply ended. */
  stop?: TurnStop
  /** While it waits: a call runs and waits for an answer. If its process ends, the session has to be recovered. */
  atWork?: true
  /** While it waits: the time at which its turn goes on although nobody has answered. */
  dueAt?: number
}

export type SessionRow = {
  id: string
  owner: string
  agent: string
  status: SessionStatus
  createdAt: number
  updatedAt: number
  head: number
  /** About the length of its log as JSON, in characters. The memory for loading it is estimated from this. */
  bytes: number
  /** The same of everything that is kept beside the log. */
  blobBytes: number
  /** How often its recovery began since something was last written to it. */
  recoveries: number
  /** The newest ones written. Absent: none were. */
  facts?: SessionFacts
}

/** The facts about a session that a list shows. Stored beside the log, so that listing reads no log. */
export type ListSummary = {
  settings: Settings
  /** The beginning of the first user message. */
  opening?: string
  /** The wire that it was created on. Absent in summaries of older versions. */
  wire?: string
  /** The agent that has the conversation now. Absent: the one of the row. */
  agent?: string
  /** The session whose call it works for. */
  parent?: string
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
  /** Only when they changed. */
  facts?: SessionFacts
  /** Only where there are budgets of agents or owners. Counted with the events or not at all. */
  spending?: readonly Spending[]
  /** Only where something is made of events, such as webhooks. Added with the events or not at all. */
  records?: readonly NewRecord[]
}

/** What was used: tokens and calls, and money as far as prices are known. */
export type Spent = { tokens: number; money: number; calls: number }

/**
 * What an append adds to what its owner and its agent have spent on a day. `workers`: by sessions that work for it, which
 * add it to their owner themselves.
 */
export type Spending = { day: string; owner: string; agent: string; own: Spent; workers: Spent }

export type NewSession = {
  row: Pick<SessionRow, 'id' | 'owner' | 'agent' | 'status' | 'createdAt'>
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

export type ListPage = { after?: string; limit: number; status?: SessionStatus }

/** A piece of a blob that is written in pieces: `at` is where it begins, and so how many bytes there are before it. */
export type BlobPiece = { epoch: number; at: number; bytes: Uint8Array; last?: true }

/** `inPieces`: it was written by `addPiece`. */
export type BlobName = { name: string; inPieces: boolean }

/** A part of such a blob. `size`: of the whole. */
export type BlobRange = { bytes: Uint8Array; size: number }

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
  /**
   * Makes the caller the only writer: all earlier epochs become invalid. Undefined: no such session. `recovering`: counts
   * one more recovery that began, durably, before anything of the session is loaded.
   */
  claim(session: string, recovering?: true): Promise<{ epoch: number; row: SessionRow } | undefined>
  /** Also shows that the session could be recovered. Without events it shows only that. */
  append(batch: Append): Promise<void>
  /**
   * How long the engine may hold back deferrable events, so that one append carries several. Absent: appends are so
   * cheap that it should hold back nothing.
   */
  readonly lingerMs?: number
  /** Logs are in the memory of this process: reading one costs so little that no snapshots are kept beside it. */
  readonly inMemory?: true
  row(session: string): Promise<SessionRow | undefined>
  /** The session that this owner's request key created. */
  requested(owner: string, key: string): Promise<string | undefined>
  /** Events with a number greater than `after`, in order. Empty: there are no more. */
  read(session: string, after?: number, options?: ReadOptions): Promise<Recorded[]>
  /**
   * Newest first. `owner` null: of all owners, for operators. `after` is the `next` of the page before. `status`: only these;
   * those that wait are found without looking at the others. A page of another status may have fewer rows than `limit`, or
   * none, and a `next` all the same: it looks at a bounded number of sessions.
   */
  list(owner: string | null, page: ListPage): Promise<{ rows: ListedRow[]; next?: string }>
  /** All owners that have a session, in any order. For the operator only. */
  owners(): Promise<string[]>
  /** How many sessions an owner has, and how many bytes their logs and blobs take. It may look at each of them. */
  usage(owner: string): Promise<{ sessions: number; bytes: number }>
  /**
   * What an owner, or an agent with the sessions that worked for it, has spent on a day (`2026-01-31`) or in a month (`2026-01`), by the
   * `spending` of appends. Removing a session takes nothing back. Absent: the store cannot count it.
   */
  spent?(of: { owner: string } | { agent: string }, period: string): Promise<Spent>
  /** Counts what was spent without a session. A store that has `spent` has this too. */
  spend?(spending: Spending): Promise<void>
  /**
   * All sessions whose status is `running`, and those that wait and are `atWork` or have a `dueAt`. Asked once, when a process
   * starts: it may look at every session.
   */
  unfinished(): Promise<string[]>
  /** False: there was none. `epoch`: rejects with `lease_lost`, as `append` does, if it is not the current one. */
  remove(session: string, epoch?: number): Promise<boolean>
  /** `epoch`: as for `remove`. */
  putBlob(session: string, name: string, body: string, epoch?: number): Promise<void>
  blob(session: string, name: string): Promise<string | undefined>
  /** Every blob of a session that can be read now, in any order. For copies of whole sessions. */
  blobs(session: string): Promise<BlobName[]>
  /**
   * Adds bytes to a blob that is too large to be put whole. `at` 0 begins it anew, and removes what there was; without
   * bytes, and not as the last piece, it only removes. Readers see it once its last piece is written. It rejects with
   * `lease_lost` as `append` does, and if `at` is not the end of what there is. Its names are not those of `putBlob`.
   */
  addPiece(session: string, name: string, piece: BlobPiece): Promise<void>
  /** Up to `length` bytes from `from` on; none beyond the end. Undefined: there is no such blob, or no last piece of it. */
  blobRange(session: string, name: string, from: number, length: number): Promise<BlobRange | undefined>
  /** Absent: the store keeps none. */
  readonly records?: RecordStore
  /** Absent: the store finds sessions by `list` alone. */
  readonly finder?: SessionFinder
  /** Why writes fail now, as far as is known without one; for health checks. Absent: it cannot tell. */
  failure?(): { code: ErrorCode; message: string } | undefined
  close(): Promise<void>
}
