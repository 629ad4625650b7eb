// How the fuzz runs: so many cases, each made from the seed and its own number, a few at a time; and what must hold of all
// of them. A failure names seed and case: FUZZ_SEED=<seed> FUZZ_CASE=<case> sends this one again, after the same setup.
import assert from 'node:assert/strict'
import { Chance } from '../../sim/chance.ts'
import { type Attacked, type Stallable, stallOf } from '../attack-rig.ts'

/** How many requests there are in all, over all wires and transports. */
export const requests = Number(process.env['FUZZ_REQUESTS'] ?? 2_000)
export const seed = Number(process.env['FUZZ_SEED'] ?? 20_260)
const only = process.env['FUZZ_CASE']

/** Only a guard: a machine that is busy may take long, a server that hangs takes forever. */
export const answerWithinMs = 60_000

/** A server that has just been set up, and what is sent to it. */
export type Fuzz = {
  server: Stallable
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

/** `setUp` is called again for a batch that seems to hold the loop. */
export async function run(setUp: () => Promise<Fuzz>): Promise<void> {
  const fuzz = await setUp()
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
    const { stallMs, line } = await stallOf(fuzz.server, () => atOnce(batch, fuzz.at, one))
    if (stallMs < line) continue
    const found = await stalled(setUp, batch)
    if (found !== undefined) failures.push(found)
  }
  assert.deepEqual(failures, [])
}

async function atOnce(batch: readonly number[], at: number, one: (index: number) => Promise<void>) {
  const queue = [...batch]
  const worker = async (): Promise<void> => {
    for (let index = queue.shift(); index !== undefined; index = queue.shift()) await one(index)
  }
  await Promise.all(Array.from({ length: at }, worker))
}

/** FUZZ_CASE is one case, or a range such as 100-149. */
function chosen(count: number): number[] {
  const [first = 0, last = first] = only === undefined ? [0, count - 1] : only.split('-').map(Number)
  return Array.from({ length: last - first + 1 }, (_, at) => first + at)
}

/**
 * Sends a batch that held the loop to two fresh servers, which have cached nothing of it. If one of them stays free,
 * something else on the machine had taken the time. Otherwise looks for the case, one at a time.
 */
async function stalled(setUp: () => Promise<Fuzz>, batch: readonly number[]): Promise<string | undefined> {
  const again = async (fuzz: Fuzz, indexes: readonly number[]) =>
    stallOf(fuzz.server, () =>
      atOnce(indexes, fuzz.at, async index => {
        await fuzz.send(chanceOf(index), index).catch(() => {})
      }),
    )
  let ms = 0
  for (let attempt = 0; attempt < 2; attempt += 1) {
    const { stallMs, line } = await again(await setUp(), batch)
    if (stallMs < line) return undefined
    ms = stallMs
  }
  const first = `Cases ${batch[0]} to ${batch.at(-1)} held the loop for ${Math.round(ms)} ms`
  const fuzz = await setUp()
  for (const index of batch) {
    const { stallMs, line } = await again(fuzz, [index])
    if (stallMs < line * 0.7) continue
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
