// Given a log, when a message comes while a turn is under way, or one call is stopped, then these events follow.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { Event, Settings, WaitMode } from '../../language/events.ts'
import type { Agent, Tool } from '../ports/index.ts'
import type { Context, Say } from './commands.ts'
import { decideCancelCall } from './decide-call.ts'
import {
  decideInterruption,
  decideJoined,
  decideQueued,
  decideStartedBy,
  decideTakeAllBack,
  decideTakeBack,
  messageState,
  mustWait,
  nextMessage,
} from './decide-message.ts'
import { decideCutAnswer } from './decide-turn.ts'
import { evolve } from './evolve.ts'
import { goneAgent } from './gone-agent.ts'
import { next } from './next.ts'
import type { Offered } from './offer.ts'
import { emptyState, type SessionState } from './state.ts'

const settings: Settings = { tools: null, options: {}, clientTools: [] }
const agent: Agent = { ...goneAgent('helper'), options: [{ name: 'tone', type: 'text', default: '' }] }
const words = (text: string) => [{ type: 'text' as const, text }]
const limits = { ...agent.limits, steps: 9, tokens: 1e6, money: 1e6, bytes: 1e6, sessionBytes: 1e9 }

function context(now = 100): Context {
  let count = 0
  return { agent, now, id: prefix => `${prefix}_${++count}` }
}

const created: Event = {
  ...{ v: 1, at: 1, type: 'session.created', owner: 'ana', agent: 'helper', wire: 'test' },
  ...{ settings, seed: [] },
}
const started: Event = { v: 1, at: 2, type: 'turn.started', turn: 't1', parts: words('Hi'), wire: 'test' }
const ended: Event = { v: 1, at: 9, type: 'turn.ended', turn: 't1', stop: 'end' }

function called(...names: string[]): Event {
  const parts = names.map((name, index) => ({
    ...{ type: 'call' as const, id: `c${index + 1}`, name, form: 'json' as const, text: '{}' },
  }))
  return { v: 1, at: 3, type: 'model.answered', parts, stop: 'calls', model: 'm' }
}
const runs = (callId: string): Event => ({
  ...{ v: 1, at: 4, type: 'call.started', callId, attempt: 1 },
  allowed: { toolHash: 'h', rule: 'r' },
})
const asks = (callId: string): Event => ({
  ...{ v: 1, at: 4, type: 'approval.requested', callId, argsHash: 'a', toolHash: 'h', rule: 'r' },
})
const queued = (message: string, during: WaitMode, over: object = {}): Event => ({
  ...{ v: 1, at: 5, type: 'message.queued', message, during, parts: words(message), wire: 'test', ...over },
})

function given(...events: Event[]): SessionState {
  const state = emptyState('s')
  for (const event of events) evolve(state, event)
  return state
}

function andThen(state: SessionState, events: readonly Event[]): SessionState {
  for (const event of events) evolve(state, event)
  return state
}

/** Types of the events, with what tells them apart. */
const then = (events: readonly Event[]): string[] =>
  events.map(event => {
    if (event.type === 'call.settled') return `${event.type} ${event.callId} ${event.outcome.kind}`
    if ('message' in event && event.type !== 'question.asked') {
      const joins = event.type === 'message.delivered' && event.parts ? ' joins' : ''
      return `${event.type} ${event.message}${joins}`
    }
    return event.type
  })

const say: Say = { parts: words('wait'), wire: 'test' }
const offered = (flags: Partial<Tool>): Offered =>
  // Only these members of it are read here.
  ({ side: 'server', tool: { readOnly: false, idempotent: false, ...flags } }) as unknown as Offered

describe('a message while a turn is under way', () => {
  test('waits unless the caller would rather be refused, and never outside a turn', () => {
    const running = given(created, started)
    assert.deepEqual(
      ([undefined, 'refuse', 'queue', 'steer', 'interrupt'] as const).map(during =>
        mustWait(running, during),
      ),
      [false, false, true, true, true],
    )
    assert.equal(mustWait(given(created), 'queue'), false)
  })

  test('is recorded whole, with the key of its request', () => {
    const request = { key: 'k', hash: 'h' }
    const ask = { system: 'Be brief.' }
    const event = decideQueued(given(created, started), { ...say, ask, request }, 'steer', context())
    assert.deepEqual(event, {
      ...{ v: 1, at: 100, type: 'message.queued', message: 'msg_1', during: 'steer' },
      ...{ parts: words('wait'), wire: 'test', ask, key: 'k' },
    })
    const accepted: Event = { v: 1, at: 100, type: 'request.accepted', key: 'k', hash: 'h', events: 1 }
    const state = andThen(given(created, started), [accepted, event])
    assert.deepEqual(state.requests.get('k'), { hash: 'h', seq: 3, message: 'msg_1' })
    assert.equal(state.messages?.[0]?.id, 'msg_1')
    assert.equal(state.entries.length, 1, 'no model reads it yet')
  })

  test('is refused when it has no words, repeats an earlier one, brings wrong settings, or too many wait', () => {
    const running = given(created, started)
    const refuses = (over: Partial<Say>, code: string) =>
      assert.throws(() => decideQueued(running, { ...say, ...over }, 'queue', context()), { code })
    refuses({ parts: [] }, 'busy')
    refuses({ rewindTo: [] }, 'busy')
    refuses({ settings: { tools: [{ name: 'none', trust: true }] } }, 'unknown_tool')
    const many = Array.from({ length: 100 }, (_, at) => queued(`m${at}`, 'queue'))
    assert.throws(() => decideQueued(given(created, started, ...many), say, 'queue', context()), {
      code: 'busy',
    })
  })

  test('abandons nothing that waits for a person', () => {
    const waiting = given(created, started, called('mail'), asks('c1'), queued('m1', 'queue'))
    assert.equal(waiting.status, 'waiting')
    assert.equal(waiting.batch[0]?.stage, 'asking')
  })
})

describe('delivery', () => {
  test('messages that steer join before the model is asked; a queued one does not', () => {
    const state = given(
      ...[created, started, queued('m1', 'queue'), queued('m2', 'steer'), queued('m3', 'interrupt')],
    )
    const joined = decideJoined(state, context())
    assert.deepEqual(then(joined), ['message.delivered m2 joins', 'message.delivered m3 joins'])
    andThen(state, joined)
    assert.deepEqual(
      state.messages?.map(({ id }) => id),
      ['m1'],
    )
    assert.deepEqual(state.heard, { m2: 'delivered', m3: 'delivered' })
    assert.deepEqual(
      state.entries.map(entry => entry.role === 'user' && entry.parts),
      [words('Hi'), words('m2'), words('m3')],
    )
  })

  test('of messages that wait no longer the newest thousand are remembered', () => {
    const state = given(created, started)
    for (let at = 0; at < 1200; at += 1) {
      const id = `m${at}`
      andThen(state, [queued(id, 'steer'), { v: 1, at, type: 'message.withdrawn', message: id, by: 'bo' }])
    }
    const ids = Object.keys(state.heard ?? {})
    assert.deepEqual([ids.length, ids[0], ids.at(-1)], [1000, 'm200', 'm1199'])
    assert.equal(messageState(state, 'm1199'), 'withdrawn')
    assert.throws(() => decideTakeBack(state, { message: 'm1', by: 'bo' }, context()), { code: 'not_found' })
  })

  test('a message that joins brings its wishes and settings; settings that fit no longer are left out', () => {
    const state = given(
      ...[created, started],
      queued('m1', 'steer', { ask: { system: 'x' }, settings: { options: { tone: 'dry' } } }),
      queued('m2', 'steer', { settings: { tools: [{ name: 'gone', trust: true }] } }),
    )
    assert.deepEqual(then(decideJoined(state, context())), [
      'session.configured',
      'message.delivered m1 joins',
      'turn.asked',
      'message.delivered m2 joins',
    ])
  })

  test('with the end of the turn a message that steers comes before one that was queued earlier', () => {
    const state = given(created, started, queued('m1', 'queue'), queued('m2', 'steer'))
    const message = nextMessage(state.messages ?? [])
    assert.equal(message?.id, 'm2')
    const events = [ended, ...decideStartedBy(state, message!, undefined, context())]
    assert.deepEqual(then(events), ['turn.ended', 'message.delivered m2', 'turn.started'])
    andThen(state, events)
    assert.equal(state.turn?.id, 'turn_1')
    assert.equal(state.entries.length, 2, 'it is said once')
    assert.deepEqual(
      state.messages?.map(({ id }) => id),
      ['m1'],
    )
  })

  test('a message is withdrawn until it is delivered, once', () => {
    const state = given(created, started, queued('m1', 'queue'), queued('m2', 'steer'))
    const back = decideTakeBack(state, { message: 'm1', by: 'ana', reason: 'a slip' }, context())
    assert.deepEqual(back, {
      ...{ v: 1, at: 100, type: 'message.withdrawn', message: 'm1', by: 'ana', reason: 'a slip' },
    })
    andThen(state, [back, ...decideJoined(state, context()).slice(0, 1)])
    for (const message of ['m1', 'm2'])
      assert.throws(() => decideTakeBack(state, { message, by: 'ana' }, context()), {
        code: 'message_delivered',
      })
    assert.throws(() => decideTakeBack(state, { message: 'm9', by: 'ana' }, context()), { code: 'not_found' })
    assert.equal(state.messages, undefined)
  })

  test('all that wait are withdrawn together', () => {
    const state = given(created, started, queued('m1', 'queue'), queued('m2', 'steer'))
    assert.deepEqual(then(decideTakeAllBack(state, 'ana', context())), [
      'message.withdrawn m1',
      'message.withdrawn m2',
    ])
  })
})

describe('an interruption', () => {
  const message = (state: SessionState) => decideQueued(state, say, 'interrupt', context())
  const none = (): undefined => undefined

  test('keeps what was shown as a partial answer, and the turn goes on with the message', () => {
    const state = given(created, started, queued('m1', 'steer'))
    const cut = decideCutAnswer(
      { model: 'm', said: [], shown: words('I beg'), cut: { input: 7, output: 2 } },
      context(),
    )
    const event = message(state)
    const events = [event, ...decideInterruption(state, event, cut, none, context())]
    assert.deepEqual(then(events), [
      'message.queued msg_1',
      'model.answered',
      'message.delivered m1 joins',
      'message.delivered msg_1 joins',
    ])
    andThen(state, events)
    assert.deepEqual(next(state, limits), { do: 'ask-model' })
    assert.equal(state.turn?.tokens, 9, 'what the cut step used counts')
    assert.deepEqual(state.entries.at(1), { role: 'assistant', parts: words('I beg') })
  })

  test('a step that had given nothing leaves nothing', () => {
    assert.deepEqual(decideCutAnswer({ model: 'm', said: [], shown: [] }, context()), [])
  })

  test('of a step that only thought, what was shown is kept, and no entry', () => {
    const shown = [{ type: 'thinking' as const, text: 'Hm' }]
    const [answer] = decideCutAnswer({ model: 'm', said: [], shown, cut: { input: 1, output: 1 } }, context())
    assert.deepEqual([answer?.parts, answer?.shown], [[], shown])
  })

  test('cancels calls that have not begun, and running ones whose tools allow it', () => {
    const tools: Record<string, Partial<Tool>> = {
      look: { readOnly: true },
      pay: {},
      stoppable: { interruptible: true },
      careful: { readOnly: true, interruptible: false },
    }
    const find = (name: string) => tools[name] && offered(tools[name])
    const names = ['look', 'pay', 'stoppable', 'careful', 'mail']
    const running = ['c1', 'c2', 'c3', 'c4'].map(runs)
    const state = given(created, started, called(...names), ...running, asks('c5'))
    const events = decideInterruption(state, message(state), [], find, context())
    assert.deepEqual(then(events), [
      'call.settled c1 cancelled',
      'call.settled c3 cancelled',
      'call.settled c5 cancelled',
    ])
  })
})

describe('one call is cancelled', () => {
  test('in any stage, with words for the model; the others stay as they are', () => {
    const state = given(created, started, called('look', 'mail'), runs('c1'), asks('c2'))
    const cancel = (callId: string) =>
      decideCancelCall(state, { callId, by: 'ana', reason: 'not that one' }, context())
    const [running] = cancel('c1')
    assert.ok(running?.type === 'call.settled')
    assert.deepEqual(running.outcome.from, { source: 'person', by: 'ana' })
    assert.match(JSON.stringify(running.outcome.parts), /while it was running.*may have.*not that one/)
    const [waiting] = cancel('c2')
    assert.ok(waiting?.type === 'call.settled')
    assert.match(JSON.stringify(waiting.outcome.parts), /before it ran.*no effect/)
    andThen(state, [running])
    assert.equal(state.batch[1]?.stage, 'asking')
    assert.throws(() => cancel('c1'), { code: 'call_settled' })
    assert.throws(() => cancel('c9'), { code: 'unknown_call' })
  })

  test('its question is withdrawn first', () => {
    const question: Event = {
      ...{ v: 1, at: 5, type: 'question.asked', callId: 'c1', question: 'q1', key: 'k', message: 'Who?' },
    }
    const state = given(created, started, called('look'), runs('c1'), question)
    assert.deepEqual(then(decideCancelCall(state, { callId: 'c1', by: 'ana' }, context())), [
      'question.withdrawn',
      'call.settled c1 cancelled',
    ])
  })
})
