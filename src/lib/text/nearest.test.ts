import assert from 'node:assert/strict'
import { test } from 'node:test'
import { nearest } from './nearest.ts'

const known = ['serve', 'chat', 'init', 'keys', 'sessions', 'double']

test('a slip of the finger is understood, another word is not', () => {
  for (const [given, meant] of [
    ['srve', 'serve'],
    ['sevre', 'serve'],
    ['caht', 'chat'],
    ['sess', 'sessions'],
    ['key', 'keys'],
    ['doubles', 'double'],
  ] as const)
    assert.equal(nearest(given, known), meant, given)
  for (const given of ['', 'x', 'launch', 'toString', 'frobnicate'])
    assert.equal(nearest(given, known), undefined, given)
})
