import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { CallPart, Outcome } from '../../language/calls.ts'
import type { AssistantEntry, Entry } from '../../language/history.ts'
import { SessionCache } from './session-cache.ts'
import { wireId, wireIds } from './wire-names.ts'

const idRule = { pattern: /^[a-zA-Z0-9_-]+$/, maxLength: 40 }
const call = (id: string, nativeId?: string): CallPart => ({
  type: 'call',
  id,
  name: 't',
  form: 'json',
  text: '{}',
  ...(nativeId !== undefined && { nativeId }),
})
const chat = { protocol: 'openai-chat', family: 'gpt' }
const asked = (...parts: CallPart[]): AssistantEntry => ({ role: 'assistant', parts, origin: chat })
const user = (text: string): Entry => ({ role: 'user', parts: [{ type: 'text', text }] })
const done: Outcome = { kind: 'ok', parts: [{ type: 'text', text: 'ok' }], from: { source: 'runtime' } }
const answered = (...ids: string[]): Entry => ({
  role: 'tool',
  results: ids.map(callId => ({ callId, name: 't', outcome: done })),
})

test('an id is that of the same protocol, then ours, then a hash', () => {
  assert.equal(wireId(call('call_1', 'native_1'), chat, chat, idRule), 'native_1')
  assert.equal(wireId(call('call_1', 'native_1'), { ...chat, protocol: 'other' }, chat, idRule), 'call_1')
  assert.equal(wireId(call('call_1', 'x'.repeat(500)), chat, chat, idRule), 'call_1')
  assert.equal(wireId(call('call_1', ''), chat, chat, idRule), 'call_1')
  const hashed = wireId(call('ours: odd id'), chat, chat, idRule)
  assert.match(hashed, /^call_[a-zA-Z0-9]{20,}$/)
  assert.equal(wireId(call('ours: odd id'), chat, chat, idRule), hashed)
  assert.match(
    wireId(call('call_1'), chat, chat, { pattern: /^[a-zA-Z0-9]{9}$/, maxLength: 9 }),
    /^[a-zA-Z0-9]{9}$/,
  )
})

test('repeated ids become unique, and results follow their calls', () => {
  const history: Entry[] = [
    asked(call('a', 'same'), call('b', 'same')),
    answered('a', 'b'),
    asked(call('c', 'same')),
    answered('c'),
    asked(call('d', 'd')),
  ]
  const ids = wireIds(new SessionCache(), history, chat, idRule)
  assert.deepEqual([ids.of(0, 'a'), ids.of(0, 'b'), ids.of(2, 'c'), ids.of(4, 'd')], ['same', 'b', 'c', 'd'])
  assert.deepEqual([ids.of(1, 'a'), ids.of(1, 'b'), ids.of(3, 'c')], ['same', 'b', 'c'])
  assert.notEqual(ids.variant(2), '')
  assert.equal(ids.variant(3), ids.variant(2))
  assert.equal(ids.variant(4), '')
})

test('ids follow a growing history, and a different one', () => {
  const cache = new SessionCache()
  const first = user('go')
  const a = asked(call('a', 'same'))
  const b = asked(call('b', 'same'))
  assert.equal(wireIds(cache, [first, a], chat, idRule).of(1, 'a'), 'same')
  const grown = wireIds(cache, [first, a, b], chat, idRule)
  assert.deepEqual([grown.of(1, 'a'), grown.of(2, 'b')], ['same', 'b'])
  const other = wireIds(cache, [first, b], chat, idRule)
  assert.deepEqual([other.of(1, 'b'), other.variant(1)], ['same', ''])
  assert.equal(grown.of(2, 'b'), 'b')
  assert.equal(wireIds(cache, [], chat, idRule).of(0, 'x'), 'x')
})

test('our id is replaced if a vendor gave it to another call', () => {
  const ids = wireIds(new SessionCache(), [asked(call('x', 'y')), asked(call('y'))], chat, idRule)
  assert.equal(ids.of(0, 'x'), 'y')
  assert.notEqual(ids.of(1, 'y'), 'y')
})
