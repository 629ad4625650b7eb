// Chooses where a group of writes is committed: on the main thread, which costs least, or in the thread that writes, so that
// a slow disk does not hold the event loop (docs/decisions/0018). Both do the same with a connection of their own. Group
// commit awaits each commit, so only one of the two connections ever writes at a time.
import { Connection } from './connection.ts'
import { type GroupResult, writeGroup } from './write-group.ts'
import { type WriterSetup, WriteThread } from './write-thread.ts'
import type { SentWrite } from './writes.ts'

/** `adaptive` unless a test wants all commits in one place. */
export type CommitPlace = 'adaptive' | 'main' | 'thread'

/** A group as it is committed. `size` is about the number of characters. */
export type Group = { writes: readonly SentWrite[]; size: number }

/** A commit that took this long was slow: next to it, changing threads costs nothing. */
const SLOW_MS = 1
/** A larger group takes long to write, however quick the disk is. */
const SMALL_GROUP = 64 * 1024
/** SQLite copies the WAL into the database after about so many small commits. The thread does that. */
const MOST_IN_A_ROW = 200
/** After a slow commit, so many quick ones bring the next to the main thread. Each further slow one doubles it. */
const QUICK_AGAIN = { least: 8, most: 1024 }
/** After so many quick commits on the main thread, a slow one counts as the first. */
const STEADY = 1_000

/** How quick the disk has been. */
export class DiskPace {
  /** Quick commits that are still needed before the disk counts as quick. */
  #needed = 0
  #next = QUICK_AGAIN.least
  #quick = 0

  get isQuick(): boolean {
    return this.#needed === 0
  }

  note(commitMs: number): void {
    if (commitMs < SLOW_MS) {
      if (this.#needed > 0) this.#needed -= 1
      else this.#quick += 1
      return
    }
    if (this.#needed === 0) {
      this.#next = this.#quick >= STEADY ? QUICK_AGAIN.least : Math.min(this.#next * 2, QUICK_AGAIN.most)
      this.#quick = 0
    }
    this.#needed = this.#next
  }
}

export class Commits {
  readonly #setup: WriterSetup
  readonly #place: CommitPlace
  readonly #thread: WriteThread
  readonly #pace = new DiskPace()
  #connection: Connection | undefined
  #inARow = 0

  constructor(setup: WriterSetup, place: CommitPlace = 'adaptive') {
    this.#setup = setup
    this.#place = place
    this.#thread = new WriteThread(setup)
  }

  /** One transaction. It is called again only after it has settled. Rejects if the thread ended meanwhile. */
  async commit(group: Group): Promise<GroupResult> {
    if (this.#staysHere(group)) {
      const result = this.#commitHere(group.writes)
      // Another process has the lock, and nothing was written. Waiting for it would hold the event loop.
      if (!isLocked(result) || this.#place === 'main') return result
    }
    this.#inARow = 0
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

  #staysHere({ writes, size }: Group): boolean {
    if (this.#place !== 'adaptive') return this.#place === 'main'
    return (
      this.#pace.isQuick &&
      this.#inARow < MOST_IN_A_ROW &&
      size <= SMALL_GROUP &&
      writes.every(({ session }) => session === writes[0]?.session)
    )
  }

  #commitHere(writes: readonly SentWrite[]): GroupResult {
    this.#inARow += 1
    this.#connection ??= this.#open()
    const result = writeGroup(this.#connection, writes)
    this.#pace.note(this.#connection.takeCommitMs())
    if (mayBeUnsynced(result)) this.#thread.distrust()
    return result
  }

  #open(): Connection {
    const { options, places } = this.#setup
    const isAlone = this.#place === 'main'
    return new Connection({ ...options, ...(!isAlone && { busyMs: 0, checkpoints: false }) }, places)
  }
}

/** After a failed sync neither connection is used again: an error of the disk is told once to each open file. */
function mayBeUnsynced(result: GroupResult): boolean {
  return !Array.isArray(result) && result.code !== 'store_locked' && result.code !== 'store_full'
}

function isLocked(result: GroupResult): boolean {
  return !Array.isArray(result) && result.code === 'store_locked'
}
