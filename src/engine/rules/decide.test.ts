// Given a log, when a command comes or the loop finds something out, then these events follow. No engine, no mocks.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { Event, ModelAnswered, Settings, ShownPart } from '../../language/events.ts'
import { toolHash } from '../../language/tools.ts'
import type { Agent, Limits, Tool } from '../ports/index.ts'
import type { Context } from './commands.ts'
import {
  decideDirectCall,
  decideGrant,
  decideReleaseControl,
  decideRespond,
  decideRevoke,
  decideSay,
  decideTakeControl,
} from './decide.ts'
import {
  decideEdit,
  decideLimit,
  decideResult,
  decideSettled,
  decideStart,
  decideVerdict,
} from './decide-call.ts'
import {
  decideCancel,
  decideCompaction,
  decideFailure,
  decideInterrupted,
  decideOutOfTime,
  decideRecovery,
} from './decide-turn.ts'
import { evolve } from './evolve.ts'
import { goneAgent } from './gone-agent.ts'
import { next } from './next.ts'
import { outcomes } from './outcomes.ts'
import { emptyState, findCall, type SessionState } from './state.ts'

const settings: Settings = { tools: null, options: {}, clientTools: [] }
const agent: Agent = {
  ...goneAgent('helper'),
  model: () => ({ id: 'm', respond: () => Promise.reject(new Error()) }),
}
const limits: Limits = {
  steps: 9,
  calls: 9,
  identicalCalls: 3,
  time: 1e6,
  bytes: 1e6,
  sessionBytes: 1e12,
  tokens: 1e6,
  money: 1e6,
}

function context(now = 100): Context {
  let count = 0
  return { agent, now, id: prefix => `${prefix}_${++count}` }
}

const created: Event = {
  v: 1,
  at: 1,
  type: 'session.created',
  owner: 'ana',
  agent: 'helper',
  wire: 'test',
  settings,
  seed: [],
}
const started: Event = {
  v: 1,
  at: 2,
  type: 'turn.started',
  turn: 't1',
  parts: [{ type: 'text', text: 'Hi' }],
  wire: 'test',
}

function called(...names: string[]): ModelAnswered {
  const parts = names.map((name, index) => ({
    type: 'call' as const,
    id: `c${index + 1}`,
    name,
    form: 'json' as const,
    text: '{}',
  }))
  return { v: 1, at: 3, type: 'model.answered', parts, stop: 'calls', model: 'm' }
}

const handed = (callId: string): Event => ({
  v: 1,
  at: 4,
  type: 'call.handed',
  callId,
  argsHash: 'a',
  toolHash: 'h',
})
const asked = (callId: string, expiresAt?: number): Event => ({
  v: 1,
  at: 4,
  type: 'approval.requested',
  callId,
  argsHash: 'a',
  toolHash: 'h',
  rule: 'r',
  ...(expiresAt !== undefined && { expiresAt }),
})

function given(...events: Event[]): SessionState {
  const state = emptyState('s')
  for (const event of events) evolve(state, event)
  return state
}

/** Types of the events, with what tells them apart. */
function then(events: readonly Event[]): string[] {
  return events.map(event => {
    if (event.type === 'call.settled') return `${event.type} ${event.callId} ${event.outcome.kind}`
    if (event.type === 'turn.ended')
      return `${event.type} ${event.stop}${event.limit === undefined ? '' : ` ${event.limit}`}`
    if (event.type === 'approval.decided') return `${event.type} ${event.callId} ${event.granted}`
    if ('callId' in event) return `${event.type} ${event.callId}`
    return event.type
  })
}

describe('a tool that a caller asks for', () => {
  const direct = { wire: 'test', by: 'me', tool: 'mail', form: 'json' as const, text: '{}' }

  test('is a turn of one call, which ends with its result', () => {
    const state = given(created)
    const events = decideDirectCall(state, direct, context())
    assert.deepEqual(then(events), ['turn.started', 'model.answered'])
    for (const event of events) evolve(state, event)
    assert.equal(next(state, agent.limits).do, 'judge')
    const [call] = state.batch
    assert.ok(call)
    evolve(state, decideSettled(call, outcomes.invalid('x'), context()))
    assert.deepEqual(next(state, agent.limits), { do: 'end', stop: 'end' })
  })

  test('is refused while a turn runs, and abandons what waits', () => {
    assert.throws(() => decideDirectCall(given(created, started), direct, context()), { code: 'busy' })
    const state = given(created, started, called('mail'), asked('c1'))
    assert.deepEqual(then(decideDirectCall(state, direct, context())), [
      'call.settled c1 abandoned',
      'turn.ended abandoned',
      'turn.started',
      'model.answered',
    ])
  })
})

describe('a message', () => {
  const say = { parts: [{ type: 'text' as const, text: 'More' }], wire: 'test' }

  test('starts a turn', () => {
    assert.deepEqual(then(decideSay(given(created), say, context())), ['turn.started'])
  })

  test('abandons calls that wait, in order, before its turn starts', () => {
    const state = given(created, started, called('mine', 'mail'), handed('c1'), asked('c2'))
    assert.deepEqual(then(decideSay(state, say, context())), [
      'call.settled c1 abandoned',
      'call.settled c2 abandoned',
      'turn.ended abandoned',
      'turn.started',
    ])
  })

  test('with a key is preceded by the key and the number of its events', () => {
    const events = decideSay(given(created), { ...say, request: { key: 'k', hash: 'h' } }, context())
    assert.deepEqual(events[0], { v: 1, at: 100, type: 'request.accepted', key: 'k', hash: 'h', events: 1 })
  })

  test('carries what the request asks of the model with its turn', () => {
    const [event] = decideSay(given(created), { ...say, ask: { choice: 'none' } }, context())
    assert.ok(event?.type === 'turn.started')
    assert.deepEqual(event.ask, { choice: 'none' })
  })

  test('is refused while a turn runs', () => {
    assert.throws(() => decideSay(given(created, started), say, context()), { code: 'busy' })
  })
})

describe('answers', () => {
  const waiting = given(created, started, called('mine', 'mail'), handed('c1'), asked('c2', 150))
  const ok = { kind: 'ok' as const, parts: [], from: { source: 'client' as const } }
  const respond = (results: string[], decisions: object[], now = 100) =>
    decideRespond(
      waiting,
      {
        results: results.map(callId => ({ callId, outcome: ok })),
        decisions: decisions.map(each => ({ callId: 'c2', granted: true, by: 'ana', ...each })),
      },
      context(now),
    )

  test('settle a client call and approve another', () => {
    assert.deepEqual(then(respond(['c1'], [{}])), ['call.settled c1 ok', 'approval.decided c2 true'])
  })

  test('that deny settle the call, and a remembered denial gives a grant', () => {
    assert.deepEqual(then(respond([], [{ granted: false, remember: true }])), [
      'approval.decided c2 false',
      'grant.given',
      'call.settled c2 denied',
    ])
  })

  test('with an edit record the edit first', () => {
    assert.deepEqual(then(respond([], [{ edit: { text: '{"a":1}', argsHash: 'b' } }])), [
      'call.edited c2',
      'approval.decided c2 true',
    ])
  })

  test('are refused whole when one of them does not fit', () => {
    for (const [act, code] of [
      [() => respond(['c9'], []), 'unknown_call'],
      [() => respond(['c2'], []), 'wrong_party'],
      [() => respond(['c1', 'c1'], []), 'duplicate_call'],
      [() => respond([], [{ seen: 'other' }]), 'stale_approval'],
      [() => respond([], [{}], 150), 'approval_expired'],
      [() => respond([], []), 'bad_request'],
    ] as const)
      assert.throws(act, { code })
  })
})

describe('the end of a turn', () => {
  const state = given(created, started, called('one', 'two'), {
    v: 1,
    at: 5,
    type: 'call.started',
    callId: 'c1',
    attempt: 1,
  })

  test('by cancellation settles every call and says whether it may have run', () => {
    const events = decideCancel(state, context())
    assert.deepEqual(then(events), [
      'call.settled c1 cancelled',
      'call.settled c2 cancelled',
      'turn.ended cancelled',
    ])
    const words = events.map(event =>
      event.type === 'call.settled' ? JSON.stringify(event.outcome.parts) : '',
    )
    assert.match(words[0] ?? '', /may have taken effect/)
    assert.match(words[1] ?? '', /had no effect/)
  })

  test('by time settles started calls as timed out and others as not run', () => {
    assert.deepEqual(then(decideOutOfTime(state, context())), [
      'call.settled c1 timeout',
      'call.settled c2 denied',
      'turn.ended limit time',
    ])
  })

  test('without a turn records nothing', () => {
    assert.deepEqual(
      [...decideCancel(given(created), context()), ...decideOutOfTime(given(created), context())],
      [],
    )
  })

  test('by a failing model names a public error', () => {
    const [event] = decideFailure(given(created, started), new Error('secret detail'), context())
    assert.equal(event?.error?.code, 'internal')
    assert.ok(!JSON.stringify(event).includes('secret detail'))
  })

  test('keeps the text of an interrupted answer, and what else was shown of it', () => {
    const end = decideCancel(given(created, started), context())
    const cut = (said: ShownPart[]) => decideInterrupted({ model: 'm', said, shown: said }, end, context())
    const thinking: ShownPart = { type: 'thinking', text: 'hm' }
    const text: ShownPart = { type: 'text', text: 'Hel' }
    assert.deepEqual(cut([]), end)
    const [answered, ended] = cut([text])
    assert.ok(answered?.type === 'model.answered')
    assert.deepEqual([answered.stop, answered.parts, answered.shown], ['cancelled', [text], undefined])
    assert.deepEqual(ended, end[0])
    const [both] = cut([thinking, text])
    assert.ok(both?.type === 'model.answered')
    assert.deepEqual([both.parts, both.shown], [[text], [thinking, text]])
    assert.deepEqual(cut([thinking]), [{ ...end[0], shown: [thinking] }])
  })

  test('after a crash settles started calls as unknown unless they may be repeated', () => {
    assert.deepEqual(then(decideRecovery(state, () => false, context())), ['call.settled c1 unknown'])
    assert.deepEqual(
      decideRecovery(state, () => true, context()),
      [],
    )
  })
})

describe('a judged call', () => {
  const state = given(created, started, called('mail'))
  const call = findCall(state, 'c1')!
  const tool = {
    name: 'mail',
    description: 'd',
    input: { form: 'json', schema: {} },
    kind: 'other',
    readOnly: false,
    idempotent: false,
    destructive: true,
    side: 'server',
    exposed: true,
    trust: 'ask',
    timeoutMs: 1,
    retries: 0,
    outputLimit: 1,
    run: () => ({ parts: [] }),
  } satisfies Tool
  const offered = { side: 'server', tool } as const
  const admitted = { ok: true, input: {}, argsHash: 'a' } as const

  test('is handed over, allowed, asked about or denied', () => {
    const verdicts = [
      undefined,
      { verdict: 'allow', rule: 'r', grantId: 'g' },
      { verdict: 'ask', rule: 'r', expiresInMs: 50 },
      { verdict: 'deny', rule: 'r', reason: 'no' },
    ] as const
    const events = verdicts.map(verdict => decideVerdict(state, call, offered, admitted, verdict, context()))
    assert.deepEqual(then(events), [
      'call.handed c1',
      'call.allowed c1',
      'approval.requested c1',
      'call.settled c1 denied',
    ])
    const [, allowed, question] = events
    assert.ok(allowed?.type === 'call.allowed' && question?.type === 'approval.requested')
    assert.deepEqual([allowed.toolHash, allowed.grantId], [toolHash(tool), 'g'])
    assert.equal(question.expiresAt, 150)
  })

  test('over a limit is refused, and the turn ends with it', () => {
    const over = (more: Partial<Limits>, uses = 0) =>
      decideLimit(state, call, { ...limits, ...more }, { uses: () => uses, serverCalls: () => 0 }, context())
        ?.limit
    assert.equal(over({}), undefined)
    assert.equal(over({ steps: 1 }), 'steps')
    assert.equal(over({ calls: 0 }), 'calls')
    assert.equal(over({}, 3), 'identicalCalls')
  })

  test('whose result comes too late is recorded as late', () => {
    const settled = given(created, started, called('mail'), {
      v: 1,
      at: 9,
      type: 'call.started',
      callId: 'c1',
      attempt: 1,
    })
    const late = structuredClone(findCall(settled, 'c1')!)
    late.stage = 'settled'
    assert.equal(decideResult(late, outcomes.unknown(), context()).type, 'call.late')
    assert.equal(decideResult(findCall(settled, 'c1')!, outcomes.unknown(), context()).type, 'call.settled')
    assert.equal(decideStart(findCall(settled, 'c1')!, context()).attempt, 2)
  })

  test('can no longer get other arguments', () => {
    const edit = { callId: 'c1', text: '{}', argsHash: 'b', by: 'ana' }
    assert.equal(decideEdit(state, edit, context()).type, 'call.edited')
    const judged = given(created, started, called('mail'), asked('c1'))
    assert.throws(() => decideEdit(judged, edit, context()), { code: 'already_decided' })
  })
})

describe('grants, control and compaction', () => {
  test('a grant must have a future and at least one use; only a known one is revoked', () => {
    const grant = { tool: 'mail', toolHash: 'h', by: 'ana' }
    assert.equal(decideGrant(grant, context()).grant.id, 'grant_1')
    assert.throws(() => decideGrant({ ...grant, expiresAt: 100 }, context()), { code: 'bad_request' })
    assert.throws(() => decideGrant({ ...grant, usesLeft: 0 }, context()), { code: 'bad_request' })
    assert.throws(() => decideRevoke(given(created), 'grant_1', 'ana', context()), { code: 'not_found' })
  })

  test('control is taken once, from someone else only by force', () => {
    const free = given(created)
    assert.deepEqual(then(decideTakeControl(free, 'ana', false, context())), ['control.taken'])
    const taken = given(created, { v: 1, at: 2, type: 'control.taken', by: 'ana' })
    assert.deepEqual(decideTakeControl(taken, 'ana', false, context()), [])
    assert.throws(() => decideTakeControl(taken, 'bob', false, context()), { code: 'controlled' })
    assert.deepEqual(then(decideTakeControl(taken, 'bob', true, context())), [
      'control.returned',
      'control.taken',
    ])
    assert.deepEqual(then(decideReleaseControl('ana', context())), ['control.returned'])
  })

  test('a compaction records what it replaces and who wrote the summary', () => {
    const event = decideCompaction(3, [], { model: 'm' }, context())
    assert.deepEqual(event, {
      v: 1,
      at: 100,
      type: 'history.compacted',
      replaces: 3,
      entries: [],
      model: 'm',
    })
  })
})

describe('the next action', () => {
  const doing = (...events: Event[]): string => next(given(created, ...events), limits).do

  test('follows from the log alone', () => {
    const settled = (callId: string): Event => ({
      v: 1,
      at: 9,
      type: 'call.settled',
      callId,
      outcome: outcomes.unknown(),
    })
    const answered: Event = {
      v: 1,
      at: 3,
      type: 'model.answered',
      parts: [{ type: 'text', text: 'x' }],
      stop: 'end',
      model: 'm',
    }
    assert.equal(doing(), 'rest')
    assert.equal(doing(started), 'ask-model')
    assert.equal(doing(started, answered), 'end')
    assert.equal(doing(started, called('a')), 'judge')
    assert.equal(doing(started, called('a'), handed('c1')), 'wait')
    assert.equal(doing(started, called('a'), asked('c1')), 'wait')
    assert.equal(doing(started, called('a', 'b'), asked('c1')), 'judge')
    const approved: Event = {
      v: 1,
      at: 5,
      type: 'approval.decided',
      callId: 'c1',
      granted: true,
      by: 'ana',
      argsHash: 'a',
    }
    assert.equal(doing(started, called('a'), asked('c1'), approved), 'run')
    const begun: Event = { v: 1, at: 6, type: 'call.started', callId: 'c1', attempt: 1 }
    assert.equal(doing(started, called('a'), asked('c1'), approved, begun), 'await')
    assert.equal(doing(started, called('a'), asked('c1'), approved, begun, settled('c1')), 'ask-model')
  })

  test('is the end of the turn when a limit is reached', () => {
    const action = next(given(created, started), { ...limits, steps: 0 })
    assert.deepEqual(action, { do: 'end', stop: 'limit', limit: 'steps' })
  })
})
