// The official MCP client against a real server, over both revisions of the protocol.
import assert from 'node:assert/strict'
import test, { describe, type TestContext } from 'node:test'
import { Client, type ElicitResult, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { z } from 'zod'
import { scripted, startServer, Turnwire, tool, withDetails } from '../../../src/index.ts'
import type { Script } from '../../../src/models/scripted/index.ts'
import { putBehindClones } from '../../boundary/structured-clones.ts'

const revisions = ['2025-11-25', '2026-07-28'] as const
type Revision = (typeof revisions)[number]

type Rig = { url: string; turnwire: Turnwire; ran: string[] }

async function serve(t: TestContext, script: Script = []): Promise<Rig> {
  const ran: string[] = []
  const add = tool({
    name: 'add',
    description: 'Adds two numbers.',
    input: z.object({ a: z.number(), b: z.number() }),
    output: z.object({ sum: z.number() }),
    readOnly: true,
    trust: 'trusted',
    run: ({ a, b }, context) => {
      ran.push('add')
      context.progress({ message: 'adding' })
      return { sum: a + b }
    },
  })
  const wipe = tool({
    name: 'wipe',
    description: 'Wipes a disk.',
    input: z.object({ disk: z.string() }),
    run: ({ disk }) => {
      ran.push(`wipe ${disk}`)
      return `Wiped ${disk}.`
    },
  })
  const hidden = tool({
    name: 'hidden',
    description: 'x',
    input: z.object({}),
    exposed: false,
    run: () => 'x',
  })
  const shout = tool({
    name: 'shout',
    description: 'Shouts.',
    input: 'text',
    trust: 'trusted',
    run: text => text.toUpperCase(),
  })
  const pay = tool({
    name: 'pay',
    description: 'Pays.',
    input: z.object({}),
    trust: 'trusted',
    run: async (_, context) =>
      (await context.ask({ message: 'Pay here.', url: 'https://pay.example/1' })).action,
  })
  const weigh = tool({
    name: 'weigh',
    description: 'Weighs.',
    input: z.object({}),
    trust: 'trusted',
    run: () => withDetails('3 kg', { grams: 3000 }),
  })
  const turnwire = await Turnwire.open({
    agents: [
      {
        name: 'desk',
        model: scripted(script),
        tools: [add, wipe, hidden, shout, pay, weigh],
        serveMcp: { tools: true, ask: true },
      },
      { name: 'closed', model: scripted([]) },
    ],
    data: 'memory',
  })
  await putBehindClones(turnwire)
  const server = await startServer(turnwire, { port: 0 })
  t.after(async () => {
    await server.stop()
    await turnwire.close()
  })
  return { url: server.url, turnwire, ran }
}

type Asked = { message: string }

async function connect(
  t: TestContext,
  { url }: Rig,
  revision: Revision,
  answer?: (asked: Asked) => ElicitResult,
): Promise<Client> {
  const client = new Client(
    { name: 'test', version: '1' },
    {
      capabilities: answer ? { elicitation: {} } : {},
      versionNegotiation: { mode: revision === '2025-11-25' ? 'legacy' : { pin: revision } },
    },
  )
  if (answer) client.setRequestHandler('elicitation/create', request => answer(request.params))
  await client.connect(new StreamableHTTPClientTransport(new URL(`${url}/mcp/desk`)))
  t.after(() => client.close())
  return client
}

function textOf(result: unknown): string {
  const { content } = result as { content: { text?: string }[] }
  return content.map(({ text = '' }) => text).join('')
}

for (const revision of revisions)
  describe(`MCP ${revision}`, () => {
    test('exposed tools and the agent itself are listed', async t => {
      const client = await connect(t, await serve(t), revision)
      const { tools } = await client.listTools()
      assert.deepEqual(
        tools.map(({ name }) => name),
        ['add', 'wipe', 'shout', 'pay', 'weigh', 'ask_desk'],
      )
      assert.equal(tools[0]?.annotations?.readOnlyHint, true)
      assert.equal(tools[0]?.outputSchema?.type, 'object')
    })

    test('a trusted tool runs, gives data and reports progress', async t => {
      const rig = await serve(t)
      const client = await connect(t, rig, revision)
      const seen: (string | undefined)[] = []
      const result = await client.callTool(
        { name: 'add', arguments: { a: 2, b: 3 } },
        { onprogress: ({ message }) => void seen.push(message) },
      )
      assert.deepEqual(result.structuredContent, { sum: 5 })
      assert.deepEqual(seen, ['adding'])
      assert.equal(textOf(await client.callTool({ name: 'shout', arguments: { input: 'hi' } })), 'HI')
    })

    test('arguments that do not fit are the tool’s error, an unknown tool is the protocol’s', async t => {
      const rig = await serve(t)
      const client = await connect(t, rig, revision)
      const result = await client.callTool({ name: 'shout', arguments: {} })
      assert.equal(result.isError ?? false, false, 'an empty text is a text')
      const refused = await client.callTool({ name: 'wipe', arguments: { disk: 7 } })
      assert.equal(refused.isError, true)
      assert.match(textOf(refused), /disk/)
      await assert.rejects(client.callTool({ name: 'hidden', arguments: {} }), /no tool named/)
      assert.deepEqual(rig.ran, [])
    })

    test('a tool that needs approval asks the client’s user, with all arguments', async t => {
      const rig = await serve(t)
      const asked: string[] = []
      const client = await connect(t, rig, revision, ({ message }) => {
        asked.push(message)
        return { action: 'accept', content: { decision: 'once' } }
      })
      const result = await client.callTool({ name: 'wipe', arguments: { disk: 'sda' } })
      assert.equal(textOf(result), 'Wiped sda.')
      assert.match(asked[0] ?? '', /wipe.*"disk":"sda"/s)
      assert.deepEqual(rig.ran, ['wipe sda'])
    })

    test('anything but a clear yes is a no', async t => {
      const rig = await serve(t)
      const answers: ElicitResult[] = [
        { action: 'decline' },
        { action: 'cancel' },
        { action: 'accept', content: { decision: 'deny', reason: 'too late' } },
        { action: 'accept', content: { decision: 'maybe' } },
      ]
      const client = await connect(t, rig, revision, () => answers.shift() ?? { action: 'decline' })
      for (const reason of [/denied/, /denied/, /too late/, /denied|Invalid/]) {
        const result = await client.callTool({ name: 'wipe', arguments: { disk: 'sda' } }).catch(String)
        if (typeof result === 'string') assert.match(result, reason)
        else {
          assert.equal(result.isError, true)
          assert.match(textOf(result), reason)
        }
      }
      assert.deepEqual(rig.ran, [])
    })

    test('a client that cannot be asked waits until someone decides on another wire', async t => {
      const rig = await serve(t)
      const client = await connect(t, rig, revision)
      const calling = client.callTool({ name: 'wipe', arguments: { disk: 'sdb' } })
      const session = await waitingSession(rig.turnwire)
      const [pending] = await session.pending()
      await session.approve(pending?.callId ?? '')
      assert.equal(textOf(await calling), 'Wiped sdb.')
      assert.deepEqual(rig.ran, ['wipe sdb'])
    })

    test('an address to open goes to another wire if the client shows forms only', async t => {
      const rig = await serve(t)
      // `elicitation: {}` means forms, and no addresses.
      const client = await connect(t, rig, revision, () => assert.fail('the client was asked'))
      const calling = client.callTool({ name: 'pay', arguments: {} })
      const session = await waitingSession(rig.turnwire)
      const [pending] = await session.pending()
      assert.ok(pending?.needs === 'answer')
      await session.answerQuestion(pending.question.id, { action: 'accept' })
      assert.equal(textOf(await calling), 'accept')
    })

    test('the agent itself answers, in a session that can be continued', async t => {
      const rig = await serve(t, [
        { calls: [{ name: 'wipe', input: { disk: 'sdc' } }] },
        { text: 'It is empty now.' },
        { text: 'You are welcome.' },
      ])
      const client = await connect(t, rig, revision, () => ({
        action: 'accept',
        content: { decision: 'once' },
      }))
      const first = await client.callTool({ name: 'ask_desk', arguments: { message: 'Wipe sdc' } })
      const { text, session } = first.structuredContent as { text: string; session: string }
      assert.equal(text, 'It is empty now.')
      const second = await client.callTool({ name: 'ask_desk', arguments: { message: 'Thanks', session } })
      assert.equal(textOf(second), 'You are welcome.')
      assert.deepEqual(rig.ran, ['wipe sdc'])
    })

    test('a cancelled request stops its call', async t => {
      const rig = await serve(t)
      const client = await connect(t, rig, revision)
      const stop = new AbortController()
      const calling = client.callTool({ name: 'wipe', arguments: { disk: 'sdd' } }, { signal: stop.signal })
      const session = await waitingSession(rig.turnwire)
      stop.abort()
      await assert.rejects(calling)
      while ((await session.status()) !== 'idle') await new Promise(resolve => setTimeout(resolve, 10))
      assert.deepEqual(rig.ran, [])
    })
  })

async function waitingSession(turnwire: Turnwire) {
  for (;;) {
    for await (const { id, status } of turnwire.sessions())
      if (status === 'waiting') return turnwire.resume(id)
    await new Promise(resolve => setTimeout(resolve, 10))
  }
}

test('the agent as a tool needs a message, and goes on with sessions of its own only', async t => {
  const rig = await serve(t, [{ text: 'Hello.' }])
  const client = await connect(t, rig, '2026-07-28')
  const ask = async (input: Record<string, unknown>): Promise<string> => {
    const result = await client.callTool({ name: 'ask_desk', arguments: input })
    return `${result.isError === true ? 'failed' : 'ok'}: ${textOf(result)}`
  }
  for (const input of [{}, { message: '' }, { message: 5 }])
    assert.match(await ask(input), /^failed: The tool "ask_desk" needs "message"/)
  const { id } = await rig.turnwire.session('closed')
  assert.match(await ask({ message: 'Hi', session: id }), /^failed: The session is of another agent/)
  for (const session of ['sess_none', 7])
    assert.match(await ask({ message: 'Hi', session }), /^failed: .*not found/)
  assert.equal(await ask({ message: 'Hi' }), 'ok: Hello.')
})

test('details of a result are in its _meta, and not in its content', async t => {
  const rig = await serve(t)
  const client = await connect(t, rig, '2026-07-28')
  const result = await client.callTool({ name: 'weigh', arguments: {} })
  assert.equal(textOf(result), '3 kg')
  assert.deepEqual(result._meta?.['turnwire/details'], { grams: 3000 })
})

test('/mcp is the address of the only agent that is served; of several, one has to be named', async t => {
  const rig = await serve(t)
  const client = new Client({ name: 'test', version: '1' })
  await client.connect(new StreamableHTTPClientTransport(new URL(`${rig.url}/mcp`)))
  t.after(() => client.close())
  assert.equal(textOf(await client.callTool({ name: 'shout', arguments: { input: 'hi' } })), 'HI')
  const agents = ['a', 'b'].map(name => ({ name, model: scripted([]), serveMcp: { ask: true } }))
  const turnwire = await Turnwire.open({ agents, data: 'memory' }, { log: () => {} })
  const server = await startServer(turnwire, { port: 0 })
  t.after(async () => {
    await server.stop()
    await turnwire.close()
  })
  const answer = await fetch(`${server.url}/mcp`, { method: 'POST', body: '{}' })
  assert.equal(answer.status, 404)
  assert.match(await answer.text(), /Name one: \/mcp\/a, \/mcp\/b\./)
})

test('an agent that is not served over MCP is not found', async t => {
  const { url } = await serve(t)
  const answer = await fetch(`${url}/mcp/closed`, { method: 'POST', body: '{}' })
  assert.equal(answer.status, 404)
})

test('state of a question cannot be forged or used by another tool', async t => {
  const { url, ran } = await serve(t)
  const answer = await fetch(`${url}/mcp/desk`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      'mcp-protocol-version': '2026-07-28',
      'mcp-method': 'tools/call',
      'mcp-name': 'wipe',
    },
    body: JSON.stringify({
      jsonrpc: '2.0',
      id: 1,
      method: 'tools/call',
      params: {
        name: 'wipe',
        arguments: { disk: 'sda' },
        requestState: 'forged',
        inputResponses: { x: { action: 'accept', content: { decision: 'once' } } },
        _meta: {
          'io.modelcontextprotocol/protocolVersion': '2026-07-28',
          'io.modelcontextprotocol/clientCapabilities': { elicitation: {} },
        },
      },
    }),
  })
  assert.match(await answer.text(), /Invalid or expired requestState/)
  assert.deepEqual(ran, [])
})

test('a message to a session that is at work waits for its turn, and its result is that of its turn', async t => {
  const rig = await serve(t, [
    { calls: [{ name: 'wipe', input: { disk: 'sdc' } }] },
    { text: 'Wiped.' },
    { text: 'You are welcome.' },
  ])
  const client = await connect(t, rig, '2026-07-28')
  const calling = client.callTool({ name: 'ask_desk', arguments: { message: 'Wipe sdc' } })
  const session = await waitingSession(rig.turnwire)
  const later = { message: 'Thanks', session: session.id, during: 'queue' }
  const queued = client.callTool({ name: 'ask_desk', arguments: later })
  while ((await session.messages()).length === 0) await new Promise(resolve => setTimeout(resolve, 5))
  const [pending] = await session.pending()
  await session.approve(pending?.callId ?? '')
  assert.equal(textOf(await calling), 'Wiped.')
  assert.equal(textOf(await queued), 'You are welcome.')
  const wrong = { ...later, during: 'later' }
  assert.match(textOf(await client.callTool({ name: 'ask_desk', arguments: wrong })), /"during" must be/)
})

test('a cancelled request takes back its message that waits, and ends no turn of another request', async t => {
  const rig = await serve(t, [{ calls: [{ name: 'wipe', input: { disk: 'sdc' } }] }, { text: 'Wiped.' }])
  const client = await connect(t, rig, '2026-07-28')
  const calling = client.callTool({ name: 'ask_desk', arguments: { message: 'Wipe sdc' } })
  const session = await waitingSession(rig.turnwire)
  for (const during of ['queue', 'steer']) {
    const leaving = new AbortController()
    const given = { name: 'ask_desk', arguments: { message: 'Thanks', session: session.id, during } }
    const waiting = client.callTool(given, { signal: leaving.signal })
    while ((await session.messages()).length === 0) await new Promise(resolve => setTimeout(resolve, 5))
    leaving.abort()
    await assert.rejects(waiting)
    while ((await session.messages()).length > 0) await new Promise(resolve => setTimeout(resolve, 5))
  }
  const [pending] = await session.pending()
  await session.approve(pending?.callId ?? '')
  assert.equal(textOf(await calling), 'Wiped.')
})

test('a cancelled request whose message has joined the turn of another one leaves that turn alone', async t => {
  const rig = await serve(t, [
    { calls: [{ name: 'wipe', input: { disk: 'sdc' } }] },
    { text: 'Wiped.', stepDelayMs: 1500 },
  ])
  const client = await connect(t, rig, '2026-07-28')
  const calling = client.callTool({ name: 'ask_desk', arguments: { message: 'Wipe sdc' } })
  const session = await waitingSession(rig.turnwire)
  const leaving = new AbortController()
  const given = { name: 'ask_desk', arguments: { message: 'Quickly', session: session.id, during: 'steer' } }
  const steering = client.callTool(given, { signal: leaving.signal })
  while ((await session.messages()).length === 0) await new Promise(resolve => setTimeout(resolve, 5))
  const [pending] = await session.pending()
  const approving = session.approve(pending?.callId ?? '')
  while ((await session.messages()).length > 0) await new Promise(resolve => setTimeout(resolve, 5))
  // It is read from the log before the request is cancelled.
  await new Promise(resolve => setTimeout(resolve, 300))
  leaving.abort()
  await assert.rejects(steering)
  assert.equal((await approving).text, 'Wiped.')
  assert.equal(textOf(await calling), 'Wiped.')
})
