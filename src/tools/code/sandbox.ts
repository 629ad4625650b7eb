// A sandbox with one program, seen from outside: a thread that is given results and says what the program did with them. A
// thread that does not answer in time, or takes too much memory, is ended. At most so many exist at the same time.
import { readFile } from 'node:fs/promises'
import { Worker } from 'node:worker_threads'
import type { Delivery, SandboxSetup, Slice } from './messages.ts'

const mostThreads = 16
/** How long a program waits for a thread. */
const longestWaitMs = 60_000
/** Until a new thread has its engine. */
const startMs = 10_000
/** Longer than the program's own time, which the thread keeps itself. */
const graceMs = 500
/** The heap of the thread beside the sandbox's memory. */
const heapMiB = 64

let threads = 0
const waiting: (() => void)[] = []

async function takeThread(signal: AbortSignal): Promise<void> {
  if (threads < mostThreads) {
    threads += 1
    return
  }
  const turn = Promise.withResolvers<void>()
  const mine = (): void => turn.resolve()
  waiting.push(mine)
  const giveUp = (words: string) => (): void => {
    const at = waiting.indexOf(mine)
    if (at < 0) return
    waiting.splice(at, 1)
    turn.reject(new Error(words))
  }
  const late = setTimeout(giveUp('Too many programs run at the same time. Try again later.'), longestWaitMs)
  const stop = giveUp('The program was stopped before it began.')
  signal.addEventListener('abort', stop, { once: true })
  try {
    await turn.promise
  } finally {
    clearTimeout(late)
    signal.removeEventListener('abort', stop)
  }
}

function giveThread(): void {
  const next = waiting.shift()
  if (next) next()
  else threads -= 1
}

let engine: Promise<WebAssembly.Module> | undefined

/** Compiled once for all sandboxes of the process. */
function loadEngine(): Promise<WebAssembly.Module> {
  engine ??= readFile(new URL(import.meta.resolve('@jitl/quickjs-ng-wasmfile-release-sync/wasm'))).then(
    bytes => WebAssembly.compile(bytes),
  )
  engine.catch(() => {
    engine = undefined
  })
  return engine
}

export class Sandbox {
  readonly #worker: Worker
  #answer: PromiseWithResolvers<Slice> | undefined
  /** What the program may still compute; the thread counts the same more exactly. */
  #leftMs: number
  #ended: string | undefined

  /** Waits for a thread, and for the engine. */
  static async open(setup: Omit<SandboxSetup, 'engine'>, signal: AbortSignal): Promise<Sandbox> {
    await takeThread(signal)
    try {
      return new Sandbox({ ...setup, engine: await loadEngine() })
    } catch (error) {
      giveThread()
      throw error
    }
  }

  private constructor(setup: SandboxSetup) {
    this.#leftMs = setup.limits.timeMs + startMs
    // The file has the ending of this one: .ts in the checkout, .js in the package.
    const file = new URL(`./worker${/\.\w+$/.exec(import.meta.url)?.[0]}`, import.meta.url)
    this.#worker = new Worker(file, {
      workerData: setup,
      env: {},
      execArgv: [],
      stdin: false,
      stdout: true,
      stderr: true,
      resourceLimits: { maxOldGenerationSizeMb: heapMiB, maxYoungGenerationSizeMb: 16, stackSizeMb: 4 },
    })
    this.#worker.on('message', (slice: Slice) => this.#answered(slice))
    this.#worker.on('error', () =>
      this.#end('The program took more memory than it may, or broke its sandbox.'),
    )
    this.#worker.on('exit', () => {
      this.#end('The sandbox ended unexpectedly.')
      giveThread()
    })
  }

  /** Gives results to the program, and waits until it can do no more for now. Never rejects. */
  async step(deliveries: readonly Delivery[]): Promise<Slice> {
    if (this.#ended !== undefined) return broken(this.#ended)
    const answer = Promise.withResolvers<Slice>()
    this.#answer = answer
    const began = performance.now()
    const words = 'The program computed for too long and was stopped.'
    const watchdog = setTimeout(() => this.#end(words), this.#leftMs + graceMs)
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
