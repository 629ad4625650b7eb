import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseBody, surrogateProblem } from './body.ts'

test('content type, UTF-8, JSON and surrogates of a body are checked; duplicate keys are accepted', () => {
  const read = (text: string | Buffer, type = 'application/json'): string | undefined =>
    parseBody(Buffer.from(text), type).problem?.kind
  assert.equal(read('{}', 'text/plain'), 'content-type')
  assert.equal(read(Buffer.from([0x22, 0xff, 0x22])), 'utf8')
  assert.equal(read('{"a":'), 'json')
  assert.equal(read(String.raw`{"a":"\ud83d"}`), 'surrogate')
  assert.equal(read(String.raw`{"a":"\ud83d\ude00"}`), undefined)
  assert.equal(read(String.raw`{"a":"\\ud83d"}`), undefined)
  assert.equal(read('{"a":1,"a":2}'), undefined)
  assert.deepEqual(surrogateProblem(String.raw`"x\ude00"`), {
    kind: 'surrogate',
    at: 2,
    detail: 'no high surrogate in string',
  })
})
