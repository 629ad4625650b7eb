// Group commit against transactions in memory that can be made to fail: which writes share a transaction, and which
// fail together.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { TurnwireError } from '../../language/errors.ts'
import type { SessionWrite } from '../failures.ts'
import type { SqliteFault } from './faults.ts'
import { GroupCommit, type GroupOptions, type Transactions, writeGroup } from './group-commit.ts'

type Page = string[]
type PageWrite = SessionWrite & { size?: number; run(page: Page): string }
class Impossible extends Error {}

/** A write may say how large it is. */
const encode = (write: PageWrite) => {
  if (write.size === -1) throw new RangeError('Invalid string length')
  return { sent: write, size: write.size ?? 1 }
}

function makeGroup(options: GroupOptions = {}) {
  const durable: Page[] = []
  let open: Page = []
  const transactions = {
    begins: 0,
    failCommit: false,
    begin() {
      transactions.begins++
      open = []
    },
    write: (write: PageWrite) => write.run(open),
    commit() {
      if (transactions.failCommit) throw new Error('the disk is gone')
      durable.push(open)
    },
    fail(thrown: unknown): SqliteFault {
      const affects = thrown instanceof Impossible ? 'write' : 'connection'
      return { error: new TurnwireError('store_failed', String(thrown)), affects }
    },
  } satisfies Transactions<PageWrite> & Record<string, unknown>
  let committing: Promise<void> | undefined
  const commit = async (writes: readonly PageWrite[]) => {
    assert.equal(committing, undefined, 'two transactions at once')
    committing = nextTurn()
    await committing
    committing = undefined
    return writeGroup(transactions, writes)
  }
  return { transactions, durable, group: new GroupCommit<PageWrite, PageWrite>({ encode, commit }, options) }
}

function write(session: string, text: string, more: Partial<PageWrite> = {}): PageWrite {
  const run = (page: Page) => {
    page.push(text)
    return text
  }
  return { kind: 'append', session, epoch: 1, run, ...more }
}

const refused = {
  run() {
    throw new TurnwireError('lease_lost', 'refused')
  },
}
/** Throws after it has written. */
const impossible = {
  run(page: Page) {
    page.push('half of it')
    throw new Impossible('too big')
  },
}

test('writes of one turn of the event loop share a transaction, in the order of the calls', async () => {
  const commits: number[] = []
  const { durable, group } = makeGroup({ onCommit: writes => commits.push(writes) })
  const results = await Promise.all(['a', 'b', 'c'].map(text => group.write(write('s', text))))
  assert.deepEqual(results, ['a', 'b', 'c'])
  assert.equal(await group.write(write('s', 'd')), 'd')
  assert.deepEqual(durable, [['a', 'b', 'c'], ['d']])
  assert.deepEqual(commits, [3, 1])
})

test('a transaction holds at most maxWrites writes, and the rest go into the next', async () => {
  const { durable, group } = makeGroup({ maxWrites: 2 })
  await Promise.all(['a', 'b', 'c', 'd', 'e'].map(text => group.write(write('s', text))))
  assert.deepEqual(durable, [['a', 'b'], ['c', 'd'], ['e']])
})

test('a transaction takes no more writes once it is large', async () => {
  const { durable, group } = makeGroup()
  const sizes = { a: 3_000_000, b: 3_000_000, c: 10, d: 100_000_000, e: 10 }
  await Promise.all(Object.entries(sizes).map(([text, size]) => group.write(write('s', text, { size }))))
  assert.deepEqual(durable, [['a', 'b'], ['c', 'd'], ['e']])
})

test('a write does not resolve before its commit', async () => {
  const { transactions, group } = makeGroup()
  transactions.failCommit = true
  const results = ['a', 'b'].map(text => group.write(write(text, text)))
  for (const one of await Promise.allSettled(results)) assert.equal(one.status, 'rejected')
})

test('a refused write fails alone, with the later writes of its session', async () => {
  const { transactions, durable, group } = makeGroup()
  const results = await Promise.allSettled([
    group.write(write('s', 'a')),
    group.write(write('s', 'b', refused)),
    group.write(write('t', 'c')),
    group.write(write('s', 'd')),
    group.write(write('s', 'e', { epoch: 2 })),
    group.write(write('s', 'f', { kind: 'claim' })),
  ])
  assert.deepEqual(
    results.map(one => one.status),
    ['fulfilled', 'rejected', 'fulfilled', 'rejected', 'fulfilled', 'fulfilled'],
  )
  assert.deepEqual(durable, [['a', 'c', 'e', 'f']])
  assert.equal(transactions.begins, 1)
})

test('a refusal also fails the writes that wait for the next transaction', async () => {
  const { durable, group } = makeGroup({ maxWrites: 2 })
  const results = await Promise.allSettled([
    group.write(write('s', 'a', refused)),
    group.write(write('t', 'b')),
    group.write(write('s', 'c')),
    group.write(write('t', 'd')),
  ])
  assert.deepEqual(
    results.map(one => one.status),
    ['rejected', 'fulfilled', 'rejected', 'fulfilled'],
  )
  assert.deepEqual(durable, [['b'], ['d']])
})

test('a write that can never succeed writes nothing and does not fail the others', async () => {
  const { transactions, durable, group } = makeGroup()
  const results = await Promise.allSettled([
    group.write(write('s', 'a')),
    group.write(write('t', 'b', impossible)),
    group.write(write('t', 'c')),
    group.write(write('u', 'd', impossible)),
    group.write(write('s', 'e')),
  ])
  assert.deepEqual(
    results.map(one => one.status),
    ['fulfilled', 'rejected', 'rejected', 'rejected', 'fulfilled'],
  )
  assert.deepEqual(durable, [['a', 'e']])
  assert.equal(transactions.begins, 3)
})

test('a failed commit fails all its writes, is not retried, and does not affect the next transaction', async () => {
  const { transactions, durable, group } = makeGroup({ maxWrites: 2 })
  transactions.failCommit = true
  const first = ['a', 'b'].map(text => group.write(write(text, text)))
  const waiting = [group.write(write('a', 'c')), group.write(write('z', 'd'))]
  const failed = await Promise.allSettled(first)
  transactions.failCommit = false
  assert.deepEqual(
    failed.map(one => one.status),
    ['rejected', 'rejected'],
  )
  assert.equal(transactions.begins, 1)
  const rest = await Promise.allSettled(waiting)
  assert.deepEqual(
    rest.map(one => one.status),
    ['rejected', 'fulfilled'],
  )
  assert.deepEqual(durable, [['d']])
  assert.equal(await group.write(write('a', 'e')), 'e')
})

test('a disk failure during one write fails the whole transaction, and nothing is retried', async () => {
  const { transactions, durable, group } = makeGroup()
  const broken = {
    run(): string {
      throw new Error('the disk is gone')
    },
  }
  const results = await Promise.allSettled([
    group.write(write('s', 'a')),
    group.write(write('t', 'b', broken)),
    group.write(write('u', 'c')),
  ])
  assert.deepEqual(
    results.map(one => one.status),
    ['rejected', 'rejected', 'rejected'],
  )
  assert.deepEqual(durable, [])
  assert.equal(transactions.begins, 1)
})

test('writes that are requested while a transaction is under way share the next one', async () => {
  const { durable, group } = makeGroup()
  const first = group.write(write('s', 'a'))
  await nextTurn()
  const rest = ['b', 'c'].map(text => group.write(write('s', text)))
  await first
  const last = group.write(write('s', 'd'))
  await Promise.all([...rest, last])
  assert.deepEqual(durable, [['a'], ['b', 'c', 'd']])
})

test('a failed transaction is known until the next one succeeds', async () => {
  const told: string[] = []
  const { transactions, group } = makeGroup({
    onFailure: ({ code }) => told.push(code),
    onRecovery: () => told.push('works'),
  })
  transactions.failCommit = true
  await assert.rejects(group.write(write('s', 'a')))
  assert.equal(group.failure?.code, 'store_failed')
  await assert.rejects(group.write(write('s', 'b')))
  transactions.failCommit = false
  await group.write(write('s', 'c'))
  assert.equal(group.failure, undefined)
  assert.deepEqual(told, ['store_failed', 'works'])
})

test('a commit that rejects fails its writes', async () => {
  const group = new GroupCommit<PageWrite, PageWrite>({
    encode,
    commit: () => Promise.reject(new Error('the thread is gone')),
  })
  await assert.rejects(group.write(write('s', 'a')), { code: 'store_failed', message: 'the thread is gone' })
})

test('idle waits for every requested write', async () => {
  const { durable, group } = makeGroup({ maxWrites: 1 })
  await group.idle()
  const results = [group.write(write('s', 'a')), group.write(write('s', 'b'))]
  await group.idle()
  assert.deepEqual(durable, [['a'], ['b']])
  assert.deepEqual(await Promise.all(results), ['a', 'b'])
})

test('a write that cannot be encoded fails alone with those of its session that follow, and the next ones are recorded', async () => {
  const { group, durable } = makeGroup()
  const results = await Promise.allSettled([
    group.write(write('a', 'a1')),
    group.write(write('b', 'b1', { size: -1 })),
    group.write(write('b', 'b2')),
    group.write(write('c', 'c1')),
  ])
  assert.deepEqual(
    results.map(({ status }) => status),
    ['fulfilled', 'rejected', 'rejected', 'fulfilled'],
  )
  assert.deepEqual(durable, [['a1', 'c1']])
  await assert.rejects(group.write(write('b', 'b3', { size: -1 })), { code: 'store_failed' })
  await group.write(write('b', 'b4'))
  await group.idle()
  assert.deepEqual(durable.at(-1), ['b4'])
})
