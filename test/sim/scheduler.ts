// Virtual time. Tasks run one after another at their planned times, and between two of them all pending promises
// settle. A machine is a process: its tasks are dropped when it dies, and delayed while it is paused. No real clock is
// read and no real timer is set.

export class Machine {
  readonly name: string
  alive = true
  /** Paused (as by SIGSTOP) until then. */
  pausedUntil = 0
  readonly #onDeath = new Set<() => void>()

  constructor(name: string) {
    this.name = name
  }

  onDeath(run: () => void): () => void {
    this.#onDeath.add(run)
    return () => this.#onDeath.delete(run)
  }

  die(): void {
    if (!this.alive) return
    this.alive = false
    for (const run of this.#onDeath) run()
    this.#onDeath.clear()
  }
}

type Planned = { at: number; order: number; run: () => void; machine: Machine | undefined; off: boolean }

export class Scheduler {
  now = 1_000_000
  ticks = 0
  readonly #heap: Planned[] = []
  #order = 0

  /** Runs `run` after `ms`, unless its machine is dead by then. Returns a function that cancels it. */
  after(ms: number, run: () => void, machine?: Machine): () => void {
    const planned: Planned = {
      at: this.now + Math.max(0, ms),
      order: this.#order++,
      run,
      machine,
      off: false,
    }
    this.#push(planned)
    return () => {
      planned.off = true
    }
  }

  /** A dead machine's sleep never ends. */
  sleep(ms: number, machine?: Machine): Promise<void> {
    return new Promise(resolve => void this.after(ms, resolve, machine))
  }

  /** Runs until nothing is planned any more, or until `stop` returns true after a tick. */
  async run(stop: () => boolean): Promise<void> {
    for (;;) {
      const planned = this.#pop()
      if (!planned) return
      if (planned.off || planned.machine?.alive === false) continue
      const paused = planned.machine?.pausedUntil ?? 0
      if (paused > planned.at) {
        planned.at = paused
        this.#push(planned)
        continue
      }
      this.now = Math.max(this.now, planned.at)
      this.ticks += 1
      planned.run()
      await settled()
      if (stop()) return
    }
  }

  #push(planned: Planned): void {
    const heap = this.#heap
    let at = heap.push(planned) - 1
    while (at > 0) {
      const above = (at - 1) >> 1
      if (!before(planned, heap[above]!)) break
      heap[at] = heap[above]!
      at = above
    }
    heap[at] = planned
  }

  #pop(): Planned | undefined {
    const heap = this.#heap
    const first = heap[0]
    const last = heap.pop()
    if (first === undefined || last === undefined || heap.length === 0) return first
    let at = 0
    for (;;) {
      let below = at * 2 + 1
      if (below >= heap.length) break
      if (below + 1 < heap.length && before(heap[below + 1]!, heap[below]!)) below += 1
      if (!before(heap[below]!, last)) break
      heap[at] = heap[below]!
      at = below
    }
    heap[at] = last
    return first
  }
}

function before(a: Planned, b: Planned): boolean {
  return a.at < b.at || (a.at === b.at && a.order < b.order)
}

/** Resolves when all pending promises have settled. */
function settled(): Promise<void> {
  return new Promise(resolve => void setImmediate(resolve))
}
