// Hooks around steps and calls, and what programs give their tools, through the library.
import assert from 'node:assert/strict'
import test, { describe, type TestContext } from 'node:test'
import { z } from 'zod'
import {
  type Hooks,
  type Model,
  type Turnwire as Opened,
  scripted,
  startServer,
  Turnwire,
  tool,
} from '../../src/index.ts'
import type { Script } from '../../src/models/scripted/index.ts'

declare module '../../src/engine/ports/tool.ts' {
  interface AppContext {
    tenant?: string
    db?: { rows: number }
  }
}

const add = { calls: [{ name: 'add', input: { a: 2, b: 3 } }] }

async function open(
  t: TestContext,
  hooks: Hooks,
  script: Script | Model = [add, { text: 'Five.' }],
): Promise<{ turnwire: Opened; ran: string[]; log: string[] }> {
  const ran: string[] = []
  const log: string[] = []
  const tools = [
    tool({
      name: 'add',
      description: 'Adds.',
      input: z.object({ a: z.number(), b: z.number() }),
      output: z.object({ sum: z.number() }),
      trust: 'trusted',
      run: ({ a, b }, { app }) => {
        ran.push(`${a}+${b} for ${app.tenant ?? 'nobody'}`)
        return { sum: a + b }
      },
    }),
    tool({
      name: 'mail',
      description: 'Mails.',
      input: z.object({ to: z.string() }),
      run: ({ to }) => `Sent to ${to}.`,
    }),
  ]
  const turnwire = await Turnwire.open(
    {
      agents: [{ name: 'desk', model: Array.isArray(script) ? scripted(script) : (script as Model), tools }],
      hooks,
      data: 'memory',
    },
    { log: (_, message) => void log.push(message) },
  )
  t.after(() => turnwire.close())
  return { turnwire, ran, log }
}

/** Says which instructions and tools it was given. */
const echo: Model = {
  id: 'echo',
  respond: async ({ system, tools }) => ({
    parts: [{ type: 'text', text: `${system} ${tools.map(({ name }) => name).join()}` }],
    stop: 'end',
  }),
}

async function play(turnwire: Opened) {
  const session = await turnwire.session()
  const reply = await session.send('Go')
  const history = await session.history()
  const outcome = history.flatMap(entry => (entry.role === 'tool' ? entry.results : []))[0]?.outcome
  const events: string[] = []
  for await (const item of session.watch({ until: 'stop' }))
    if (item.type === 'event' && item.event.type === 'hook.acted')
      events.push(`${item.event.hook} ${item.event.change}`)
  return { session, reply, outcome, events }
}

describe('before a call', () => {
  test('a hook sees the call, and may replace its arguments, which the model is told', async t => {
    const seen: unknown[] = []
    const { turnwire, ran } = await open(t, {
      beforeCall: call => {
        seen.push([call.tool, call.input, call.agent])
        return { input: { a: 20, b: 30 } }
      },
    })
    const { outcome, events } = await play(turnwire)
    assert.deepEqual(seen, [['add', { a: 2, b: 3 }, 'desk']])
    assert.deepEqual(ran, ['20+30 for nobody'])
    assert.match(JSON.stringify(outcome?.parts), /arguments were changed.*20/)
    assert.deepEqual(events, ['beforeCall input'])
  })

  test('arguments from a hook are checked like any others', async t => {
    const { turnwire, ran } = await open(t, { beforeCall: () => ({ input: { a: 'two' } }) })
    const { outcome, events } = await play(turnwire)
    assert.equal(outcome?.kind, 'invalid')
    assert.deepEqual(ran, [])
    assert.deepEqual(events, ['beforeCall refused'])
  })

  for (const [name, beforeCall] of Object.entries({
    refuses: () => ({ refuse: 'not today' }),
    throws: () => {
      throw new Error('broken')
    },
    hangs: () => new Promise<undefined>(() => {}),
  }))
    test(`a hook that ${name} is a denial, not a crash`, async t => {
      const { turnwire, ran } = await open(t, { beforeCall, timeoutMs: 50 })
      const { outcome, reply } = await play(turnwire)
      assert.equal(outcome?.kind, 'denied')
      assert.equal(reply.text, 'Five.')
      assert.deepEqual(ran, [])
    })

  test('a person’s edit is shown to it too', async t => {
    const { turnwire } = await open(
      t,
      { beforeCall: ({ input }) => (JSON.stringify(input).includes('evil') ? { refuse: 'no' } : undefined) },
      [{ calls: [{ name: 'mail', input: { to: 'ana' } }] }, { text: 'Done.' }],
    )
    const session = await turnwire.session()
    const reply = await session.send('Go')
    assert.ok(reply.status === 'waiting')
    const { callId } = reply.pending[0] ?? assert.fail()
    await assert.rejects(async () => session.approve(callId, { input: { to: 'evil' } }), {
      code: 'invalid_edit',
    })
    assert.equal((await session.approve(callId, { input: { to: 'bob' } })).status, 'done')
  })
})

describe('after a call', () => {
  test('a hook sees the outcome, and may replace it', async t => {
    const { turnwire } = await open(t, {
      afterCall: ({ outcome }) => {
        assert.deepEqual(outcome.structured, { sum: 5 })
        return { output: { parts: [{ type: 'text', text: 'six' }], structured: { sum: 6 } } }
      },
    })
    const { outcome, events } = await play(turnwire)
    assert.deepEqual([outcome?.kind, outcome?.structured], ['ok', { sum: 6 }])
    assert.deepEqual(events, ['afterCall output'])
  })

  test('what it gives passes the tool’s output schema, or is a failure', async t => {
    const { turnwire } = await open(t, {
      afterCall: () => ({ output: { parts: [{ type: 'text', text: 'x' }], structured: { sum: 'six' } } }),
    })
    assert.equal((await play(turnwire)).outcome?.kind, 'error')
  })

  test('a refusal withholds the result', async t => {
    const { turnwire, ran } = await open(t, { afterCall: () => ({ refuse: 'secret' }) })
    const { outcome } = await play(turnwire)
    assert.equal(outcome?.kind, 'error')
    assert.match(JSON.stringify(outcome?.parts), /withheld: secret/)
    assert.equal(ran.length, 1)
  })

  test('results of a client’s tools are shown to it', async t => {
    const { turnwire } = await open(
      t,
      { afterCall: () => ({ output: { parts: [{ type: 'text', text: 'cleaned' }] } }) },
      [{ calls: [{ name: 'mine', input: {} }] }, { text: 'Done.' }],
    )
    const session = await turnwire.session('desk', {
      ownTools: [{ name: 'mine', description: 'x', input: { type: 'object', properties: {} } }],
    })
    const reply = await session.send('Go')
    assert.ok(reply.status === 'waiting')
    await session.result(reply.pending[0]?.callId ?? '', 'raw')
    assert.match(JSON.stringify(await session.history()), /cleaned/)
    assert.doesNotMatch(JSON.stringify(await session.history()), /raw/)
  })
})

describe('around a model step', () => {
  test('a hook may replace the instructions and narrow the tools', async t => {
    const seen: unknown[] = []
    const { turnwire } = await open(
      t,
      {
        beforeStep: ({ tools }) => {
          seen.push(tools)
          return { system: 'Be brief.', tools: ['mail'] }
        },
      },
      echo,
    )
    const { reply, events } = await play(turnwire)
    assert.deepEqual(seen, [['add', 'mail']])
    assert.equal(reply.text, 'Be brief. mail')
    assert.deepEqual(events, ['beforeStep input'])
  })

  test('a tool that was withheld is not run, though the model calls it, and is there again in the next step', async t => {
    let steps = 0
    const { turnwire, ran } = await open(
      t,
      { beforeStep: () => (++steps === 1 ? { tools: ['mail'] } : undefined) },
      [add, add, { text: 'Five.' }],
    )
    const { session, reply } = await play(turnwire)
    assert.equal(reply.text, 'Five.')
    const results = (await session.history()).flatMap(entry => (entry.role === 'tool' ? entry.results : []))
    assert.deepEqual(
      results.map(({ outcome }) => outcome.kind),
      ['invalid', 'ok'],
    )
    assert.match(
      JSON.stringify(results[0]?.outcome.parts),
      /There is no tool named \\"add\\"\. Offered are: mail\./,
    )
    assert.equal(ran.length, 1)
  })

  test('a refusal ends the turn with its reason', async t => {
    for (const hooks of [
      { beforeStep: () => ({ refuse: 'closed' }) },
      { afterStep: () => ({ refuse: 'closed' }) },
    ]) {
      const { turnwire } = await open(t, hooks)
      const { reply } = await play(turnwire)
      assert.ok(reply.status === 'done')
      assert.equal(reply.stop, 'error')
      assert.equal(reply.error?.code, 'hook_refused')
      assert.match(reply.error?.message ?? '', /closed/)
    }
  })

  test('a hook may replace what the model said, and its calls stay', async t => {
    const { turnwire, ran } = await open(t, {
      afterStep: ({ text }) => ({ text: text.replace('Five', 'FIVE') }),
    })
    const { reply } = await play(turnwire)
    assert.equal(reply.text, 'FIVE.')
    assert.equal(ran.length, 1)
  })
})

test('a repair hook gives other arguments for those that do not fit', async t => {
  const script: Script = [{ calls: [{ name: 'add', input: { a: '2', b: 3 } }] }, { text: 'Five.' }]
  const reasons: string[] = []
  const { turnwire, ran } = await open(
    t,
    {
      repair: ({ text, reason }) => {
        reasons.push(reason)
        return text.replace('"2"', '2')
      },
    },
    script,
  )
  const { outcome, events } = await play(turnwire)
  assert.equal(outcome?.kind, 'ok')
  assert.match(reasons[0] ?? '', /a/)
  assert.deepEqual(ran, ['2+3 for nobody'])
  assert.deepEqual(events, ['repair input'])
})

test('what a repair hook gives is checked like any other; one that fails leaves the arguments refused', async t => {
  const script: Script = [{ calls: [{ name: 'add', input: { a: '2', b: 3 } }] }, { text: 'So.' }]
  const fails = (): never => {
    throw new Error('broken')
  }
  for (const repair of [() => '{"a":"two","b":3}', () => 'no JSON', () => 7 as never, fails]) {
    const { turnwire, ran } = await open(t, { repair }, script)
    const { outcome, reply } = await play(turnwire)
    assert.equal(outcome?.kind, 'invalid')
    assert.equal(reply.text, 'So.')
    assert.deepEqual(ran, [])
  }
})

/** Ways in which the code of a hook fails. The last three return what is no answer of any hook. */
const failures: Record<string, () => never> = {
  throws: () => {
    throw new Error('broken')
  },
  hangs: () => new Promise<never>(() => {}) as never,
  'returns false': () => false as never,
  'returns true': () => true as never,
  'returns an empty refusal': () => ({ refuse: undefined }) as never,
}
const wrongAnswers: [keyof Hooks, object][] = [
  ['beforeStep', { tools: 'mail' }],
  ['afterStep', {}],
  ['beforeCall', {}],
  ['beforeCall', { input: undefined }],
  ['afterCall', { output: 'six' }],
  ['afterCall', { output: { parts: [{ type: 'text', text: 6 }] } }],
]

describe('a hook whose code fails refuses, and nothing else is lost', () => {
  const cases: [string, Hooks][] = [
    ...(['beforeStep', 'afterStep', 'beforeCall', 'afterCall'] as const).flatMap(hook =>
      Object.entries(failures).map(([how, fail]): [string, Hooks] => [`${hook} ${how}`, { [hook]: fail }]),
    ),
    ...wrongAnswers.map(([hook, answer]): [string, Hooks] => [
      `${hook} returns ${JSON.stringify(answer)}`,
      { [hook]: () => answer },
    ]),
  ]
  for (const [name, hooks] of cases)
    test(name, async t => {
      const { turnwire, ran, log } = await open(t, { ...hooks, timeoutMs: 50 })
      const { reply, outcome, session } = await play(turnwire)
      assert.ok(log.includes('A hook failed; this counts as a refusal.'))
      if (/Step/.test(name)) {
        assert.equal(reply.status === 'done' && reply.error?.code, 'hook_refused')
        assert.deepEqual(ran, [])
      } else {
        assert.equal(outcome?.kind, /^beforeCall/.test(name) ? 'denied' : 'error')
        assert.equal(ran.length, /^beforeCall/.test(name) ? 0 : 1)
        assert.equal(reply.text, 'Five.')
      }
      // The session goes on.
      assert.equal(await session.status(), 'idle')
    })

  test('turnEnded', async t => {
    for (const turnEnded of Object.values(failures)) {
      const { turnwire } = await open(t, { turnEnded, timeoutMs: 50 })
      assert.equal((await play(turnwire)).reply.text, 'Five.')
    }
  })
})

test('the end of a turn is told once it is durable', async t => {
  const ended: unknown[] = []
  const { turnwire } = await open(t, { turnEnded: ({ stop, agent }) => void ended.push([stop, agent]) })
  await play(turnwire)
  while (ended.length === 0) await new Promise(resolve => setImmediate(resolve))
  assert.deepEqual(ended, [['end', 'desk']])
})

test('tools get what the program gives, and what the request adds to it; neither is logged', async t => {
  const seen: unknown[] = []
  const look = tool({
    name: 'look',
    description: 'Looks.',
    input: z.object({}),
    trust: 'trusted',
    run: (_, { app }) => {
      seen.push([app.tenant, app.db?.rows])
      return 'seen'
    },
  })
  const script: Script = [{ calls: [{ name: 'look', input: {} }] }, { text: 'Done.' }]
  const turnwire = await Turnwire.open({
    agents: [{ name: 'desk', model: scripted([...script, ...script]), tools: [look] }],
    context: ({ owner }) => ({ tenant: owner, db: { rows: 7 } }),
    data: 'memory',
  })
  t.after(() => turnwire.close())
  const session = await turnwire.session('desk', { owner: 'ana' })
  await session.send('Go')
  await session.send('Again', { context: { tenant: 'tenant-canary' } })
  assert.deepEqual(seen, [
    ['ana', 7],
    ['tenant-canary', 7],
  ])
  const log: string[] = []
  for await (const item of session.watch({ until: 'stop' })) log.push(JSON.stringify(item))
  assert.doesNotMatch(log.join(), /tenant-canary/)
})

test('a stateless request passes the hooks of a step, and is shown once it has', async t => {
  const turnwire = await Turnwire.open({
    agents: ['desk', 'closed'].map(name => ({ name, model: scripted([{ text: 'A secret word.' }]) })),
    hooks: {
      afterStep: ({ agent, text }) =>
        agent === 'closed' ? { refuse: 'not now' } : { text: text.replace('secret', 'plain') },
    },
    data: 'memory',
  })
  const server = await startServer(turnwire, { port: 0 })
  t.after(async () => {
    await server.stop()
    await turnwire.close()
  })
  const ask = (model: string) =>
    fetch(`${server.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ model, stream: true, messages: [{ role: 'user', content: 'Hi' }] }),
    }).then(answer => answer.text())
  const first = await ask('desk')
  assert.match(first, /A plain word/)
  assert.doesNotMatch(first, /secret/)
  assert.match(await ask('closed'), /not now/)
})
