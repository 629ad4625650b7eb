import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Delta } from '../../language/events.ts'
import { Feed } from './feed.ts'

const piece = (callId: string, text: string): Delta => ({ type: 'arguments', callId, text })

function watched(): { feed: Feed; shown: Delta[] } {
  const feed = new Feed(0, 'running', error => assert.fail(String(error)))
  const shown: Delta[] = []
  feed.watch(item => {
    if (item.type === 'delta') shown.push(item.delta)
  })
  return { feed, shown }
}

test('pieces of arguments that wait for a write are shown as one, in their order among other items', async () => {
  const { feed, shown } = watched()
  const held = feed.hold()
  const first = piece('call_1', '{"a"')
  for (const delta of [first, piece('call_1', ':1'), piece('call_1', '}'), piece('call_2', '{')])
    feed.delta(delta)
  feed.delta({ type: 'text', text: 'So' })
  feed.delta({ type: 'text', text: ' it is.' })
  feed.delta(piece('call_2', '}'))
  assert.deepEqual(shown, [])
  feed.release(held)
  await Promise.resolve()
  assert.deepEqual(shown, [
    piece('call_1', '{"a":1}'),
    piece('call_2', '{'),
    { type: 'text', text: 'So' },
    { type: 'text', text: ' it is.' },
    piece('call_2', '}'),
  ])
  assert.deepEqual(first, piece('call_1', '{"a"'), 'the delta of the model is left as it was')
})

test('pieces of arguments are shown one by one when nothing waits', () => {
  const { feed, shown } = watched()
  feed.delta(piece('call_1', '{'))
  feed.delta(piece('call_1', '}'))
  assert.deepEqual(shown, [piece('call_1', '{'), piece('call_1', '}')])
  assert.deepEqual(feed.live.snapshot(), [])
})

test('a reader that attaches late gets the texts of the step so far', () => {
  const { feed } = watched()
  const opened = { type: 'call.opened', callId: 'call_1', name: 'add', form: 'json' } as const
  const deltas: Delta[] = [
    { type: 'step.started', step: 1 },
    { type: 'text', text: 'Let ' },
  ]
  for (const delta of [...deltas, { type: 'text', text: 'me.' } as const, opened]) feed.delta(delta)
  for (const text of ['{"a"', ':1}']) feed.delta(piece('call_1', text))
  assert.deepEqual(feed.live.snapshot(), [
    { type: 'step.started', step: 1 },
    { type: 'text', text: 'Let me.' },
    opened,
    piece('call_1', '{"a":1}'),
  ])
})
