// The index of a store, seen from the main thread: a thread reads the logs, keeps the index, and answers questions about it.
// So neither indexing nor a large search takes time of the event loop. The thread is started when there is something to do,
// and ends when there is not.
import { Worker } from 'node:worker_threads'
import type { ActivityQuery, FindQuery, FoundSessions, SessionFinder } from '../../engine/ports/index.ts'
import type { ActivityReport } from '../../language/activity.ts'
import { type ErrorCode, TurnwireError } from '../../language/errors.ts'
import { threadEnv } from '../../lib/async/thread-env.ts'
import { storeClosed } from '../failures.ts'

export type IndexQuestion =
  | { ask: 'find'; query: FindQuery }
  | { ask: 'activity'; query: ActivityQuery }
  /** Reads what the index does not have yet. */
  | { ask: 'catch-up' }
export type IndexAnswer = FoundSessions | ActivityReport | true
export type SentQuestion = { id: number; question: IndexQuestion } | 'close'
export type SentAnswer = { id: number } & ({ answer: IndexAnswer } | { code: ErrorCode; message: string })

export type IndexThreadOptions = {
  /** The program of the thread, and what it is given. */
  program: URL
  setup: unknown
  /**
   * A mark of what the store has recorded: the index is behind if it is another one than before. `''`: nothing was ever recorded, so
   * there is nothing to read. Absent: always ask.
   */
  mark?: () => Promise<string>
  /** Added to the environment of the thread. Default: nothing. */
  env?: NodeJS.ProcessEnv
  /** How often `start` looks. Default 5 s. */
  everyMs?: number
}

/** A thread that nobody has asked for so long ends. */
const idleMs = 20_000

export class IndexThread implements SessionFinder {
  readonly #options: IndexThreadOptions
  readonly #asked = new Map<number, PromiseWithResolvers<IndexAnswer>>()
  #worker: Worker | undefined
  #last = 0
  #mark: string | undefined
  #timer: NodeJS.Timeout | undefined
  #idle: NodeJS.Timeout | undefined
  #isClosed = false

  constructor(options: IndexThreadOptions) {
    this.#options = options
  }

  async find(query: FindQuery): Promise<FoundSessions> {
    return (await this.#ask({ ask: 'find', query })) as FoundSessions // the answer to this question
  }

  async activity(query: ActivityQuery): Promise<ActivityReport> {
    return (await this.#ask({ ask: 'activity', query })) as ActivityReport // as above
  }

  start(): void {
    if (this.#timer || this.#isClosed) return
    this.#timer = setInterval(() => void this.#look(), this.#options.everyMs ?? 5_000)
    this.#timer.unref()
  }

  /** The index may have something to do, such as to forget a session. It is done soon if the index is kept up to date. */
  changed(): void {
    this.#mark = undefined
  }

  /** Resolves once the thread has ended. */
  async close(): Promise<void> {
    this.#isClosed = true
    clearInterval(this.#timer)
    await this.#end()
  }

  async #look(): Promise<void> {
    const mark = await this.#options.mark?.().catch(() => undefined)
    if (mark === '' || (mark !== undefined && mark === this.#mark)) return
    const before = this.#mark
    this.#mark = mark
    // What could not be read now is tried at the next look.
    await this.#ask({ ask: 'catch-up' }).catch(() => {
      this.#mark = before
    })
  }

  #ask(question: IndexQuestion): Promise<IndexAnswer> {
    if (this.#isClosed) return Promise.reject(storeClosed())
    const id = ++this.#last
    const asked = Promise.withResolvers<IndexAnswer>()
    this.#asked.set(id, asked)
    clearTimeout(this.#idle)
    this.#worker ??= this.#startThread()
    // A question keeps the process; reading on does not.
    if (question.ask !== 'catch-up') this.#worker.ref()
    this.#worker.postMessage({ id, question } satisfies SentQuestion)
    return asked.promise
  }

  #startThread(): Worker {
    const { program, setup, env } = this.#options
    const worker = new Worker(program, { workerData: setup, env: { ...env, ...threadEnv() }, execArgv: [] })
    worker.unref()
    let cause: unknown
    worker.on('message', (sent: SentAnswer) => {
      const asked = this.#asked.get(sent.id)
      this.#asked.delete(sent.id)
      if ('answer' in sent) asked?.resolve(sent.answer)
      else asked?.reject(failure(sent))
      if (this.#asked.size > 0) return
      worker.unref()
      this.#idle = setTimeout(() => void this.#end(), idleMs)
      this.#idle.unref()
    })
    worker.on('error', error => {
      cause = error
    })
    worker.on('exit', () => {
      if (this.#worker === worker) this.#worker = undefined
      for (const asked of this.#asked.values())
        asked.reject(new TurnwireError('store_failed', 'The search index cannot be used now.', { cause }))
      this.#asked.clear()
    })
    return worker
  }

  async #end(): Promise<void> {
    clearTimeout(this.#idle)
    const worker = this.#worker
    if (!worker) return
    this.#worker = undefined
    worker.ref()
    const ended = new Promise(resolve => worker.once('exit', resolve))
    worker.postMessage('close' satisfies SentQuestion)
    await ended
  }
}

function failure({ code, message }: { code: ErrorCode; message: string }): TurnwireError {
  // It was the code of a TurnwireError there.
  return new TurnwireError(code, message)
}
