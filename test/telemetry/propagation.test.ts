// The trace of a call goes along with every request that is made for it, and a trace that a caller names reaches the log.
import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, it, type TestContext } from 'node:test'
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import type { Observer, ToolContext } from '../../src/engine/ports/index.ts'
import { anthropic, startServer, Turnwire, tool } from '../../src/index.ts'
import type { Event } from '../../src/language/events.ts'
import { readTrace } from '../../src/language/trace.ts'
import { scripted } from '../../src/models/scripted/index.ts'
import { startDouble } from '../../src/testing/index.ts'
import { sendCall } from '../../src/tools/mcp/send-call.ts'
import { makeAcp } from '../wires/acp/rig.ts'

const trace = {
  traceparent: '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01',
  tracestate: 'vendor=1',
}

/** Every call has this trace. */
const observer: Observer = {
  startTurn: (_session, caller) => caller,
  recorded() {},
  wrote() {},
  lost() {},
  inCall: (_callId, run) => run(),
  findTrace: () => trace,
}

async function serve(t: TestContext, config: Parameters<typeof Turnwire.open>[0]) {
  const turnwire = await Turnwire.open({ data: 'memory', ...config })
  const server = await startServer(turnwire, { port: 0 })
  t.after(() => server.stop())
  return { turnwire, url: server.url }
}

const answerTwo = [{ text: 'Two.' }, { text: 'Two.' }]

function tracesIn(events: readonly Event[]): unknown[] {
  return events.flatMap(event => (event.type === 'turn.started' ? [event.trace] : []))
}

async function logOf(url: string): Promise<Event[]> {
  const { sessions } = (await (await fetch(`${url}/operator/sessions`)).json()) as {
    sessions: { id: string }[]
  }
  const id = sessions[0]?.id ?? ''
  const { events } = (await (await fetch(`${url}/operator/sessions/${id}/events`)).json()) as {
    events: { event: Event }[]
  }
  return events.map(({ event }) => event)
}

describe('a trace that comes in', () => {
  it('over HTTP is recorded with the turn; a malformed one is ignored', async t => {
    const { url } = await serve(t, { agents: [{ name: 'helper', model: scripted(answerTwo) }] })
    const send = (headers: Record<string, string>) =>
      fetch(`${url}/session`, {
        method: 'PUT',
        headers: { 'content-type': 'application/json', ...headers },
        body: JSON.stringify({ agent: { name: 'helper' }, messages: [{ role: 'user', content: 'x' }] }),
      })
    assert.equal((await send({ traceparent: 'nonsense' })).status, 201)
    assert.deepEqual(tracesIn(await logOf(url)), [undefined])
    assert.equal((await send(trace)).status, 201)
    assert.deepEqual(tracesIn(await logOf(url)), [trace])
  })

  it('with an MCP call is recorded with its turn', async t => {
    const add = tool({
      name: 'add',
      description: 'x',
      trust: 'trusted',
      input: { type: 'object' },
      run: () => '3',
    })
    const { url } = await serve(t, {
      agents: [{ name: 'helper', model: scripted([]), tools: [add], serveMcp: { tools: true } }],
    })
    const client = new Client({ name: 'test', version: '1' }, { versionNegotiation: { mode: 'auto' } })
    await client.connect(new StreamableHTTPClientTransport(new URL(`${url}/mcp/helper`)))
    t.after(() => client.close())
    await client.callTool({ name: 'add', arguments: {}, _meta: trace })
    assert.deepEqual(tracesIn(await logOf(url)), [trace])
  })

  it('with an ACP prompt is recorded with its turn', async context => {
    const rig = makeAcp(context, { script: answerTwo })
    const client = await rig.connect()
    const sessionId = await client.newSession()
    const prompt = [{ type: 'text' as const, text: 'x' }]
    await client.agent.request('session/prompt', { sessionId, prompt, _meta: trace })
    const events = await rig.engine.events({ owner: 'local', session: sessionId })
    assert.deepEqual(tracesIn(events.map(({ event }) => event)), [trace])
  })

  it('has to be whole', () => {
    const { traceparent } = trace
    assert.deepEqual(readTrace(traceparent, undefined), { traceparent })
    assert.deepEqual(readTrace(traceparent, 'line\nbreak'), { traceparent })
    for (const bad of [
      undefined,
      traceparent.toUpperCase(),
      traceparent.replace(/^00/, 'ff'),
      traceparent.replace(/-\w{32}-/, `-${'0'.repeat(32)}-`),
      traceparent.replace(/-\w{16}-/, `-${'0'.repeat(16)}-`),
      `${traceparent}0`,
    ])
      assert.equal(readTrace(bad, undefined), undefined, bad)
  })
})

describe('the trace of a call goes out', () => {
  it('to a model, as headers', async t => {
    const double = await startDouble({ vendor: 'anthropic', script: [{ text: 'Two.' }] })
    t.after(() => double.close())
    const model = anthropic({ model: 'claude-sonnet-4-5', apiKey: 'test', baseUrl: double.url })
    const ask = { role: 'user' as const, parts: [{ type: 'text' as const, text: 'x' }] }
    const request = {
      session: 's',
      history: [ask],
      tools: [],
      choice: 'auto',
      parallel: true,
      options: {},
    } as const
    await model.respond({ ...request, trace }, () => {}, new AbortController().signal)
    const { headers } = double.exchanges[0]!
    assert.deepEqual([headers['traceparent'], headers['tracestate']], [trace.traceparent, trace.tracestate])
  })

  it('with what a tool fetches, unless it names another', async t => {
    const seen: (string | undefined)[] = []
    const target = createServer((request, response) => {
      seen.push(request.headers['traceparent'] as string | undefined)
      response.end('ok')
    })
    await new Promise<void>(resolve => target.listen(0, '127.0.0.1', resolve))
    t.after(() => void target.close())
    const host = `127.0.0.1:${(target.address() as AddressInfo).port}`
    const { makeRig } = await import('../engine/rig.ts')
    const { Egress } = await import('../../src/lib/net/egress.ts')
    const egress = new Egress({ privateHosts: [host] })
    t.after(() => egress.close())
    const own = trace.traceparent.replace(/01$/, '00')
    const look = tool({
      name: 'look',
      description: 'x',
      trust: 'trusted',
      input: { type: 'object' },
      async run(_input, context) {
        await context.fetch(`http://${host}/`)
        await context.fetch(`http://${host}/`, { headers: { traceparent: own } })
        return 'ok'
      },
    })
    const { engine } = makeRig({
      script: [{ calls: [{ name: 'look', input: {} }] }, { text: 'Done.' }],
      tools: [look],
      observer,
      egress,
    })
    const settings = { tools: null, options: {}, clientTools: [] }
    const session = await engine.create({ owner: 'ana', agent: 'helper', wire: 'test', settings, seed: [] })
    await session.say({ parts: [{ type: 'text', text: 'x' }], wire: 'test' })
    await session.driver.settle()
    assert.deepEqual(seen, [trace.traceparent, own])
  })

  it('to an MCP server, in _meta', async () => {
    const sent: unknown[] = []
    const client = {
      getNegotiatedProtocolVersion: () => undefined,
      async callTool(params: unknown) {
        sent.push(params)
        return { content: [] }
      },
    }
    const context = { trace, signal: new AbortController().signal } as unknown as ToolContext // The rest is not used.
    const call = {
      client,
      raw: 'look',
      server: 's',
      started: {},
      input: {},
      context,
      tool: { input: { form: 'json', schema: {} } },
      calls: { run: (_context: unknown, run: () => unknown) => run() },
      options: {},
    }
    await sendCall(call as unknown as Parameters<typeof sendCall>[0]) // A client that only notes what it is sent.
    assert.deepEqual(sent, [{ name: 'look', arguments: {}, _meta: trace }])
  })

  it('to an ACP client, in _meta of requests for files', async context => {
    const script = [{ calls: [{ name: 'read_text_file', input: { path: 'a.txt' } }] }, { text: 'done' }]
    const rig = makeAcp(context, { script, observer })
    const capabilities = { fs: { readTextFile: true, writeTextFile: true } }
    const client = await rig.connect({ capabilities, files: new Map([['/w/app/a.txt', 'text']]) })
    await client.prompt(await client.newSession(), 'read')
    const asked = client.frames.find(({ frame }) => frame.method === 'fs/read_text_file')
    assert.ok(asked)
    assert.deepEqual((asked.frame.params as { _meta?: unknown })._meta, trace)
  })
})
