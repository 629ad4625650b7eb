// The conformance suite: our own server holds every clause that is tried, and each check finds a server that breaks its clause.
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text as readText } from 'node:stream/consumers'
import { describe, type TestContext, test } from 'node:test'
import { createOpenAI } from '@ai-sdk/openai'
import { LLMock } from '@copilotkit/aimock'
import {
  convertToModelMessages,
  jsonSchema,
  pipeUIMessageStreamToResponse,
  stepCountIs,
  streamText,
  tool,
  toUIMessageStream,
  type UIMessage,
} from 'ai'
import { conformAgent } from '../../src/conform/agent.ts'
import {
  type ConformReport,
  clausesOfWire,
  conformWires,
  describeConform,
  runConform,
} from '../../src/conform/index.ts'
import { type AgentConfig, startServer, Turnwire } from '../../src/index.ts'
import { freePort } from '../free-port.ts'
import aapManifest from '../requirements/aap.ts'
import acpManifest from '../requirements/acp.ts'
import deltakitManifest from '../requirements/deltakit.ts'
import responsesManifest from '../requirements/responses.ts'
import { until } from '../wires/rig.ts'
import { defects } from './defects.ts'
import { spoil } from './spoil.ts'

async function serve(t: TestContext): Promise<string> {
  const turnwire = await Turnwire.open(
    { data: 'memory', agents: [conformAgent()], server: { acp: true } },
    { log: () => {} },
  )
  const server = await startServer(turnwire, { port: 0 })
  t.after(async () => {
    await server.stop()
    await turnwire.close()
  })
  return server.url
}

const notHeld = ({ wires }: ConformReport): unknown[] =>
  wires.flatMap(({ findings }) => findings).filter(({ verdict }) => verdict !== 'held')

test('our own server speaks every wire, and holds every clause that is tried', async t => {
  const report = await runConform({ at: await serve(t) })
  assert.deepEqual(notHeld(report), [])
  assert.deepEqual(report.notServed, [])
  assert.deepEqual(
    report.wires.map(({ wire }) => wire),
    conformWires,
  )
  assert.ok(report.ok && report.held > 150)
})

test('clauses have the ids and the words of the requirements, and none of our own additions', () => {
  const manifests = [aapManifest, acpManifest, deltakitManifest, responsesManifest]
  const known = new Map(
    manifests.flatMap(({ clauses }) => clauses.map(clause => [clause.id, clause] as const)),
  )
  const tried = conformWires.flatMap(clausesOfWire)
  assert.equal(new Set(tried.map(({ id }) => id)).size, tried.length)
  const prefixes = new Set(manifests.map(({ prefix }) => prefix))
  for (const { id, clause } of tried) {
    if (!prefixes.has(id.split('-')[0] ?? '')) continue
    assert.equal(known.get(id)?.clause, clause, id)
    assert.notEqual(known.get(id)?.where, 'ours', id)
  }
})

for (const wire of conformWires)
  test(`each check of ${wire} finds a server that breaks its clause, and says what was sent, expected and got`, async t => {
    const spoiler = await spoil(t, await serve(t))
    const table: Record<string, (typeof defects)['aap'][string]> = defects[wire]
    assert.deepEqual(
      Object.keys(table).sort(),
      clausesOfWire(wire)
        .map(({ id }) => id)
        .sort(),
    )
    for (const [id, defect] of Object.entries(table)) {
      spoiler.setDefect(answer => answer)
      const [good] = (await runConform({ at: spoiler.url, wire, agent: 'conform', only: [id] })).wires
      assert.deepEqual(
        good?.findings.map(({ verdict }) => verdict),
        ['held'],
        id,
      )
      spoiler.setDefect(defect)
      const report = await runConform({
        at: spoiler.url,
        wire,
        agent: 'conform',
        only: [id],
        timeoutMs: 10_000,
      })
      const [finding] = report.wires[0]?.findings ?? []
      assert.equal(finding?.verdict, 'broken', `${id}: ${JSON.stringify(finding)}`)
      assert.ok(finding.sent && finding.expected && finding.got, `${id}: ${JSON.stringify(finding)}`)
      assert.equal(report.ok, false)
    }
  })

describe('what cannot be tried', () => {
  test('an agent without the tools of the suite leaves clauses not tried, never held', async t => {
    const { scripted } = await import('../../src/index.ts')
    const turnwire = await Turnwire.open(
      { data: 'memory', agents: [{ name: 'mute', model: scripted(() => ({ text: 'No.' })) }] },
      { log: () => {} },
    )
    const server = await startServer(turnwire, { port: 0 })
    t.after(async () => {
      await server.stop()
      await turnwire.close()
    })
    const { wires } = await runConform({ at: server.url, wire: 'aap', only: ['AAP-CALL'] })
    const findings = wires.flatMap(wire => wire.findings)
    assert.ok(findings.length > 5)
    for (const { id, verdict, reason } of findings) {
      assert.equal(verdict, 'not tried', id)
      assert.match(reason ?? '', /./)
    }
  })

  test('an address where nothing listens is broken, not an exception, and the key is in no report', async () => {
    const report = await runConform({
      at: 'http://127.0.0.1:9',
      wire: 'chat',
      agent: 'any',
      key: 'very-secret',
      only: ['CHAT-RES'],
    })
    assert.equal(report.ok, false)
    assert.equal(report.broken, 3)
    assert.ok(!JSON.stringify(report).includes('very-secret'))
    const nothing = await runConform({ at: 'http://127.0.0.1:9' })
    assert.deepEqual([nothing.ok, nothing.wires], [false, []])
    assert.match(describeConform(nothing).join('\n'), /Nothing was tried/)
  })
})

async function serveAiSdk(t: TestContext, baseURL: string): Promise<string> {
  const openai = createOpenAI({ baseURL, apiKey: 'none' })
  const echo = tool({
    description: 'Gives its text back.',
    inputSchema: jsonSchema<{ text: string }>({
      type: 'object',
      properties: { text: { type: 'string' } },
      required: ['text'],
    }),
    execute: ({ text }) => `echo: ${text}`,
  })
  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const { messages } = JSON.parse(await readText(request)) as { messages: UIMessage[] } // As its client sends them.
    const result = streamText({
      model: openai.chat('conform'),
      tools: { echo },
      messages: await convertToModelMessages(messages),
      stopWhen: stepCountIs(5),
    })
    await pipeUIMessageStreamToResponse({ response, stream: toUIMessageStream({ stream: result.stream }) })
  }
  const server = createServer((request, response) => {
    answer(request, response).catch(() => response.writeHead(500).end())
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    server.close()
    server.closeAllConnections()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}` // It listens on a port.
}

describe('servers that nobody here wrote', () => {
  const everything = new URL(
    '../../node_modules/@modelcontextprotocol/server-everything/dist/index.js',
    import.meta.url,
  )

  test('server-everything over HTTP', async t => {
    const port = await freePort()
    const child = spawn(process.execPath, [everything.pathname, 'streamableHttp'], {
      env: { ...process.env, PORT: String(port) },
      stdio: 'ignore',
    })
    t.after(async () => {
      const ended = once(child, 'exit')
      child.kill('SIGKILL')
      await ended
    })
    const url = `http://127.0.0.1:${port}/mcp`
    await until(() =>
      fetch(url).then(
        () => true,
        () => false,
      ),
    )
    const report = await runConform({ at: url, wire: 'mcp' })
    assert.ok(report.held >= 8, describeConform(report).join('\n'))
    assert.equal(report.wires[0]?.findings.find(({ id }) => id === 'MCP-TOOL-03')?.verdict, 'held')
    assert.equal(report.wires[0]?.findings.find(({ id }) => id === 'MCP-TOOL-06')?.verdict, 'not tried')
  })

  test('server-everything over pipes', async () => {
    const report = await runConform({
      at: [process.execPath, everything.pathname, 'stdio'],
      wire: 'mcp',
      only: ['MCP-INIT-01', 'MCP-TOOL-03', 'MCP-HTTP-01'],
    })
    assert.ok(report.held === 2, describeConform(report).join('\n'))
    assert.equal(report.wires[0]?.findings.find(({ id }) => id === 'MCP-HTTP-01')?.verdict, 'not tried')
  })

  test('a server of the AI SDK, as its documentation shows one, on the wire of its own chat', async t => {
    // Its model: ours, over Chat Completions, which does what the suite asks for.
    const vendorAgent: AgentConfig = { ...conformAgent(), tools: [] }
    const turnwire = await Turnwire.open({ data: 'memory', agents: [vendorAgent] }, { log: () => {} })
    const vendor = await startServer(turnwire, { port: 0 })
    t.after(async () => {
      await vendor.stop()
      await turnwire.close()
    })
    const url = await serveAiSdk(t, `${vendor.url}/v1`)
    const report = await runConform({ at: `${url}/api/chat`, wire: 'ui', agent: 'any' })
    const verdicts = Object.fromEntries(
      report.wires.flatMap(({ findings }) => findings.map(({ id, verdict }) => [id, verdict])),
    )
    // Its messages are not checked before they are read: the server fails where it has to refuse.
    assert.deepEqual(verdicts, {
      'UI-STRM-01': 'held',
      'UI-STRM-02': 'held',
      'UI-STRM-03': 'held',
      'UI-TEXT-01': 'held',
      'UI-CALL-01': 'held',
      'UI-CALL-02': 'held',
      'UI-CHAT-01': 'held',
      'UI-ERR-01': 'broken',
    })
  })

  test('a mock of the vendors, on three wires: it says the same to everything, and lets pass what they refuse', async t => {
    const mock = new LLMock({ port: 0 })
    mock.onMessage(/.*/, { content: 'A plain answer.' })
    await mock.start()
    t.after(() => mock.stop())
    for (const wire of ['chat', 'responses', 'messages'] as const) {
      const { wires } = await runConform({ at: mock.url, wire, agent: 'gpt-5', timeoutMs: 10_000 })
      const verdicts = new Set(wires.flatMap(({ findings }) => findings.map(({ verdict }) => verdict)))
      assert.deepEqual(verdicts, new Set(['held', 'broken', 'not tried']), wire)
    }
  })
})
