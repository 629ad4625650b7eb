import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Json } from './index.ts'
import { parseSoon, parseTextSoon } from './parse-soon.ts'

const limits = { maxBytes: 4_000_000, maxDepth: 64 }

test('small and large texts give the same values', async () => {
  for (const pad of ['', 'x'.repeat(1_000_000)]) {
    const value: Json = { pad, nested: [{ a: [1, null, true, 'é漢😀'] }], __proto__x: {}, n: -0.5 }
    const text = JSON.stringify(value)
    assert.deepEqual(await parseSoon([Buffer.from(text)], limits), value)
    assert.deepEqual(await parseTextSoon(text, limits), value)
  }
  const [own] = Object.entries((await parseTextSoon(`{"__proto__":"${'x'.repeat(400_000)}"}`, limits)) ?? {})
  assert.equal(own?.[0], '__proto__', 'it is a key like any other')
})

test('a text in pieces of any size is the same text', async () => {
  for (const characters of [20, 1_000_000]) {
    const value = ['é漢😀x'.repeat(characters / 5)]
    const bytes = Buffer.from(JSON.stringify(value))
    for (const size of [characters / 4 + 1, 70_001, bytes.length]) {
      const pieces: Buffer[] = []
      for (let at = 0; at < bytes.length; at += size) pieces.push(bytes.subarray(at, at + size))
      assert.deepEqual(await parseSoon(pieces, limits), value, `${bytes.length} bytes in pieces of ${size}`)
    }
  }
})

test('small and large texts are refused for the same reasons', async () => {
  for (const pad of ['', ' '.repeat(1_000_000)]) {
    const reasonOf = (text: string | Buffer): Promise<unknown> =>
      parseSoon([Buffer.from(text)], limits).then(
        () => 'taken',
        error => (error as { reason?: string }).reason,
      )
    assert.equal(await reasonOf(`${pad}{"a":1,"a":2}`), 'duplicate-key')
    assert.equal(await reasonOf(`${pad}{"a"`), 'syntax')
    assert.equal(await reasonOf(pad + '['.repeat(65)), 'too-deep')
    assert.equal(await reasonOf(`${pad}[${'0,'.repeat(250_000)}0]`), 'too-many-values')
    assert.equal(
      await reasonOf(Buffer.concat([Buffer.from(`${pad}"`), Buffer.from([0xff, 0x22])])),
      'not-utf8',
    )
    assert.equal(await reasonOf(`${pad}"${'x'.repeat(4_000_000)}"`), 'too-large')
  }
})

test('many large texts at once are all parsed', async () => {
  const texts = Array.from({ length: 8 }, (_, n) => JSON.stringify({ n, pad: 'x'.repeat(500_000) }))
  const values = await Promise.all(texts.map(text => parseSoon([Buffer.from(text)], limits)))
  assert.deepEqual(
    values.map(value => Object(value).n as number),
    [0, 1, 2, 3, 4, 5, 6, 7],
  )
})
