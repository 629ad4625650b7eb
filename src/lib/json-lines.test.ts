import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { decodeLines, LineTooLongError } from './json-lines.ts'

async function collect<T>(source: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = []
  for await (const item of source) all.push(item)
  return all
}

async function* chunked(data: Uint8Array, size: number): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < data.length; at += size) yield data.subarray(at, at + size)
}

function lines(text: string | Uint8Array, size = 1, maxBytes = 1000): Promise<string[]> {
  const data = typeof text === 'string' ? new TextEncoder().encode(text) : text
  return collect(decodeLines(chunked(data, size), { maxBytes }))
}

test('lines come whole however the bytes are cut, blank ones not at all', async () => {
  for (const size of [1, 2, 3, 7, 1000]) {
    assert.deepEqual(await lines('{"a":"é😀"}\r\n\n  \r\n[1]\nlast', size), ['{"a":"é😀"}', '[1]', 'last'])
  }
  assert.deepEqual(await lines(''), [])
})

test('any lines survive any cutting', async () => {
  const line = fc
    .string({ unit: 'grapheme', minLength: 1 })
    .filter(text => !/[\r\n]/.test(text) && text.trim() !== '')
  await fc.assert(
    fc.asyncProperty(fc.array(line), fc.integer({ min: 1, max: 9 }), async (texts, size) => {
      assert.deepEqual(await lines(texts.map(text => `${text}\n`).join(''), size, 10_000), texts)
    }),
  )
})

test('U+2028 is no line end', async () => {
  assert.deepEqual(await lines('"a\u2028b"\n'), ['"a\u2028b"'])
})

test('a line beyond the limit is an error, before it is held', async () => {
  assert.deepEqual(await lines(`${'x'.repeat(10)}\n`, 4, 10), ['x'.repeat(10)])
  await assert.rejects(lines(`ok\n${'x'.repeat(11)}\n`, 4, 10), LineTooLongError)
  let taken = 0
  async function* endless(): AsyncGenerator<Uint8Array> {
    for (;;) {
      taken++
      yield new Uint8Array(100).fill(0x61)
    }
  }
  await assert.rejects(collect(decodeLines(endless(), { maxBytes: 1000 })), { maxBytes: 1000 })
  assert.equal(taken, 11)
})

test('invalid UTF-8 is replaced', async () => {
  assert.deepEqual(await lines(Uint8Array.of(0x61, 0xff, 0x62, 0x0a)), ['a\ufffdb'])
})

test('a buffer that is used again does not change what was read', async () => {
  async function* reusing(): AsyncGenerator<Uint8Array> {
    const buffer = Buffer.alloc(3)
    for (const part of ['abc', 'de\n', 'fgh']) {
      buffer.write(part)
      yield buffer
    }
  }
  assert.deepEqual(await collect(decodeLines(reusing())), ['abcde', 'fgh'])
})
