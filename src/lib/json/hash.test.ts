import assert from 'node:assert/strict'
import { test } from 'node:test'
import { hashJson, sha256 } from './hash.ts'

test('sha256 is the known digest in base64url', () => {
  assert.equal(sha256('abc'), 'ungWv48Bz-pBQUDeXa4iI7ADYaOWF3qctBD_YfIAFa0')
  assert.match(sha256('é'), /^[\w-]{43}$/)
})

test('equal values have equal hashes, different values do not', () => {
  assert.equal(hashJson({ a: 1, b: [1, 2] }), hashJson({ b: [1, 2], a: 1 }))
  assert.notEqual(hashJson({ a: 1 }), hashJson({ a: '1' }))
  assert.notEqual(hashJson([1, 2]), hashJson([2, 1]))
  assert.notEqual(hashJson('\ud800'), hashJson('\ufffd'))
})
