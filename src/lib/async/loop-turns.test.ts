import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { loopTurn } from './loop-turns.ts'

test('one waiter is woken in each turn of the event loop, in the order of their coming', async () => {
  const woken: number[] = []
  const waiters = [1, 2, 3].map(n => loopTurn().then(() => woken.push(n)))
  assert.deepEqual(woken, [])
  await nextTurn()
  assert.deepEqual(woken, [1])
  await nextTurn()
  assert.deepEqual(woken, [1, 2])
  await Promise.all(waiters)
  assert.deepEqual(woken, [1, 2, 3])
})

test('who waits again comes after those who wait already', async () => {
  const woken: string[] = []
  const twice = async (name: string): Promise<void> => {
    for (const piece of [1, 2]) {
      await loopTurn()
      woken.push(`${name}${piece}`)
    }
  }
  await Promise.all([twice('a'), twice('b')])
  assert.deepEqual(woken, ['a1', 'b1', 'a2', 'b2'])
})
