// A process to be killed. It writes to several sessions at once and prints a line for each acknowledged append, with a
// synchronous write, so that no line is lost.
//
// Arguments: the file, where it commits, how many sessions, how many failures to go on after, how many acknowledgements to
// end after.
import { writeSync } from 'node:fs'
import { TurnwireError } from '../../src/language/errors.ts'
import { sqliteStore } from '../../src/stores/sqlite/index.ts'
import type { CommitPlace } from '../../src/stores/sqlite/writer.ts'
import { batch, newSession, sampleEvent } from '../../src/testing/contracts/store-samples.ts'

const [file = '', place = 'adaptive', sessions = '8', failures = '0', acks = 'Infinity'] =
  process.argv.slice(2)
let failuresLeft = Number(failures)
let acksLeft = Number(acks)
const store = sqliteStore({ file, commitsIn: place as CommitPlace }) // The tests name one.

/** Synchronous, so that a line that was printed has left the process. A pipe that is full is tried again. */
function print(...words: (string | number)[]): void {
  let rest = Buffer.from(`${words.join(' ')}\n`)
  while (rest.length > 0) {
    try {
      rest = rest.subarray(writeSync(1, rest))
    } catch (error) {
      if (!(error instanceof Error && 'code' in error && error.code === 'EAGAIN')) throw error
      Atomics.wait(pause, 0, 0, 5)
    }
  }
}
const pause = new Int32Array(new SharedArrayBuffer(4))

async function writeSession(session: string): Promise<void> {
  await store.create(newSession(session, { request: { key: session, hash: '' } }))
  const claimed = await store.claim(session)
  if (claimed === undefined) throw new Error('the created session is gone')
  let seq = claimed.row.head + 1
  for (;;) {
    const count = 1 + (seq % 3)
    // Some are larger than a database page.
    const size = seq % 7 === 0 ? 10_000 : 100
    const own = Array.from({ length: count }, (_, index) =>
      sampleEvent(`${session} ${seq + index} ${'x'.repeat(size)}`),
    )
    try {
      await store.append(batch(session, seq, count, { epoch: claimed.epoch, events: own }))
      seq += count
      print('acked', session, seq - 1)
      if (--acksLeft <= 0) process.exit(0)
    } catch (error) {
      if (!(error instanceof TurnwireError)) throw error
      print('failed', session, seq, error.code)
      if (failuresLeft-- <= 0) process.exit(3)
    }
  }
}

await Promise.all(Array.from({ length: Number(sessions) }, (_, index) => writeSession(`s${index}`)))
