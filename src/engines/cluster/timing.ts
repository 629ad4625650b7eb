// Time and chance as leases and take-overs use them, so that a simulator can give its own. It is a clock that nobody sets and
// that goes on while the process is stopped; the time of day has no part in it.
import { uptime } from 'node:os'

export type Timing = {
  /** Milliseconds. */
  now(): number
  /** Runs it once, later. Gives a function that calls it off. It keeps no process alive. */
  after(ms: number, run: () => void): () => void
  /** From 0 up to 1, so that nodes that saw the same thing do not act at the same moment. */
  random(): number
}

export function realTiming(): Timing {
  return {
    now: passingTime(),
    after(ms, run) {
      const timer = setTimeout(run, ms)
      timer.unref()
      return () => clearTimeout(timer)
    },
    random: Math.random,
  }
}

/** The most that has passed by either clock: one stops while the machine sleeps, the other is coarse. */
function passingTime(): () => number {
  const [began, up] = [performance.now(), uptime()]
  return () => Math.max(performance.now() - began, (uptime() - up) * 1000 - 20)
}

export function pause(timing: Timing, ms: number): Promise<void> {
  return new Promise(resolve => void timing.after(ms, resolve))
}
