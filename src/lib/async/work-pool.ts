// Worker threads for work that costs too much for the event loop, with a limit of CPU time and memory for each job: a
// thread that exceeds one is ended, and its job fails. CPU time, so that a busy machine refuses no honest job. Owners
// take turns, and an owner has at most one job at work at a time, so that the others' jobs find a thread. Threads start
// when needed and end when they have been idle for a while. The program that calls `serveJobs` defines the jobs.

import { parentPort, Worker } from 'node:worker_threads'
import { threadEnv } from './thread-env.ts'

export type PoolLimits = {
  /** Threads at work at the same time. */
  threads: number
  /** CPU time that one job may take. */
  jobMs: number
  /** The heap of one thread. */
  heapMiB: number
  /** How long a thread without work is kept. */
  idleMs: number
}

export const poolLimits: PoolLimits = { threads: 2, jobMs: 5_000, heapMiB: 256, idleMs: 10_000 }

/** A thread whose CPU time cannot be read is ended after this many times `jobMs`. */
const PATIENCE = 10

/** Why there is no answer. It completes the sentence "the check …". */
export type Failed = { failed: string }

type WaitingWork<Job, Answer> = {
  job: Job
  owner: string
  resolve: (answer: Answer | Failed) => void
}
type Thread<Job, Answer> = {
  worker: Worker
  current: WaitingWork<Job, Answer> | undefined
  timer: NodeJS.Timeout | undefined
  /** Its CPU time at the end of its last job. */
  spentMs: number
}

/** The reply of a thread. `spentMs`: its CPU time since its start. */
type Reply<Answer> = { answer: Answer; spentMs: number }

/** The program of a thread: does each job that it is sent. If `work` throws, the thread ends and the job fails. */
export function serveJobs<Job, Answer>(work: (job: Job) => Answer): void {
  parentPort?.on('message', (job: Job) => {
    const reply: Reply<Answer> = { answer: work(job), spentMs: cpuMs(process.threadCpuUsage()) }
    parentPort?.postMessage(reply)
  })
}

/** The program `name` in the folder of the module `of`. It has its ending: .ts in the checkout, .js in the package. */
export function programBeside(of: string, name: string): URL {
  return new URL(`./${name}${/\.\w+$/.exec(of)?.[0]}`, of)
}

export class WorkPool<Job, Answer extends object> {
  readonly #program: URL
  readonly #limits: PoolLimits
  readonly #threads = new Set<Thread<Job, Answer>>()
  readonly #busyOwners = new Set<string>()
  /** Jobs by owner. The owner that was served last stands last. */
  readonly #waiting = new Map<string, WaitingWork<Job, Answer>[]>()

  /** `program`: calls `serveJobs`. */
  constructor(program: URL, limits: Partial<PoolLimits> = {}) {
    this.#program = program
    this.#limits = { ...poolLimits, ...limits }
  }

  /** Never rejects. A signal that aborts ends the job, wherever it is by then. */
  run(job: Job, owner: string, signal?: AbortSignal): Promise<Answer | Failed> {
    const { promise, resolve } = Promise.withResolvers<Answer | Failed>()
    if (signal?.aborted) return Promise.resolve({ failed: 'was cancelled' })
    const waiting: WaitingWork<Job, Answer> = { job, owner, resolve }
    const stop = (): void => this.#cancel(waiting)
    signal?.addEventListener('abort', stop, { once: true })
    const queue = this.#waiting.get(owner) ?? []
    queue.push(waiting)
    this.#waiting.set(owner, queue)
    this.#assign()
    return promise.finally(() => signal?.removeEventListener('abort', stop))
  }

  #cancel(waiting: WaitingWork<Job, Answer>): void {
    const queue = this.#waiting.get(waiting.owner)
    const at = queue?.indexOf(waiting) ?? -1
    if (queue && at >= 0) {
      queue.splice(at, 1)
      if (queue.length === 0) this.#waiting.delete(waiting.owner)
      waiting.resolve({ failed: 'was cancelled' })
      return
    }
    for (const thread of this.#threads) if (thread.current === waiting) this.#lose(thread, 'was cancelled')
  }

  #assign(): void {
    for (const [owner, queue] of this.#waiting) {
      if (this.#busyOwners.has(owner)) continue
      const thread = this.#freeThread()
      if (thread === undefined) return
      this.#waiting.delete(owner)
      const next = queue.shift()
      if (queue.length > 0) this.#waiting.set(owner, queue)
      if (next === undefined) continue
      if (thread === 'none') next.resolve({ failed: 'could not be done' })
      else this.#begin(thread, next)
    }
  }

  /** Undefined: all are at work. `none`: the system cannot start a thread. */
  #freeThread(): Thread<Job, Answer> | 'none' | undefined {
    for (const thread of this.#threads) if (thread.current === undefined) return thread
    if (this.#threads.size >= this.#limits.threads) return undefined
    try {
      return this.#start()
    } catch {
      return 'none'
    }
  }

  #start(): Thread<Job, Answer> {
    const { heapMiB } = this.#limits
    const worker = new Worker(this.#program, {
      env: threadEnv(),
      execArgv: [],
      resourceLimits: { maxOldGenerationSizeMb: heapMiB, maxYoungGenerationSizeMb: 32, stackSizeMb: 4 },
    })
    const thread: Thread<Job, Answer> = { worker, current: undefined, timer: undefined, spentMs: 0 }
    this.#threads.add(thread)
    worker.on('message', ({ answer, spentMs }: Reply<Answer>) => {
      thread.spentMs = spentMs
      this.#end(thread, answer)
    })
    worker.on('error', error => this.#lose(thread, failureText(error)))
    worker.on('exit', () => this.#lose(thread, 'ended unexpectedly'))
    return thread
  }

  #begin(thread: Thread<Job, Answer>, next: WaitingWork<Job, Answer>): void {
    clearTimeout(thread.timer)
    thread.current = next
    this.#lookAfter(thread, this.#limits.jobMs)
    this.#busyOwners.add(next.owner)
    thread.worker.ref()
    thread.worker.postMessage(next.job)
  }

  #lookAfter(thread: Thread<Job, Answer>, ms: number): void {
    thread.timer = setTimeout(() => void this.#look(thread), ms)
  }

  /** Ends the thread if its job has used up its CPU time. */
  async #look(thread: Thread<Job, Answer>): Promise<void> {
    const { current } = thread
    const { jobMs } = this.#limits
    const end = (): void => this.#lose(thread, `took longer than ${jobMs / 1_000} seconds`)
    thread.timer = setTimeout(end, jobMs * PATIENCE)
    // Rejects when the thread has ended, which is noticed elsewhere.
    const spent = await thread.worker.cpuUsage().catch(() => undefined)
    if (spent === undefined || thread.current !== current) return
    clearTimeout(thread.timer)
    const leftMs = jobMs - (cpuMs(spent) - thread.spentMs)
    if (leftMs <= 0) end()
    else this.#lookAfter(thread, leftMs + 1)
  }

  #end(thread: Thread<Job, Answer>, answer: Answer | Failed): void {
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

  #lose(thread: Thread<Job, Answer>, why: string): void {
    if (!this.#threads.delete(thread)) return
    clearTimeout(thread.timer)
    void thread.worker.terminate()
    this.#end(thread, { failed: why })
  }
}

function failureText(error: unknown): string {
  const isMemory = error instanceof Error && 'code' in error && error.code === 'ERR_WORKER_OUT_OF_MEMORY'
  return isMemory ? 'needed too much memory' : 'could not be done'
}

function cpuMs({ user, system }: NodeJS.CpuUsage): number {
  return (user + system) / 1_000
}
