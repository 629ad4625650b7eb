// Chooses where a group of writes is committed: on the main thread, which costs least, or in the thread that writes, so that
// a slow disk does not hold the event loop (docs/decisions/0018). Both do the same with a connection of their own. Group
// commit awaits each commit, so only one of the two connections ever writes at a time. The thread also keeps the WAL short.
import { Connection } from './connection.ts'
import { type GroupResult, writeGroup } from './write-group.ts'
import { type WriterSetup, WriteThread } from './write-thread.ts'
import type { SentWrite } from './writes.ts'

/** `adaptive` unless a test wants all commits in one place. */
export type CommitPlace = 'adaptive' | 'main' | 'thread'

/** A group as it is committed. `size` is about the number of characters. */
export type Group = { writes: readonly SentWrite[]; size: number }

/** On a disk whose commits take longer on average, changing threads costs little next to the disk. */
const SLOW_MS = 1
/** How much the newest commit counts in the average. A commit of 500 ms keeps the next 140 off the main thread. */
const NEWEST_COUNTS = 1 / 64
/** A larger group takes long to write, however quick the disk is. */
const SMALL_GROUP = 256 * 1024
/** After so many commits, or this much written, the WAL is copied into the database. */
const LONG_WAL = { commits: 250, size: 4 * 1024 * 1024 }

/** How long commits take on average, the newest counting most. One slow commit on a quick disk changes little. */
export class DiskPace {
  #averageMs = 0

  get isQuick(): boolean {
    return this.#averageMs < SLOW_MS
  }

  note(commitMs: number): void {
    this.#averageMs += (commitMs - this.#averageMs) * NEWEST_COUNTS
  }
}

export class Commits {
  readonly #setup: WriterSetup
  readonly #place: CommitPlace
  readonly #thread: WriteThread
  readonly #pace = new DiskPace()
  #connection: Connection | undefined
  /** Since the last checkpoint. */
  #wal = { commits: 0, size: 0 }

  constructor(setup: WriterSetup, place: CommitPlace = 'adaptive') {
    this.#setup = setup
    this.#place = place
    this.#thread = new WriteThread(setup)
  }

  /** One transaction. It is called again only after it has settled. Rejects if the thread ended meanwhile. */
  async commit(group: Group): Promise<GroupResult> {
    if (this.#place !== 'main') await this.#keepWalShort(group.size)
    if (this.#staysHere(group)) {
      const result = this.#commitHere(group.writes)
      // Another process has the lock, and nothing was written. Waiting for it would hold the event loop.
      if (!isLocked(result) || this.#place === 'main') return result
    }
    const { result, commitMs } = await this.#thread.commit(group.writes)
    this.#pace.note(commitMs)
    if (mayBeUnsynced(result)) this.#connection?.distrust()
    return result
  }

  /** Nothing may be committed any more. The thread closes last: it does the work of closing. */
  async close(): Promise<void> {
    this.#connection?.close()
    await this.#thread.close()
  }

  #staysHere({ size }: Group): boolean {
    if (this.#place !== 'adaptive') return this.#place === 'main'
    return this.#pace.isQuick && size <= SMALL_GROUP
  }

  #commitHere(writes: readonly SentWrite[]): GroupResult {
    this.#connection ??= this.#open()
    const result = writeGroup(this.#connection, writes)
    this.#pace.note(this.#connection.takeCommitMs())
    if (mayBeUnsynced(result)) this.#thread.distrust()
    return result
  }

  /**
   * The thread copies the WAL into the database while nothing is committed, so that all of it is copied and the file starts
   * over. If that fails, the WAL stays whole, and it is tried again later.
   */
  async #keepWalShort(more: number): Promise<void> {
    const { commits, size } = this.#wal
    const isLong = commits >= LONG_WAL.commits || size >= LONG_WAL.size
    this.#wal = isLong ? { commits: 1, size: more } : { commits: commits + 1, size: size + more }
    if (isLong) await this.#thread.checkpoint()
  }

  #open(): Connection {
    const { options, places } = this.#setup
    const isAlone = this.#place === 'main'
    return new Connection({ ...options, ...(isAlone ? { checkpoints: true } : { busyMs: 0 }) }, places)
  }
}

/** After a failed sync neither connection is used again: an error of the disk is told once to each open file. */
function mayBeUnsynced(result: GroupResult): boolean {
  return !Array.isArray(result) && result.code !== 'store_locked' && result.code !== 'store_full'
}

function isLocked(result: GroupResult): boolean {
  return !Array.isArray(result) && result.code === 'store_locked'
}
