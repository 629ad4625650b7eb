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
const over = (part: AnswerPart | undefined): Piece => ({
  type: 'block',
  ...(part?.native && { native: part.native }),
})

const eventsIn = (frames: string): Event[] =>
  frames
    .split('\n\n')
    .filter(frame => frame !== '')
    .map(frame => JSON.parse(frame.slice(frame.indexOf('data: ') + 6)) as Event)

function play(signs: boolean, pieces: Piece[], parts: AnswerPart[]): { live: Event[]; all: Event[] } {
  const encoder = new EventEncoder({ id: 'msg_1', model: 'helper' }, signs)
  const live = eventsIn(pieces.map(piece => encoder.take(piece)).join(''))
  return { live, all: [...live, ...eventsIn(encoder.end({ parts, stop: 'end' }, []))] }
}

const opened = (events: Event[]): string[] => events.flatMap(event => event.content_block?.type ?? [])
const signatures = (events: Event[]): string[] => events.flatMap(event => event.delta?.signature ?? [])

test('without a signer all pieces are told as they come', () => {
  const { live } = play(false, [thinking('hm'), text], [{ type: 'thinking', text: 'hm' }, said])
  assert.deepEqual(opened(live), ['thinking', 'text'])
})

test('blocks that the model tells as they end are told live, each with its signature', () => {
  const parts = [thought('a', 'c2ln'), said, thought('b', 'bWU='), said]
  const pieces = [thinking('a'), over(parts[0]), text, thinking('b'), over(parts[2]), text]
  const { live, all } = play(true, pieces, parts)
  assert.deepEqual(opened(live), ['thinking', 'text', 'thinking', 'text'])
  assert.deepEqual(signatures(live), ['c2ln', 'bWU='])
  for (const [at, event] of live.entries())
    if (event.delta?.type === 'signature_delta') assert.equal(live[at + 1]?.type, 'content_block_stop')
  assert.deepEqual(opened(all), opened(live))
  assert.deepEqual(signatures(all), signatures(live))
})

test('thinking that shows no words, and what hosted tools did, keep their places', () => {
  const search: AnswerPart = {
    type: 'hosted',
    tool: 'web_search',
    summary: '',
    native: { origin, data: { type: 'server_tool_use', id: 'srvtoolu_1', name: 'web_search', input: {} } },
  }
  const parts = [thought('', 'c2ln'), redacted, search, said]
  const { live, all } = play(true, [over(parts[0]), over(parts[1]), over(search), text], parts)
  assert.deepEqual(opened(live), ['thinking', 'redacted_thinking', 'server_tool_use', 'text'])
  assert.deepEqual(opened(all), opened(live), 'and are not told again')
  assert.deepEqual(signatures(all), ['c2ln'])
})

test('thinking that nobody signs holds nothing back once it is over', () => {
  const { live } = play(
    true,
    [thinking('hm'), over(undefined), text],
    [{ type: 'thinking', text: 'hm' }, said],
  )
  assert.deepEqual(opened(live), ['thinking', 'text'])
  assert.deepEqual(signatures(live), [])
})

test('of a model that signs with its whole answer only, what follows thinking waits', () => {
  const { live, all } = play(true, [thinking('h'), thinking('m'), text], [thought('hm', 'c2ln'), said])
  assert.deepEqual(opened(live), ['thinking'])
  assert.deepEqual(opened(all), ['thinking', 'text'])
  assert.deepEqual(signatures(all), ['c2ln'])
  const signed = all.findIndex(event => event.delta?.type === 'signature_delta')
  assert.equal(all[signed + 1]?.type, 'content_block_stop')
  assert.equal(all[signed + 1]?.index, 0)
})

test('and its thinking without words is left out, as its place is taken', () => {
  const { all } = play(true, [text], [thought('', 'c2ln'), said])
  assert.deepEqual(opened(all), ['text'])
  assert.deepEqual(signatures(all), [])
})

test('blocks of thinking that were told as one carry no signature, and no other goes along', () => {
  const { all } = play(
    true,
    [thinking('ab'), text],
    [thought('a', 'c2ln'), redacted, thought('b', 'bWU='), said],
  )
  assert.deepEqual(opened(all), ['thinking', 'text'])
  assert.deepEqual(signatures(all), [])
})
