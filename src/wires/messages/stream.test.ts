import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { AnswerPart } from '../../language/history.ts'
import type { Piece } from '../stateless/index.ts'
import { EventEncoder } from './stream.ts'

type Event = {
  type: string
  index?: number
  content_block?: { type: string }
  delta?: { type?: string; thinking?: string; signature?: string }
}

const origin = { protocol: 'anthropic', family: 'claude' }
const thought = (text: string, signature: string): AnswerPart => ({
  type: 'thinking',
  text,
  native: { origin, data: { type: 'thinking', thinking: text, signature } },
})
const redacted: AnswerPart = {
  type: 'thinking',
  text: '',
  native: { origin, data: { type: 'redacted_thinking', data: 'c2VjcmV0' } },
}
const said: AnswerPart = { type: 'text', text: 'hello' }
const thinking = (text: string): Piece => ({ type: 'thinking', text })
const text: Piece = { type: 'text', text: 'hello' }

const eventsIn = (frames: string): Event[] =>
  frames
    .split('\n\n')
    .filter(frame => frame !== '')
    .map(frame => JSON.parse(frame.slice(frame.indexOf('data: ') + 6)) as Event)

function play(
  signs: 'never' | 'maybe' | 'likely',
  pieces: Piece[],
  parts: AnswerPart[],
): { live: Event[]; all: Event[] } {
  const encoder = new EventEncoder({ id: 'msg_1', model: 'helper' }, signs)
  const live = eventsIn(pieces.map(piece => encoder.take(piece)).join(''))
  return { live, all: [...live, ...eventsIn(encoder.end({ parts, stop: 'end' }, []))] }
}

const opened = (events: Event[]): string[] => events.flatMap(event => event.content_block?.type ?? [])
const signatures = (events: Event[]): string[] => events.flatMap(event => event.delta?.signature ?? [])

test('without a signer all pieces are told as they come', () => {
  const { live } = play('never', [thinking('hm'), text], [{ type: 'thinking', text: 'hm' }, said])
  assert.deepEqual(opened(live), ['thinking', 'text'])
})

test('what follows thinking that may be signed waits for the signature', () => {
  const { live, all } = play('maybe', [thinking('h'), thinking('m'), text], [thought('hm', 'c2ln'), said])
  assert.deepEqual(opened(live), ['thinking'])
  assert.deepEqual(opened(all), ['thinking', 'text'])
  assert.deepEqual(signatures(all), ['c2ln'])
  const signed = all.findIndex(event => event.delta?.type === 'signature_delta')
  assert.equal(all[signed + 1]?.type, 'content_block_stop')
  assert.equal(all[signed + 1]?.index, 0)
})

test('thinking that shows no words keeps its place when it was expected', () => {
  const { live, all } = play('likely', [text], [thought('', 'c2ln'), redacted, said])
  assert.deepEqual(opened(live), [])
  assert.deepEqual(opened(all), ['thinking', 'redacted_thinking', 'text'])
  assert.deepEqual(signatures(all), ['c2ln'])
})

test('and is left out when it was not, as its place is taken', () => {
  const { all } = play('maybe', [text], [thought('', 'c2ln'), said])
  assert.deepEqual(opened(all), ['text'])
  assert.deepEqual(signatures(all), [])
})

test('blocks of thinking that were told as one carry no signature, and no other goes along', () => {
  const { all } = play(
    'likely',
    [thinking('ab')],
    [thought('a', 'c2ln'), redacted, thought('b', 'bWU='), said],
  )
  assert.deepEqual(opened(all), ['thinking', 'text'])
  assert.deepEqual(signatures(all), [])
})

test('thinking between words comes in its own place', () => {
  const parts = [thought('a', 'c2ln'), said, thought('b', 'bWU='), said]
  const { all } = play('maybe', [thinking('a'), text, thinking('b'), text], parts)
  assert.deepEqual(opened(all), ['thinking', 'text', 'thinking', 'text'])
  assert.deepEqual(signatures(all), ['c2ln', 'bWU='])
})
