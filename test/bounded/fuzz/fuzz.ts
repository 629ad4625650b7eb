// How the fuzz runs: so many cases, each made from the seed and its own number, a few at a time; and what must hold of all
// of them. A failure names seed and case: FUZZ_SEED=<seed> FUZZ_CASE=<case> sends this one again, after the same setup.
import assert from 'node:assert/strict'
import { Chance } from '../../sim/chance.ts'
import type { Attacked } from '../attack-rig.ts'

/** How many requests there are in all, over all wires and transports. */
export const requests = Number(process.env['FUZZ_REQUESTS'] ?? 2_000)
export const seed = Number(process.env['FUZZ_SEED'] ?? 20_260)
const only = process.env['FUZZ_CASE']

/** CPU time of the main thread between two ticks. */
export const mostStallMs = 100
/** Only a guard: a machine that is busy may take long, a server that hangs takes forever. */
export const answerWithinMs = 60_000

export type Stallable = { watch(): Promise<void>; seen(): Promise<{ stallMs: number }> }

export type Fuzz = {
  count: number
  /** Requests under way at the same time. */
  at: number
  /** After how many cases the loop of the server is looked at. */
  every: number
  /** Sends one case. Gives what is wrong with the answer, if anything. */
  send(chance: Chance, index: number): Promise<string | undefined>
  /** What a case was, for the message of a failure. */
  describe(chance: Chance, index: number): string
}

export function chanceOf(index: number): Chance {
  return new Chance(Math.imul(seed, 0x9e3779b1) ^ Math.imul(index + 1, 0x85ebca6b))
}

export async function run(server: Stallable, fuzz: Fuzz): Promise<void> {
  const failures: string[] = []
  const fail = (index: number, words: string): void => {
    const shown = fuzz.describe(chanceOf(index), index).slice(0, 600)
    failures.push(`FUZZ_SEED=${seed} FUZZ_CASE=${index}: ${words}\n    ${shown}`)
  }
  const one = async (index: number): Promise<void> => {
    const wrong = await fuzz.send(chanceOf(index), index).catch((error: unknown) => String(error))
    if (wrong !== undefined) fail(index, wrong)
  }
  const indexes = chosen(fuzz.count)
  for (let begin = 0; begin < indexes.length && failures.length < 10; begin += fuzz.every) {
    const batch = indexes.slice(begin, begin + fuzz.every)
    await server.watch()
    const queue = [...batch]
    const worker = async (): Promise<void> => {
      for (let index = queue.shift(); index !== undefined; index = queue.shift()) await one(index)
    }
    await Promise.all(Array.from({ length: fuzz.at }, worker))
    const { stallMs } = await server.seen()
    if (stallMs >= mostStallMs) failures.push(await stalled(server, fuzz, batch, stallMs))
  }
  assert.deepEqual(failures, [])
}

/** FUZZ_CASE is one case, or a range such as 100-149. */
function chosen(count: number): number[] {
  const [first = 0, last = first] = only === undefined ? [0, count - 1] : only.split('-').map(Number)
  return Array.from({ length: last - first + 1 }, (_, at) => first + at)
}

/** Looks for the case that held the loop, one at a time. */
async function stalled(server: Stallable, fuzz: Fuzz, batch: readonly number[], ms: number): Promise<string> {
  const first = `Cases ${batch[0]} to ${batch.at(-1)} held the loop for ${Math.round(ms)} ms`
  for (const index of batch) {
    await server.watch()
    await fuzz.send(chanceOf(index), index).catch(() => undefined)
    const { stallMs } = await server.seen()
    if (stallMs < mostStallMs * 0.7) continue
    const shown = fuzz.describe(chanceOf(index), index).slice(0, 600)
    return `${first}. FUZZ_SEED=${seed} FUZZ_CASE=${index} alone: ${Math.round(stallMs)} ms\n    ${shown}`
  }
  return `${first}; none of them alone does. FUZZ_SEED=${seed} FUZZ_CASE=${batch[0]}-${batch.at(-1)}`
}

/** The process lives, its log is one JSON object a line, and no request has failed inside. */
export function assertHealthy(log: string): void {
  for (const line of log.split('\n').filter(Boolean)) {
    const { message } = JSON.parse(line) as { message?: string }
    assert.notEqual(message, 'A request failed.', line)
  }
}

export async function assertWorks(server: Attacked, as: string): Promise<void> {
  const session = await server.session(as)
  const { status, text } = await server.turn(session, 'hello', { as })
  assert.equal(status, 200, text)
  assert.match(text, /Done\./)
}
