// Worker threads for checks, with a limit of CPU time and memory for each check: a thread that exceeds one is ended, and its
// check fails. CPU time, so that a busy machine refuses no honest check. Owners take turns, and an owner has at most one check at work at a time, so that the others' checks find a
// thread. Threads are started when they are needed and end when there has been nothing to do for a while.

import { Worker } from 'node:worker_threads'
import { type CheckAnswer, type CheckJob, type CheckReply, cpuMs } from './jobs.ts'

export type PoolLimits = {
  /** Threads at work at the same time. */
  threads: number
  /** CPU time that one check may take. */
  checkMs: number
  /** The heap of one thread. */
  heapMiB: number
  /** How long a thread without work is kept. */
  idleMs: number
}

export const poolLimits: PoolLimits = { threads: 2, checkMs: 5_000, heapMiB: 256, idleMs: 10_000 }

/** A thread that does not tell its CPU time is ended after so many times `checkMs`. */
const PATIENCE = 10

/** `failed`: why there is no answer. It completes the sentence "the check …". */
export type PoolAnswer = CheckAnswer | { failed: string }

type Waiting = { job: CheckJob; owner: string; resolve: (answer: PoolAnswer) => void }
type Thread = {
  worker: Worker
  current: Waiting | undefined
  timer: NodeJS.Timeout | undefined
  /** Its CPU time at the end of its last check. */
  spentMs: number
}

export class CheckPool {
  readonly #limits: PoolLimits
  readonly #threads = new Set<Thread>()
  readonly #busyOwners = new Set<string>()
  /** Whoever was served last is last. */
  readonly #waiting = new Map<string, Waiting[]>()

  constructor(limits: Partial<PoolLimits> = {}) {
    this.#limits = { ...poolLimits, ...limits }
  }

  /** Never rejects. */
  run(job: CheckJob, owner: string): Promise<PoolAnswer> {
    return new Promise(resolve => {
      const queue = this.#waiting.get(owner) ?? []
      queue.push({ job, owner, resolve })
      this.#waiting.set(owner, queue)
      this.#assign()
    })
  }

  #assign(): void {
    for (const [owner, queue] of this.#waiting) {
      if (this.#busyOwners.has(owner)) continue
      const thread = this.#freeThread()
      if (thread === undefined) return
      this.#waiting.delete(owner)
      const next = queue.shift()
      if (queue.length > 0) this.#waiting.set(owner, queue)
      if (next !== undefined) this.#begin(thread, next)
    }
  }

  #freeThread(): Thread | undefined {
    for (const thread of this.#threads) if (thread.current === undefined) return thread
    return this.#threads.size < this.#limits.threads ? this.#start() : undefined
  }

  #start(): Thread {
    const { heapMiB } = this.#limits
    // The file has the ending of this one: .ts in the checkout, .js in the package.
    const file = new URL(`./worker${/\.\w+$/.exec(import.meta.url)?.[0]}`, import.meta.url)
    const worker = new Worker(file, {
      env: {},
      execArgv: [],
      resourceLimits: { maxOldGenerationSizeMb: heapMiB, maxYoungGenerationSizeMb: 32, stackSizeMb: 4 },
    })
    const thread: Thread = { worker, current: undefined, timer: undefined, spentMs: 0 }
    this.#threads.add(thread)
    worker.on('message', ({ answer, spentMs }: CheckReply) => {
      thread.spentMs = spentMs
      this.#end(thread, answer)
    })
    worker.on('error', error => this.#lose(thread, failureOf(error)))
    worker.on('exit', () => this.#lose(thread, 'ended unexpectedly'))
    return thread
  }

  #begin(thread: Thread, next: Waiting): void {
    clearTimeout(thread.timer)
    thread.current = next
    this.#lookAfter(thread, this.#limits.checkMs)
    this.#busyOwners.add(next.owner)
    thread.worker.ref()
    thread.worker.postMessage(next.job)
  }

  #lookAfter(thread: Thread, ms: number): void {
    thread.timer = setTimeout(() => void this.#look(thread), ms)
  }

  /** Ends the thread if its check has had its time. */
  async #look(thread: Thread): Promise<void> {
    const { current } = thread
    const { checkMs } = this.#limits
    const end = (): void => this.#lose(thread, `took longer than ${checkMs / 1_000} seconds`)
    thread.timer = setTimeout(end, checkMs * PATIENCE)
    // Rejects when the thread has ended, which is noticed elsewhere.
    const spent = await thread.worker.cpuUsage().catch(() => undefined)
    if (spent === undefined || thread.current !== current) return
    clearTimeout(thread.timer)
    const leftMs = checkMs - (cpuMs(spent) - thread.spentMs)
    if (leftMs <= 0) end()
    else this.#lookAfter(thread, leftMs + 1)
  }

  #end(thread: Thread, answer: PoolAnswer): void {
    const { current } = thread
    if (current === undefined) return
    clearTimeout(thread.timer)
    thread.current = undefined
    this.#busyOwners.delete(current.owner)
    current.resolve(answer)
    if (this.#threads.has(thread)) {
      // An idle thread does not keep the process alive.
      thread.worker.unref()
      thread.timer = setTimeout(() => this.#lose(thread, ''), this.#limits.idleMs).unref()
    }
    this.#assign()
  }

  #lose(thread: Thread, why: string): void {
    if (!this.#threads.delete(thread)) return
    clearTimeout(thread.timer)
    void thread.worker.terminate()
    this.#end(thread, { failed: why })
  }
}

function failureOf(error: unknown): string {
  const isMemory = error instanceof Error && 'code' in error && error.code === 'ERR_WORKER_OUT_OF_MEMORY'
  return isMemory ? 'needed too much memory' : 'could not be done'
}
