// Group commit against a ledger in memory that can be told to fail: who shares a transaction, who falls alone,
// who falls with whom.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { TurnwireError } from '../../language/errors.ts'
import type { Fault } from './faults.ts'
import { type GroupOptions, groupCommit, type Write } from './group.ts'

type Page = string[]
class Impossible extends Error {}

function makeLedger(options: GroupOptions = {}) {
  const durable: Page[] = []
  let open: Page = []
  const ledger = {
    begins: 0,
    failCommit: false,
    begin(): Page {
      ledger.begins++
      open = []
      return open
    },
    commit() {
      if (ledger.failCommit) throw new Error('the disk is gone')
      durable.push(open)
    },
    fail(thrown: unknown): Fault {
      const blame = thrown instanceof Impossible ? 'write' : 'connection'
      return { error: new TurnwireError('store_failed', String(thrown)), blame }
    },
  }
  return { ledger, durable, group: groupCommit<Page>(ledger, options) }
}

function write(session: string, text: string, more: Partial<Write<Page, string>> = {}): Write<Page, string> {
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
/** Throws after it has written something. */
const impossible = {
  run(page: Page) {
    page.push('half of it')
    throw new Impossible('too big')
  },
}

test('writes of one turn of the event loop share a transaction, in the order they were asked for', async () => {
  const told: number[] = []
  const { durable, group } = makeLedger({ committed: writes => told.push(writes) })
  const results = await Promise.all(['a', 'b', 'c'].map(text => group.ask(write('s', text))))
  assert.deepEqual(results, ['a', 'b', 'c'])
  assert.equal(await group.ask(write('s', 'd')), 'd')
  assert.deepEqual(durable, [['a', 'b', 'c'], ['d']])
  assert.deepEqual(told, [3, 1])
})

test('no transaction holds more than it may, and the rest follows', async () => {
  const { durable, group } = makeLedger({ most: 2 })
  await Promise.all(['a', 'b', 'c', 'd', 'e'].map(text => group.ask(write('s', text))))
  assert.deepEqual(durable, [['a', 'b'], ['c', 'd'], ['e']])
})

test('nothing resolves before its commit', async () => {
  const { ledger, group } = makeLedger()
  ledger.failCommit = true
  const asked = ['a', 'b'].map(text => group.ask(write(text, text)))
  for (const one of await Promise.allSettled(asked)) assert.equal(one.status, 'rejected')
})

test('a refused write falls alone, with what its session asked for after it', async () => {
  const { ledger, durable, group } = makeLedger()
  const asked = await Promise.allSettled([
    group.ask(write('s', 'a')),
    group.ask(write('s', 'b', refused)),
    group.ask(write('t', 'c')),
    group.ask(write('s', 'd')),
    group.ask(write('s', 'e', { epoch: 2 })),
    group.ask(write('s', 'f', { kind: 'claim' })),
  ])
  assert.deepEqual(
    asked.map(one => one.status),
    ['fulfilled', 'rejected', 'fulfilled', 'rejected', 'fulfilled', 'fulfilled'],
  )
  assert.deepEqual(durable, [['a', 'c', 'e', 'f']])
  assert.equal(ledger.begins, 1)
})

test('a refusal reaches what waits for the next transaction', async () => {
  const { durable, group } = makeLedger({ most: 2 })
  const asked = await Promise.allSettled([
    group.ask(write('s', 'a', refused)),
    group.ask(write('t', 'b')),
    group.ask(write('s', 'c')),
    group.ask(write('t', 'd')),
  ])
  assert.deepEqual(
    asked.map(one => one.status),
    ['rejected', 'fulfilled', 'rejected', 'fulfilled'],
  )
  assert.deepEqual(durable, [['b'], ['d']])
})

test('a write that can never succeed leaves nothing behind and does not take the others with it', async () => {
  const { ledger, durable, group } = makeLedger()
  const asked = await Promise.allSettled([
    group.ask(write('s', 'a')),
    group.ask(write('t', 'b', impossible)),
    group.ask(write('t', 'c')),
    group.ask(write('u', 'd', impossible)),
    group.ask(write('s', 'e')),
  ])
  assert.deepEqual(
    asked.map(one => one.status),
    ['fulfilled', 'rejected', 'rejected', 'rejected', 'fulfilled'],
  )
  assert.deepEqual(durable, [['a', 'e']])
  assert.equal(ledger.begins, 3)
})

test('a commit that fails fails all, is not tried again, and the next turn starts afresh', async () => {
  const { ledger, durable, group } = makeLedger({ most: 2 })
  ledger.failCommit = true
  const first = ['a', 'b'].map(text => group.ask(write(text, text)))
  const waiting = [group.ask(write('a', 'c')), group.ask(write('z', 'd'))]
  const failed = await Promise.allSettled(first)
  ledger.failCommit = false
  assert.deepEqual(
    failed.map(one => one.status),
    ['rejected', 'rejected'],
  )
  assert.equal(ledger.begins, 1)
  const rest = await Promise.allSettled(waiting)
  assert.deepEqual(
    rest.map(one => one.status),
    ['rejected', 'fulfilled'],
  )
  assert.deepEqual(durable, [['d']])
  assert.equal(await group.ask(write('a', 'e')), 'e')
})

test('a disk that fails within a write fails all, whoever was writing, and nothing is tried again', async () => {
  const { ledger, durable, group } = makeLedger()
  const broken = {
    run(): string {
      throw new Error('the disk is gone')
    },
  }
  const asked = await Promise.allSettled([
    group.ask(write('s', 'a')),
    group.ask(write('t', 'b', broken)),
    group.ask(write('u', 'c')),
  ])
  assert.deepEqual(
    asked.map(one => one.status),
    ['rejected', 'rejected', 'rejected'],
  )
  assert.deepEqual(durable, [])
  assert.equal(ledger.begins, 1)
})

test('flush writes at once what was asked for', async () => {
  const { durable, group } = makeLedger({ most: 1 })
  const asked = [group.ask(write('s', 'a')), group.ask(write('s', 'b'))]
  group.flush()
  assert.deepEqual(durable, [['a'], ['b']])
  assert.deepEqual(await Promise.all(asked), ['a', 'b'])
  await nextTurn()
  assert.equal(durable.length, 2)
})
