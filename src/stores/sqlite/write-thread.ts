// The thread that writes to the database, seen from the main thread: it is given groups of writes, one at a time, and
// answers with their results. So a slow disk never holds the event loop. The thread itself is in write-worker.ts.
import { Worker } from 'node:worker_threads'
import { TurnwireError, wordsOf } from '../../language/errors.ts'
import { threadEnv } from '../../lib/async/thread-env.ts'
import type { GroupResult } from './group-commit.ts'
import type { DatabaseOptions } from './open.ts'
import type { FilePlaces } from './places.ts'
import type { SentWrite } from './writes.ts'

export type WriterSetup = { options: DatabaseOptions; places: FilePlaces }

/** A message to the thread: commit a group, copy the WAL into the database, or close. */
export type ThreadMessage = { writes: readonly SentWrite[]; isDistrusted: boolean } | 'checkpoint' | 'close'
/** `commitMs`: how long the commit took, without the way to the thread and back. A checkpoint has an empty result. */
export type ThreadReply = { result: GroupResult; commitMs: number }

/** Compiled, this file and the one of the thread end in .js. */
const ownProgram = new URL(`write-worker${import.meta.url.slice(-3)}`, import.meta.url)

export class WriteThread {
  readonly #setup: WriterSetup
  #worker: Worker | undefined
  #waiting: PromiseWithResolvers<ThreadReply> | undefined
  #isDistrusted = false
  /** Why the thread ended, until the next one is started. */
  #cause: unknown

  readonly #program: URL

  /** The thread is started by the first write: a process that only reads does not pay for its memory. */
  constructor(setup: WriterSetup, program = ownProgram) {
    this.#setup = setup
    this.#program = program
  }

  /**
   * One transaction. It is called again only after it has settled. Rejects with a TurnwireError if the thread ended
   * meanwhile: then it is unknown what was recorded, as after a crash.
   */
  commit(writes: readonly SentWrite[]): Promise<ThreadReply> {
    return this.#ask({ writes, isDistrusted: this.#isDistrusted })
  }

  /** It is called as `commit` is. It may be left undone. */
  async checkpoint(): Promise<void> {
    await this.#ask('checkpoint').catch(() => {})
  }

  /** The disk has failed elsewhere: the next commit uses a new connection. */
  distrust(): void {
    this.#isDistrusted = true
  }

  /** Closes the database. Nothing may be committed any more. */
  async close(): Promise<void> {
    const worker = this.#worker
    if (!worker) return
    worker.ref()
    const ended = new Promise(resolve => worker.once('exit', resolve))
    worker.postMessage('close' satisfies ThreadMessage)
    await ended
  }

  /** Rejects if the message cannot cross to the thread. */
  async #ask(message: ThreadMessage): Promise<ThreadReply> {
    const waiting = Promise.withResolvers<ThreadReply>()
    this.#waiting = waiting
    this.#worker ??= this.#start()
    this.#worker.postMessage(message)
    if (typeof message === 'object') this.#isDistrusted = false
    // The process must not end before its writes are recorded.
    this.#worker.ref()
    return waiting.promise
  }

  #start(): Worker {
    const worker = new Worker(this.#program, { workerData: this.#setup, env: threadEnv(), execArgv: [] })
    worker.unref()
    worker.on('message', (reply: ThreadReply) => {
      worker.unref()
      this.#settle()?.resolve(reply)
    })
    worker.on('error', cause => {
      this.#cause = cause
    })
    worker.on('exit', () => {
      this.#worker = undefined
      this.#settle()?.reject(
        new TurnwireError(
          'store_failed',
          `The thread that writes to ${this.#setup.options.file} ended: ${wordsOf(this.#cause)}`,
          { cause: this.#cause },
        ),
      )
    })
    return worker
  }

  #settle(): PromiseWithResolvers<ThreadReply> | undefined {
    const waiting = this.#waiting
    this.#waiting = undefined
    return waiting
  }
}
