// Which writes go together, on a clock that the test sets.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { WriteQueue } from './write-queue.ts'
import type { Write } from './writes.ts'

/** `sessions` that write again and again: each write takes `writeMs`, and the work between two writes `workMs`. */
async function sizesOf(sessions: number, writeMs: number, workMs: number): Promise<number[]> {
  let now = 0
  const sizes: number[] = []
  const finish: (() => void)[] = []
  const queue = new WriteQueue(
    runs => {
      sizes.push(runs.length)
      return new Promise(resolve => finish.push(() => resolve(runs.map(() => ({ value: undefined })))))
    },
    {},
    () => now,
  )
  const write = (session: number): Promise<unknown> =>
    queue.write({ kind: 'claim', session: `s${session}`, recovering: false, size: 0 } satisfies Write)
  for (let round = 0; round < 8; round += 1) {
    const written = Array.from({ length: sessions }, (_, session) => write(session))
    let isOver = false
    const over = Promise.all(written).then(() => {
      isOver = true
    })
    while (!isOver) {
      // A second group starts in the same turn of the event loop, if there is one.
      await setImmediate()
      await setImmediate()
      now += finish.length > 0 ? writeMs : 0
      finish.shift()?.()
      await setImmediate()
    }
    await over
    now += workMs
  }
  return sizes
}

test('writes of many sessions go together while the database takes longer than the work between them', async () => {
  const sizes = await sizesOf(64, 5, 1)
  assert.ok(
    sizes.every(size => size === 64),
    String(sizes),
  )
})

test('they go in two halves once the work between them takes longer', async () => {
  const sizes = await sizesOf(64, 1, 5)
  assert.deepEqual(sizes.slice(-2), [32, 32], String(sizes))
})

test('a few are never split', async () => {
  const sizes = await sizesOf(8, 1, 5)
  assert.ok(
    sizes.every(size => size === 8),
    String(sizes),
  )
})
