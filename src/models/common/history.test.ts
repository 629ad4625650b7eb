import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Outcome } from '../../language/calls.ts'
import { flaggedText, nativeFor, resultText, splitDataUri } from './history.ts'
import { wireJson } from './prepare.ts'

const chat = { protocol: 'openai-chat', family: 'gpt' }
const done: Outcome = { kind: 'ok', parts: [{ type: 'text', text: 'ok' }], from: { source: 'runtime' } }

test('a native block goes to its maker alone', () => {
  const part = { native: { origin: chat, data: { sealed: 'x' } } }
  assert.deepEqual(nativeFor(part, { ...chat }), { sealed: 'x' })
  assert.equal(nativeFor(part, { ...chat, family: 'other' }), undefined)
  assert.equal(nativeFor(part, { ...chat, protocol: 'other' }), undefined)
  assert.equal(nativeFor({}, chat), undefined)
})

test('results are never empty, and failures say so', () => {
  assert.equal(resultText({ ...done, parts: [] }), 'The tool gave no output.')
  assert.equal(flaggedText({ ...done, kind: 'denied', parts: [{ type: 'text', text: 'no' }] }), '[denied] no')
  const image = { type: 'image', url: 'data:image/png;base64,AA==' } as const
  assert.equal(resultText({ ...done, parts: [{ type: 'text', text: 'a\ud800' }, image] }), 'a\ufffd\n[image]')
})

test('data URIs', () => {
  assert.deepEqual(splitDataUri('data:image/png;base64,AAA='), { mediaType: 'image/png', base64: 'AAA=' })
  assert.deepEqual(splitDataUri('data:text/plain;charset=utf-8;base64,QQ=='), {
    mediaType: 'text/plain',
    base64: 'QQ==',
  })
  assert.equal(splitDataUri('https://x/y.png'), undefined)
  assert.equal(splitDataUri('data:text/plain,hi'), undefined)
})

test('JSON text is well-formed, and an escaped backslash stays', () => {
  assert.equal(wireJson({ a: '\ud800x', b: '😀', c: '\\ud800' }), '{"a":"\\ufffdx","b":"😀","c":"\\\\ud800"}')
})
