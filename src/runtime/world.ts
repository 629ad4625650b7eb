// Time, chance and timers as they really are. `TURNWIRE_CRASH_AT=<point>` kills the process at a named point, which
// is how the crash tests reach between two instructions.

import { type CrashPoint, crashPoints, type World } from '../engine/ports.ts'
import { TurnwireError } from '../language/errors.ts'
import { randomId } from '../lib/random.ts'

/** `clear` drops every timer that has not run: none of them may keep a program alive that is done. */
export type RealWorld = World & { clear(): void }

export function realWorld(crashAt = process.env['TURNWIRE_CRASH_AT']): RealWorld {
  const timers = new Set<NodeJS.Timeout>()
  return {
    now: Date.now,
    id: randomId,
    timer(ms, run) {
      // Longer than a timer can count means never.
      if (ms > 0x7fffffff) return () => {}
      const timer = setTimeout(() => {
        timers.delete(timer)
        run()
      }, ms)
      timers.add(timer)
      return () => {
        timers.delete(timer)
        clearTimeout(timer)
      }
    },
    clear() {
      for (const timer of timers) clearTimeout(timer)
      timers.clear()
    },
    crashPoint: crashAt === undefined || crashAt === '' ? () => {} : killerAt(crashAt),
  }
}

/** `point` or `point:3` for the third time that it is reached. */
function killerAt(where: string): (point: CrashPoint) => void {
  const [name, count = '1'] = where.split(':')
  if (!crashPoints.some(point => point === name) || !/^[1-9]\d*$/.test(count))
    throw new TurnwireError(
      'config_invalid',
      `TURNWIRE_CRASH_AT=${where}: name one of ${crashPoints.join(', ')}, or name:count.`,
    )
  let left = Number(count)
  return point => {
    if (point !== name) return
    left -= 1
    if (left === 0) process.kill(process.pid, 'SIGKILL')
  }
}
