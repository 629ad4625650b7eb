// The threads of sandboxes: at most so many run programs at the same time, the others wait. Owners take turns, and none has
// all threads. A program that only waits lends its thread, and gives it up when another one needs it. A thread serves one
// program and then ends, so nothing of a program is left for the next. After the first program one thread is kept ready, with
// the engine's code loaded and no program in it, because a resumed program would otherwise wait for its thread to start.
import { readFile } from 'node:fs/promises'
import { Worker } from 'node:worker_threads'

const mostThreads = 16
/** Of one owner. */
const mostOwned = 12
/** The heap of the thread beside the sandbox's memory. */
const heapMiB = 64

let threads = 0
const owned = new Map<string, number>()
/** By owner. The owner that was served last is last. */
const waiting = new Map<string, (() => void)[]>()
/** Threads of programs that only wait, the oldest first: the function that gives a thread up, and its owner. */
const lent = new Map<() => void, string>()
/** Threads that were asked for and have not ended yet. */
let leavingCount = 0
let ready: Worker | undefined

/** A thread without a program. Waits until the signal aborts. When it has ended, `giveThread` must be called. */
export async function takeThread(owner: string, signal: AbortSignal): Promise<Worker> {
  await takeTurn(owner, signal)
  try {
    const worker = ready ?? startThread(await loadEngine())
    ready = undefined
    worker.ref()
    return worker
  } catch (error) {
    giveThread(owner)
    throw error
  }
}

/** A program waits for others: `release` is called when its thread is needed. Returns how to take the offer back. */
export function lendThread(owner: string, release: () => void): () => void {
  lent.set(release, owner)
  makeRoom()
  return () => void lent.delete(release)
}

/** Asks for as many of the offered threads as programs wait for. */
function makeRoom(): void {
  let wanted = -leavingCount
  for (const [owner, queue] of waiting) {
    wanted += queue.length
    const isFull = (owned.get(owner) ?? 0) >= mostOwned
    for (const [release, whose] of lent) {
      if (wanted <= 0) break
      if (isFull && whose !== owner) continue
      lent.delete(release)
      leavingCount += 1
      wanted -= 1
      release()
    }
  }
}

async function takeTurn(owner: string, signal: AbortSignal): Promise<void> {
  const turn = Promise.withResolvers<void>()
  const queue = waiting.get(owner) ?? []
  queue.push(turn.resolve)
  waiting.set(owner, queue)
  const stop = (): void => {
    const at = queue.indexOf(turn.resolve)
    if (at < 0) return
    queue.splice(at, 1)
    if (queue.length === 0 && waiting.get(owner) === queue) waiting.delete(owner)
    turn.reject(new Error('The program was stopped before it began.'))
  }
  signal.addEventListener('abort', stop, { once: true })
  if (signal.aborted) stop()
  assign()
  makeRoom()
  try {
    await turn.promise
  } finally {
    signal.removeEventListener('abort', stop)
  }
}

function assign(): void {
  for (const [owner, queue] of waiting) {
    if (threads >= mostThreads) return
    const has = owned.get(owner) ?? 0
    if (has >= mostOwned) continue
    waiting.delete(owner)
    const next = queue.shift()
    if (queue.length > 0) waiting.set(owner, queue)
    if (!next) continue
    threads += 1
    owned.set(owner, has + 1)
    next()
  }
}

export function giveThread(owner: string): void {
  threads -= 1
  leavingCount = Math.max(0, leavingCount - 1)
  const has = (owned.get(owner) ?? 1) - 1
  if (has > 0) owned.set(owner, has)
  else owned.delete(owner)
  assign()
  if (waiting.size === 0) void keepReady()
}

/** A thread that cannot be started now is started, or fails with a reason, when a program needs it. */
async function keepReady(): Promise<void> {
  const module = await loadEngine().catch(() => undefined)
  if (!module || ready) return
  let worker: Worker
  try {
    worker = startThread(module)
  } catch {
    return
  }
  ready = worker
  const forget = (): void => {
    if (ready === worker) ready = undefined
  }
  worker.on('error', forget).on('exit', forget)
  worker.unref()
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

function startThread(module: WebAssembly.Module): Worker {
  // The file has the ending of this one: .ts in the checkout, .js in the package.
  const file = new URL(`./worker${/\.\w+$/.exec(import.meta.url)?.[0]}`, import.meta.url)
  return new Worker(file, {
    workerData: module,
    env: {},
    execArgv: [],
    stdin: false,
    stdout: true,
    stderr: true,
    resourceLimits: { maxOldGenerationSizeMb: heapMiB, maxYoungGenerationSizeMb: 16, stackSizeMb: 4 },
  })
}
