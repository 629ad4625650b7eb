import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { CallForm } from '../../language/calls.ts'
import { IdenticalCalls } from './identical.ts'

const open = ({ sealed }: { sealed: string }): string => sealed

const usesOf = (texts: readonly string[], text: string, form: CallForm): number =>
  new IdenticalCalls().uses('tool', texts, text, form, open)

test('arguments are the same however they are spelled', () => {
  const texts = ['{"a":1,"b":2}', '{ "b": 2, "a": 1.0 }', '{"a":1}', '', '{}']
  assert.equal(usesOf(texts, '{"b":2,"a":1}', 'json'), 2)
  assert.equal(usesOf(texts, ' ', 'json'), 2)
  assert.equal(usesOf(texts, '{"a":3}', 'json'), 0)
})

test('a list that has grown is counted on', () => {
  const calls = new IdenticalCalls()
  const texts = ['{"a":1}']
  assert.equal(calls.uses('tool', texts, '{"a":1}', 'json', open), 1)
  texts.push('{"a": 1}', '{"a":2}')
  assert.equal(calls.uses('tool', texts, '{"a":1}', 'json', open), 2)
  assert.equal(calls.uses('tool', texts, '{"a":2}', 'json', open), 1)
})

test('free text is the same only when it is the same', () => {
  assert.equal(usesOf(['{"a":1}', '{"a": 1}'], '{"a":1}', 'text'), 1)
})

test('what cannot be read is compared as it stands', () => {
  assert.equal(usesOf(['{"a"', '{"a"'], '{"a"', 'json'), 2)
})

test('hidden arguments are compared as they are, not as they are shown', () => {
  const texts = [
    { callId: 'a', sealed: '{"key":"one"}' },
    { callId: 'b', sealed: '{"key":"two"}' },
    '{"key":"one"}',
  ]
  assert.equal(new IdenticalCalls().uses('tool', texts, '{"key": "one"}', 'json', open), 2)
})
