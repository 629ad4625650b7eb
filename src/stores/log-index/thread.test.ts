// When the thread of an index is started: a server that does nothing has none.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { IndexThread } from './thread.ts'

/** Counts its starts, and says to every question that it is done. */
const program = new URL(
  `data:text/javascript,${encodeURIComponent(`
    import { parentPort, workerData } from 'node:worker_threads'
    Atomics.add(new Int32Array(workerData), 0, 1)
    parentPort.on('message', sent => {
      if (sent === 'close') process.exit()
      parentPort.postMessage({ id: sent.id, answer: true })
    })`)}`,
)

test('no thread is started before anything was recorded, and one is when there is something to read', async () => {
  const starts = new Int32Array(new SharedArrayBuffer(4))
  let [recorded, looks] = ['', 0]
  const mark = async (): Promise<string> => {
    looks += 1
    return recorded
  }
  const index = new IndexThread({ program, setup: starts.buffer, mark, everyMs: 1 })
  const until = async (holds: () => boolean): Promise<void> => {
    for (const end = Date.now() + 20_000; !holds() && Date.now() < end; ) await pause(2)
  }
  try {
    index.start()
    await until(() => looks > 5)
    assert.deepEqual([starts[0], looks > 5], [0, true])
    recorded = '1'
    await until(() => starts[0] === 1)
    assert.equal(starts[0], 1)
  } finally {
    await index.close()
  }
})
