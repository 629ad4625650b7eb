// P11: what a turn holds on the heap while its model thinks, and while a person is asked, when it should hold nothing.
import { execFileSync } from 'node:child_process'
import { limit, median, type Result } from './harness.ts'
import { here } from './served.ts'

const turns = 4000

function kibEach(kind: 'model' | 'person'): number {
  const runs = Array.from({ length: 5 }, () =>
    execFileSync(process.execPath, ['--expose-gc', here('fixtures/in-flight.ts'), kind, String(turns)], {
      encoding: 'utf8',
    }),
  )
  return median(runs.map(Number)) / 1024
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
