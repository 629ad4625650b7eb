import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { JSONRPCMessage } from '@modelcontextprotocol/server'
import { KeptEvents } from './kept-events.ts'

const message = (text: string): JSONRPCMessage => ({
  jsonrpc: '2.0',
  method: 'notifications/progress',
  params: { text },
})

async function replayed(events: KeptEvents, id: string): Promise<{ stream: string; ids: string[] }> {
  const ids: string[] = []
  const stream = await events.replayEventsAfter(id, { send: async each => void ids.push(each) })
  return { stream, ids }
}

test('a stream is replayed after the event that the client had last, without those of other streams', async () => {
  const events = new KeptEvents()
  // The empty event with which the SDK begins a stream.
  const first = await events.storeEvent('a', {} as JSONRPCMessage)
  const a1 = await events.storeEvent('a', message('1'))
  await events.storeEvent('b', message('1'))
  const a2 = await events.storeEvent('a', message('2'))
  assert.equal(await events.getStreamIdForEventId(a1), 'a')
  assert.deepEqual(await replayed(events, first), { stream: 'a', ids: [a1, a2] })
  assert.deepEqual(await replayed(events, a1), { stream: 'a', ids: [a2] })
  assert.deepEqual(await replayed(events, a2), { stream: 'a', ids: [] })
})

test('the oldest events are dropped, the newest stays however large it is', async () => {
  const events = new KeptEvents(10_000)
  const ids: string[] = []
  for (let count = 0; count < 100; count += 1)
    ids.push(await events.storeEvent('a', message('x'.repeat(1_000))))
  assert.equal(await events.getStreamIdForEventId(ids[0] ?? ''), undefined)
  await assert.rejects(replayed(events, ids[0] ?? ''), /not kept/)
  assert.equal((await replayed(events, ids.at(-3) ?? '')).ids.length, 2)
  const large = await events.storeEvent('a', message('x'.repeat(100_000)))
  assert.equal(await events.getStreamIdForEventId(large), 'a')
  assert.equal(await events.getStreamIdForEventId(ids.at(-1) ?? ''), undefined)
})
