// Group commit on a real file: how many transactions, and so syncs, a number of writes takes.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { batch, newSession } from '../contracts/store-samples.ts'
import { sqliteUnderTest } from './folder.ts'

test('writes of many sessions share their syncs', async () => {
  const commits: number[] = []
  const { store, cleanup } = await sqliteUnderTest({ group: { committed: writes => commits.push(writes) } })
  const names = Array.from({ length: 64 }, (_, index) => `s${index}`)
  await Promise.all(names.map(name => store.create(newSession(name))))
  assert.deepEqual(commits, [64])
  const one = async (name: string) => {
    for (let seq = 1; seq <= 10; seq++) await store.append(batch(name, seq, 1))
  }
  await Promise.all(names.map(one))
  assert.deepEqual(
    commits.slice(1),
    Array.from({ length: 10 }, () => 64),
  )
  await cleanup()
})

test('a write that waits for the one before has a transaction of its own', async () => {
  let commits = 0
  const { store, cleanup } = await sqliteUnderTest({ group: { committed: () => commits++ } })
  await store.create(newSession('s'))
  for (let seq = 1; seq <= 5; seq++) await store.append(batch('s', seq, 1))
  assert.equal(commits, 6)
  await cleanup()
})

test('a burst is cut into transactions of the most that may share one', async () => {
  const commits: number[] = []
  const { store, cleanup } = await sqliteUnderTest({
    group: { most: 100, committed: writes => commits.push(writes) },
  })
  const names = Array.from({ length: 125 }, (_, index) => `s${index}`)
  await Promise.all(names.flatMap(name => [store.create(newSession(name)), store.append(batch(name, 1, 1))]))
  assert.deepEqual(commits, [100, 100, 50])
  await cleanup()
})
