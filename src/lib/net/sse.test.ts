import assert from 'node:assert/strict'
import { EventEmitter, once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import fc from 'fast-check'
import { decodeSse, encodeSse, type SseMessage, SseWriter } from './sse.ts'

const turn = () => new Promise<void>(resolve => setImmediate(resolve))

async function collect<T>(source: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = []
  for await (const item of source) all.push(item)
  return all
}

async function* bytes(...chunks: (string | Uint8Array)[]): AsyncGenerator<Uint8Array> {
  for (const chunk of chunks) yield typeof chunk === 'string' ? new TextEncoder().encode(chunk) : chunk
}

async function decoded(stream: AsyncIterable<Uint8Array>, maxEventChars?: number): Promise<SseMessage[]> {
  const limits = maxEventChars === undefined ? {} : { maxEventChars }
  return collect(decodeSse(stream, limits))
}

// ---------------------------------------------------------------------------------------------------------
// Frames

test('a frame has its fields in order and ends with a blank line', () => {
  assert.equal(encodeSse({ data: '{}' }), 'data: {}\n\n')
  assert.equal(
    encodeSse({ event: 'delta', id: 7, data: 'a\nb' }),
    'event: delta\nid: 7\ndata: a\ndata: b\n\n',
  )
  assert.equal(encodeSse({ data: '' }), 'data: \n\n')
})

test('data cannot break out of its event', async () => {
  const hostile = [
    'a\n\nevent: x\ndata: y',
    'a\rid: 9',
    'a\r\n\r\nb',
    '\u2028\u2029\u0085\v\f',
    '\n',
    ':c\n:d',
  ]
  for (const data of hostile) {
    const events = await decoded(bytes(encodeSse({ event: 'e', data })))
    assert.deepEqual(events, [{ event: 'e', data: data.replace(/\r\n?/g, '\n') }])
  }
})

test('any data survives encoding and decoding, except that line ends become LF', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.string({ unit: 'grapheme' }),
      fc.array(fc.constantFrom('\r', '\n', ' ', 'data:')),
      async (a, b) => {
        const data = a + b.join('') + a
        const events = await decoded(bytes(encodeSse({ data })))
        assert.deepEqual(events, [{ data: data.replace(/\r\n?/g, '\n') }])
      },
    ),
  )
})

test('event names and ids with line ends or NUL are refused', () => {
  for (const bad of ['a\nb', 'a\rb', 'a\0b']) {
    assert.throws(() => encodeSse({ event: bad, data: '' }), TypeError)
    assert.throws(() => encodeSse({ id: bad, data: '' }), TypeError)
  }
})

// ---------------------------------------------------------------------------------------------------------
// Reading

test('a character split between chunks arrives whole', async () => {
  const frame = new TextEncoder().encode(encodeSse({ id: 'é', data: '日本😀' }))
  const single = Array.from(frame, byte => Uint8Array.of(byte))
  assert.deepEqual(await decoded(bytes(...single)), [{ id: 'é', data: '日本😀' }])
})

test('events end with LF, CR or CRLF, also at the end of the stream', async () => {
  assert.deepEqual(await decoded(bytes('data: a\r\n\r\ndata: b\n\ndata: c\r', '\r')), [
    { data: 'a' },
    { data: 'b' },
    { data: 'c' },
  ])
  assert.deepEqual(await decoded(bytes('data: a\n\ndata: cut off\n')), [{ data: 'a' }])
  assert.deepEqual(await decoded(bytes('data: cut off\r')), [])
})

test('comments and unknown fields are ignored', async () => {
  assert.deepEqual(await decoded(bytes(':\n\n: hi\nretry: 5\nfoo: 1\ndata: a\n\n')), [{ data: 'a' }])
})

test('an event above the size limit ends the stream with an error', async () => {
  const big = 'x'.repeat(100)
  await assert.rejects(decoded(bytes(`data: ${big}`, big), 150), { name: 'SseTooLargeError' })
  await assert.rejects(decoded(bytes(`data: ${big}\n`, `data: ${big}\n`), 150), { name: 'SseTooLargeError' })
  await assert.rejects(decoded(bytes(`data: ${big}${big}\n\n`), 150), { name: 'SseTooLargeError' })
  assert.equal((await decoded(bytes(`data: ${big}\n\n`, `data: ${big}\n\n`), 150)).length, 2)
})

for (const iterable of [true, false]) {
  test(`a web stream that is ${iterable ? '' : 'not '}iterable is read, and cancelled when the reader leaves`, async () => {
    let cancelled = false
    const stream = new ReadableStream<Uint8Array>({
      pull: controller => controller.enqueue(new TextEncoder().encode('data: a\n\n')),
      cancel: () => {
        cancelled = true
      },
    })
    const bare = { getReader: () => stream.getReader() } as ReadableStream<Uint8Array> // all that some browsers have
    for await (const message of decodeSse(iterable ? stream : bare)) {
      assert.deepEqual(message, { data: 'a' })
      break
    }
    assert.equal(cancelled, true)
  })
}

// ---------------------------------------------------------------------------------------------------------
// Writing

class FakeResponse extends EventEmitter {
  readonly chunks: string[] = []
  accepts = true
  ended = false
  destroyed = false
  write(chunk: string): boolean {
    this.chunks.push(chunk)
    return this.accepts
  }

  drain(): void {
    this.accepts = true
    this.emit('drain')
  }

  end(): void {
    this.ended = true
    this.emit('close')
  }

  destroy(): void {
    this.destroyed = true
    this.emit('close')
  }
}

const QUIET = { heartbeatMs: 0 }

test('the frames of one turn of the event loop leave in one write', async () => {
  const response = new FakeResponse()
  const writer = new SseWriter(response, QUIET)
  writer.send('a')
  writer.send('b')
  assert.deepEqual(response.chunks, [])
  await turn()
  writer.send('c')
  writer.flush()
  await turn()
  assert.deepEqual(response.chunks, ['ab', 'c'])
  writer.end()
})

test('a full buffer makes the writer wait and does not disconnect the reader', async () => {
  const response = new FakeResponse()
  const writer = new SseWriter(response, QUIET)
  response.accepts = false
  writer.send('a')
  writer.flush()
  writer.send('b')
  await turn()
  assert.deepEqual(response.chunks, ['a'])
  let ready = false
  const waiting = writer.ready().then(() => {
    ready = true
  })
  await turn()
  assert.equal(ready, false)
  response.drain()
  await waiting
  assert.deepEqual(response.chunks, ['a', 'b'])
  assert.equal(writer.closed, false)
  writer.end()
})

test('ready() resolves when the reader leaves', async () => {
  const response = new FakeResponse()
  const writer = new SseWriter(response, QUIET)
  response.accepts = false
  writer.send('a')
  const waiting = writer.ready()
  response.emit('close')
  await waiting
  assert.equal(writer.closed, true)
})

test('a reader with more unsent bytes than four times the limit is dropped once', () => {
  const response = new FakeResponse()
  let drops = 0
  let closes = 0
  const writer = new SseWriter(response, {
    ...QUIET,
    maxUnsentBytes: 10,
    onDrop: () => drops++,
    onClose: () => closes++,
  })
  response.accepts = false
  writer.send('12345')
  writer.flush()
  writer.send('1234567890'.repeat(4))
  assert.equal(response.destroyed, false)
  writer.send('y')
  writer.send('z')
  assert.deepEqual([response.destroyed, drops, closes], [true, 1, 1])
  assert.deepEqual(response.chunks, ['12345'])
})

test('a reader that takes nothing for the stall time is dropped, a slow reader is not', async t => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const stalled = new FakeResponse()
  const slow = new FakeResponse()
  for (const response of [stalled, slow]) {
    response.accepts = false
    new SseWriter(response, { ...QUIET, stallMs: 60 }).send('x'.repeat(200_000))
  }
  await turn()
  for (let taken = 0; taken < 6; taken++) {
    t.mock.timers.tick(25)
    slow.emit('drain')
  }
  assert.equal(stalled.destroyed, true)
  assert.equal(slow.destroyed, false)
  assert.equal(slow.chunks.join('').length, 200_000)
})

test('a large frame is written in pieces that never split a character', async () => {
  const response = new FakeResponse()
  const text = `${'x'.repeat(32 * 1024 - 1)}😀y`
  new SseWriter(response, QUIET).send(text)
  await turn()
  assert.equal(response.chunks.length, 2)
  for (const chunk of response.chunks) assert.ok(chunk.isWellFormed())
  assert.equal(response.chunks.join(''), text)
})

test('one frame above the limit still reaches a reader that has read everything', async () => {
  const response = new FakeResponse()
  const writer = new SseWriter(response, { ...QUIET, maxUnsentBytes: 10 })
  writer.send('x'.repeat(100))
  await turn()
  assert.equal(response.chunks.length, 1)
  assert.equal(response.destroyed, false)
  writer.end()
})

test('end() sends the queued frames first, also after back-pressure, and ignores later ones', () => {
  const response = new FakeResponse()
  const writer = new SseWriter(response, QUIET)
  response.accepts = false
  writer.send('a')
  writer.flush()
  writer.send('b')
  writer.end()
  writer.send('c')
  assert.equal(response.ended, false)
  response.drain()
  assert.deepEqual([response.chunks, response.ended], [['a', 'b'], true])
})

test('after close no listener, timer or write is left', async t => {
  const response = new FakeResponse()
  const started = t.mock.method(globalThis, 'setInterval')
  const cleared = t.mock.method(globalThis, 'clearInterval')
  const writer = new SseWriter(response)
  assert.equal(started.mock.callCount(), 1)
  writer.send('a')
  response.emit('close')
  await turn()
  writer.send('b')
  writer.comment()
  writer.flush()
  writer.end()
  assert.equal(cleared.mock.calls[0]?.arguments[0], started.mock.calls[0]?.result)
  assert.deepEqual([response.chunks, response.ended], [[], false])
  assert.equal(response.listenerCount('close') + response.listenerCount('drain'), 0)
})

test('heartbeats are comments, and do not pile up for a reader that does not read', t => {
  t.mock.timers.enable({ apis: ['setInterval'] })
  const response = new FakeResponse()
  const writer = new SseWriter(response, { heartbeatMs: 100 })
  const beat = () => t.mock.timers.tick(100)
  beat()
  writer.flush()
  writer.comment('a\n\ndata: x')
  response.accepts = false
  writer.flush()
  beat()
  beat()
  response.drain()
  assert.deepEqual(response.chunks, [':\n\n', ':a  data: x\n\n'])
  writer.end()
})

test('a heartbeat may be a frame of its own', t => {
  t.mock.timers.enable({ apis: ['setInterval'] })
  const response = new FakeResponse()
  const writer = new SseWriter(response, { heartbeatMs: 100, heartbeat: 'data: ping\n\n' })
  t.mock.timers.tick(100)
  response.accepts = false
  writer.flush()
  t.mock.timers.tick(100)
  response.drain()
  assert.deepEqual(response.chunks, ['data: ping\n\n'])
  writer.end()
})

test('a real connection: frames arrive, and a client that leaves closes the writer', async () => {
  const closed = Promise.withResolvers<void>()
  const server = createServer((_request, response) => {
    const writer = new SseWriter(response, { onClose: closed.resolve })
    writer.send(encodeSse({ id: 1, data: 'one' }))
    writer.send(encodeSse({ id: 2, data: 'two' }))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const response = await fetch(`http://127.0.0.1:${port}/`)
  const seen: SseMessage[] = []
  for await (const message of decodeSse(response.body!)) {
    seen.push(message)
    if (seen.length === 2) break
  }
  assert.deepEqual(seen, [
    { id: '1', data: 'one' },
    { id: '2', data: 'two' },
  ])
  await closed.promise
  server.close()
})
