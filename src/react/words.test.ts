// Titles, times and sizes as people read them.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { callSentence, clockTime, duration, preciseTime, tellingArgument, toolTitle } from './words.ts'

test('a title that is a sentence loses its period, and a tool without one has its name', () => {
  assert.equal(toolTitle('cancel_order', 'Cancels an order.'), 'Cancels an order')
  assert.equal(toolTitle('cancel_order', 'Cancels: '), 'Cancels')
  assert.equal(toolTitle('cancel_order', undefined), 'cancel_order')
  assert.equal(toolTitle('v1.2', 'Version 1.2'), 'Version 1.2', 'a period inside stays')
  assert.equal(
    callSentence('cancel_order', 'Cancels an order.', { id: 2 }, '{"id":2}'),
    'Cancels an order: id 2',
  )
  assert.equal(
    callSentence('cancel_order', 'Cancels an order.', {}, '{}'),
    'Cancels an order, with no arguments',
  )
})

test('what stands in a title or in arguments is one line with nothing hidden', () => {
  const title = toolTitle('x', 'Read\u202e a file\nDone\u001b[2J')
  assert.doesNotMatch(title, /[\p{Cc}\p{Cf}]/u)
  assert.match(title, /^Read.* a file.*Done/)
  assert.ok(toolTitle('x', 'word '.repeat(100)).length <= 81)
})

test('the most telling argument is the one that says most, else the first that is short', () => {
  const of = (input: object): string => tellingArgument({ form: 'json', text: JSON.stringify(input) })
  assert.equal(of({ mode: 'fast', path: 'src/cart.ts' }), 'src/cart.ts')
  assert.equal(of({ lines: ['a'], count: 3 }), '3')
  assert.equal(of({ lines: ['a'] }), '["a"]')
  assert.equal(of({}), '')
  assert.equal(tellingArgument({ form: 'text', text: ' ls -l ' }), 'ls -l')
})

test('times of a log have milliseconds', () => {
  const at = new Date(2026, 0, 31, 9, 5, 7, 8).getTime()
  assert.equal(clockTime(at), '09:05:07')
  assert.equal(preciseTime(at), '09:05:07.008')
  assert.equal(preciseTime(at + 92), '09:05:07.100')
})

test('a duration has its two largest units, and none of them is full', () => {
  for (const [ms, words] of [
    [0, '0 ms'],
    [0.4, '0 ms'],
    [1.4, '1 ms'],
    [999.4, '999 ms'],
    [999.6, '1.0 s'],
    [9_949, '9.9 s'],
    [9_951, '10 s'],
    [59_499, '59 s'],
    [59_501, '1 min 0 s'],
    [119_600, '2 min 0 s'],
    [3_599_600, '1 h 0 min'],
    [7_199_999, '2 h 0 min'],
    [86_399_000, '1 d 0 h'],
    [172_799_000, '2 d 0 h'],
    [200_000_000, '2 d 8 h'],
  ] as const)
    assert.equal(duration(ms), words, String(ms))
})
