// Given a log with calls that may have taken effect, when they are settled, checked or undone, then this is true. No engine, no mocks.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { Outcome, OutcomeKind } from '../../language/calls.ts'
import { joinText } from '../../language/content.ts'
import type { Event, Settings } from '../../language/events.ts'
import type { Context, DirectCall } from './commands.ts'
import { decideDirectCall } from './decide.ts'
import { decideRecovery } from './decide-turn.ts'
import { evolve } from './evolve.ts'
import { goneAgent } from './gone-agent.ts'
import { outcomes } from './outcomes.ts'
import { stateFromJson, stateToJson } from './snapshot-state.ts'
import { emptyState, type SessionState } from './state.ts'

const settings: Settings = { tools: null, options: {}, clientTools: [] }

function context(): Context {
  let count = 0
  return { agent: goneAgent('helper'), now: 100, id: prefix => `${prefix}_${++count}` }
}

const at = { v: 1, at: 1 } as const
const begun: Event[] = [
  { ...at, type: 'session.created', owner: 'ana', agent: 'helper', wire: 'test', settings, seed: [] },
  { ...at, type: 'turn.started', turn: 't1', parts: [{ type: 'text', text: 'go' }], wire: 'test' },
]

function answered(...ids: string[]): Event {
  const parts = ids.map(id => ({ type: 'call' as const, id, name: 'pay', form: 'json' as const, text: '{}' }))
  return { ...at, type: 'model.answered', parts, stop: 'calls', model: 'm' }
}

const started = (callId: string): Event => ({
  ...at,
  type: 'call.started',
  callId,
  attempt: 1,
  allowed: { toolHash: 'h', rule: 'r' },
})
const settled = (callId: string, outcome: Outcome): Event => ({
  ...at,
  type: 'call.settled',
  callId,
  outcome,
})
const ended: Event = { ...at, type: 'turn.ended', turn: 't1', stop: 'end' }
const ok: Outcome = {
  kind: 'ok',
  parts: [{ type: 'text', text: 'paid' }],
  from: { source: 'tool', tool: 'pay' },
}
const ofKind = (kind: OutcomeKind): Outcome => ({ ...ok, kind })
const reconciled = (callId: string, told?: string): Event => ({
  ...at,
  type: 'call.reconciled',
  callId,
  tool: 'pay',
  by: 'olga',
  found: 'ran',
  outcome: { ...ok, checked: true },
  ...(told !== undefined && { told }),
})

function given(...events: Event[]): SessionState {
  const state = emptyState('s1')
  for (const event of events) evolve(state, event)
  return state
}

const roles = ({ view }: SessionState): string[] => view.map(({ role }) => role)

describe('a call is in doubt', () => {
  test('if it is unknown, or had begun when it ran out of time or was cancelled', () => {
    for (const [kind, isDoubted] of [
      ['unknown', true],
      ['timeout', true],
      ['cancelled', true],
      ['ok', false],
      ['error', false],
      ['denied', false],
    ] as const) {
      const state = given(...begun, answered('c1'), started('c1'), settled('c1', ofKind(kind)))
      assert.deepEqual(state.doubts, isDoubted ? { c1: 'pay' } : undefined, kind)
    }
  })

  test('not if it never began, nor if its tool has said what became of it', () => {
    const never = given(...begun, answered('c1'), settled('c1', outcomes.cancelled(false)))
    assert.equal(never.doubts, undefined)
    const outcome = { ...outcomes.noEffect(5), checked: true as const }
    assert.equal(given(...begun, answered('c1'), started('c1'), settled('c1', outcome)).doubts, undefined)
  })

  test('after a crash only calls that are not left to their tools are settled as unknown', () => {
    const state = given(...begun, answered('c1', 'c2'), started('c1'), started('c2'))
    const events = decideRecovery(state, ({ part }) => part.id === 'c2', context())
    assert.deepEqual(
      events.map(event => event.type === 'call.settled' && [event.callId, event.outcome.kind]),
      [['c1', 'unknown']],
    )
  })
})

describe('what is found out', () => {
  const unknown = [...begun, answered('c1'), started('c1'), settled('c1', outcomes.unknown())]

  test('ends the doubt, and the model is told after the turn', () => {
    const state = given(...unknown, ended, reconciled('c1'))
    assert.deepEqual([state.doubts, state.reconciled?.['c1']?.found], [undefined, 'ran'])
    assert.deepEqual(roles(state), ['user', 'assistant', 'tool', 'user'])
    const last = state.view.at(-1)
    assert.ok(last?.role === 'user')
    assert.match(joinText(last.parts), /c1 .*took effect/)
    assert.doesNotMatch(joinText(last.parts), /paid/)
  })

  test('in a turn, the model is told after the results of the calls that are open', () => {
    const open = given(...unknown, answered('c2'), started('c2'), reconciled('c1'))
    assert.deepEqual(roles(open), ['user', 'assistant', 'tool', 'assistant'])
    evolve(open, settled('c2', ok))
    assert.deepEqual(roles(open), ['user', 'assistant', 'tool', 'assistant', 'tool', 'user'])
    assert.equal(open.turn?.joined, 1)
  })

  test('while the model speaks, it is told when the turn has ended', () => {
    const state = given(...unknown, reconciled('c1'))
    assert.deepEqual(roles(state), ['user', 'assistant', 'tool'])
    evolve(state, ended)
    assert.deepEqual(roles(state), ['user', 'assistant', 'tool', 'user'])
    assert.equal(state.notices, undefined)
  })

  test('is not told twice if the model asked for it', () => {
    assert.deepEqual(roles(given(...unknown, reconciled('c1', 'c2'), ended)), ['user', 'assistant', 'tool'])
  })

  test('is in a snapshot', () => {
    const state = given(...unknown, reconciled('c1'))
    const json = JSON.parse(JSON.stringify(stateToJson(state))) as ReturnType<typeof stateToJson>
    assert.deepEqual(stateFromJson(json, state.entries), state)
  })
})

describe('undo', () => {
  const ran = [...begun, answered('c1'), started('c1'), settled('c1', ok), ended]
  const undo: DirectCall = {
    tool: 'undo_pay',
    form: 'json',
    text: '{"call":"c1","input":{}}',
    by: 'olga',
    wire: 'test',
    undoes: { callId: 'c1', tool: 'pay' },
  }
  const code = (expected: string) => (error: unknown) => (error as { code?: string }).code === expected

  test('starts a turn of one call, in the name of a person', () => {
    const events = decideDirectCall(given(...ran), undo, context())
    assert.deepEqual(
      events.map(({ type }) => type),
      ['turn.started', 'model.answered'],
    )
    const [turn, answer] = events
    assert.ok(turn?.type === 'turn.started' && answer?.type === 'model.answered')
    assert.deepEqual(turn.ask, { direct: true, undoes: 'c1' })
    assert.equal(answer.model, 'caller:olga')
    const state = given(...ran, ...events)
    assert.deepEqual(state.undone, { c1: 'open' })
    assert.throws(() => decideDirectCall(state, undo, context()), code('busy'))
  })

  test('is over for good if it took effect or may have, and can be asked for again otherwise', () => {
    for (const [kind, state] of [
      ['ok', 'done'],
      ['unknown', 'unknown'],
      ['timeout', 'unknown'],
      ['denied', undefined],
      ['error', undefined],
    ] as const) {
      const events = decideDirectCall(given(...ran), undo, context())
      const answer = events[1]
      assert.ok(answer?.type === 'model.answered')
      const [part] = answer.parts
      assert.ok(part?.type === 'call')
      const over = given(...ran, ...events, started(part.id), settled(part.id, ofKind(kind)), ended)
      assert.equal(over.undone?.['c1'], state)
      if (state) assert.throws(() => decideDirectCall(over, undo, context()), code('call_undone'))
      else assert.equal(decideDirectCall(over, undo, context()).length, 2)
    }
  })

  test('abandons nothing that waits', () => {
    const waiting = given(...ran, { ...begun[1]!, turn: 't2' } as Event, answered('c2'), {
      ...at,
      type: 'approval.requested',
      callId: 'c2',
      argsHash: 'a',
      toolHash: 'h',
      rule: 'r',
    })
    assert.throws(() => decideDirectCall(waiting, undo, context()), code('busy'))
  })
})
