import assert from 'node:assert/strict'
import { test } from 'node:test'
import { KeptAnswers, readTtl } from './kept-answers.ts'

test('an answer is asked for again when its time is over, when all was dropped, and if it has no time', async () => {
  let at = 0
  let asked = 0
  const kept = new KeptAnswers(() => at)
  const get = (ttlMs: number) =>
    kept.get(`key ${ttlMs}`, async () => {
      asked += 1
      return { value: asked, ttlMs }
    })
  assert.deepEqual([await get(1_000), await get(1_000)], [1, 1])
  at = 999
  assert.equal(await get(1_000), 1)
  at = 1_000
  assert.equal(await get(1_000), 2)
  kept.clear()
  assert.equal(await get(1_000), 3)
  assert.deepEqual([await get(0), await get(0)], [4, 5])
})

test('an answer that was asked for before all was dropped is not kept', async () => {
  const kept = new KeptAnswers(() => 0)
  const late = Promise.withResolvers<{ value: string; ttlMs: number }>()
  const first = kept.get('key', () => late.promise)
  kept.clear()
  late.resolve({ value: 'old', ttlMs: 1_000 })
  assert.equal(await first, 'old')
  assert.equal(await kept.get('key', async () => ({ value: 'new', ttlMs: 0 })), 'new')
})

test('what is kept is limited', async () => {
  const kept = new KeptAnswers(() => 0)
  let asked = 0
  const get = (key: string, length: number) =>
    kept.get(key, async () => {
      asked += 1
      return { value: 'x'.repeat(length), ttlMs: 1_000 }
    })
  for (let count = 0; count < 100; count += 1) await get(`key ${count}`, 1_000_000)
  await get('key 99', 1)
  assert.equal(asked, 100)
  await get('key 0', 1)
  assert.equal(asked, 101)
})

test('a time that is none, is below 0 or lasts for ever', () => {
  assert.deepEqual(
    [{}, { ttlMs: -1 }, { ttlMs: '5' }, { ttlMs: 5 }, { ttlMs: 1e300 }].map(readTtl),
    [0, 0, 0, 5, 86_400_000],
  )
})
