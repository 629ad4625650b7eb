// The work of the thread that keeps an index: it answers questions, and reads logs that have grown in between. Reading is
// never in a hurry: it takes a small part of one processor, unless someone waits for an answer.
import { setTimeout as pause } from 'node:timers/promises'
import { parentPort } from 'node:worker_threads'
import { TurnwireError, wordsOf } from '../../language/errors.ts'
import { digestLog, newDigestState } from './digest.ts'
import type { BehindSession, LogIndex } from './log-index.ts'
import type { IndexAnswer, IndexQuestion, SentAnswer, SentQuestion } from './thread.ts'

/** An answer waits so long for what the index does not have yet. Then it says how much is missing. */
const freshMs = 300
const sessionsAtOnce = 50
/** After so much work the thread rests, several times as long. In a hurry it only lets questions in. */
const workMs = 10
const restTimes = 3

/** Answers the main thread until it says `close`. */
export function serveIndex(index: LogIndex): void {
  const keeper = new IndexKeeper(index)
  parentPort?.on('message', (sent: SentQuestion) => {
    if (sent === 'close') {
      keeper.stop()
      // It ends this thread, with what it still waits for.
      void index.close().finally(() => process.exit())
      return
    }
    const { id, question } = sent
    keeper.answer(question).then(
      answer => parentPort?.postMessage({ id, answer } satisfies SentAnswer),
      (error: unknown) => {
        const code = error instanceof TurnwireError ? error.code : 'store_failed'
        parentPort?.postMessage({ id, code, message: wordsOf(error) } satisfies SentAnswer)
      },
    )
  })
}

class IndexKeeper {
  readonly #index: LogIndex
  #reading: Promise<void> | undefined
  #hurries = 0
  /** Since the last rest. */
  #workedMs = 0
  #isStopped = false

  constructor(index: LogIndex) {
    this.#index = index
  }

  async answer(question: IndexQuestion): Promise<IndexAnswer> {
    if (question.ask === 'catch-up') {
      await this.#catchUp()
      return true
    }
    // Rows without words are of the store itself. To see what the index lacks costs a look at every session.
    if (question.ask === 'activity' || question.query.words !== undefined) await this.#freshen()
    return question.ask === 'find' ? this.#index.find(question.query) : this.#index.activity(question.query)
  }

  /** A search works also with what the index has: whether it could be read further is told by `behind`. */
  async #freshen(): Promise<void> {
    this.#hurries += 1
    try {
      await Promise.race([this.#catchUp().catch(() => {}), pause(freshMs)])
    } finally {
      this.#hurries -= 1
    }
  }

  stop(): void {
    this.#isStopped = true
  }

  #catchUp(): Promise<void> {
    this.#reading ??= this.#readAll().finally(() => {
      this.#reading = undefined
    })
    return this.#reading
  }

  async #readAll(): Promise<void> {
    await this.#index.purge()
    for (;;) {
      const behind = await this.#index.behind(sessionsAtOnce)
      if (behind.length === 0) return
      let read = 0
      for (const session of behind) read += await this.#readSession(session)
      // Their logs cannot be read, or others read them.
      if (read === 0 || this.#isStopped) return
    }
  }

  /** Gives how many events it read. */
  async #readSession(behind: BehindSession): Promise<number> {
    let { from, state = newDigestState(behind.agent) } = behind
    for (;;) {
      if (this.#isStopped) return from - behind.from
      const begun = performance.now()
      const page = await this.#index.read(behind.session, from)
      const last = page.at(-1)
      if (!last) return from - behind.from
      const digest = digestLog(state, page)
      await this.#index.add({ ...behind, from }, last.seq, digest)
      from = last.seq
      state = digest.state
      await this.#rest(performance.now() - begun)
    }
  }

  async #rest(took: number): Promise<void> {
    this.#workedMs += took
    if (this.#workedMs < workMs) return
    await pause(this.#hurries > 0 ? 0 : Math.min(1_000, this.#workedMs * restTimes))
    this.#workedMs = 0
  }
}
