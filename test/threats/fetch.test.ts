// T-17: nothing that is fetched on behalf of a model reaches a private address, by any spelling, redirect or DNS answer. The same
// attacks go through each way to fetch: a function's own fetch, an HTTP tool, what an MCP server names for a login, and the
// browser's proxy. What was refused is logged.
import assert from 'node:assert/strict'
import { createServer, type Server } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import test, { describe, type TestContext } from 'node:test'
import { loginToServer } from '../../src/config/mcp-login.ts'
import { http, scripted, Turnwire, tool } from '../../src/index.ts'
import { joinText } from '../../src/language/content.ts'
import { Egress } from '../../src/lib/net/egress.ts'
import { BrowserProxy } from '../../src/tools/browser/proxy.ts'
import { memoryAuthStore } from '../../src/tools/mcp/auth.ts'
import { startAuthRig } from '../tools/mcp/authorization-server.ts'

/** A server inside, which must never be reached, and how often it was. */
async function inside(t: TestContext): Promise<{ port: number; reached: () => number }> {
  let count = 0
  const server = createServer((_, response) => response.end('inside'))
  server.on('connection', () => {
    count += 1
  })
  return { port: await listen(t, server), reached: () => count }
}

async function listen(t: TestContext, server: Server): Promise<number> {
  await new Promise<void>(resolve => void server.listen(0, '127.0.0.1', resolve))
  t.after(() => server.close())
  return (server.address() as AddressInfo).port // It listens on TCP.
}

const hosts = [
  '127.0.0.1',
  '127.1',
  '0x7f.1',
  '0x7f000001',
  '2130706433',
  '017700000001',
  '0177.0.0.1',
  '0.0.0.0',
  'localhost',
  'LOCALHOST.',
  '[::1]',
  '[::ffff:127.0.0.1]',
  '[::ffff:7f00:1]',
  '[64:ff9b::7f00:1]',
  '１２７.0.0.1',
]
const spellings = (port: number): string[] => [
  ...hosts.map(host => `http://${host}:${port}/`),
  'http://169.254.169.254/latest/meta-data',
  'http://[fe80::1]/',
  'http://10.0.0.1/',
  'http://192.168.0.1/',
  'http://100.64.0.1/',
  'file:///etc/passwd',
  'gopher://127.0.0.1/',
]

type Calls = { name: string; input: { url: string } }[]

async function run(t: TestContext, tools: ReturnType<typeof tool>[], calls: Calls, egress = {}) {
  const logged: string[] = []
  const turnwire = await Turnwire.open(
    {
      agents: [{ name: 'a', tools, model: scripted([{ calls }, { text: 'so' }]) }],
      data: 'memory',
      egress,
      limits: { identicalCalls: 100 },
    },
    {
      log: (level, message, fields) =>
        void logged.push(`${level} ${message} ${JSON.stringify(fields ?? {})}`),
    },
  )
  t.after(() => turnwire.close())
  const session = await turnwire.session('a')
  await session.send('go')
  const results = (await session.history()).flatMap(entry => (entry.role === 'tool' ? entry.results : []))
  return {
    outcomes: results.map(({ outcome }) => ({ kind: outcome.kind, text: joinText(outcome.parts) })),
    logged,
  }
}

const getter = tool({
  name: 'get',
  description: 'Gets an address.',
  input: { type: 'object' as const, properties: { url: { type: 'string' } }, required: ['url'] },
  trust: 'trusted',
  run: async ({ url }, context) => (await context.fetch(url as string)).text(),
})

describe('T-17 a function that fetches what the model says', () => {
  test('reaches no private address by any spelling, and each refusal is logged', async t => {
    const { port, reached } = await inside(t)
    const urls = spellings(port)
    const { outcomes, logged } = await run(
      t,
      [getter],
      urls.map(url => ({ name: 'get', input: { url } })),
    )
    assert.equal(outcomes.length, urls.length)
    for (const [index, { kind, text }] of outcomes.entries()) {
      assert.equal(kind, 'error', urls[index])
      assert.doesNotMatch(text, /inside/, urls[index])
    }
    assert.equal(reached(), 0)
    assert.ok(logged.filter(line => /refused/i.test(line)).length >= hosts.length, logged.join('\n'))
  })

  test('is not led there by a redirect of an allowed host', async t => {
    const { port, reached } = await inside(t)
    const outer = createServer((_, response) => {
      response.writeHead(302, { location: `http://127.1:${port}/` }).end()
    })
    const allowed = `127.0.0.1:${await listen(t, outer)}`
    const calls = [{ name: 'get', input: { url: `http://${allowed}/` } }]
    const { outcomes } = await run(t, [getter], calls, { privateHosts: [allowed] })
    assert.equal(outcomes[0]?.kind, 'error')
    assert.equal(reached(), 0)
  })

  test('is not led there by a name whose answer changes: the address that was checked is the one that is used', async t => {
    const { port, reached } = await inside(t)
    let asked = 0
    const egress = new Egress({ privateHosts: [] }, (_host, _options, answer) => {
      asked += 1
      // Public when it is looked at, private when it is used.
      answer(null, [{ address: asked === 1 ? '93.184.215.14' : '127.0.0.1', family: 4 }])
    })
    t.after(() => egress.close())
    const signal = AbortSignal.timeout(500)
    await assert.rejects(egress.fetch(`http://flips.example:${port}/`, { signal }))
    await assert.rejects(egress.fetch(`http://flips.example:${port}/`), { name: 'EgressRefused' })
    assert.equal(reached(), 0)
    assert.equal(asked, 2)
  })
})

test('T-17 an HTTP tool does not reach the address that it is made for, if that is private', async t => {
  const { port, reached } = await inside(t)
  const calls = hosts.slice(0, 4).map((_, index) => ({ name: `api${index}`, input: { url: 'x' } }))
  const tools = hosts.slice(0, 4).map((host, index) =>
    http({
      name: `api${index}`,
      description: 'x',
      url: `http://${host}:${port}/`,
      input: { type: 'object' as const, properties: { url: { type: 'string' } } },
      trust: 'trusted',
    }),
  )
  const { outcomes } = await run(t, tools, calls)
  assert.deepEqual(
    outcomes.map(({ kind }) => kind),
    ['error', 'error', 'error', 'error'],
  )
  assert.equal(reached(), 0)
})

test('T-17 the metadata that an MCP server names for a login is not fetched from a private address', async t => {
  const { port, reached } = await inside(t)
  const egress = new Egress({})
  t.after(() => egress.close())
  const others = hosts.slice(0, 8)
  for (const host of others) {
    const rig = await startAuthRig(t, {
      resourceMetadata: ({ url }) => ({ resource: url, authorization_servers: [`http://${host}:${port}`] }),
    })
    const login = loginToServer(
      // By name: of a server on this machine, other ports of the very same host are reached.
      { name: 'notes', url: rig.url.replace('127.0.0.1', 'localhost') },
      {
        store: memoryAuthStore(),
        fetchOther: (url, init) => egress.fetch(url, init),
        show: () => assert.fail('nobody is sent anywhere'),
        signal: AbortSignal.timeout(10_000),
      },
    )
    await assert.rejects(login)
  }
  assert.equal(reached(), 0)
})

test('T-17 size, time and rate are limited', async t => {
  const slow = createServer((request, response) => {
    if (request.url === '/slow') return
    response.end(request.url === '/big' ? 'x'.repeat(100_000) : 'ok')
  })
  const host = `127.0.0.1:${await listen(t, slow)}`
  const rules = { privateHosts: [host], maxBytes: 10_000, timeoutMs: 200, perMinute: 5 }
  const paths = ['/big', '/slow', '/1', '/2', '/3', '/4', '/5']
  const reports: string[] = []
  const egress = new Egress(rules)
  t.after(() => egress.close())
  for (const path of paths)
    await egress
      .fetch(`http://${host}${path}`, { report: ({ refused = 'sent' }) => void reports.push(refused) })
      .then(response => response.text())
      .catch(() => {})
  assert.match(reports[0] ?? '', /bytes/)
  assert.notEqual(reports[1], 'sent')
  assert.deepEqual(reports.slice(2, 5), ['sent', 'sent', 'sent'])
  assert.match(reports[5] ?? '', /minute/)
  assert.match(reports[6] ?? '', /minute/)
})

test('T-17 the proxy of the browser refuses the same addresses', async t => {
  const { port, reached } = await inside(t)
  const egress = new Egress({})
  t.after(() => egress.close())
  const proxy = await BrowserProxy.start()
  t.after(() => proxy.close())
  const refused: string[] = []
  proxy.admit('token', {
    connect: url => egress.connect(url),
    refused: (_, reason) => void refused.push(reason),
  })
  const credentials = Buffer.from('context:token').toString('base64')
  for (const host of hosts.slice(0, 8)) {
    const answer = await new Promise<string>(resolve => {
      const socket = connect(Number(new URL(proxy.url).port), '127.0.0.1')
      socket.write(
        `CONNECT ${host}:${port} HTTP/1.1\r\nHost: ${host}:${port}\r\nProxy-Authorization: Basic ${credentials}\r\n\r\n`,
      )
      socket.once('data', data => {
        resolve(data.toString('latin1'))
        socket.destroy()
      })
      socket.once('close', () => resolve('closed'))
    })
    assert.doesNotMatch(answer, /^HTTP\/1\.1 200/, host)
  }
  assert.equal(reached(), 0)
  assert.equal(refused.length, 8)
})
