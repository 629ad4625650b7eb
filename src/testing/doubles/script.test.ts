// The script's own rules: which stops are possible, how text is split, in which order turns are played.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { createPlayer, scriptedStop, splitText } from './script.ts'

const call = fc.record({ name: fc.constant('read'), cut: fc.boolean() })
const stop = fc.constantFrom(
  'end',
  'tool',
  'length',
  'stop-sequence',
  'pause',
  'refusal',
  'filter',
  'context',
)
const turns = fc.record({ calls: fc.array(call), stop, refusal: fc.string() }, { requiredKeys: [] })

test('a random turn never gets a stop that does not fit its calls', () => {
  fc.assert(
    fc.property(turns, made => {
      const stopped = scriptedStop(made, {})
      const calls = made.calls?.length ?? 0
      assert.ok(!(stopped === 'tool' && calls === 0))
      assert.ok(!(calls > 0 && ['end', 'pause', 'stop-sequence'].includes(stopped)))
      assert.ok(!(stopped === 'tool' && made.calls?.some(call => call.cut)))
    }),
  )
})

test('an unknown stop is an error that lists the stops that can be used', () => {
  assert.throws(
    () => scriptedStop({ stop: 'finished' }, { end_turn: 'end' }),
    /unknown stop "finished".*end_turn/,
  )
})

test('a player plays pushed turns after a list and before a function', () => {
  const list = createPlayer([{ text: 'a' }])
  list.push([{ text: 'b' }])
  assert.deepEqual(
    [list.next(null)?.turn.text, list.next(null)?.turn.text, list.next(null)],
    ['a', 'b', null],
  )
  const made = createPlayer((_, turn) => ({ text: String(turn) }))
  made.push([{ text: 'first' }])
  assert.deepEqual([made.next(null)?.turn.text, made.next(null)?.turn.text], ['first', '1'])
})

test('split text joins to the same text and never splits a surrogate pair', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme' }), fc.integer({ min: 1, max: 5 }), (text, size) => {
      const parts = splitText(text, size)
      assert.equal(parts.join(''), text)
      assert.ok(parts.every(part => part.isWellFormed()))
    }),
  )
})
