// P11: what a turn holds on the heap while its model thinks, and while a person is asked, when it should hold nothing. P18: what
// a session at work holds beyond the JSON of its history.
import { execFileSync } from 'node:child_process'
import { limit, median, type Result } from './harness.ts'
import { here } from './served.ts'

const turns = 4000

function kibEach(kind: 'model' | 'person'): number {
  return kibOf('fixtures/in-flight.ts', kind, String(turns))
}

/** The median of what the program prints, which is a number of bytes. */
function kibOf(program: string, ...args: string[]): number {
  const runs = Array.from({ length: 5 }, () =>
    execFileSync(process.execPath, ['--expose-gc', here(program), ...args], { encoding: 'utf8' }),
  )
  return median(runs.map(Number)) / 1024
}

export async function sessionsAtWork(): Promise<Result> {
  const [sessions, entries] = [1000, 200]
  const ours = 'beyond its JSON'
  const medians = { [ours]: kibOf('fixtures/at-work.ts', String(sessions), String(entries)) }
  return {
    trial: `heap for each of ${sessions.toLocaleString('en')} sessions at work with ${entries} entries`,
    unit: 'KiB',
    medians,
    bars: [limit('P18', ours, medians[ours] ?? Number.NaN, 40, 'KiB')],
  }
}

export async function turnsInFlight(): Promise<Result> {
  const medians = { 'waits for the model': kibEach('model'), 'waits for a person': kibEach('person') }
  return {
    trial: `heap for each of ${turns.toLocaleString('en')} more turns in flight`,
    unit: 'KiB',
    medians,
    bars: [
      limit('P11', 'waits for the model', medians['waits for the model'], 6, 'KiB'),
      limit('P11, none', 'waits for a person', medians['waits for a person'], 0.1, 'KiB'),
    ],
  }
}
