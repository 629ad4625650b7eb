// Imported into the server that is attacked: keeps its largest memory and the most CPU time that its main thread spent
// between two ticks, and says both over IPC. CPU time, unlike wall time, does not grow when other programs use the machine.
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

const answers: Record<string, () => unknown> = {
  /** Bytes, after a collection of garbage. */
  memory() {
    globalThis.gc?.()
    const { rss, heapUsed, external, arrayBuffers } = process.memoryUsage()
    return { rss, heapUsed, external, arrayBuffers }
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
