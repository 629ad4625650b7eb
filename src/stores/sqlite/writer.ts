// The writing half of the store: which writes are committed together, where, what is known about the store's health, and the
// end. A group is committed on the main thread, which costs least, or in the thread that writes, so that a slow disk does not
// hold the event loop (docs/decisions/0018). Both do the same with a connection of their own. Group commit awaits each
// commit, so only one of the two connections ever writes at a time. The thread also keeps the WAL short.
import { storeClosed } from '../failures.ts'
import { Connection } from './connection.ts'
import {
  GroupCommit,
  type GroupOptions,
  type GroupResult,
  type SentError,
  writeGroup,
} from './group-commit.ts'
import { placesFailure } from './places.ts'
import { type WriterSetup, WriteThread } from './write-thread.ts'
import { encodeWrite, type SentWrite, type Write } from './writes.ts'

export class Writer {
  readonly #setup: WriterSetup
  readonly #commits: Commits
  readonly #group: GroupCommit<Write, SentWrite>
  #probing = false
  #closed = false

  constructor(setup: WriterSetup, options: GroupOptions | undefined, place: CommitPlace | undefined) {
    this.#setup = setup
    this.#commits = new Commits(setup, place)
    this.#group = new GroupCommit(this.#commits, options)
  }

  /** `Result` is what `carryOut` gives for this kind of write. */
  write<Result>(write: Write): Promise<Result> {
    if (this.#closed) return Promise.reject(storeClosed())
    const written = this.#group.write(write) as Promise<Result>
    // It may fit where the one that failed did not, so it proves nothing.
    if (this.#group.failure?.code === 'store_full') this.#probe()
    return written
  }

  /**
   * Why transactions fail, or why the next one will. A health check must not wait for the disk: a store that failed is
   * tried again meanwhile, so that it is found working also when nobody writes.
   */
  failure(): SentError | undefined {
    if (this.#closed) return undefined
    const { failure } = this.#group
    if (failure) this.#probe()
    const moved = placesFailure(this.#setup.places)
    return moved ? { code: moved.code, message: moved.message } : failure
  }

  /** Refuses further writes. Resolves once all earlier ones are committed or refused. */
  finish(): Promise<void> {
    this.#closed = true
    return this.#group.idle()
  }

  /** After `finish`. */
  close(): Promise<void> {
    return this.#commits.close()
  }

  #probe(): void {
    if (this.#probing) return
    this.#probing = true
    const over = (): void => {
      this.#probing = false
    }
    this.#tryWriting().then(over, over)
  }

  /** A full store takes a small write here and there. It works again when there is room, which is freed again. */
  async #tryWriting(): Promise<void> {
    const isFull = this.#group.failure?.code === 'store_full'
    await this.#group.write({ kind: 'probe', session: '', room: isFull ? 'take' : 'none' })
    if (isFull) await this.#group.write({ kind: 'probe', session: '', room: 'free' }, 'first')
  }
}

// ---- where a group is committed ------------------------------------------------------------------------------

/** `adaptive` unless a test wants all commits in one place. */
export type CommitPlace = 'adaptive' | 'main' | 'thread'

/** On a disk whose commits take longer on average, changing threads costs little next to the disk. */
const SLOW_MS = 1
/** How much the newest commit counts in the average. A commit of 500 ms keeps the next 140 off the main thread. */
const NEWEST_COUNTS = 1 / 64
/** A commit on the main thread that takes longer is a stall: everyone on the event loop waits for it. */
const STALL_MS = 20
/** After a stall, commits stay off the main thread for so long, unless one session alone writes: it waits anyway. */
const AFTER_STALL_MS = 60_000
/** A session that made so many commits in a row writes alone. */
const ALONE_COMMITS = 16
/** A larger group takes long to write, however quick the disk is. */
const SMALL_GROUP = 256 * 1024
/** After so many commits, or this much written, the WAL is copied into the database. */
const LONG_WAL = { commits: 250, size: 4 * 1024 * 1024 }

/** How long commits take on average, the newest counting most. One slow commit on a quick disk changes little. */
export class DiskPace {
  #averageMs = 0
  #stalledAt = Number.NEGATIVE_INFINITY
  readonly #now: () => number

  constructor(now = () => performance.now()) {
    this.#now = now
  }

  get isQuick(): boolean {
    return this.#averageMs < SLOW_MS
  }

  /** A commit may hold the event loop: it will be short, or nobody else waits. */
  mayHoldLoop(isAlone: boolean): boolean {
    return this.isQuick && (isAlone || this.#now() - this.#stalledAt >= AFTER_STALL_MS)
  }

  /** Of a commit in either place. Wherever it was slow, the next one may be. */
  note(commitMs: number): void {
    this.#averageMs += (commitMs - this.#averageMs) * NEWEST_COUNTS
    if (commitMs > STALL_MS) this.#stalledAt = this.#now()
  }
}

export class Commits {
  readonly encode = encodeWrite
  readonly #setup: WriterSetup
  readonly #place: CommitPlace
  readonly #thread: WriteThread
  readonly #pace = new DiskPace()
  #connection: Connection | undefined
  /** The session that has made the last commits, and how many. */
  readonly #writing = { session: '', commits: 0 }
  /** Since the last checkpoint. */
  readonly #wal = { commits: 0, size: 0 }

  constructor(setup: WriterSetup, place: CommitPlace = 'adaptive') {
    this.#setup = setup
    this.#place = place
    this.#thread = new WriteThread(setup)
  }

  /**
   * One transaction. It is called again only after it has settled. Rejects if the thread ended meanwhile. `size` is about the
   * number of characters.
   */
  async commit(writes: readonly SentWrite[], size: number): Promise<GroupResult> {
    const place = this.#place
    if (place !== 'main' && this.#isWalLong(size)) await this.#thread.checkpoint()
    const isAlone = this.#isAlone(writes)
    if (
      place === 'main' ||
      (place === 'adaptive' && size <= SMALL_GROUP && this.#pace.mayHoldLoop(isAlone))
    ) {
      const result = this.#commitHere(writes)
      // Another process has the lock, and nothing was written. Waiting for it would hold the event loop.
      if (Array.isArray(result) || result.code !== 'store_locked' || place === 'main') return result
    }
    const { result, commitMs } = await this.#thread.commit(writes)
    this.#pace.note(commitMs)
    if (!Array.isArray(result) && mayBeUnsynced(result)) this.#connection?.distrust()
    return result
  }

  /** Nothing may be committed any more. The thread closes last: it does the work of closing. */
  async close(): Promise<void> {
    this.#connection?.close()
    await this.#thread.close()
  }

  #commitHere(writes: readonly SentWrite[]): GroupResult {
    this.#connection ??= this.#open()
    const result = writeGroup(this.#connection, writes)
    this.#pace.note(this.#connection.takeCommitMs())
    if (!Array.isArray(result) && mayBeUnsynced(result)) this.#thread.distrust()
    return result
  }

  /** These writes, and the last ones, are of one session. */
  #isAlone(writes: readonly SentWrite[]): boolean {
    const writing = this.#writing
    const session = writes[0]?.session ?? ''
    const isSame = session === writing.session && writes.every(write => write.session === session)
    writing.commits = isSame ? writing.commits + 1 : 0
    writing.session = session
    return writing.commits >= ALONE_COMMITS
  }

  /**
   * If so, the thread copies it into the database while nothing is committed, so that all of it is copied and the file starts
   * over. If that fails, the WAL stays whole, and it is tried again later.
   */
  #isWalLong(more: number): boolean {
    const wal = this.#wal
    const isLong = wal.commits >= LONG_WAL.commits || wal.size >= LONG_WAL.size
    if (isLong) [wal.commits, wal.size] = [0, 0]
    wal.commits += 1
    wal.size += more
    return isLong
  }

  #open(): Connection {
    const { options, places } = this.#setup
    const isAlone = this.#place === 'main'
    return new Connection({ ...options, ...(isAlone ? { checkpoints: true } : { busyMs: 0 }) }, places)
  }
}

/** After a failed sync neither connection is used again: an error of the disk is told once to each open file. */
function mayBeUnsynced({ code }: SentError): boolean {
  return code !== 'store_locked' && code !== 'store_full'
}
