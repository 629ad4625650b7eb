// A sandbox with one program, seen from outside: a thread that is given results and says what the program did with them. A
// thread that does not answer in time, or takes too much memory, is ended.
import type { Worker } from 'node:worker_threads'
import { computedTooLong, type Delivery, type SandboxSetup, type Slice } from './messages.ts'
import { giveThread, takeThread } from './threads.ts'

/** Until a new thread has its engine. */
const startMs = 10_000
/** Longer than the program's own time, which the thread keeps itself. */
const graceMs = 500

export class Sandbox {
  readonly #worker: Worker
  readonly #timeMs: number
  #answer: PromiseWithResolvers<Slice> | undefined
  /** What the program may still compute; the thread counts the same more exactly. */
  #leftMs: number
  #ended: string | undefined

  /** Waits for a thread. */
  static async open(setup: SandboxSetup, owner: string, signal: AbortSignal): Promise<Sandbox> {
    return new Sandbox(setup, await takeThread(owner, signal), owner)
  }

  private constructor(setup: SandboxSetup, worker: Worker, owner: string) {
    this.#timeMs = setup.limits.timeMs
    this.#leftMs = setup.limits.timeMs + startMs
    this.#worker = worker
    worker.postMessage(setup)
    this.#worker.on('message', (slice: Slice) => this.#answered(slice))
    this.#worker.on('error', () =>
      this.#end('The program took more memory than it may, or broke its sandbox.'),
    )
    this.#worker.on('exit', () => {
      this.#end('The sandbox ended unexpectedly.')
      giveThread(owner)
    })
  }

  /** Gives results to the program, and waits until it can do no more for now. Never rejects. */
  async step(deliveries: readonly Delivery[]): Promise<Slice> {
    if (this.#ended !== undefined) return broken(this.#ended)
    const answer = Promise.withResolvers<Slice>()
    this.#answer = answer
    const began = performance.now()
    const watchdog = setTimeout(() => this.#end(computedTooLong(this.#timeMs)), this.#leftMs + graceMs)
    this.#worker.postMessage(deliveries)
    try {
      return await answer.promise
    } finally {
      clearTimeout(watchdog)
      this.#leftMs = Math.max(this.#leftMs - (performance.now() - began), 0)
    }
  }

  /** Ends the thread, whatever the program does. */
  close(): void {
    this.#end('The program was stopped.')
  }

  #answered(slice: Slice): void {
    const answer = this.#answer
    this.#answer = undefined
    answer?.resolve(slice)
  }

  #end(words: string): void {
    if (this.#ended !== undefined) return
    this.#ended = words
    void this.#worker.terminate()
    this.#answered(broken(words))
  }
}

function broken(message: string): Slice {
  return { calls: [], logs: [], end: { ok: false, message } }
}
