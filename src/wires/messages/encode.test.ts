import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Delta } from '../../language/events.ts'
import type { AnswerPart } from '../../language/history.ts'
import { MessageStreamEncoder } from './encode.ts'

type Event = {
  type: string
  index?: number
  content_block?: { type: string }
  delta?: { type?: string; thinking?: string; signature?: string; partial_json?: string }
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
const thinking = (text: string): Delta => ({ type: 'thinking', text })
const text: Delta = { type: 'text', text: 'hello' }
/** The model has ended the block of this part. */
const over = (part: AnswerPart | undefined): Delta => ({
  type: 'block',
  ...(part?.native && { native: part.native }),
})

const eventsIn = (frames: string): Event[] =>
  frames
    .split('\n\n')
    .filter(frame => frame !== '')
    .map(frame => JSON.parse(frame.slice(frame.indexOf('data: ') + 6)) as Event)

/** `live`: the events before the answer was whole. */
function play(signs: boolean, deltas: Delta[], parts: AnswerPart[]): { live: Event[]; all: Event[] } {
  const encoder = new MessageStreamEncoder({ id: 'msg_1', model: 'helper' }, signs)
  const live = eventsIn(deltas.map(delta => encoder.take({ type: 'delta', delta })).join(''))
  const rest = encoder.take({ type: 'answer', answer: { parts, stop: 'end', model: 'm' } })
  return { live, all: [...live, ...eventsIn(rest)] }
}

const opened = (events: Event[]): string[] => events.flatMap(event => event.content_block?.type ?? [])
const signatures = (events: Event[]): string[] => events.flatMap(event => event.delta?.signature ?? [])

test('without a signer all deltas are given as they come', () => {
  const { live } = play(false, [thinking('hm'), text], [{ type: 'thinking', text: 'hm' }, said])
  assert.deepEqual(opened(live), ['thinking', 'text'])
})

test('blocks that the model ends one by one are given live, each with its signature', () => {
  const parts = [thought('a', 'c2ln'), said, thought('b', 'bWU='), said]
  const deltas = [thinking('a'), over(parts[0]), text, thinking('b'), over(parts[2]), text]
  const { live, all } = play(true, deltas, parts)
  assert.deepEqual(opened(live), ['thinking', 'text', 'thinking', 'text'])
  assert.deepEqual(signatures(live), ['c2ln', 'bWU='])
  for (const [at, event] of live.entries())
    if (event.delta?.type === 'signature_delta') assert.equal(live[at + 1]?.type, 'content_block_stop')
  assert.deepEqual(opened(all), opened(live))
  assert.deepEqual(signatures(all), signatures(live))
})

test('thinking without text and blocks of hosted tools keep their places', () => {
  const search: AnswerPart = {
    type: 'hosted',
    tool: 'web_search',
    summary: '',
    native: { origin, data: { type: 'server_tool_use', id: 'srvtoolu_1', name: 'web_search', input: {} } },
  }
  const parts = [thought('', 'c2ln'), redacted, search, said]
  const { live, all } = play(true, [over(parts[0]), over(parts[1]), over(search), text], parts)
  assert.deepEqual(opened(live), ['thinking', 'redacted_thinking', 'server_tool_use', 'text'])
  assert.deepEqual(opened(all), opened(live), 'no block is given twice')
  assert.deepEqual(signatures(all), ['c2ln'])
})

test('thinking without a signature holds nothing back once it is over', () => {
  const { live } = play(
    true,
    [thinking('hm'), over(undefined), text],
    [{ type: 'thinking', text: 'hm' }, said],
  )
  assert.deepEqual(opened(live), ['thinking', 'text'])
  assert.deepEqual(signatures(live), [])
})

test('if the model signs with its whole answer only, the blocks after its thinking wait for it', () => {
  const { live, all } = play(true, [thinking('h'), thinking('m'), text], [thought('hm', 'c2ln'), said])
  assert.deepEqual(opened(live), ['thinking'])
  assert.deepEqual(opened(all), ['thinking', 'text'])
  assert.deepEqual(signatures(all), ['c2ln'])
  const signed = all.findIndex(event => event.delta?.type === 'signature_delta')
  assert.equal(all[signed + 1]?.type, 'content_block_stop')
  assert.equal(all[signed + 1]?.index, 0)
})

test('signed thinking without text that comes with the whole answer is left out: its place is taken', () => {
  const { all } = play(true, [text], [thought('', 'c2ln'), said])
  assert.deepEqual(opened(all), ['text'])
  assert.deepEqual(signatures(all), [])
})

test('several blocks of thinking that were given as one get no signature', () => {
  const { all } = play(
    true,
    [thinking('ab'), text],
    [thought('a', 'c2ln'), redacted, thought('b', 'bWU='), said],
  )
  assert.deepEqual(opened(all), ['thinking', 'text'])
  assert.deepEqual(signatures(all), [])
})

test('calls whose arguments come interleaved are given one by one', () => {
  const opened = (callId: string): Delta => ({ type: 'call.opened', callId, name: 'look', form: 'json' })
  const argued = (callId: string, part: string): Delta => ({ type: 'arguments', callId, text: part })
  const deltas = [
    opened('a'),
    argued('a', '{"x":'),
    opened('b'),
    argued('b', '{}'),
    opened('c'),
    argued('a', '1}'),
    argued('c', '{"y"'),
  ]
  const call = (id: string, written: string): AnswerPart => ({
    type: 'call',
    id,
    name: 'look',
    form: 'json',
    text: written,
  })
  const { all } = play(false, deltas, [call('a', '{"x":1}'), call('b', '{}'), call('c', '{"y"')])
  const texts: string[] = []
  for (const { type, index = 0, delta } of all)
    if (type === 'content_block_delta') texts[index] = (texts[index] ?? '') + (delta?.partial_json ?? '')
  assert.deepEqual(texts, ['{"x":1}', '{}', '{"y"'])
})

test('a failure is an error event with the type of its status', () => {
  const encoder = new MessageStreamEncoder({ id: 'msg_1', model: 'helper' }, false)
  assert.equal(
    encoder.fail({ code: 'model_timeout', message: 'slow' }),
    'event: error\ndata: {"type":"error","error":{"type":"timeout_error","message":"slow"}}\n\n',
  )
})
