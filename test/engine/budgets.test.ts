// Budgets: what a session may spend beyond one turn. A budget that asks is a durable question between two steps of the turn.
import assert from 'node:assert/strict'
import { after, describe, test } from 'node:test'
import type { Budgets, Session, Store } from '../../src/engine/index.ts'
import { sessionStatus } from '../../src/engine/index.ts'
import { leftOfBudgets } from '../../src/engine/rules/budgets.ts'
import type { SessionState } from '../../src/engine/rules/state.ts'
import type { Event } from '../../src/language/events.ts'
import { memoryStore } from '../../src/stores/memory.ts'
import { tool } from '../../src/tools/index.ts'
import { wrongHistory } from '../sim/model.ts'
import {
  begin,
  eventsOf,
  makeRig,
  owner,
  type Rig,
  type RigOptions,
  say,
  stopAll,
  typesOf,
  until,
} from './rig.ts'

after(stopAll)

const look = tool({
  name: 'look',
  description: 'Looks.',
  input: { type: 'object' },
  trust: 'trusted',
  readOnly: true,
  run: () => 'seen',
})
const usage = { input: 900, output: 100, cost: 2 }
const step = { calls: [{ name: 'look', input: {} }], usage }
const last = { text: 'Done.', usage }

const rigWith = (budgets: Budgets, over: RigOptions = {}) =>
  makeRig({ tools: [look], script: [step, step, step, last, last, last, last], agent: { budgets }, ...over })

function openQuestion({ state }: Session): { id: string; message: string } {
  for (const { questions = [] } of state.batch)
    for (const { id, closed, message } of questions) if (!closed) return { id, message }
  throw new Error('No question is open.')
}

const answer = ({ local }: Rig, session: Session, action: 'accept' | 'decline', content: object = {}) => {
  const { id } = openQuestion(session)
  const given = { question: id, by: 'bo', action, ...(action === 'accept' && { content: { ...content } }) }
  return until(session, () =>
    local.command(
      { owner, session: session.id },
      { do: 'respond', results: [], decisions: [], answers: [given] },
    ),
  )
}

const ends = (events: readonly Event[]) =>
  events.flatMap(event => (event.type === 'turn.ended' ? [[event.stop, event.limit]] : []))

describe('a budget of a session that ends', () => {
  for (const [limit, amount] of [
    ['money', 3],
    ['tokens', 1500],
    ['calls', 2],
  ] as const)
    test(`ends the turn before the next step when ${limit} is spent, and each turn after it at once`, async () => {
      const rig = rigWith({ session: { [limit]: amount } })
      const session = await begin(rig)
      await say(session, 'go')
      await say(session, 'again')
      const events = await eventsOf(rig, session)
      assert.equal(events.filter(({ type }) => type === 'model.answered').length, 2)
      assert.deepEqual(ends(events), [
        ['limit', limit],
        ['limit', limit],
      ])
      assert.equal(wrongHistory(session.state.view), undefined)
    })

  test('leaves a turn alone that spends less, or that has ended by itself', async () => {
    const rig = rigWith({ session: { money: 8 } })
    const session = await begin(rig)
    await say(session, 'go')
    assert.deepEqual(ends(await eventsOf(rig, session)), [['end', undefined]])
  })
})

describe('a budget of a session that asks', () => {
  test('waits with a question between two steps, and goes on for as much again', async () => {
    const rig = rigWith({ session: { money: 4, then: 'ask' } })
    const session = await begin(rig)
    await say(session, 'go')
    assert.equal(session.status, 'waiting')
    assert.equal(
      openQuestion(session).message,
      'This session has cost $4.00 of $4.00. Go on for another $4.00?',
    )
    await answer(rig, session, 'accept')
    const events = await eventsOf(rig, session)
    assert.deepEqual(ends(events), [['end', undefined]])
    assert.equal(events.filter(({ type }) => type === 'model.answered').length, 4)
    assert.equal(events.filter(({ type }) => type === 'question.asked').length, 1)
    assert.deepEqual(session.state.raised, { 'session.money': 8 })
    // The call that asked is no part of what a model reads.
    assert.equal(wrongHistory(session.state.view), undefined)
    assert.equal(session.state.view.filter(({ role }) => role === 'tool').length, 3)
    assert.equal(JSON.stringify(session.state.view).includes('raise_budget'), false)
    assert.equal(session.state.calls, 3)
  })

  test('takes another amount from the form', async () => {
    const rig = rigWith({ session: { tokens: 2000, then: 'ask' } })
    const session = await begin(rig)
    await say(session, 'go')
    assert.match(openQuestion(session).message, /used 2,000 of 2,000 tokens/)
    await answer(rig, session, 'accept', { more: 1 })
    assert.match(openQuestion(session).message, /used 3,000 of 2,001 tokens/)
    assert.equal(session.status, 'waiting')
  })

  test('ends the turn if the person declines, and asks again at the next message', async () => {
    const rig = rigWith({ session: { money: 2, then: 'ask' } })
    const session = await begin(rig)
    await say(session, 'go')
    await answer(rig, session, 'decline')
    assert.deepEqual(ends(await eventsOf(rig, session)), [['limit', 'money']])
    await say(session, 'again')
    assert.equal(session.status, 'waiting')
    openQuestion(session)
  })

  for (const [name, act] of [
    ['a cancelled turn', (session: Session) => session.cancel()],
    ['a new message', (session: Session) => say(session, 'something else')],
  ] as const)
    test(`${name} withdraws the question and leaves a valid history`, async () => {
      const rig = rigWith({ session: { money: 2, then: 'ask' } })
      const session = await begin(rig)
      await say(session, 'go')
      await act(session)
      const types = await typesOf(rig, session)
      assert.ok(types.includes('question.withdrawn'))
      assert.equal(wrongHistory(session.state.view), undefined)
    })

  test('neither the model nor a caller can ask for more', async () => {
    const calls = [
      { name: 'raise_budget', input: { budget: 'session', key: 'session.money', limit: 'money', more: 99 } },
    ]
    const rig = rigWith({ session: { money: 50, then: 'ask' } }, { script: [{ calls }, last] })
    const session = await begin(rig)
    await say(session, 'go')
    await until(session, () =>
      session.call({ tool: 'raise_budget', text: JSON.stringify(calls[0]!.input), by: 'bo', wire: 'test' }),
    )
    const events = await eventsOf(rig, session)
    assert.equal(session.state.raised, undefined)
    assert.equal(
      events.some(({ type }) => type === 'question.asked'),
      false,
    )
    const outcomes = events.flatMap(event => (event.type === 'call.settled' ? [event.outcome.kind] : []))
    assert.equal(outcomes.includes('ok'), false)
    assert.equal(
      session.offer.declarations.some(({ name }) => name === 'raise_budget'),
      false,
    )
  })

  test('survives the end of the process: the question stays, and its answer counts once', async () => {
    const store: Store = memoryStore()
    const budgets: Budgets = { session: { money: 4, then: 'ask' } }
    const first = rigWith(budgets, { store })
    const { id } = await (async () => {
      const session = await begin(first)
      await say(session, 'go')
      return session
    })()
    await first.engine.stop(0)
    const second = rigWith(budgets, { store })
    await second.engine.recover()
    const session = await second.engine.open(owner, id)
    assert.equal(sessionStatus(session.state), 'waiting')
    await answer(second, session, 'accept')
    const events = await eventsOf(second, session)
    assert.deepEqual(ends(events), [['end', undefined]])
    assert.equal(events.filter(({ type }) => type === 'question.asked').length, 1)
    assert.deepEqual(session.state.raised, { 'session.money': 8 })
    assert.equal(wrongHistory(session.state.view), undefined)
  })
})

describe('a budget of a turn', () => {
  test('asks in the turn, holds for that turn alone, and the next begins anew', async () => {
    const rig = rigWith({ turn: { money: 4, then: 'ask' } })
    const session = await begin(rig)
    await say(session, 'go')
    assert.equal(session.status, 'waiting')
    assert.equal(openQuestion(session).message, 'This turn has cost $4.00 of $4.00. Go on for another $4.00?')
    await answer(rig, session, 'accept')
    assert.deepEqual(session.state.raised, { 'turn.money': 8 })
    assert.equal(session.status, 'idle')
    await say(session, 'again')
    assert.equal(session.state.raised, undefined)
    assert.deepEqual(ends(await eventsOf(rig, session)), [
      ['end', undefined],
      ['end', undefined],
    ])
  })

  test('ends the turn if the person declines, and the next turn goes on', async () => {
    const rig = rigWith({ turn: { calls: 1, then: 'ask' } })
    const session = await begin(rig)
    await say(session, 'go')
    assert.match(openQuestion(session).message, /This turn has made 1 of 1 calls/)
    await answer(rig, session, 'decline')
    await say(session, 'again')
    assert.equal(session.status, 'waiting', 'its first step was asked for; the second asks a person')
    assert.deepEqual(ends(await eventsOf(rig, session)), [['limit', 'calls']])
  })

  test('is what a session that works for the turn may use at most', () => {
    const state = {
      turn: { tokens: 10, money: 1, calls: 2 },
      used: { tokens: 70, cost: 6 },
      calls: 3,
      raised: { 'turn.money': 9 },
    } as unknown as SessionState // Only these members are read.
    const budgets = { turn: { money: 4, calls: 5 }, session: { money: 10, tokens: 100 } }
    assert.deepEqual(leftOfBudgets(budgets, state), { money: 4, calls: 3, tokens: 30 })
  })
})

describe('a budget with approvers', () => {
  const approvers = { roles: ['finance'], notRequester: true, quorum: 2 } as const
  const budgets: Budgets = { session: { money: 4, then: 'ask', approvers } }
  const decide = (
    { local }: Rig,
    session: Session,
    name: string,
    roles: string[],
    over: { granted?: boolean; edit?: string } = {},
  ) => {
    const { part } =
      session.state.batch.find(({ stage }) => stage === 'asking') ?? assert.fail('No call waits.')
    const decision = { callId: part.id, granted: true, by: name, people: [{ name, roles }], ...over }
    return until(session, () =>
      local.command({ owner, session: session.id }, { do: 'respond', results: [], decisions: [decision] }),
    )
  }

  test('asks for an approval; the one who spends cannot give it, and a question cannot be answered', async () => {
    const rig = rigWith(budgets)
    const session = await begin(rig)
    await say(session, 'go')
    assert.equal(session.status, 'waiting')
    const [call] = session.state.batch
    assert.equal(call?.reason, 'This session has cost $4.00 of $4.00. Go on for another $4.00?')
    assert.equal(call?.questions, undefined)
    for (const [name, roles, why] of [
      [owner, ['finance'], /asked for it/],
      ['joe', ['sales'], /has the role "sales"/],
    ] as const)
      await assert.rejects(decide(rig, session, name, [...roles]), { code: 'not_approver', message: why })
    await decide(rig, session, 'cleo', ['finance'])
    assert.equal(session.status, 'waiting', 'one of two')
    await decide(rig, session, 'ben', ['finance'])
    const events = await eventsOf(rig, session)
    assert.deepEqual(ends(events), [['end', undefined]])
    assert.deepEqual(session.state.raised, { 'session.money': 8 })
    assert.equal(events.filter(({ type }) => type === 'approval.refused').length, 2)
    assert.equal(events.filter(({ type }) => type === 'approval.requested').length, 1)
    assert.equal(wrongHistory(session.state.view), undefined)
    assert.equal(JSON.stringify(session.state.view).includes('raise_budget'), false)
  })

  test('ends the turn with the limit if an approver says no, and asks again at the next message', async () => {
    const rig = rigWith(budgets)
    const session = await begin(rig)
    await say(session, 'go')
    await decide(rig, session, 'cleo', ['finance'], { granted: false })
    assert.deepEqual(ends(await eventsOf(rig, session)), [['limit', 'money']])
    assert.equal(wrongHistory(session.state.view), undefined)
    await say(session, 'again')
    assert.equal(session.status, 'waiting')
  })

  test('goes on for what an approver writes into the arguments, and for nothing else of them', async () => {
    const rig = rigWith({ session: { money: 4, then: 'ask', approvers: { roles: ['finance'] } } })
    const session = await begin(rig)
    await say(session, 'go')
    const edit = JSON.stringify({
      budget: 'ownerDay',
      key: 'ownerDay.money',
      limit: 'tokens',
      of: 0,
      spent: 0,
      more: 1,
    })
    await decide(rig, session, 'cleo', ['finance'], { edit })
    assert.deepEqual(session.state.raised, { 'session.money': 5 })
    assert.equal(session.status, 'waiting', 'one more step, then it asks again')
  })

  test('refuses arguments that name no amount, and the approval waits on', async () => {
    const rig = rigWith({ session: { money: 4, then: 'ask', approvers: { roles: ['finance'] } } })
    const session = await begin(rig)
    await say(session, 'go')
    for (const edit of ['{}', '{"more":"2"}', '{"more":0}', '{"more":-1}', '{"more":null}'])
      await assert.rejects(
        decide(rig, session, 'cleo', ['finance'], { edit }),
        { code: 'invalid_edit' },
        edit,
      )
    assert.equal(session.status, 'waiting')
    await decide(rig, session, 'cleo', ['finance'], { edit: '{"more":0.5}' })
    assert.deepEqual(session.state.raised, { 'session.money': 4.5 })
  })

  test('survives the end of the process with the votes so far', async () => {
    const store: Store = memoryStore()
    const first = rigWith(budgets, { store })
    const { id } = await (async () => {
      const session = await begin(first)
      await say(session, 'go')
      await decide(first, session, 'cleo', ['finance'])
      return session
    })()
    await first.engine.stop(0)
    const second = rigWith(budgets, { store })
    await second.engine.recover()
    const session = await second.engine.open(owner, id)
    await decide(second, session, 'ben', ['finance'])
    assert.deepEqual(ends(await eventsOf(second, session)), [['end', undefined]])
    assert.deepEqual(session.state.raised, { 'session.money': 8 })
  })
})

describe('a budget that sessions share', () => {
  const day = 24 * 60 * 60 * 1000
  const noon = Date.UTC(2026, 0, 30, 12)

  for (const [budget, words] of [
    ['agentDay', 'Today the agent "helper" has cost $4.00 of $3.00. Go on for another $3.00?'],
    ['ownerDay', 'Today your sessions have cost $4.00 of $3.00. Go on for another $3.00?'],
    ['ownerMonth', 'This month your sessions have cost $4.00 of $3.00. Go on for another $3.00?'],
  ] as const)
    test(`${budget} counts what other sessions spent, also removed ones, until its time is over`, async () => {
      let now = noon
      const script = [{ text: 'One.', usage }, ...Array.from({ length: 9 }, () => ({ text: 'More.', usage }))]
      const rig = rigWith({ [budget]: { money: 3, then: 'ask' } }, { script, world: { now: () => now } })
      const first = await begin(rig)
      await say(first, 'one')
      await rig.engine.remove(owner, first.id)
      const second = await begin(rig)
      await say(second, 'two')
      await say(second, 'three')
      assert.equal(second.status, 'waiting')
      assert.equal(openQuestion(second).message, words)
      await answer(rig, second, 'accept')
      assert.equal(second.status, 'idle')
      // The answer holds for the session that asked.
      const third = await begin(rig)
      await say(third, 'four')
      assert.equal(third.status, 'waiting')
      await third.cancel()
      now += 2 * day
      await say(third, 'five')
      assert.equal(third.status, 'idle')
      await say(third, 'six')
      await say(third, 'seven')
      assert.equal(third.status, 'waiting')
    })

  test('a step that asks nobody again after a crash is counted once', async () => {
    const store: Store = memoryStore()
    const budgets: Budgets = { ownerDay: { money: 100 } }
    const rig = rigWith(budgets, { store })
    const session = await begin(rig)
    await say(session, 'go')
    await rig.engine.stop(0)
    const again = rigWith(budgets, { store })
    await again.engine.recover()
    await again.engine.open(owner, session.id)
    const today = new Date().toISOString().slice(0, 7)
    assert.deepEqual(await store.spent?.({ owner }, today), { tokens: 4000, money: 8, calls: 3 })
  })
})
