import assert from 'node:assert/strict'
import { test } from 'node:test'
import { checkProgram } from '../checks/index.ts'
import type { CheckAnswer, CheckJob } from '../checks/jobs.ts'
import { type Failed, type PoolLimits, WorkPool } from './work-pool.ts'

const small: CheckJob = { kind: 'schema', schema: '{"type":"object"}', value: '{}' }
const poolOf = (limits: Partial<PoolLimits> = {}) => new WorkPool<CheckJob, CheckAnswer>(checkProgram, limits)

/** Each level of the value is checked twice as often as the one above it. */
const endless: CheckJob = {
  kind: 'schema',
  schema: JSON.stringify({ properties: { x: { anyOf: [{ $ref: '#' }, { $ref: '#' }] } }, required: ['y'] }),
  value: `${'{"y":1,"x":'.repeat(60)}{}${'}'.repeat(60)}`,
}

test('a check in a thread gives what the check would give here', async () => {
  const pool = poolOf()
  assert.deepEqual(await pool.run(small, 'ann'), { issues: null })
  assert.deepEqual(await pool.run({ ...small, value: '[]' }, 'ann'), {
    issues: [{ path: '', message: 'must be object, but is array' }],
  })
  const bad = await pool.run({ ...small, schema: '{"type":"strin"}' }, 'ann')
  assert.match('unusable' in bad ? bad.unusable : '', /not valid JSON Schema/)
  const grammar = { kind: 'grammar', syntax: 'lark', definition: 'start: "a"+' } as const
  assert.deepEqual(await pool.run(grammar, 'ann'), { mismatch: null })
  assert.deepEqual(await pool.run({ ...grammar, text: 'aaa' }, 'ann'), { mismatch: null })
  const other = await pool.run({ ...grammar, text: 'ab' }, 'ann')
  assert.equal('mismatch' in other ? other.mismatch?.offset : undefined, 1)
  assert.ok('unusable' in (await pool.run({ ...grammar, definition: 'begin: "a"' }, 'ann')))
})

test('a check that takes too long is ended, and the next one is done', async () => {
  const pool = poolOf({ threads: 1, jobMs: 2_000, heapMiB: 1024 })
  const [hostile, honest] = await Promise.all([pool.run(endless, 'eve'), pool.run(small, 'ann')])
  assert.deepEqual(hostile, { failed: 'took longer than 2 seconds' })
  assert.deepEqual(honest, { issues: null })
})

test('a check that needs too much memory is ended, and the next one is done', async () => {
  const pool = poolOf({ threads: 1, heapMiB: 32, jobMs: 60_000 })
  const value = `[${'{"a":[[],[]]},'.repeat(400_000)}0]`
  const [hostile, honest] = await Promise.all([pool.run({ ...small, value }, 'eve'), pool.run(small, 'ann')])
  assert.deepEqual(hostile, { failed: 'needed too much memory' })
  assert.deepEqual(honest, { issues: null })
})

test('one owner holds one thread, and owners take turns', async () => {
  const pool = poolOf({ threads: 2, jobMs: 60_000, heapMiB: 1024 })
  await Promise.all([pool.run(small, 'ann'), pool.run(small, 'bob')])
  const order: string[] = []
  const run = async (job: CheckJob, owner: string, signal?: AbortSignal): Promise<void> => {
    await pool.run(job, owner, signal)
    order.push(owner)
  }
  const stop = new AbortController()
  const hostile = [1, 2].map(() => run(endless, 'eve', stop.signal))
  await Promise.all([run(small, 'ann'), run(small, 'bob'), run(small, 'ann')])
  assert.deepEqual(order, ['ann', 'bob', 'ann'])
  stop.abort()
  await Promise.all(hostile)
  assert.deepEqual(order.slice(3), ['eve', 'eve'])
})

test('a job whose signal aborts is given up, at work or waiting, and the next one is done', async () => {
  const pool = poolOf({ threads: 1, jobMs: 60_000, heapMiB: 1024 })
  const stop = new AbortController()
  const hostile = [1, 2].map(() => pool.run(endless, 'eve', stop.signal))
  const honest = pool.run(small, 'eve')
  const order: (CheckAnswer | Failed)[] = []
  for (const each of [...hostile, honest]) void each.then(answer => order.push(answer))
  await new Promise(resolve => setImmediate(resolve))
  stop.abort()
  await honest
  assert.deepEqual(order, [{ failed: 'was cancelled' }, { failed: 'was cancelled' }, { issues: null }])
  assert.deepEqual(await pool.run(small, 'eve', AbortSignal.abort()), { failed: 'was cancelled' })
})
