// Given a call that waits for people, when one of them decides, then these events follow. No engine, no mocks.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { Approvers, Person } from '../../language/approvers.ts'
import type { Event } from '../../language/events.ts'
import type { Agent } from '../ports/index.ts'
import type { Context, Decision } from './commands.ts'
import { decideGrant, decideRespond } from './decide.ts'
import { NotApprover } from './decide-approval.ts'
import { evolve } from './evolve.ts'
import { goneAgent } from './gone-agent.ts'
import { next } from './next.ts'
import { emptyState, findCall, type SessionState } from './state.ts'

const agent: Agent = {
  ...goneAgent('helper'),
  model: () => ({ id: 'm', respond: () => Promise.reject(new Error()) }),
}
const limits = {
  ...{ steps: 9, calls: 9, identicalCalls: 3, time: 1e6, bytes: 1e6 },
  ...{ sessionBytes: 1e12, tokens: 1e6, money: 1e6 },
}

function context(now = 100): Context {
  let count = 0
  return { agent, now, id: prefix => `${prefix}_${++count}` }
}

const ana: Person = { name: 'ana' }
const ben: Person = { name: 'ben', roles: ['finance'] }
const eve: Person = { name: 'eve', roles: ['finance', 'legal'] }
const two: Approvers = { roles: ['finance'], quorum: 2 }

/** `pay` waits in a turn that the owner, ana, or `requesters` asked for. */
function waiting(
  approvers: Approvers,
  { requesters, expiresAt }: { requesters?: string[]; expiresAt?: number } = {},
): SessionState {
  const call = { type: 'call' as const, id: 'c1', name: 'pay', form: 'json' as const, text: '{"sum":5}' }
  const settings = { tools: null, options: {}, clientTools: [] }
  const parts = [{ type: 'text' as const, text: 'Pay.' }]
  const by = requesters && { requesters }
  return fold(
    emptyState('s'),
    { v: 1, at: 1, type: 'session.created', owner: 'ana', agent: 'helper', wire: 'test', settings, seed: [] },
    { v: 1, at: 2, type: 'turn.started', turn: 't1', parts, wire: 'test', ...by },
    { v: 1, at: 3, type: 'model.answered', parts: [call], stop: 'calls', model: 'm' },
    {
      v: 2,
      at: 4,
      type: 'approval.requested',
      callId: 'c1',
      argsHash: 'a',
      toolHash: 'h',
      rule: 'policy[0]',
      approvers,
      ...(expiresAt !== undefined && { expiresAt }),
    },
  )
}

function fold(state: SessionState, ...events: Event[]): SessionState {
  for (const event of events) evolve(state, structuredClone(event))
  return state
}

function decide(state: SessionState, person: Person, over: Partial<Decision> = {}, now?: number): Event[] {
  const decision = { callId: 'c1', granted: true, by: 'whoever', people: [person], ...over }
  return decideRespond(state, { results: [], decisions: [decision] }, context(now))
}

/** Decides, and applies what came of it. */
function act(state: SessionState, person: Person, over?: Partial<Decision>): string[] {
  const events = decide(state, person, over)
  fold(state, ...events)
  return words(events)
}

function words(events: readonly Event[]): string[] {
  return events.map(event => {
    if (event.type === 'call.settled') return `settled ${event.outcome.kind}`
    return 'by' in event ? `${event.type} ${event.by}` : event.type
  })
}

function refusal(state: SessionState, person: Person, over?: Partial<Decision>): NotApprover {
  try {
    decide(state, person, over)
  } catch (error) {
    if (error instanceof NotApprover) return error
    throw error
  }
  throw new Error('It was not refused.')
}

describe('a call that only some people may decide about', () => {
  test('is decided by one of them, in the name that the server knows', () => {
    const state = waiting({ roles: ['finance'] })
    const [decided] = decide(state, ben)
    assert.ok(decided?.type === 'approval.decided')
    assert.deepEqual([decided.by, decided.roles, decided.granted], ['ben', ['finance'], true])
    fold(state, decided)
    assert.deepEqual(findCall(state, 'c1')?.approval, { by: 'ben', rule: 'policy[0]' })
    assert.equal(next(state, limits).do, 'run')
  })

  test('a name is as good as a role', () => {
    assert.deepEqual(act(waiting({ names: ['ana'], roles: ['finance'] }), ana), ['approval.decided ana'])
  })

  for (const granted of [true, false])
    test(`is ${granted ? 'allowed' : 'denied'} by nobody else, and the attempt is to be recorded`, () => {
      const state = waiting({ roles: ['finance', 'legal'], names: ['kim'] })
      const { code, message, attempt } = refusal(state, ana, { granted })
      assert.equal(code, 'not_approver')
      assert.match(message, /a person with the role "finance" or "legal", or named kim: ana has no role\./)
      assert.ok(attempt)
      assert.deepEqual([attempt.by, attempt.granted, attempt.why], ['ana', granted, 'ana has no role'])
      fold(state, attempt)
      assert.equal(findCall(state, 'c1')?.stage, 'asking')
      // The log has it: the same person does not fill the log with further attempts.
      assert.equal(refusal(state, ana, { granted }).attempt, undefined)
      assert.ok(refusal(state, { name: 'joe', roles: ['hr'] }).attempt)
      assert.deepEqual(act(state, ben), ['approval.decided ben'])
    })

  test('a decision without known people has the name that it gives, and no role', () => {
    const state = waiting({ roles: ['finance'] })
    const decisions = [{ callId: 'c1', granted: true, by: 'ben' }]
    assert.throws(() => decideRespond(state, { results: [], decisions }, context()), {
      code: 'not_approver',
    })
  })

  test('an answer with one such decision is refused whole', () => {
    const state = waiting({ roles: ['finance'] })
    const decisions = [{ callId: 'c1', granted: true, by: 'ana', people: [ana] }]
    const ask = { maxTokens: 5 }
    assert.throws(() => decideRespond(state, { results: [], decisions, ask }, context()), {
      code: 'not_approver',
    })
    assert.equal(state.turn?.ask, undefined)
  })

  test('has to be in time', () => {
    const state = waiting({ roles: ['finance'] }, { expiresAt: 50 })
    assert.throws(() => decide(state, ben), { code: 'approval_expired' })
    assert.throws(() => decide(state, ana), { code: 'not_approver' })
  })
})

describe('a call that those who asked for it may not decide', () => {
  test('is refused to the owner, whose turn it is', () => {
    const state = waiting({ notRequester: true })
    assert.match(refusal(state, ana).message, /who did not ask for it: ana asked for it/)
    assert.deepEqual(act(state, { name: 'joe' }), ['approval.decided joe'])
  })

  test('is refused to the person who asked in place of the owner, and to whoever joined the turn', () => {
    const state = waiting({ notRequester: true }, { requesters: ['joe'] })
    refusal(state, { name: 'joe' })
    const parts = [{ type: 'text' as const, text: 'Pay more.' }]
    const about = { message: 'm1', at: 5, v: 1 as const }
    const wire = { during: 'steer' as const, parts, wire: 'test', requesters: ['kim'] }
    fold(
      state,
      { ...about, type: 'message.queued', ...wire },
      { ...about, type: 'message.delivered', turn: 't1', parts },
    )
    refusal(state, { name: 'kim' })
    assert.deepEqual(act(state, ana), ['approval.decided ana'])
  })
})

describe('a call that several people have to allow', () => {
  test('runs at the second different person', () => {
    const state = waiting(two)
    assert.deepEqual(act(state, ben), ['approval.voted ben'])
    const call = findCall(state, 'c1')
    assert.deepEqual(call?.votes, [{ name: 'ben', roles: ['finance'], at: 100 }])
    assert.deepEqual([call.stage, state.status, next(state, limits).do], ['asking', 'waiting', 'wait'])
    assert.throws(() => decide(state, ben), { code: 'already_decided', message: /1 of 2/ })
    assert.deepEqual(act(state, eve), ['approval.decided eve'])
    assert.deepEqual(call.approval, { by: 'eve', rule: 'policy[0]', votes: ['ben'] })
    assert.equal(next(state, limits).do, 'run')
    assert.throws(() => decide(state, eve), { code: 'already_decided' })
  })

  test('one no ends it, also from someone who said yes before', () => {
    for (const person of [ben, eve]) {
      const state = waiting(two)
      act(state, ben)
      const denied = act(state, person, { granted: false, reason: 'Too much.' })
      assert.deepEqual(denied, [`approval.decided ${person.name}`, 'settled denied'])
    }
  })

  test('an edit sets the votes to nothing, and is the first vote for what it says', () => {
    const state = waiting(two)
    act(state, ben)
    const edit = { text: '{"sum":1}', argsHash: 'b' }
    assert.deepEqual(act(state, eve, { edit, seen: 'a' }), [
      'call.edited eve',
      'approval.requested',
      'approval.voted eve',
    ])
    const call = findCall(state, 'c1')
    assert.deepEqual([call?.text, call?.argsHash, call?.votes?.length], ['{"sum":1}', 'b', 1])
    assert.throws(() => decide(state, ben, { seen: 'a' }), { code: 'stale_approval' })
    // A client that does not say what it showed may have shown the arguments before.
    assert.throws(() => decide(state, ben), { code: 'stale_approval', message: /eve changed/ })
    assert.deepEqual(act(state, ben, { seen: 'b' }), ['approval.decided ben'])
    assert.deepEqual(call?.approval?.votes, ['eve'])
  })

  test('arguments that a stricter rule is for need its approvers', () => {
    const state = waiting({ names: ['ana'] })
    const edit = { text: '{"sum":5000}', argsHash: 'c', approvers: two }
    assert.match(refusal(state, ana, { edit }).message, /2 people with the role "finance"/)
    const asFinance = { name: 'ana', roles: ['finance'] }
    assert.deepEqual(act(state, asFinance, { edit }), [
      'call.edited ana',
      'approval.requested',
      'approval.voted ana',
    ])
    assert.deepEqual(findCall(state, 'c1')?.approvers, two)
    assert.deepEqual(act(state, ben, { seen: 'c' }), ['approval.decided ben'])
  })

  test('is remembered only if all who are needed want that', () => {
    const lone = waiting(two)
    act(lone, ben)
    assert.deepEqual(act(lone, eve, { remember: true }), ['approval.decided eve'])
    const state = waiting(two)
    act(state, ben, { remember: true })
    assert.deepEqual(act(state, eve, { remember: true }), ['approval.decided eve', 'grant.given'])
    assert.deepEqual(
      [...state.grants.values()].map(({ people }) => people),
      [[ben, eve]],
    )
  })

  test('people who decided in another session are counted together', () => {
    const state = waiting(two)
    assert.deepEqual(act(state, ben, { people: [ben, eve] }), ['approval.voted ben', 'approval.decided eve'])
  })
})

test('a grant says who gave it only where policy names approvers, and never if it is a copy', () => {
  const grant = { tool: 'pay', toolHash: 'h', by: 'ben', people: [ben] }
  const named = { ...context(), agent: { ...agent, gate: { ...agent.gate, namesApprovers: true as const } } }
  assert.equal(decideGrant(grant, context()).grant.people, undefined)
  assert.deepEqual(decideGrant(grant, named).grant.people, [ben])
  assert.equal(decideGrant({ ...grant, copyOf: 'grant_9' }, named).grant.people, undefined)
})

test('a log that a newer version wrote is not read as if anyone could decide', () => {
  const state = waiting({ quorum: 2 })
  const event = { v: 3, at: 5, type: 'approval.requested', callId: 'c1' }
  assert.throws(() => evolve(state, event as unknown as Event), { code: 'store_newer' }) // Not of this version.
})
