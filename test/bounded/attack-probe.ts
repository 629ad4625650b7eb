// Imported into the server that is attacked: keeps its largest memory and the most CPU time that its main thread spent
// between two ticks, and says both over IPC. CPU time grows less than wall time when other programs use the machine, but it
// does grow: caches are shared, and a virtual machine may count time in which it did not run. So it also says how slow it is.
const TICK_MS = 5

let peakRss = 0
let stallMs = 0
let spentBefore = threadMs()

function threadMs(): number {
  const { user, system } = process.threadCpuUsage()
  return (user + system) / 1000
}

function tick(): void {
  const spent = threadMs()
  stallMs = Math.max(stallMs, spent - spentBefore)
  spentBefore = spent
  peakRss = Math.max(peakRss, process.memoryUsage.rss())
}

setInterval(tick, TICK_MS).unref()

/** The server keeps the function, so it is exchanged before the server is loaded. */
const timeOfDay = Date.now
let clockOffset = 0
Date.now = () => timeOfDay() + clockOffset

/** CPU time of the reference work on the machine that the lines of the tests were drawn on, while nothing else ran. */
const REFERENCE_MS = 15

const referenceText = (): string =>
  `[${Array.from({ length: 50_000 }, (_, n) => `{"id":${n},"name":"row ${n}"}`).join()}]`

/** How many times as long as on that machine the main thread takes for some work now: the median of five. Never below 1. */
function slowness(): number {
  const text = referenceText()
  const spent = Array.from({ length: 5 }, () => {
    const begun = threadMs()
    Buffer.from(JSON.stringify(JSON.parse(text)).slice(1))
    return threadMs() - begun
  })
  return Math.max(1, spent.sort((a, b) => a - b)[2]! / REFERENCE_MS)
}

const answers: Record<string, () => unknown> = {
  /** Bytes, after a collection of garbage. */
  memory() {
    globalThis.gc?.()
    const { rss, heapUsed, external, arrayBuffers } = process.memoryUsage()
    return { rss, heapUsed, external, arrayBuffers }
  },
  slowness,
  /** The time of day is an hour earlier from now on. */
  'clock back'() {
    clockOffset -= 3_600_000
    return true
  },
  /** Forgets what was seen so far. */
  watch() {
    spentBefore = threadMs()
    stallMs = 0
    peakRss = process.memoryUsage.rss()
    return true
  },
  seen() {
    tick()
    return { peakRss, stallMs }
  },
}

process.on('message', ({ id, question }: { id: number; question: string }) => {
  process.send?.({ id, answer: answers[question]?.() })
})
process.channel?.unref()
// Whoever started it is gone.
process.on('disconnect', () => process.exit())
