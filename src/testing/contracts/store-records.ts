// The contract of small records beside the logs. A store may keep none: then these tests are skipped.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { NewRecord, RecordStore } from '../../engine/ports/index.ts'
import { BORN, batch, newSession, rejects, type StoreSubject } from './store-samples.ts'

function record(name: string, more: Partial<NewRecord> = {}): NewRecord {
  return { kind: 'note', name, at: BORN, body: `body of ${name}`, ...more }
}

const namesOf = (rows: readonly NewRecord[]): string[] => rows.map(({ name }) => name)

type RecordTest = (title: string, check: (records: RecordStore) => Promise<void>) => void

export function recordTests(subject: StoreSubject): void {
  const withRecords: RecordTest = (title, check) => {
    test(title, async t => {
      const { records } = subject.store
      if (records) await check(records)
      else t.skip('The store keeps no records.')
    })
  }
  changingTests(withRecords)
  appendedTests(subject, withRecords)
}

function changingTests(withRecords: RecordTest): void {
  withRecords('a record is added once, and found as it was given', async records => {
    const whole = record('b\u0000\ud800', {
      dueAt: BORN + 5,
      session: 's',
      body: '{"a":"\u0000 \ud83d\ude00"}',
    })
    assert.equal(await records.add(whole), true)
    assert.equal(await records.add({ ...whole, body: 'another' }), false)
    assert.deepEqual(await records.find('note', whole.name), { ...whole, version: 1 })
    assert.equal(await records.find('other', whole.name), undefined)
    assert.equal(await records.add(record(whole.name, { kind: 'other' })), true)
  })

  withRecords('of several writers that read the same version one changes it', async records => {
    await records.add(record('a', { dueAt: BORN }))
    const kept = (await records.find('note', 'a'))!
    const changes = await Promise.all(
      ['one', 'two', 'three'].map(body => records.change(kept, { body, dueAt: BORN + 9 })),
    )
    const made = changes.filter(change => change !== undefined)
    assert.equal(made.length, 1)
    assert.deepEqual(await records.find('note', 'a'), made[0])
    assert.equal(made[0]?.version, 2)
    const last = await records.change(made[0], { body: 'without a time' })
    assert.deepEqual(last, { ...record('a', { body: 'without a time' }), version: 3 })
    assert.deepEqual(await records.due('note', 5), [])
    assert.equal(await records.remove(kept), false)
    assert.equal(await records.remove(last!), true)
    assert.equal(await records.remove(last!), false)
    assert.equal(await records.change(last!, { body: 'gone' }), undefined)
    assert.equal(await records.find('note', 'a'), undefined)
  })

  withRecords('records are listed newest first in pages, and by when they are due', async records => {
    await records.add(record('old', { dueAt: BORN + 3 }))
    await records.add(record('two', { at: BORN + 1, dueAt: BORN + 1 }))
    await records.add(record('one', { at: BORN + 1 }))
    await records.add(record('new', { at: BORN + 2, dueAt: BORN + 2 }))
    await records.add(record('apart', { kind: 'other', dueAt: BORN }))
    const first = await records.list({ kind: 'note', limit: 3 })
    assert.deepEqual(namesOf(first.rows), ['new', 'two', 'one'])
    const second = await records.list({ kind: 'note', limit: 3, after: first.next! })
    assert.deepEqual(namesOf(second.rows), ['old'])
    assert.equal(second.next, undefined)
    assert.deepEqual(namesOf(await records.due('note', 2)), ['two', 'new'])
    assert.deepEqual(namesOf(await records.due('note', 9)), ['two', 'new', 'old'])
    await rejects(records.list({ kind: 'note', limit: 0 }), 'bad_request')
  })
}

function appendedTests(subject: StoreSubject, withRecords: RecordTest): void {
  withRecords('records of an append are added with its events or not at all', async records => {
    const { store } = subject
    await store.create(newSession('s'))
    await store.create(newSession('t'))
    const head = (await store.row('s'))!.head
    // Together, so that stores which join writes join these.
    await Promise.all([
      store.append({ ...batch('s', head + 1, 1), records: [record('a', { session: 's' })] }),
      store.append({ ...batch('s', head + 2, 1), records: [record('b', { session: 's', dueAt: 7 })] }),
      store.append({ ...batch('t', head + 1, 1), records: [record('c\ud800')] }),
    ])
    await rejects(store.append({ ...batch('s', 99, 1), records: [record('never')] }), 'lease_lost')
    await store.append({ ...batch('t', head + 2, 1), records: [record('c\ud800', { body: 'later' })] })
    assert.deepEqual(namesOf((await records.list({ kind: 'note', limit: 9 })).rows).sort(), [
      'a',
      'b',
      'c\ud800',
    ])
    assert.deepEqual(await records.find('note', 'b'), {
      ...record('b', { session: 's', dueAt: 7 }),
      version: 1,
    })
    assert.equal((await records.find('note', 'c\ud800'))?.body, 'body of c\ud800')
    await store.remove('s')
    assert.deepEqual(namesOf((await records.list({ kind: 'note', limit: 9 })).rows), ['c\ud800'])
  })

  test('records survive a restart', async t => {
    const { store, reopen } = subject
    if (!(store.records && reopen)) {
      t.skip('The store keeps no records, or cannot be opened again.')
      return
    }
    await store.records.add(record('kept', { dueAt: BORN + 1 }))
    const again = await reopen()
    assert.deepEqual(await again.records?.find('note', 'kept'), {
      ...record('kept', { dueAt: BORN + 1 }),
      version: 1,
    })
  })
}
