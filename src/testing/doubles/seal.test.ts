import assert from 'node:assert/strict'
import { test } from 'node:test'
import { inspectSeal, seal } from './seal.ts'

test('a seal is recognised as valid, altered or foreign without any memory', () => {
  const token = seal('thinking', 'text')
  assert.equal(inspectSeal('thinking', token, 'text'), 'valid')
  assert.equal(inspectSeal('thinking', token, 'texts'), 'altered')
  assert.equal(inspectSeal('redacted', token, 'text'), 'foreign')
  assert.equal(inspectSeal('thinking', `${token.slice(0, 40)}AAAA${token.slice(44)}`, 'text'), 'foreign')
})
