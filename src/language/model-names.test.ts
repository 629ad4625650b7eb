import assert from 'node:assert/strict'
import { test } from 'node:test'
import { modelKey } from './model-names.ts'

test('a name means the entry of that name, else the pattern that says most of it', () => {
  const models = { main: 1, '*': 1, 'claude-*': 1, 'claude-haiku-*': 1, '*-flash*': 1, 'gpt-*-mini': 1 }
  for (const [name, key] of [
    ['main', 'main'],
    ['claude-opus-5-5', 'claude-*'],
    ['claude-haiku-4-5', 'claude-haiku-*'],
    ['gemini-3-flash-preview', '*-flash*'],
    ['gpt-6-mini', 'gpt-*-mini'],
    ['gpt--mini', 'gpt-*-mini'],
    ['gpt-mini', '*'],
    ['toString', '*'],
    ['', '*'],
  ] as const)
    assert.equal(modelKey(models, name), key, name)
})

test('without a pattern that fits there is no entry', () => {
  assert.equal(modelKey({ 'claude-*': 1, 'a*b*a': 1 }, 'gpt-5'), undefined)
  assert.equal(modelKey({ 'a*b*a': 1 }, 'ab'), undefined)
  assert.equal(modelKey({ 'aba*aba': 1 }, 'ababa'), undefined)
  assert.equal(modelKey({}, 'toString'), undefined)
})
