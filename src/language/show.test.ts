// What a client is shown of a log, event by event: which thing, what waits for whom, and what is known of a call.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { CallPart, Outcome } from './calls.ts'
import type { Event } from './events.ts'
import { ShownFold, turnFailure } from './show.ts'

type Body<Type extends Event['type']> = Omit<Extract<Event, { type: Type }>, 'v' | 'at' | 'type'>

function event<Type extends Event['type']>(type: Type, body: Body<Type>): Event {
  // The type and the rest are those of one event.
  return { v: 1, at: 1, type, ...body } as unknown as Event
}

const part = (id: string): CallPart => ({ type: 'call', id, name: 'mail', form: 'json', text: '{}' })
const started = event('turn.started', { turn: 't1', parts: [], wire: 'aap' })
const answer = (...ids: string[]): Event =>
  event('model.answered', { parts: ids.map(part), stop: 'calls', model: 'm' })
const hashes = { argsHash: 'a', toolHash: 't' }
const asks = (callId: string): Event => event('approval.requested', { callId, ...hashes, rule: 'r' })
const runs = (callId: string): Event => event('call.started', { callId, attempt: 1 })
const ok: Outcome = { kind: 'ok', parts: [{ type: 'text', text: 'Sent.' }], from: { source: 'runtime' } }
const settles = (callId: string): Event => event('call.settled', { callId, outcome: ok })
const question = { callId: 'c1', question: 'q1' }
const questions = event('question.asked', { ...question, key: 'k', message: 'To whom?' })

function after(...events: Event[]): ShownFold {
  const fold = new ShownFold()
  for (const each of events) fold.take(each)
  return fold
}

const waitsIn = ({ waits }: ShownFold): string[] => [...waits.values()].map(wait => wait.for)
const statesIn = ({ calls }: ShownFold): string[] =>
  [...calls.values()].map(({ state, waitsFor }) => (waitsFor ? `${state} for ${waitsFor}` : state))

test('an event shows at most one thing', () => {
  const fold = new ShownFold()
  const log = [
    event('request.accepted', { key: 'k', hash: 'h', events: 1 }),
    started,
    answer('c1'),
    asks('c1'),
    event('approval.decided', { callId: 'c1', granted: true, by: 'ana', argsHash: 'a' }),
    event('call.edited', { callId: 'c1', text: '{"to":"bo"}', argsHash: 'b', by: 'ana' }),
    runs('c1'),
    questions,
    event('question.answered', { ...question, action: 'accept', by: 'ana' }),
    settles('c1'),
    event('turn.ended', { turn: 't1', stop: 'end' }),
  ]
  assert.deepEqual(
    log.map(each => fold.take(each)?.type),
    [
      undefined,
      'turn',
      'answer',
      'waits',
      'decided',
      'edited',
      'started',
      'waits',
      'closed',
      'result',
      'end',
    ],
  )
  assert.equal(fold.calls.get('c1')?.text, '{"to":"bo"}')
  assert.equal(fold.status, 'idle')
})

test('a session waits once each of its calls waits for someone outside', () => {
  const fold = after(started, answer('c1', 'c2'), asks('c1'))
  assert.equal(fold.status, 'running')
  fold.take(event('call.handed', { callId: 'c2', ...hashes }))
  assert.equal(fold.status, 'waiting')
  assert.deepEqual(waitsIn(fold), ['permission', 'result'])
  assert.deepEqual(statesIn(fold), ['waiting for permission', 'waiting for result'])
  fold.take(settles('c2'))
  assert.deepEqual(waitsIn(fold), ['permission'])
  fold.take(event('approval.decided', { callId: 'c1', granted: true, by: 'ana', argsHash: 'a' }))
  assert.equal(fold.status, 'running')
  assert.deepEqual(waitsIn(fold), [])
})

test('a running call waits until its question is closed, in whichever way', () => {
  for (const close of [
    event('question.answered', { ...question, action: 'decline', by: 'ana' }),
    event('question.expired', question),
    event('question.withdrawn', question),
  ]) {
    const fold = after(started, answer('c1'), runs('c1'), questions)
    assert.deepEqual(
      [fold.status, ...statesIn(fold), ...waitsIn(fold)],
      ['waiting', 'waiting for answer', 'answer'],
    )
    fold.take(close)
    assert.deepEqual([fold.status, ...statesIn(fold), ...waitsIn(fold)], ['running', 'running'])
  }
})

test('a question stays open when its call runs again', () => {
  assert.deepEqual(statesIn(after(started, answer('c1'), runs('c1'), questions, runs('c1'))), [
    'waiting for answer',
  ])
})

test('a call rests while its own calls wait, and goes on when one of them is settled', () => {
  const nested = event('call.nested', { parent: 'c1', key: 'k', call: part('c2') })
  const rests = event('call.suspended', { callId: 'c1', seen: 0 })
  const fold = after(started, answer('c1'), runs('c1'), nested, asks('c2'), rests)
  assert.deepEqual(statesIn(fold), ['resting for calls', 'waiting for permission'])
  assert.equal(fold.status, 'waiting')
  fold.take(settles('c2'))
  assert.deepEqual(statesIn(fold), ['running', 'settled'])
  fold.take(rests)
  assert.equal(fold.status, 'running', 'its call was settled while it stopped')
})

test('a postponed call rests, and nobody can answer it', () => {
  const fold = after(
    started,
    answer('c1'),
    runs('c1'),
    event('call.postponed', { callId: 'c1', expiresAt: 9 }),
  )
  assert.deepEqual([fold.status, ...statesIn(fold), ...waitsIn(fold)], ['waiting', 'resting for later'])
})

test('a call that is asked about again is known from that question alone', () => {
  const again = { name: 'mail', form: 'json' as const, text: '{"to":"bo"}' }
  const fold = after(event('approval.requested', { callId: 'c1', ...hashes, rule: 'r', again }))
  assert.equal(fold.calls.get('c1')?.part.name, 'mail')
  assert.equal(fold.calls.get('c1')?.text, '{"to":"bo"}')
})

test('of a call that was made before, the events are shown without it', () => {
  const shown = new ShownFold().take(settles('c1'))
  assert.deepEqual(shown, { type: 'result', callId: 'c1', call: undefined, outcome: ok })
})

test('a fold that begins with the calls of a summary knows what they wait for', () => {
  const open = { id: 'q1', message: 'To whom?' }
  const fold = new ShownFold([
    { part: part('c1'), text: '{"to":"bo"}', stage: 'asking', ...hashes, reason: 'It sends mail.' },
    { part: part('c2'), text: '{}', stage: 'handed', ...hashes },
    {
      part: part('c3'),
      text: '{}',
      stage: 'started',
      questions: [open, { ...open, id: 'q0', closed: 'answered' }],
    },
    { part: part('c4'), text: '{}', stage: 'settled' },
  ])
  assert.deepEqual([...fold.waits.keys()], ['c1', 'c2', 'q1'])
  const wait = fold.waits.get('c1')
  assert.equal(wait?.for === 'permission' && wait.asked.again?.text, '{"to":"bo"}')
  fold.take(event('question.answered', { callId: 'c3', question: 'q1', action: 'accept', by: 'ana' }))
  assert.deepEqual(statesIn(fold), ['waiting for permission', 'waiting for result', 'running', 'settled'])
})

test('a turn that failed says why, also if the log does not', () => {
  assert.equal(turnFailure({ stop: 'limit' }), undefined)
  assert.deepEqual(turnFailure({ stop: 'error' }), { code: 'internal', message: 'The turn failed.' })
  const error = { code: 'model_limited', message: 'Slow down.' } as const
  assert.deepEqual(turnFailure({ stop: 'error', error }), error)
})
