// The writes that wait. Those that are requested while others are under way go together, so that they share statements and
// commits. A session's writes are never under way twice: each write sees those before it, and a write that fails also fails
// the later ones of its session that wait here. It knows no SQL.
import { TurnwireError, wordsOf } from '../../language/errors.ts'
import { failsWith, type WriteFailure } from '../failures.ts'
import { isNextAppend, type Write } from './writes.ts'

export type QueueOptions = {
  /** How many writes go together. Default 512. */
  maxWrites?: number
  /** How many groups are under way at once. Default 2. */
  maxGroups?: number
}

export type WriteResult = { value: unknown } | { error: TurnwireError }

/** Writes that are under way: of how many sessions, and since when. */
type Group = { size: number; begun: number }

type Pending = {
  write: Write
  resolve: (value: unknown) => void
  reject: (error: TurnwireError) => void
}

/** About how many characters go together. */
const FULL_GROUP = 4 * 1024 * 1024
/** Groups of fewer sessions are not split. */
const LARGE_GROUP = 16
/** How much of an average is its newest value. */
const NEWEST = 0.2

export class WriteQueue {
  readonly #carryOut: (runs: Write[][]) => Promise<WriteResult[]>
  readonly #maxWrites: number
  readonly #maxGroups: number
  /** By session, in the order of the calls. */
  readonly #waiting = new Map<string, Pending[]>()
  /** Sessions with writes that wait and none under way, longest waiting first. */
  readonly #ready = new Set<string>()
  readonly #underWay = new Set<string>()
  readonly #groups = new Set<Group>()
  /** On average: how long a group is under way, and how long its sessions then work before they write again. */
  #writeMs = 0
  #workMs = 0
  /** Since when nothing is under way. */
  #quietSince: number | undefined
  readonly #now: () => number
  #isScheduled = false
  #idle = Promise.withResolvers<void>()

  /** `carryOut` gets the writes that go together, those of one session in one list, and gives one result for each list. */
  constructor(
    carryOut: (runs: Write[][]) => Promise<WriteResult[]>,
    options: QueueOptions = {},
    now = () => performance.now(),
  ) {
    this.#carryOut = carryOut
    this.#now = now
    this.#maxWrites = options.maxWrites ?? 512
    this.#maxGroups = options.maxGroups ?? 2
    this.#idle.resolve()
  }

  write(write: Write): Promise<unknown> {
    return new Promise((resolve, reject) => {
      const { session } = write
      const waiting = this.#waiting.get(session)
      if (waiting) waiting.push({ write, resolve, reject })
      else this.#waiting.set(session, [{ write, resolve, reject }])
      if (!this.#underWay.has(session)) this.#ready.add(session)
      if (this.#waiting.size === 1 && this.#groups.size === 0) this.#idle = Promise.withResolvers()
      this.#sendSoon()
    })
  }

  /** Resolves once every requested write is recorded or refused. */
  idle(): Promise<void> {
    return this.#idle.promise
  }

  /** Writes that are requested in one turn of the event loop go together. */
  #sendSoon(): void {
    if (this.#isScheduled || this.#ready.size === 0 || !this.#mayStart()) return
    this.#isScheduled = true
    setImmediate(() => {
      this.#isScheduled = false
      const group = this.#take(this.#most())
      const underWay = { size: group.length, begun: this.#now() }
      this.#groups.add(underWay)
      const runs = group.map(pendings => pendings.map(({ write }) => write))
      this.#carryOut(runs).then(
        results => this.#deliver(underWay, group, results),
        (thrown: unknown) => {
          const error = new TurnwireError('store_failed', wordsOf(thrown), { cause: thrown })
          this.#deliver(
            underWay,
            group,
            group.map(() => ({ error })),
          )
        },
      )
      this.#sendSoon()
    })
  }

  /**
   * A second group starts once it would be as large as one under way: a few writes do not wait for a slow one, and many
   * are not split into small groups.
   */
  #mayStart(): boolean {
    if (this.#groups.size >= this.#maxGroups) return false
    for (const { size } of this.#groups) if (this.#ready.size < size) return false
    return true
  }

  /**
   * How many writes the next group takes. If sessions work for longer between two writes than a write takes, half of those
   * that are ready go first: while the database has one half, this process works on the other. All together, either would
   * wait for the other.
   */
  #most(): number {
    if (this.#groups.size > 0) return this.#maxWrites
    if (this.#quietSince !== undefined) this.#workMs = average(this.#workMs, this.#now() - this.#quietSince)
    this.#quietSince = undefined
    const isSplit = this.#ready.size >= LARGE_GROUP && this.#workMs > this.#writeMs
    return isSplit ? Math.min(Math.ceil(this.#ready.size / 2), this.#maxWrites) : this.#maxWrites
  }

  #take(most: number): Pending[][] {
    const group: Pending[][] = []
    let writes = 0
    let size = 0
    for (const session of this.#ready) {
      if (writes >= most || size >= FULL_GROUP) break
      this.#ready.delete(session)
      this.#underWay.add(session)
      const waiting = this.#waiting.get(session)!
      const run = waiting.splice(0, lengthOfRun(waiting))
      if (waiting.length === 0) this.#waiting.delete(session)
      group.push(run)
      writes += run.length
      for (const { write } of run) size += write.size
    }
    return group
  }

  #deliver(underWay: Group, group: readonly Pending[][], results: readonly WriteResult[]): void {
    this.#groups.delete(underWay)
    this.#writeMs = average(this.#writeMs, this.#now() - underWay.begun)
    if (this.#groups.size === 0) this.#quietSince = this.#now()
    for (const [index, run] of group.entries()) {
      const { session, epoch } = run[0]!.write
      const result = results[index]!
      this.#underWay.delete(session)
      for (const { resolve, reject } of run) {
        if ('error' in result) reject(result.error)
        else resolve(result.value)
      }
      if ('error' in result) this.#refuseWaiting(session, { error: result.error, epoch })
      if (this.#waiting.has(session)) this.#ready.add(session)
    }
    if (this.#groups.size === 0 && this.#waiting.size === 0) this.#idle.resolve()
    this.#sendSoon()
  }

  /** They were requested before their callers could know of the failure. */
  #refuseWaiting(session: string, failure: WriteFailure): void {
    const kept = (this.#waiting.get(session) ?? []).filter(({ write, reject }) => {
      if (!failsWith(failure, write)) return true
      reject(failure.error)
      return false
    })
    if (kept.length > 0) this.#waiting.set(session, kept)
    else this.#waiting.delete(session)
  }
}

function average(before: number, newest: number): number {
  return before + (newest - before) * NEWEST
}

/** How many of a session's writes can be made as one: appends that follow each other. */
function lengthOfRun(waiting: readonly Pending[]): number {
  let length = 1
  let size = waiting[0]!.write.size
  while (length < waiting.length && size < FULL_GROUP) {
    if (!isNextAppend(waiting[length - 1]!.write, waiting[length]!.write)) break
    size += waiting[length]!.write.size
    length += 1
  }
  return length
}
