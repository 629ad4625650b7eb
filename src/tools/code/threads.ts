// The threads of sandboxes: at most so many run programs at the same time, the others wait. A thread serves one program and
// then ends, so nothing of a program is left for the next. After the first program one thread is kept ready, with the
// engine's code loaded and no program in it, because a resumed program would otherwise wait for its thread to start.
import { readFile } from 'node:fs/promises'
import { Worker } from 'node:worker_threads'

const mostThreads = 16
/** How long a program waits for a thread. */
const longestWaitMs = 60_000
/** The heap of the thread beside the sandbox's memory. */
const heapMiB = 64

let threads = 0
const waiting: (() => void)[] = []
let ready: Worker | undefined

/** A thread without a program. When it has ended, `giveThread` must be called. */
export async function takeThread(signal: AbortSignal): Promise<Worker> {
  await takeTurn(signal)
  try {
    const worker = ready ?? startThread(await loadEngine())
    ready = undefined
    worker.ref()
    return worker
  } catch (error) {
    giveThread()
    throw error
  }
}

async function takeTurn(signal: AbortSignal): Promise<void> {
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

export function giveThread(): void {
  const next = waiting.shift()
  if (next) next()
  else {
    threads -= 1
    void keepReady()
  }
}

/** A thread that cannot be started now is started, or fails with a reason, when a program needs it. */
async function keepReady(): Promise<void> {
  const module = await loadEngine().catch(() => undefined)
  if (!module || ready) return
  const worker = startThread(module)
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
