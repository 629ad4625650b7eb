// The real clock, random ids and timers. `TURNWIRE_CRASH_AT=<point>` kills the process at a named point, for the crash
// tests.

import { getHeapStatistics } from 'node:v8'
import { crashPoints, type World } from './engine/ports/index.ts'
import { TurnwireError } from './language/errors.ts'
import { randomIds } from './lib/text/random.ts'

/** `clear` drops every timer, so that none keeps a program alive that has finished. */
export type RealWorld = World & { clear(): void }

/** Waits of this length or more share one tick, and may end one tick late. */
const LONG_MS = 5_000
const TICK_MS = 250

export function realWorld(crashAt = process.env['TURNWIRE_CRASH_AT']): RealWorld {
  const short = new Set<NodeJS.Timeout>()
  const long = longWaits()
  return {
    now: Date.now,
    elapsed: performance.now.bind(performance),
    freeMemory() {
      const { heap_size_limit: most, used_heap_size: used } = getHeapStatistics()
      return most - used
    },
    id: randomIds(),
    timer(ms, run) {
      if (ms >= LONG_MS) return long.add(ms, run)
      const timer = setTimeout(() => {
        short.delete(timer)
        run()
      }, ms)
      short.add(timer)
      return () => {
        short.delete(timer)
        clearTimeout(timer)
      }
    },
    clear() {
      for (const timer of short) clearTimeout(timer)
      short.clear()
      long.clear()
    },
    ...(crashAt && { crashPoint: killer(crashPoints, crashAt) }),
  }
}

/**
 * Long waits share one slow tick. Every turn and every call has one and nearly all are called off soon, so a timer each would
 * cost too much.
 */
function longWaits(): { add(ms: number, run: () => void): () => void; clear(): void } {
  const waits = new Set<{ due: number; run: () => void }>()
  let ticking: NodeJS.Timeout | undefined
  const stop = (): void => {
    clearInterval(ticking)
    ticking = undefined
  }
  const tick = (): void => {
    const now = performance.now()
    for (const wait of waits) {
      if (wait.due > now) continue
      waits.delete(wait)
      wait.run()
    }
    if (waits.size === 0) stop()
  }
  return {
    add(ms, run) {
      const wait = { due: performance.now() + ms, run }
      if (waits.size === 0) ticking?.ref()
      waits.add(wait)
      ticking ??= setInterval(tick, TICK_MS)
      return () => {
        // A tick without waits must not keep the program alive.
        if (waits.delete(wait) && waits.size === 0) ticking?.unref()
      }
    },
    clear() {
      waits.clear()
      stop()
    },
  }
}

/** The points of payments and webhooks, by their beginning: they are loaded only where those are. */
const besidePoint = /^(?:payment|webhook)-[a-z-]+$/

/** `point` or `point:3` for the third time that it is reached. */
export function killer<Point extends string>(
  points: readonly Point[],
  where = process.env['TURNWIRE_CRASH_AT'],
): (point: Point) => void {
  const [name = '', count = '1'] = (where ?? '').split(':')
  if (name === '') return () => {}
  const known = besidePoint.test(name) || points.some(point => point === name)
  if (!known || !/^[1-9]\d*$/.test(count))
    throw new TurnwireError(
      'config_invalid',
      `TURNWIRE_CRASH_AT=${where}: name one of ${points.join(', ')}, or name:count.`,
    )
  let left = Number(count)
  return point => {
    if (point !== name) return
    left -= 1
    if (left === 0) process.kill(process.pid, 'SIGKILL')
  }
}
