import assert from 'node:assert/strict'
import { test } from 'node:test'
import { inTimeOrder } from './time-order.ts'

type Source = { name: string; createdAt: number; times: number[] }

test('things of several sources come in the order of time, and a source is opened when its time has come', async () => {
  const opened: string[] = []
  const sources: Source[] = [
    { name: 'c', createdAt: 6, times: [7, 7] },
    { name: 'a', createdAt: 0, times: [1, 4, 9] },
    { name: 'b', createdAt: 2, times: [3, 4, 5] },
    { name: 'empty', createdAt: 3, times: [] },
  ]
  async function* read({ name, times }: Source): AsyncGenerator<{ at: number; from: string }> {
    opened.push(name)
    for (const at of times) yield { at, from: name }
  }
  const seen: string[] = []
  for await (const { at, from } of inTimeOrder(sources, read)) {
    seen.push(`${at}${from}`)
    if (at === 1) assert.deepEqual(opened, ['a'])
    if (at === 5) assert.deepEqual(opened, ['a', 'b', 'empty'])
  }
  assert.deepEqual(seen, ['1a', '3b', '4a', '4b', '5b', '7c', '7c', '9a'])
})
