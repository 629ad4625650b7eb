// A sandbox with one program, seen from outside: a thread that is given results and says what the program did with them. A
// thread that does not answer in time, or takes too much memory, is ended.
import type { Worker } from 'node:worker_threads'
import { loopTurn } from '../../lib/async/loop-turns.ts'
import {
  computedTooLong,
  type Delivery,
  type HostMessage,
  pieces,
  type SandboxSetup,
  type Slice,
  type SlicePiece,
} from './messages.ts'
import { giveThread, takeThread } from './threads.ts'

/** Until a new thread has its engine. */
const startMs = 10_000
/** Longer than the program's own time, which the thread keeps itself. */
const graceMs = 500

export class Sandbox {
  readonly #worker: Worker
  readonly #timeMs: number
  #answer: PromiseWithResolvers<SlicePiece> | undefined
  /** The computing time that the program has left. The thread counts the same more exactly. */
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
    this.#worker.on('message', (piece: SlicePiece) => this.#answered(piece))
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
    const lists = pieces(deliveries)
    const last = lists.pop() ?? []
    for (const results of lists) {
      this.#worker.postMessage({ results, isPart: true } satisfies HostMessage)
      await loopTurn()
    }
    let { isPart, ...slice } = await this.#ask({ results: last })
    while (isPart) {
      await loopTurn()
      const next = await this.#ask({ more: true })
      ;({ isPart } = next)
      const { logs, end } = next
      slice = { calls: [...slice.calls, ...next.calls], logs, ...(end && { end }) }
    }
    return slice
  }

  async #ask(message: HostMessage): Promise<SlicePiece> {
    if (this.#ended !== undefined) return broken(this.#ended)
    const answer = Promise.withResolvers<SlicePiece>()
    this.#answer = answer
    const began = performance.now()
    const watchdog = setTimeout(() => this.#end(computedTooLong(this.#timeMs)), this.#leftMs + graceMs)
    this.#worker.postMessage(message)
    try {
      return await answer.promise
    } finally {
      clearTimeout(watchdog)
      this.#leftMs = Math.max(this.#leftMs - (performance.now() - began), 0)
    }
  }

  /** Ends the thread at once, also while the program computes. */
  close(): void {
    this.#end('The program was stopped.')
  }

  #answered(piece: SlicePiece): void {
    const answer = this.#answer
    this.#answer = undefined
    answer?.resolve(piece)
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
