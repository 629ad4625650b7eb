// A running call asks a person: the question is durable like an approval, the first answer that fits counts, and after a
// crash nothing runs twice.
import assert from 'node:assert/strict'
import { after, describe, test } from 'node:test'
import {
  type FollowItem,
  type Session,
  type Store,
  Suspended,
  sessionStatus,
  type Tool,
} from '../../src/engine/index.ts'
import { TurnwireError } from '../../src/language/errors.ts'
import type { CallAnswer, CallQuestion, FormSchema } from '../../src/language/questions.ts'
import { memoryStore } from '../../src/stores/memory.ts'
import { tool } from '../../src/tools/index.ts'
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

const seats: FormSchema = {
  type: 'object',
  properties: {
    seats: { type: 'integer', minimum: 1, maximum: 9 },
    class: { type: 'string', enum: ['first', 'second'] },
  },
  required: ['seats'],
}
const question: CallQuestion = { message: 'How many seats?', schema: seats }
type Asked = { answers: CallAnswer[]; runs: number }

function booking(over: Partial<Parameters<typeof tool>[0]> = {}, ask = question) {
  const seen: Asked = { answers: [], runs: 0 }
  const book = tool({
    name: 'book',
    description: 'Books seats.',
    input: { type: 'object' },
    trust: 'trusted',
    run: async (_, context) => {
      seen.runs += 1
      const answer = await context.ask(ask)
      seen.answers.push(answer)
      return `booked ${JSON.stringify(answer)}`
    },
    ...over,
  })
  return { book, seen }
}

const script = [{ calls: [{ name: 'book', input: {} }] }, { text: 'Done.' }]

function openQuestion(session: Session): string {
  for (const { questions = [] } of session.state.batch)
    for (const { id, closed } of questions) if (!closed) return id
  throw new Error('No question is open.')
}

async function asked(options: RigOptions = {}, made = booking()) {
  const rig = makeRig({ tools: [made.book], script, ...options })
  const session = await begin(rig)
  const items = await say(session, 'book')
  return { rig, session, items, ...made, id: openQuestion(session) }
}

const respond = ({ local }: Rig, session: Session, id: string, answer: CallAnswer) =>
  local.command(
    { owner, session: session.id },
    { do: 'respond', results: [], decisions: [], answers: [{ question: id, by: 'bo', ...answer }] },
  )

const refusedWith = (code: string) => (error: unknown) =>
  error instanceof TurnwireError && error.code === code

describe('a question of a running call', () => {
  test('is shown once it is durable; the session waits, and the answer continues the call', async () => {
    const { rig, session, items, seen, id } = await asked()
    assert.deepEqual(items.flatMap(item => (item.type === 'event' ? [item.event.type] : [])).slice(-2), [
      'call.started',
      'question.asked',
    ])
    const summary = await rig.local.summary({ owner, session: session.id })
    assert.equal(summary.status, 'waiting')
    assert.equal(summary.next.do, 'wait')
    const [call] = summary.calls
    assert.equal(call?.stage, 'started')
    assert.deepEqual(call?.questions?.[0]?.schema, seats)
    await until(session, () => respond(rig, session, id, { action: 'accept', content: { seats: 2 } }))
    assert.deepEqual(seen, { answers: [{ action: 'accept', content: { seats: 2 } }], runs: 1 })
    assert.deepEqual((await typesOf(rig, session)).slice(3), [
      'call.started',
      'question.asked',
      'question.answered',
      'call.settled',
      'model.answered',
      'turn.ended',
    ])
  })

  test('a decline and a cancel reach the tool, without content', async () => {
    for (const action of ['decline', 'cancel'] as const) {
      const { rig, session, seen, id } = await asked()
      await until(session, () => respond(rig, session, id, { action }))
      assert.deepEqual(seen.answers, [{ action }])
    }
  })

  test('an answer that does not fit the form is refused, and the question stays open', async () => {
    const { rig, session, seen, id } = await asked()
    const wrong: [CallAnswer, RegExp][] = [
      [{ action: 'accept' }, /object/],
      [{ action: 'accept', content: {} }, /lacks "seats"/],
      [{ action: 'accept', content: { seats: 10 } }, /at most 9/],
      [{ action: 'accept', content: { seats: 1.5 } }, /whole number/],
      [{ action: 'accept', content: { seats: 1, class: 'third' } }, /choices/],
      [{ action: 'accept', content: { seats: 1, more: true } }, /no member "more"/],
    ]
    for (const [answer, words] of wrong)
      await assert.rejects(respond(rig, session, id, answer), error => {
        assert.ok(error instanceof TurnwireError && error.code === 'bad_request')
        assert.match(error.message, words)
        return true
      })
    assert.deepEqual(seen.answers, [])
    assert.equal(session.status, 'waiting')
  })

  test('the first answer wins', async () => {
    const { rig, session, seen, id } = await asked()
    const answers = [
      respond(rig, session, id, { action: 'accept', content: { seats: 1 } }),
      respond(rig, session, id, { action: 'decline' }),
    ]
    const settled = await Promise.allSettled(answers)
    assert.deepEqual(
      settled.map(({ status }) => status),
      ['fulfilled', 'rejected'],
    )
    const [, second] = settled
    assert.ok(second?.status === 'rejected' && refusedWith('already_decided')(second.reason))
    await session.driver.settle()
    assert.deepEqual(seen.answers, [{ action: 'accept', content: { seats: 1 } }])
    await assert.rejects(
      respond(rig, session, 'question_none', { action: 'decline' }),
      refusedWith('unknown_call'),
    )
  })

  test('an address is accepted without content', async () => {
    const made = booking({}, { message: 'Sign in first.', url: 'https://shop.example/login' })
    const { rig, session, seen, id } = await asked({}, made)
    await until(session, () => respond(rig, session, id, { action: 'accept' }))
    assert.deepEqual(seen.answers, [{ action: 'accept' }])
  })

  test('a question that nobody answers in time expires, and the call goes on', async () => {
    const rig = makeRig({
      tools: [
        tool({
          name: 'book',
          description: 'Books.',
          input: { type: 'object' },
          trust: 'trusted',
          run: async (_, context) => JSON.stringify(await context.ask(question, { expiresInMs: 5 })),
        }),
      ],
      script,
    })
    const session = await begin(rig)
    await say(session, 'book')
    while (session.status !== 'idle') await new Promise(resolve => setTimeout(resolve, 5))
    const events = await eventsOf(rig, session)
    assert.ok(events.some(event => event.type === 'question.expired'))
    const settled = events.find(event => event.type === 'call.settled')
    assert.match(JSON.stringify(settled), /expired/)
  })

  test('a tool cannot ask for what is no flat form, or for an address that is none', async () => {
    const bad: unknown[] = [
      { message: '', schema: seats },
      { message: 'x', schema: { type: 'object', properties: { a: { type: 'object', properties: {} } } } },
      { message: 'x', schema: { type: 'array' } },
      { message: 'x', url: 'javascript:alert(1)' },
      { message: 'x', url: 'file:///etc/passwd' },
    ]
    for (const wrong of bad) {
      const rig = makeRig({ tools: [booking({}, wrong as CallQuestion).book], script })
      const session = await begin(rig)
      await say(session, 'book')
      const types = await typesOf(rig, session)
      assert.ok(!types.includes('question.asked'), JSON.stringify(wrong))
      assert.ok(types.includes('call.settled'))
    }
  })

  test('the time for an answer counts neither for the call nor for the turn', async () => {
    let now = 1_000
    const timers: { at: number; run: () => void }[] = []
    const world = {
      now: () => now,
      timer(ms: number, run: () => void) {
        const timer = { at: now + ms, run }
        if (ms === 0) setTimeout(run, 0)
        else timers.push(timer)
        return () => void timers.splice(timers.indexOf(timer) >>> 0, 1)
      },
    }
    const made = booking({ timeoutMs: 50 })
    const { rig, session, seen, id } = await asked({ world }, made)
    now += 100_000_000
    for (const timer of timers.filter(({ at }) => at <= now)) timer.run()
    assert.equal(session.status, 'waiting')
    await until(session, () => respond(rig, session, id, { action: 'decline' }))
    assert.deepEqual(seen.answers, [{ action: 'decline' }])
    const settled = (await eventsOf(rig, session)).find(event => event.type === 'call.settled')
    assert.equal(settled?.type === 'call.settled' && settled.outcome.kind, 'ok')
  })

  test('a reader that stops with the turn stops at the question', async () => {
    const { rig, session } = await asked()
    const seen: FollowItem[] = []
    const ref = { owner, session: session.id }
    for await (const batch of rig.local.follow(ref, { from: 1, until: 'stop', deltas: 'none' }))
      seen.push(...batch)
    assert.equal(seen.at(-1)?.type, 'waiting')
    const replay: FollowItem[] = []
    for await (const batch of rig.local.follow(ref, { from: 2, until: 'stop', replay: true, deltas: 'none' }))
      replay.push(...batch)
    assert.equal(replay.at(-1)?.type, 'waiting')
  })

  test('a new message stops the call and withdraws its question', async () => {
    const { rig, session, seen, id } = await asked({
      script: [...script.slice(0, 1), { text: 'All right.' }],
    })
    await say(session, 'never mind')
    assert.deepEqual((await typesOf(rig, session)).slice(5, 9), [
      'question.withdrawn',
      'call.settled',
      'turn.ended',
      'turn.started',
    ])
    assert.deepEqual(seen.answers, [])
    await assert.rejects(respond(rig, session, id, { action: 'decline' }), refusedWith('unknown_call'))
    assert.equal(session.status, 'idle')
  })

  test('a cancelled turn withdraws it', async () => {
    const { rig, session } = await asked()
    await session.cancel()
    const types = await typesOf(rig, session)
    assert.deepEqual(types.slice(5), ['question.withdrawn', 'call.settled', 'turn.ended'])
  })

  test('an answer that holds a secret is sealed in the log, and exact for the tool', async () => {
    const made = booking(
      {},
      {
        message: 'Which number?',
        schema: { type: 'object', properties: { number: { type: 'string' } } },
      },
    )
    const { rig, session, seen, id } = await asked(
      { gate: { redact: [{ name: 'n', pattern: '[0-9]{6}' }] } },
      made,
    )
    await until(session, () => respond(rig, session, id, { action: 'accept', content: { number: '123456' } }))
    assert.deepEqual(seen.answers, [{ action: 'accept', content: { number: '123456' } }])
    const answered = (await eventsOf(rig, session)).find(event => event.type === 'question.answered')
    assert.ok(answered?.type === 'question.answered' && answered.sealed !== undefined)
    assert.doesNotMatch(JSON.stringify(answered.content), /123456/)
  })

  test('other calls run on beside it, and the results continue in the order asked', async () => {
    const made = booking()
    const quick = tool({
      name: 'quick',
      description: 'Quick.',
      input: { type: 'object' },
      trust: 'trusted',
      run: () => 'quick',
    })
    const rig = makeRig({
      tools: [made.book, quick],
      script: [
        {
          calls: [
            { name: 'book', input: {} },
            { name: 'quick', input: {} },
          ],
        },
        { text: 'Done.' },
      ],
    })
    const session = await begin(rig)
    await say(session, 'both')
    assert.deepEqual(
      session.state.batch.map(({ stage }) => stage),
      ['started', 'settled'],
    )
    await until(session, () => respond(rig, session, openQuestion(session), { action: 'decline' }))
    assert.equal(session.status, 'idle')
  })
})

test('a call that another call made asks too, and its parent goes on with its result', async () => {
  const made = booking()
  const parent: Tool = {
    ...tool({
      name: 'plan',
      description: 'Books through another tool.',
      input: { type: 'object' },
      trust: 'trusted',
      run: () => '',
    }),
    resumable: true,
    async run(_, { nested }) {
      if (!nested) throw new Error('It makes no calls.')
      const waiting = Promise.withResolvers<never>()
      nested.onWaiting(() => waiting.reject(new Suspended('waiting')))
      const { outcome } = await Promise.race([nested.call('one', 'book', '{}'), waiting.promise])
      return { parts: outcome.parts }
    },
  }
  const rig = makeRig({
    tools: [made.book, parent],
    script: [{ calls: [{ name: 'plan', input: {} }] }, { text: 'Done.' }],
  })
  const session = await begin(rig)
  await say(session, 'plan')
  while (session.status !== 'waiting') await new Promise(resolve => setTimeout(resolve, 1))
  assert.deepEqual(
    session.state.batch.map(({ stage }) => stage),
    ['suspended', 'started'],
  )
  await until(session, () => respond(rig, session, openQuestion(session), { action: 'decline' }))
  while (sessionStatus(session.state) !== 'idle') await new Promise(resolve => setTimeout(resolve, 1))
  assert.deepEqual(made.seen, { answers: [{ action: 'decline' }], runs: 1 })
})

describe('after a crash', () => {
  /** Another engine on the same store: the one before it is gone. */
  async function restart(store: Store, made: ReturnType<typeof booking>): Promise<Rig> {
    const rig = makeRig({ tools: [made.book], script, store })
    await rig.engine.recover()
    return rig
  }

  test('a call that may not run twice is settled as unknown, and its question is withdrawn', async () => {
    const store = memoryStore()
    const { session, seen } = await asked({ store })
    const again = booking()
    const rig = await restart(store, again)
    const opened = await rig.engine.open(owner, session.id)
    await opened.driver.settle()
    await opened.flushed()
    const events = await eventsOf(rig, opened)
    const settled = events.find(event => event.type === 'call.settled')
    assert.equal(settled?.type === 'call.settled' && settled.outcome.kind, 'unknown')
    assert.ok(events.some(event => event.type === 'question.withdrawn'))
    assert.equal(opened.status, 'idle')
    assert.equal(again.seen.runs + seen.runs, 1)
  })

  test('a call that may run twice runs again when its question is answered, and gets that answer', async () => {
    const store = memoryStore()
    const { session, id } = await asked({ store }, booking({ readOnly: true }))
    const again = booking({ readOnly: true })
    const rig = await restart(store, again)
    const opened = await rig.engine.open(owner, session.id)
    assert.equal(opened.status, 'waiting')
    assert.equal(again.seen.runs, 0)
    await until(opened, () => respond(rig, opened, id, { action: 'accept', content: { seats: 3 } }))
    assert.deepEqual(again.seen, { answers: [{ action: 'accept', content: { seats: 3 } }], runs: 1 })
    const types = await typesOf(rig, opened)
    assert.equal(types.filter(type => type === 'question.asked').length, 1)
    assert.deepEqual(types.slice(-5), [
      'question.answered',
      'call.started',
      'call.settled',
      'model.answered',
      'turn.ended',
    ])
  })

  test('an answer that was recorded before the crash is given to the call that runs again', async () => {
    const store = memoryStore()
    const held = Promise.withResolvers<void>()
    const slow = booking({
      readOnly: true,
      run: async (_, context) => {
        await context.ask(question)
        await held.promise
      },
    })
    const { rig: before, session, id } = await asked({ store }, slow)
    await respond(before, session, id, { action: 'accept', content: { seats: 4 } })
    const again = booking({ readOnly: true })
    const rig = await restart(store, again)
    const opened = await rig.engine.open(owner, session.id)
    await opened.driver.settle()
    await opened.flushed()
    assert.deepEqual(again.seen, { answers: [{ action: 'accept', content: { seats: 4 } }], runs: 1 })
    assert.equal(opened.status, 'idle')
    held.resolve()
  })
})
