// The writing half of the store: group commit, what is known about its health, and the end.
import { storeClosed } from '../failures.ts'
import { type CommitPlace, Commits } from './commits.ts'
import { GroupCommit, type GroupOptions } from './group-commit.ts'
import { placesFailure } from './places.ts'
import type { SentError } from './write-group.ts'
import type { WriterSetup } from './write-thread.ts'
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
    this.#group = new GroupCommit(
      { encode: encodeWrite, commit: (writes, size) => this.#commits.commit({ writes, size }) },
      options,
    )
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
