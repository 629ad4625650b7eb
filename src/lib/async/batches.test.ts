import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Batches } from './batches.ts'

test('items that were pushed before a read come as one batch, in order', async () => {
  const batches = new Batches<number>()
  batches.push(1)
  batches.push(2)
  assert.deepEqual(await batches.next(), { value: [1, 2], done: false })
  const waiting = batches.next()
  batches.push(3)
  batches.push(4)
  assert.deepEqual(await waiting, { value: [3, 4], done: false })
})

test('the end comes after the items, and later items are ignored', async () => {
  const batches = new Batches<number>()
  batches.push(1)
  batches.end()
  batches.push(2)
  const read: number[] = []
  for await (const batch of batches) read.push(...batch)
  assert.deepEqual(read, [1])
})

test('an error comes after the items, once', async () => {
  const batches = new Batches<number>()
  batches.push(1)
  batches.fail(new Error('broken'))
  assert.deepEqual(await batches.next(), { value: [1], done: false })
  await assert.rejects(batches.next(), /broken/)
  assert.deepEqual(await batches.next(), { value: undefined, done: true })
})

test('onLeave is called when the reader leaves early, and not at the end', async () => {
  let left = 0
  for (const leaves of [true, false]) {
    const batches = new Batches<number>(() => left++)
    batches.push(1)
    if (!leaves) batches.end()
    for await (const batch of batches) if (leaves && batch.length > 0) break
  }
  assert.equal(left, 1)
})
