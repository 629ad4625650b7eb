// What every HTTP wire does with a body, a header and a failure, seen through AAP.
import assert from 'node:assert/strict'
import { connect } from 'node:net'
import test from 'node:test'
import { gzipSync } from 'node:zlib'
import { memoryStore } from '../../../src/stores/memory.ts'
import { cites } from '../../requirements/manifest.ts'
import { newSession, type Rig, refusal, rig, say, turn } from './rig.ts'

const create = (at: Rig, body: string, headers?: Record<string, string>) =>
  at.request('POST', '/sessions', body, headers)

test(cites('AAP-ERR-01', 'AAP-ERR-02', 'AAP-ERR-03', 'AAP-ERR-09', 'a body is strict JSON'), async t => {
  const at = await rig(t)
  for (const body of [
    '',
    '{',
    'hello',
    '{"agent":{"name":"helper"}} x',
    '{"agent":{"name":"helper","name":"other"}}',
  ])
    assert.deepEqual(await refusal(create(at, body)), [400, 'invalid_json'], body)
  assert.deepEqual(await refusal(create(at, '['.repeat(100) + ']'.repeat(100))), [400, 'invalid_json'])
  assert.deepEqual(await refusal(create(at, '{"agent":{"name":"helper"},"x":1e400}')), [400, 'invalid_json'])
  for (const body of ['[]', '"x"', 'null', '7'])
    assert.deepEqual(await refusal(create(at, body)), [400, 'bad_request'])
  const bytes = await fetch(`${at.url}/sessions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x7d]),
  })
  assert.deepEqual(await refusal(bytes), [400, 'invalid_json'])
})

test(cites('AAP-ERR-04', 'a body is limited, with or without a Content-Length'), async t => {
  const at = await rig(t, { limits: { bodyBytes: 1000 } })
  assert.deepEqual(await refusal(create(at, JSON.stringify({ x: 'y'.repeat(1000) }))), [413, 'too_large'])
  const chunks = new ReadableStream<Uint8Array>({
    pull: controller => controller.enqueue(new TextEncoder().encode('y'.repeat(500))),
  })
  const endless = fetch(`${at.url}/sessions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: chunks,
    duplex: 'half',
  } as RequestInit)
  // The server answers and hangs up; a client in the middle of sending may see either.
  const seen = await endless.then(refusal).catch((error: unknown) => error)
  assert.ok(seen instanceof TypeError || (Array.isArray(seen) && seen[0] === 413))
  assert.equal((await at.request('GET', '/meta')).status, 200)
})

test(
  cites('AAP-ERR-05', 'a compressed body, or one whose Content-Type is not JSON, is refused unread'),
  async t => {
    const at = await rig(t)
    const bomb = gzipSync(Buffer.alloc(10_000_000, 0x20))
    const sent = await fetch(`${at.url}/sessions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'content-encoding': 'gzip' },
      body: bomb,
    })
    assert.deepEqual(await refusal(sent), [415, 'unsupported_media'])
    const good = '{"agent":{"name":"helper"}}'
    for (const type of ['text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data; boundary=x'])
      assert.deepEqual(await refusal(create(at, good, { 'content-type': type })), [415, 'unsupported_media'])
    for (const type of ['application/json; charset=utf-8', 'application/vnd.api+json', 'Application/JSON'])
      assert.equal((await create(at, good, { 'content-type': type })).status, 201)
    assert.equal((await create(at, good, { 'content-encoding': 'identity' })).status, 201)
  },
)

test(cites('AAP-ERR-07', 'an internal failure gets a general message'), async t => {
  const store = memoryStore()
  const broken = { ...store, list: () => Promise.reject(new Error('table CANARY is missing')) }
  const at = await rig(t, { store: broken })
  const answer = await at.request('GET', '/sessions')
  assert.equal(answer.status, 500)
  assert.deepEqual(await answer.json(), { error: 'The server failed. Its log says why.', code: 'internal' })
  assert.ok(at.logs.some(line => line.includes('CANARY')))
})

test('a connection that breaks inside its body does no harm', async t => {
  const at = await rig(t)
  const id = await newSession(at)
  const port = Number(new URL(at.url).port)
  await new Promise<void>(resolve => {
    const socket = connect(port, '127.0.0.1', () => {
      socket.write(
        `POST /sessions/${id}/turns HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 500\r\n\r\n{"messages":[`,
        () => setImmediate(() => socket.destroy()),
      )
    })
    socket.on('close', () => resolve())
  })
  assert.equal((await turn(at, id, say('hi'))).status, 200)
  assert.equal(
    (await at.engine.events('alice', id)).filter(({ event }) => event.type === 'turn.started').length,
    1,
  )
})
