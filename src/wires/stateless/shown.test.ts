import assert from 'node:assert/strict'
import { test } from 'node:test'
import { TurnwireError } from '../../language/errors.ts'
import type { Delta } from '../../language/events.ts'
import { type Piece, Shown } from './shown.ts'

const started: Delta = { type: 'step.started', step: 1 }
const reset: Delta = { type: 'step.reset', step: 1 }
const text = (said: string): Delta => ({ type: 'text', text: said })
const opened = (callId: string, name = 'look'): Delta => ({ type: 'call.opened', callId, name, form: 'json' })
const written = (callId: string, said: string): Delta => ({ type: 'arguments', callId, text: said })
const call = (id: string, said: string) =>
  ({ type: 'call', id, name: 'look', form: 'json', text: said }) as const

function play(shown: Shown, ...deltas: Delta[]): Piece[] {
  return deltas.flatMap(delta => shown.take(delta))
}

test('pieces pass as they come, calls by their place', () => {
  const shown = new Shown()
  assert.deepEqual(
    play(shown, started, text('a'), opened('x'), written('x', '{'), opened('y'), written('x', '}')),
    [
      { type: 'text', text: 'a' },
      { type: 'call', index: 0, id: 'x', name: 'look', form: 'json' },
      { type: 'arguments', index: 0, text: '{' },
      { type: 'call', index: 1, id: 'y', name: 'look', form: 'json' },
      { type: 'arguments', index: 0, text: '}' },
    ],
  )
})

test('the rest of an answer is what its pieces left unsaid', () => {
  const shown = new Shown()
  play(shown, started, text('ab'), opened('x'), written('x', '{"a'))
  const rest = shown.rest([
    { type: 'thinking', text: 'hm' },
    { type: 'text', text: 'abc' },
    call('x', '{"a":1}'),
    call('y', '{}'),
  ])
  assert.deepEqual(rest, [
    { type: 'thinking', text: 'hm' },
    { type: 'text', text: 'c' },
    { type: 'arguments', index: 0, text: '":1}' },
    { type: 'call', index: 1, id: 'y', name: 'look', form: 'json' },
    { type: 'arguments', index: 1, text: '{}' },
  ])
})

test('a model that starts over and says the same is shown once, wherever its pieces are cut', () => {
  const shown = new Shown()
  play(shown, started, text('abc'), opened('x'), written('x', '{"a"'))
  assert.deepEqual(
    play(shown, reset, text('a'), text('bcd'), opened('z'), written('z', '{"a":'), written('z', '1}')),
    [
      { type: 'text', text: 'd' },
      { type: 'arguments', index: 0, text: ':' },
      { type: 'arguments', index: 0, text: '1}' },
    ],
  )
})

test('a second step goes on after the first, and starts over by itself', () => {
  const shown = new Shown()
  play(shown, started, text('one '), { type: 'step.started', step: 2 }, text('tw'))
  assert.deepEqual(play(shown, reset, text('two')), [{ type: 'text', text: 'o' }])
  assert.deepEqual(
    shown.rest([
      { type: 'text', text: 'one ' },
      { type: 'text', text: 'two!' },
    ]),
    [{ type: 'text', text: '!' }],
  )
})

const fails = (error: unknown): boolean => error instanceof TurnwireError && error.code === 'model_failed'

test('a model that starts over and says something else fails the request', () => {
  const said = new Shown()
  play(said, started, text('abc'))
  assert.throws(() => play(said, reset, text('x')), fails)
  const called = new Shown()
  play(called, started, opened('x'))
  assert.throws(() => play(called, reset, opened('y', 'other')), fails)
  const short = new Shown()
  play(short, started, text('abc'))
  assert.throws(() => short.rest([{ type: 'text', text: 'ab' }]), fails)
})

test('arguments of a call that never opened say nothing', () => {
  assert.deepEqual(play(new Shown(), started, written('x', '{}')), [])
})
