// Group commit on a real file: how many transactions, and so fsyncs, a number of writes takes.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { batch, newSession } from '../../src/testing/contracts/store-samples.ts'
import { sqliteUnderTest } from './folder.ts'

test('writes of many sessions share one fsync', async () => {
  const commits: number[] = []
  const { store, cleanup } = await sqliteUnderTest({ group: { onCommit: writes => commits.push(writes) } })
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

test('a write requested after the previous one resolved gets its own transaction', async () => {
  let commits = 0
  const { store, cleanup } = await sqliteUnderTest({ group: { onCommit: () => commits++ } })
  await store.create(newSession('s'))
  for (let seq = 1; seq <= 5; seq++) await store.append(batch('s', seq, 1))
  assert.equal(commits, 6)
  await cleanup()
})

test('a burst is split into transactions of maxWrites', async () => {
  const commits: number[] = []
  const { store, cleanup } = await sqliteUnderTest({
    group: { maxWrites: 100, onCommit: writes => commits.push(writes) },
  })
  const names = Array.from({ length: 125 }, (_, index) => `s${index}`)
  await Promise.all(names.flatMap(name => [store.create(newSession(name)), store.append(batch(name, 1, 1))]))
  assert.deepEqual(commits, [100, 100, 50])
  await cleanup()
})
