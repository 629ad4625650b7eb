// A handler of a frame that fails unexpectedly: its socket is closed, and the process goes on.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { FrameQueue } from './frame-queue.ts'

test('a handler that rejects closes its socket, and later frames are handled', async () => {
  const closed: number[] = []
  const queue = new FrameQueue({ close: code => void closed.push(code) }, 1000)
  const { promise: handled, resolve } = Promise.withResolvers<void>()
  queue.add(1, () => Promise.reject(new Error('a defect')))
  queue.add(1, async () => resolve())
  await handled
  assert.deepEqual(closed, [1011])
})
