// Places in messages: the same however a text is cut, and told apart when a message was begun again.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { OpenMessage } from './chats.ts'
import type { Chunk } from './schema.ts'
import { AfterPlace, SentMessages } from './sent-messages.ts'

const opened = (session: string, first = 1): OpenMessage => ({
  ref: { owner: 'ada', session },
  message: { own: new Set() },
  begun: { first, replayed: false },
  items: () => assert.fail('Nothing is read.'),
})

const start: Chunk = { type: 'text-start', id: 's1' }
const says = (delta: string): Chunk => ({ type: 'text-delta', id: 's1', delta })
const cut = (text: string, size: number): Chunk[] => [
  start,
  ...(text.match(new RegExp(`.{1,${size}}`, 'gs')) ?? []).map(says),
  { type: 'text-end', id: 's1' },
]
const textOf = (chunks: readonly Chunk[]): string =>
  chunks.map(chunk => ('delta' in chunk ? chunk.delta : '')).join('')

test('what comes after a chunk is the same however the text is cut', () => {
  const text = 'The fence is blue, as it was said.'
  for (const size of [1, 3, 7, 40])
    for (const again of [1, 4, 40]) {
      const chunks = cut(text, size)
      for (const [sequence] of chunks.entries()) {
        const messages = new SentMessages()
        const sent = messages.begin(opened('s'))
        for (const chunk of chunks) sent.add(chunk)
        const found = messages.resume('s', sequence)
        assert.ok(found)
        const after = new AfterPlace(found.after)
        const rest = cut(text, again).flatMap(chunk => after.take([chunk]) ?? assert.fail())
        assert.ok(after.isReached)
        assert.equal(textOf([...chunks.slice(0, sequence + 1), ...rest]), text)
        assert.equal(rest.length > 0, sequence < chunks.length - 1)
      }
    }
})

test('a message that says something else before the place is refused, and one that does not reach it is not over', () => {
  const messages = new SentMessages()
  const sent = messages.begin(opened('s'))
  for (const chunk of cut('The fence is blue.', 5)) sent.add(chunk)
  const { after } = messages.resume('s', 2) ?? assert.fail()
  assert.equal(new AfterPlace(after).take(cut('The house is red.', 30)), undefined)
  const short = new AfterPlace(after)
  assert.deepEqual(short.take([start, says('The fen')]), [])
  assert.equal(short.isReached, false)
})

test('numbers of an earlier message of the chat, or of another page, are told apart', () => {
  const messages = new SentMessages()
  const one = messages.begin(opened('s', 1))
  for (const chunk of cut('One and two.', 2)) one.add(chunk)
  const two = messages.begin(opened('s', 20))
  for (const chunk of cut('Three.', 2)) two.add(chunk)
  assert.equal(messages.resume('s', 2), undefined, 'of the first, whose client was lost, or of the second')
  assert.ok(messages.resume('s', 6), 'the second has no such chunk')
  assert.equal(messages.resume('other', 0), undefined)
  assert.equal(messages.beginAgain(opened('s', 40)), undefined)
  assert.equal(messages.beginAgain(opened('s', 20))?.isKept, true)
})

test('the messages that were shown first are forgotten when there are too many', () => {
  const messages = new SentMessages()
  const long = cut('x'.repeat(40_000), 1)
  for (let chat = 0; chat < 9; chat += 1) {
    const sent = messages.begin(opened(`s${chat}`))
    for (const chunk of long) sent.add(chunk)
  }
  assert.equal(messages.resume('s0', 3), undefined)
  assert.ok(messages.resume('s8', 3))
})

test('so many chats are remembered, and not more', () => {
  const messages = new SentMessages()
  for (let chat = 0; chat <= 1_000; chat += 1) messages.begin(opened(`s${chat}`)).add(start)
  assert.equal(messages.resume('s0', 0), undefined)
  assert.ok(messages.resume('s1', 0))
})
