import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { CallPart } from '../../language/calls.ts'
import { CallArguments, historyArguments, historyArgumentsText, isCut } from './answer.ts'

const call: CallPart = { type: 'call', id: 'a', name: 't', form: 'json', text: '{}' }

test('a call is cut when it was never closed, or the answer hit its limit inside it', () => {
  const json = (text: string) => ({ form: 'json' as const, text })
  assert.equal(isCut(json('{"a":'), 'closed'), false)
  assert.equal(isCut(json('{"a":1}'), 'unclosed'), true)
  assert.equal(isCut(json('{"a":1}'), 'length'), false)
  for (const text of ['{"a":1', '', '1']) assert.equal(isCut(json(text), 'length'), true)
  assert.equal(isCut({ form: 'text', text: 'abc' }, 'length'), true)
})

test('arguments in a history are always an object', () => {
  for (const text of ['[]', '"x"', 'null', '{"a":1}{"b":2}', '{"a":'])
    assert.deepEqual(historyArguments({ ...call, text }), { invalid_arguments: text })
  assert.deepEqual(historyArguments({ ...call, text: ' ' }), {})
  assert.deepEqual(historyArguments({ ...call, form: 'text', text: 'ls' }), { input: 'ls' })
  assert.equal(historyArgumentsText({ ...call, text: '{ "a" : 1.0 }' }), '{ "a" : 1.0 }')
  assert.equal(historyArgumentsText({ ...call, text: '' }), '{}')
})

test('the text of a wrapped text tool streams out of its arguments', () => {
  const args = new CallArguments('text')
  assert.equal(args.push('{"input":"ab'), 'ab')
  assert.equal(args.isCut('unclosed'), true)
  assert.equal(args.push('c"'), 'c')
  assert.equal(args.end(), '')
  assert.equal(args.isCut('length'), false)
  assert.deepEqual([args.raw, args.text], ['{"input":"abc"', 'abc'])
})

test('empty arguments of a function become an empty object, unless they were cut', () => {
  const [whole, cut] = [new CallArguments('json'), new CallArguments('json')]
  assert.deepEqual([whole.end(), whole.text, whole.raw], ['{}', '{}', ''])
  assert.deepEqual([cut.end(false), cut.isCut('length')], ['', true])
  const native = new CallArguments('text', false)
  assert.deepEqual([native.push('a'), native.end(), native.isCut('length')], ['a', '', true])
})
