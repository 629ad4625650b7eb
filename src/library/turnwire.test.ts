// The library as a program uses it: turns that are awaited or iterated, answers, restarts, manual control, and names that
// the compiler checks.
import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import * as z from 'zod'
import { defineConfig } from '../config/config.ts'
import type { Model, Store, Tool } from '../engine/index.ts'
import { TurnwireError } from '../language/errors.ts'
import { type Script, scripted } from '../models/scripted/index.ts'
import { memoryStore } from '../stores/memory.ts'
import { tool } from '../tools/index.ts'
import type { Reply, TurnItem } from './reply.ts'
import { Turnwire } from './turnwire.ts'

type Options = { model?: Model; tools?: Tool[]; store?: Store; recover?: boolean }

async function opened(t: TestContext, script: Script, options: Options = {}) {
  const { model = scripted(script), tools = [], store = memoryStore(), recover = true } = options
  const turnwire = await Turnwire.open(
    {
      agents: [{ name: 'a', model, tools }],
      models: { other: scripted(() => ({ text: 'From another model.' })) },
      data: store,
      server: { graceMs: 50 },
    },
    { log: () => {}, recover },
  )
  t.after(() => turnwire.close())
  return { turnwire, session: await turnwire.session('a') }
}

const mail = tool({
  name: 'mail',
  description: 'Sends a mail.',
  input: z.object({ to: z.string() }),
  run: ({ to }) => `Sent to ${to}.`,
})

function waiting(reply: Reply): Extract<Reply, { status: 'waiting' }> {
  assert.ok(reply.status === 'waiting', JSON.stringify(reply))
  return reply
}

test('run says one message in a session of its own and names it, also when a call waits', async t => {
  const { turnwire } = await opened(
    t,
    [{ calls: [{ name: 'mail', input: { to: 'Ana' } }] }, { text: 'Sent' }],
    {
      tools: [mail],
    },
  )
  const runs = await Promise.all([turnwire.run('a', 'Mail Ana'), turnwire.run('a', 'Mail Ana')])
  assert.equal(new Set(runs.map(({ session }) => session)).size, 2)
  for (const reply of runs) {
    const [call] = waiting(reply).pending
    const session = await turnwire.resume(reply.session)
    assert.equal((await session.approve(call!.callId)).text, 'Sent')
  }
})

describe('a turn', () => {
  test('is awaited for its reply', async t => {
    const { session } = await opened(t, [{ text: 'Hello.' }])
    assert.deepEqual(await session.send('Hi'), { status: 'done', text: 'Hello.', stop: 'end' })
    assert.equal(await session.status(), 'idle')
  })

  test('is iterated for its items', async t => {
    const look = tool({
      name: 'look',
      description: 'Looks.',
      input: { type: 'object' },
      trust: 'trusted',
      run: async (_, context) => {
        await pause(10)
        context.progress({ message: 'looking' })
        return 'Seen.'
      },
    })
    const script = [
      { thinking: 'Hm.', calls: [{ name: 'look', input: { at: 1 } }] },
      { text: 'I see.', chunk: 3 },
    ]
    const { session } = await opened(t, script, { tools: [look] })
    const items: TurnItem[] = []
    for await (const item of session.send('Look')) items.push(item)
    const { callId } = items.find(item => item.type === 'call') ?? assert.fail()
    assert.deepEqual(items, [
      { type: 'thinking', text: 'Hm.' },
      { type: 'call', callId, tool: 'look', input: { at: 1 } },
      { type: 'progress', callId, tool: 'look', message: 'looking' },
      {
        type: 'result',
        callId,
        tool: 'look',
        outcome: {
          kind: 'ok',
          parts: [{ type: 'text', text: 'Seen.' }],
          from: { source: 'tool', tool: 'look' },
          ...(items[3]?.type === 'result' && { ms: items[3].outcome.ms }),
        },
      },
      { type: 'text', text: 'I s' },
      { type: 'text', text: 'ee.' },
      { type: 'end', reply: { status: 'done', text: 'I see.', stop: 'end' } },
    ])
  })

  test('can be read twice, and late', async t => {
    const { session } = await opened(t, [{ text: 'Hello.' }])
    const turn = session.send('Hi')
    assert.equal((await turn).text, 'Hello.')
    const items: TurnItem[] = []
    for await (const item of turn) items.push(item)
    assert.deepEqual(
      items.map(item => item.type),
      ['text', 'end'],
    )
  })

  test('tells an approval the moment it is needed, not after the slow call beside it', async t => {
    const finish = Promise.withResolvers<string>()
    const slow = tool({
      name: 'slow',
      description: 'Takes its time.',
      input: { type: 'object' },
      trust: 'trusted',
      run: () => finish.promise,
    })
    const script = [{ calls: [{ name: 'slow' }, { name: 'mail', input: { to: 'Ana' } }] }, { text: 'Done.' }]
    const { session } = await opened(t, script, { tools: [slow, mail] })
    const kinds: string[] = []
    for await (const item of session.send('Go')) {
      kinds.push(item.type === 'result' ? `result of ${item.tool}` : item.type)
      if (item.type !== 'pending') continue
      assert.deepEqual([item.tool, item.input, item.needs], ['mail', { to: 'Ana' }, 'permission'])
      await session.approve(item.callId).accepted
      finish.resolve('At last.')
    }
    assert.deepEqual(kinds.slice(0, 3), ['call', 'call', 'pending'])
    assert.deepEqual(kinds.slice(3, 5).sort(), ['result of mail', 'result of slow'])
    assert.deepEqual(kinds.slice(5), ['text', 'end'])
  })

  test('that was refused rejects, and so does its acceptance', async t => {
    const { session } = await opened(t, [{ text: 'Hello.' }])
    const refused = session.approve('call_none')
    await assert.rejects(refused, { code: 'unknown_call' })
    await assert.rejects(refused.accepted, { code: 'unknown_call' })
    await assert.rejects(async () => {
      for await (const _item of refused);
    })
  })

  test('that is given neither a text nor parts is refused in words, and nothing is recorded', async t => {
    const { session } = await opened(t, [{ text: 'Hello' }])
    const loose = session as unknown as {
      send(message: unknown): void
      result(id: string, output: unknown): void
    }
    for (const message of [{ text: 'Hi' }, [{ text: 'Hi' }], undefined, 7, [null]])
      assert.throws(() => loose.send(message), {
        name: 'TurnwireError',
        code: 'bad_request',
        message: /^send\(\) takes a text, or a list of parts such as \{ type: 'text', text \}/,
      })
    assert.throws(
      () => loose.result('c', { ok: true }),
      /^TurnwireError: result\(\) takes .* an object with the members: ok\./,
    )
    assert.deepEqual(await session.history(), [])
  })

  test('gives copies: what a program does to them reaches no model', async t => {
    const read: string[] = []
    const look = tool({
      name: 'look',
      description: 'Looks.',
      input: { type: 'object' },
      trust: 'trusted',
      run: () => 'Seen.',
    })
    const model = scripted(({ history }, at) => {
      read.push(JSON.stringify(history))
      return at === 0 ? { calls: [{ name: 'look', input: { at: [1] } }] } : { text: 'Fine.' }
    })
    const { session } = await opened(t, [], { model, tools: [look] })
    for await (const item of session.send('Look')) {
      if (item.type === 'call') Object.assign(item.input as object, { at: 'elsewhere' })
      if (item.type === 'result') item.outcome.parts = [{ type: 'text', text: 'Forged.' }]
    }
    for await (const item of session.watch({ until: 'stop' }))
      if (item.type === 'event' && item.event.type === 'model.answered') item.event.parts.length = 0
    ;(await session.history()).push({ role: 'user', parts: [{ type: 'text', text: 'Slipped in.' }] })
    await session.send('Again')
    assert.match(read.at(-1) ?? '', /Seen\..*Fine\..*Again/)
    assert.doesNotMatch(read.join(''), /Forged|elsewhere|Slipped/)
  })

  test('that fails says why, to the program that runs it', async t => {
    const model: Model = {
      id: 'broken',
      respond: () =>
        Promise.reject(new TurnwireError('model_rejected', 'The key was refused: set SOME_KEY.')),
    }
    const { session } = await opened(t, [], { model })
    assert.deepEqual(await session.send('Hi'), {
      status: 'done',
      text: '',
      stop: 'error',
      error: { code: 'model_rejected', message: 'The key was refused: set SOME_KEY.' },
    })
  })
})

describe('answers', () => {
  const script: Script = ({ history }) =>
    history.at(-1)?.role === 'user' ? { calls: [{ name: 'mail', input: { to: 'Ana' } }] } : { text: 'Done.' }

  test('a call is approved with other arguments, and denied with a reason', async t => {
    const { session } = await opened(t, script, { tools: [mail] })
    const [first] = waiting(await session.send('Mail')).pending
    assert.equal(await session.status(), 'waiting')
    assert.deepEqual(await session.pending(), [first])
    await session.approve(first!.callId, { by: 'maria', input: { to: 'Bob' }, seen: first!.hash })
    const [second] = waiting(await session.send('Mail')).pending
    await session.deny(second!.callId, { by: 'maria', reason: 'not now' })
    const told = JSON.stringify(await session.history())
    assert.match(told, /Sent to Bob\..*not now/)
    const kinds: string[] = []
    for await (const item of session.watch({ until: 'stop' }))
      if (item.type === 'event' && item.event.type === 'approval.decided') kinds.push(item.event.by)
    assert.deepEqual(kinds, ['maria', 'maria'])
  })

  test('a decision is remembered, listed and revoked; a grant is given for one use', async t => {
    const { session } = await opened(t, script, { tools: [mail] })
    const [asked] = waiting(await session.send('Mail')).pending
    await session.approve(asked!.callId, { remember: true })
    assert.equal((await session.send('Mail')).status, 'done')
    const [grant] = await session.grants()
    assert.deepEqual([grant?.tool, grant?.by], ['mail', 'local'])
    await session.revoke(grant!.id)
    const [again] = waiting(await session.send('Mail')).pending
    await session.grant({ tool: 'mail', usesLeft: 1 })
    await session.deny(again!.callId)
    const statuses = [(await session.send('Mail')).status, (await session.send('Mail')).status]
    assert.deepEqual(statuses, ['done', 'waiting'])
    await assert.rejects(session.grant({ tool: 'male' }), { code: 'unknown_tool' })
  })

  test('a tool of the program itself gets its result, or that it failed', async t => {
    const { turnwire } = await opened(t, ({ history }) =>
      history.at(-1)?.role === 'user' ? { calls: [{ name: 'clip' }] } : { text: 'Done.' },
    )
    const clip = { name: 'clip', description: 'Reads the clipboard.', input: z.object({}) }
    const session = await turnwire.session('a', { ownTools: [clip] })
    const [first] = waiting(await session.send('Go')).pending
    assert.equal(first?.needs, 'result')
    await session.result(first.callId, 'Buy milk')
    const [second] = waiting(await session.send('Go')).pending
    await session.result(second!.callId, 'Locked', { failed: true })
    const outcomes = (await session.history()).flatMap(entry =>
      entry.role === 'tool' ? entry.results.map(result => result.outcome.kind) : [],
    )
    assert.deepEqual(outcomes, ['ok', 'error'])
  })

  test('a schema of such a tool that cannot be used is refused with the cause', async t => {
    const { turnwire } = await opened(t, [])
    const own = { name: 'look', description: 'Looks.', input: z.object({ at: z.date() }) }
    await assert.rejects(turnwire.session('a', { ownTools: [own] }), {
      code: 'invalid_tool',
      message: /^The schema of "look" cannot be used: .*Use what JSON can hold/,
    })
  })
})

describe('a session', () => {
  test('goes on after a restart, and is waited for', async t => {
    const store = memoryStore()
    // One store for two runs, which closing must not end.
    const kept: Store = { ...store, close: () => Promise.resolve() }
    const begun = Promise.withResolvers<void>()
    const model: Model = {
      id: 'hanging',
      respond: (_request, _watch, signal) => {
        begun.resolve()
        return new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
      },
    }
    const before = await opened(t, [], { model, store: kept })
    void before.session.send('Hi').catch(() => {})
    await begun.promise
    await before.turnwire.close()
    const after = await opened(t, [{ text: 'Here I am.' }], { store: kept })
    const session = await after.turnwire.resume(before.session.id)
    assert.deepEqual(await session.wait(), { status: 'done', text: 'Here I am.', stop: 'end' })
    assert.deepEqual(
      await session.wait(),
      { status: 'done', text: 'Here I am.', stop: 'end' },
      'and later too',
    )
    const listed: string[] = []
    for await (const { id, opening } of after.turnwire.sessions())
      if (opening) listed.push(`${id} ${opening}`)
    assert.deepEqual(listed, [`${session.id} Hi`])
    await after.turnwire.remove(session.id)
    await assert.rejects(after.turnwire.resume(session.id), { code: 'session_not_found' })
  })

  test('is resumed after an error without a new message', async t => {
    let failing = true
    const answers = scripted(({ history }) => ({ text: `After ${history.length} entry.` }))
    const model: Model = {
      ...answers,
      respond: (...args) =>
        failing ? Promise.reject(new TurnwireError('model_failed', 'Overloaded.')) : answers.respond(...args),
    }
    const { session } = await opened(t, [], { model })
    const failed = await session.send('Hi')
    assert.ok(failed.status === 'done' && failed.error?.message === 'Overloaded.')
    failing = false
    assert.equal((await session.resume()).text, 'After 1 entry.')
    await assert.rejects(session.resume(), { code: 'bad_request' })
  })

  test('uses another model from the next step on', async t => {
    const { session } = await opened(t, [{ text: 'From the first.' }, { text: 'Again.' }])
    await session.send('Hi')
    await session.setModel('other')
    assert.equal((await session.send('And now?')).text, 'From another model.')
  })

  test('is under manual control, one action at a time', async t => {
    const script = [{ calls: [{ name: 'mail', input: { to: 'Ana' } }] }, { text: 'Done.' }]
    const { turnwire, session } = await opened(t, script, { tools: [mail] })
    const control = await turnwire.control(session.id, { by: 'maria' })
    await session.send('Mail').accepted
    assert.deepEqual(await control.next(), { do: 'ask-model' })
    assert.equal((await control.perform()).do, 'ask-model')
    const { do: action, calls } = await control.next()
    assert.equal(action, 'judge')
    await control.replaceArguments(calls![0]!, { to: 'Bob' })
    await control.answerCall(calls![0]!, 'Sent by pigeon.')
    await assert.rejects(turnwire.control(session.id, { by: 'eve' }), { code: 'controlled' })
    await control.answerModel({ parts: [{ type: 'text', text: 'It flew.' }], stop: 'end' })
    await control.release()
    assert.equal((await session.wait()).text, 'It flew.')
  })

  test('is refused in words that fit a program: none of them speaks of a server', async t => {
    const { turnwire, session } = await opened(t, [])
    const refusals: (() => PromiseLike<unknown>)[] = [
      () => turnwire.session('b' as 'a'),
      () => turnwire.session('a', { model: 'none' as 'other' }),
      () => turnwire.resume('sess_none'),
      () => turnwire.control('sess_none'),
      () => session.approve('call_none'),
      () => session.revoke('grant_none'),
    ]
    for (const refused of refusals)
      await assert.rejects(
        async () => refused(),
        (error: TurnwireError) => {
          assert.doesNotMatch(error.message, /server|GET|HTTP/i)
          return true
        },
      )
    await turnwire.close()
    await assert.rejects(session.send('Hi'), (error: TurnwireError) => {
      assert.equal(error.code, 'stopping')
      assert.doesNotMatch(error.message, /server/i)
      return true
    })
  })
})

test('the compiler checks the names of agents and models', async () => {
  const model = scripted([])
  const config = defineConfig({
    models: { smart: model, quick: model },
    agents: [
      { name: 'helper', model: 'smart' },
      { name: 'clerk', model },
    ],
    data: 'memory',
  })
  defineConfig({
    models: { smart: model },
    // @ts-expect-error There is no model of this name.
    agents: [{ name: 'helper', model: 'smrt' }],
  })
  // @ts-expect-error There are no models.
  defineConfig({ agents: [{ name: 'helper', model: 'smart' }] })
  defineConfig({
    models: { smart: model, 'claude-*': 'smart' },
    // @ts-expect-error A pattern is no name for an agent's model.
    agents: [{ name: 'helper', model: 'claude-*' }],
  })
  // @ts-expect-error An alias names an entry.
  defineConfig({ models: { smart: model, quick: 'smrt' }, agents: [{ name: 'helper', model }] })
  const turnwire = await Turnwire.open(config)
  await turnwire.session('clerk', { model: 'quick' })
  // @ts-expect-error There is no agent of this name.
  await assert.rejects(turnwire.session('helpr'), { code: 'unknown_agent' })
  // @ts-expect-error There is no model of this name.
  await assert.rejects(turnwire.session('helper', { model: 'quck' }), { code: 'unknown_model' })
  const session = await turnwire.session()
  // @ts-expect-error As above.
  await assert.rejects(session.setModel('quck'), { code: 'unknown_model' })
  await turnwire.close()
})

test('a session may have any model that a pattern allows, and the compiler knows it', async () => {
  const turnwire = await Turnwire.open({
    models: { main: scripted([{ text: 'main' }]), 'claude-*': 'main' },
    agents: [{ name: 'helper', model: scripted([]) }],
    data: 'memory',
  })
  const session = await turnwire.session('helper', { model: 'claude-haiku-4-5' })
  assert.equal((await session.send('Hi')).text, 'main')
  // @ts-expect-error No entry allows this name.
  await assert.rejects(session.setModel('gpt-5'), { code: 'unknown_model' })
  await turnwire.close()
})

test('an answer with a shape is given as data too; one that was cut off is not', async t => {
  const shape = z.object({ sky: z.enum(['blue', 'grey']) })
  const turnwire = await Turnwire.open({
    agents: [
      { name: 'a', model: scripted([{ text: '{"sky":"blue"}' }]), answer: shape },
      { name: 'b', model: scripted([{ text: '{"sky":"blue"}' }]) },
    ],
    data: 'memory',
  })
  t.after(() => turnwire.close())
  const [a, b] = [await turnwire.run('a', 'Look.'), await turnwire.run('b', 'Look.')]
  assert.deepEqual(a.status === 'done' && a.object, { sky: 'blue' })
  assert.equal(b.status === 'done' && b.object, undefined)
})

test('an option of a session that does not exist is refused by the compiler and when it runs', async t => {
  const turnwire = await Turnwire.open({ agents: [{ name: 'a', model: scripted([]) }], data: 'memory' })
  t.after(() => turnwire.close())
  // @ts-expect-error a misspelt option
  await assert.rejects(turnwire.session('a', { ownr: 'ann' }), {
    code: 'bad_request',
    message: 'A session has no option "ownr". Did you mean "owner"?',
  })
  // @ts-expect-error an option that is nowhere
  await assert.rejects(turnwire.run('a', 'Hello', { temperature: 1 }), /There are: owner, tools/)
})
