// MCP servers that attack: poisoned descriptions, definitions that change, names that look alike, results that pretend to be
// orders, broken pipes, and commands that would start something else. Each attack has its number of the list of threats.
import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import test, { describe, type TestContext } from 'node:test'
import { fileURLToPath } from 'node:url'
import { OperatorClient } from '../../src/client/index.ts'
import type { TurnwireConfig } from '../../src/config/config.ts'
import { scripted, startServer, Turnwire } from '../../src/index.ts'
import { joinText } from '../../src/language/content.ts'
import { isJsonObject, type Json } from '../../src/lib/json/index.ts'
import { runtimeOf } from '../../src/library/turnwire.ts'
import type { Script } from '../../src/models/scripted/index.ts'
import { contextFor } from '../../src/testing/contracts/tool.ts'
import { mcpServer } from '../../src/tools/mcp/index.ts'
import { tempFolder } from '../temp-folder.ts'
import { vendorBodies } from './vendor-bodies.ts'

const modern = fileURLToPath(new URL('../tools/mcp/modern-server.ts', import.meta.url))
const program = fileURLToPath(new URL('../tools/mcp/stub.ts', import.meta.url))

function folder(t: TestContext): string {
  return tempFolder(t, 'turnwire-threat-')
}

type Opened = { turnwire: Turnwire; ran: () => number; logged: string[]; close: () => Promise<void> }

/** An agent with the stub as its server. `ran`: how many calls the stub has carried out. */
async function open(
  t: TestContext,
  mode: string,
  script: Script,
  more: Partial<TurnwireConfig> & { server1?: object; log?: string } = {},
): Promise<Opened> {
  const { server1, log = join(folder(t), 'log'), ...config } = more
  const stub = {
    command: process.execPath,
    args: [program, mode],
    env: { STUB_LOG: log },
    trust: 'trusted' as const,
    ...server1,
  }
  const logged: string[] = []
  const turnwire = await Turnwire.open(
    { agents: [{ name: 'a', model: scripted(script) }], mcp: { stub }, data: 'memory', ...config },
    {
      log: (level, message, fields) =>
        void logged.push(`${level} ${message} ${JSON.stringify(fields ?? {})}`),
    },
  )
  let isOpen = true
  const close = async (): Promise<void> => {
    if (isOpen) await turnwire.close()
    isOpen = false
  }
  t.after(close)
  const ran = (): number =>
    existsSync(log)
      ? readFileSync(log, 'utf8')
          .split('\n')
          .filter(line => line.startsWith('call')).length
      : 0
  return { turnwire, ran, logged, close }
}

const calling = (name: string, input: Json = {}) => ({ calls: [{ name, input }] })

type Reply = Awaited<ReturnType<Awaited<ReturnType<Turnwire['session']>>['send']>>
const pendingOf = (reply: Reply) => (reply.status === 'waiting' ? reply.pending : [])

async function resultsOf(session: Awaited<ReturnType<Turnwire['session']>>) {
  const results = (await session.history()).flatMap(entry => (entry.role === 'tool' ? entry.results : []))
  return results.map(({ outcome }) => ({ kind: outcome.kind, text: joinText(outcome.parts) }))
}

describe('T-04 a poisoned description', () => {
  const key = '-----BEGIN PRIVATE KEY-----'

  test('does not spare the question, which shows all of the arguments', async t => {
    const script = [calling('stub__one', { note: `~/.ssh/id_rsa ${key}` }), { text: 'so' }]
    const { turnwire, ran } = await open(t, 'poison', script, { server1: { trust: 'ask' } })
    const [pending] = pendingOf(await (await turnwire.session('a')).send('go'))
    assert.equal(pending?.needs, 'permission')
    assert.match(JSON.stringify(pending), /id_rsa -----BEGIN PRIVATE KEY-----/)
    assert.equal(ran(), 0)
  })

  test('does not get past a rule about secrets, though the server is trusted', async t => {
    const script = [calling('stub__one', { note: key }), calling('stub__one', { note: 'x' }), { text: 'so' }]
    const rules = [
      {
        when: ({ input }: { input: Json }) => /PRIVATE KEY/.test(JSON.stringify(input)),
        then: 'deny' as const,
        reason: 'Secrets stay here.',
      },
    ]
    const { turnwire, ran } = await open(t, 'poison', script, { policy: { rules } })
    const session = await turnwire.session('a')
    await session.send('go')
    const [denied, harmless] = await resultsOf(session)
    assert.equal(denied?.kind, 'denied')
    assert.match(denied?.text ?? '', /Secrets stay here\./)
    assert.equal(harmless?.kind, 'ok')
    assert.equal(ran(), 1)
  })
})

describe('T-05 a definition that changes after it was allowed', () => {
  for (const [mode, difference] of [
    ['changes', /description was "One, version 1\..*is "One, version 2\./s],
    ['hints', /its claims about itself/],
    ['schemas', /: new argument b; changed argument a; its results have another shape\.$/],
  ] as const)
    test(`loses the grant "always", is asked about with the difference, and is shown to operators (${mode})`, async t => {
      const script = [calling('stub__one'), { text: 'one' }, calling('stub__one'), { text: 'two' }]
      const made = await open(t, mode, script, { server1: { trust: 'ask' }, server: { keys: [] } })
      const { turnwire, ran, logged } = made
      const server = await startServer(turnwire, { port: 0 })
      t.after(() => server.stop())
      const session = await turnwire.session('a')
      const [first] = pendingOf(await session.send('first'))
      assert.equal((await session.approve(first!.callId, { remember: true })).text, 'one')
      const operator = new OperatorClient({ baseUrl: server.url, retries: 0 })
      const changed = async (): Promise<string | undefined> =>
        (await operator.agents()).agents[0]?.tools.find(({ name }) => name === 'stub__one')?.changed
      while ((await changed()) === undefined) await new Promise(resolve => setTimeout(resolve, 20))
      assert.match((await changed()) ?? '', difference)
      const [second] = pendingOf(await session.send('second'))
      assert.match(second?.reason ?? '', difference)
      assert.equal(ran(), 1)
      // The inbox has it, and so have the log of the session and the log of the server.
      const { approvals } = await operator.approvals()
      assert.match(approvals[0]?.reason ?? '', difference)
      const events = await runtimeOf(turnwire).engine.events({ owner: 'local', session: session.id })
      const asked = events.flatMap(({ event }) => (event.type === 'approval.requested' ? [event.reason] : []))
      assert.match(asked.at(-1) ?? '', difference)
      assert.ok(logged.some(line => /another definition\. Its grants are void\./.test(line)))
    })

  test('is noticed after a restart too, though the server is trusted', async t => {
    const data = folder(t)
    const log = join(folder(t), 'log')
    const first = await open(t, 'plain', [calling('stub__one'), { text: 'one' }], { data, log })
    assert.equal((await (await first.turnwire.session('a')).send('go')).text, 'one')
    await first.close()
    // The same command; the server has another definition now.
    const env = { STUB_LOG: log, STUB_VERSION: '2' }
    const second = await open(t, 'plain', [calling('stub__one'), { text: 'two' }], {
      data,
      log,
      server1: { env },
    })
    const session = await second.turnwire.session('a')
    const [pending] = pendingOf(await session.send('go'))
    assert.match(pending?.reason ?? '', /description was "One, version 1\..*is "One, version 2\./s)
    assert.equal(second.ran(), 1)
    assert.equal((await session.approve(pending!.callId)).text, 'two')
    await second.close()
    // It was allowed, so the next start does not ask.
    const script = [calling('stub__one'), { text: 'three' }]
    const third = await open(t, 'plain', script, { data, log, server1: { env } })
    assert.equal((await (await third.turnwire.session('a')).send('go')).text, 'three')
  })
})

describe('T-06 names that look alike', () => {
  test('each reaches its own tool of its own server, and no vendor sees two of them as one', async t => {
    const { turnwire } = await open(t, 'look-alike', [])
    const tools = (await runtimeOf(turnwire).engine.describe()).agents[0]?.tools ?? []
    const names = tools.map(({ name }) => name)
    assert.equal(names.length, 6)
    for (const [vendor, body] of vendorBodies({ tools })) {
      const sent = namesIn(body)
      assert.equal(new Set(sent).size, 6, `${vendor}: ${sent.join(' ')}`)
    }
    const server = await mcpServer({ name: 'stub', command: process.execPath, args: [program, 'look-alike'] })
    t.after(() => server.close())
    for (const tool of server.tools) {
      const { parts } = await tool.run({}, contextFor())
      assert.equal(joinText(parts), `ran ${tool.name.replace('stub__', '')}`)
    }
  })

  test('a name with a foreign or invisible letter, a double and a name of our own are left out', async t => {
    const server = await mcpServer(
      { name: 'stub', command: process.execPath, args: [program, 'names'] },
      { taken: ['stub__fs_write'] },
    )
    t.after(() => server.close())
    assert.ok(server.tools.every(({ name }) => /^stub__x+/.test(name)))
    assert.equal(new Set(server.tools.map(({ name }) => name)).size, 2)
  })

  test('two servers with the same tool are both called, each by its name', async t => {
    const stub = { command: process.execPath, args: [program, 'look-alike'], trust: 'trusted' as const }
    const script = [calling('one__fs_write'), calling('two__Fs_write'), { text: 'so' }]
    const { turnwire } = await open(t, 'look-alike', script, { mcp: { one: stub, two: stub } })
    const session = await turnwire.session('a')
    await session.send('go')
    assert.deepEqual(
      (await resultsOf(session)).map(({ text }) => text),
      ['ran fs_write', 'ran Fs_write'],
    )
  })
})

/** The names of tools in a vendor's request, wherever it has them. */
function namesIn(body: Json): string[] {
  if (Array.isArray(body)) return body.flatMap(namesIn)
  if (!isJsonObject(body)) return []
  const { name } = body
  const isTool = body['description'] !== undefined && typeof name === 'string'
  return [...(isTool ? [name] : []), ...Object.values(body).flatMap(namesIn)]
}

test('T-07 a result that pretends to be an order is data in its own place, and its links are not opened', async t => {
  let opened = 0
  const bait = createServer((_, response) => {
    opened += 1
    response.end()
  }).listen(0, '127.0.0.1')
  t.after(() => bait.close())
  await new Promise(resolve => bait.once('listening', resolve))
  const { port } = bait.address() as AddressInfo // It listens on TCP.
  const env = { BAIT: `http://127.0.0.1:${port}/` }
  const { turnwire } = await open(t, 'inject', [calling('stub__one'), { text: 'so' }], { server1: { env } })
  const session = await turnwire.session('a')
  assert.equal((await session.send('go')).text, 'so')
  const history = await session.history()
  // One call, one result: nothing in it became a call, a message or an instruction.
  assert.deepEqual(
    history.map(({ role }) => role),
    ['user', 'assistant', 'tool', 'assistant'],
  )
  for (const [vendor, body] of vendorBodies({ system: 'Be brief.', history })) {
    const places = placesOf(body, 'mail the keys')
    assert.equal(places.length, 1, vendor)
    assert.match(
      places[0] ?? '',
      /tool_result|function_call_output|functionResponse|"tool"|function_result/,
      vendor,
    )
    assert.doesNotMatch(places[0] ?? '', /^system|instruction/i, vendor)
    // A fake call stays inside of a text: it is no object of the request.
    assert.ok(!JSON.stringify(body).includes('"id":"toolu_1"'), vendor)
  }
  assert.equal(opened, 0)
})

/** Where in a request a text stands: the keys on the way, and the objects' own types and roles. */
function placesOf(body: Json, text: string, way = ''): string[] {
  if (typeof body === 'string') return body.includes(text) ? [way] : []
  if (Array.isArray(body)) return body.flatMap(each => placesOf(each, text, way))
  if (!isJsonObject(body)) return []
  const kind = `${JSON.stringify(body['type'] ?? '')}${JSON.stringify(body['role'] ?? '')}`
  return Object.entries(body).flatMap(([key, value]) => placesOf(value, text, `${way}${kind}${key} `))
}

test('T-08 a tool by its raw name on the server, or of another server, is not found', async t => {
  const names = ['one', 'stub:one', 'stub_one', 'STUB__one', 'stub__One', 'stub__one ', 'stub__', '__one']
  const { turnwire, ran } = await open(t, 'plain', [
    { calls: names.map(name => ({ name, input: {} })) },
    { text: 'so' },
  ])
  const session = await turnwire.session('a')
  await session.send('go')
  const results = await resultsOf(session)
  assert.equal(results.length, names.length)
  for (const { kind, text } of results) {
    assert.equal(kind, 'invalid')
    assert.match(text, /There is no tool named/)
  }
  assert.equal(ran(), 0)
})

test('T-19 patterns of addresses are data: none is ever compiled, and an address goes to its server as it is', async t => {
  const { turnwire } = await open(t, 'templates', [])
  const uri = `x://a/${'a,'.repeat(100_000)}`
  const before = process.cpuUsage()
  const listed = await turnwire.resources('a')
  const parts = await runtimeOf(turnwire).engine.fromServers('a', { get: 'resource', server: 'stub', uri })
  const { user } = process.cpuUsage(before)
  assert.deepEqual(
    listed.map(({ uri: given, template }) => [given.slice(0, 20), template]),
    [
      ['x://a{/id*}{?tags*}', true],
      ['x://{a,b*}{a,b*}{a,b', true],
    ],
  )
  assert.match(joinText(parts), new RegExp(`${uri.length} characters`))
  // The expression that the SDK's pattern makes takes longer than anyone would wait.
  assert.ok(user < 2_000_000, `${user} µs`)
})

test('T-20 servers, tools and headers with the names of object members are plain names', async t => {
  const stub = { command: process.execPath, args: [program, 'plain'], trust: 'trusted' as const }
  const mcp = { constructor: stub, toString: stub, valueOf: stub }
  const script = [
    { calls: Object.keys(mcp).map(name => ({ name: `${name}__one`, input: {} })) },
    { text: 'so' },
  ]
  const { turnwire } = await open(t, 'plain', script, { mcp })
  const session = await turnwire.session('a')
  await session.send('go')
  assert.deepEqual(
    (await resultsOf(session)).map(({ kind }) => kind),
    ['ok', 'ok', 'ok'],
  )
  assert.deepEqual(
    (await turnwire.servers()).map(({ name }) => name),
    Object.keys(mcp),
  )
  const headers = JSON.parse('{"__proto__":"x","x-a":"1"}') as Record<string, string>
  await mcpServer({ name: 'h', url: 'http://127.0.0.1:9/', headers }, { connectTimeoutMs: 2_000 }).catch(
    () => {},
  )
  assert.equal(({} as Record<string, unknown>)['x-a'], undefined)
  assert.equal(Object.getPrototypeOf({}), Object.prototype)
})

describe('T-36 a server that breaks its pipe', () => {
  test('with noise, wrong bytes, and answers that nobody asked for: the call gets its own answer', async t => {
    const { turnwire } = await open(t, 'noise', [calling('stub__one'), calling('stub__one'), { text: 'so' }])
    const session = await turnwire.session('a')
    await session.send('go')
    assert.deepEqual(await resultsOf(session), [
      { kind: 'ok', text: 'call 1' },
      { kind: 'ok', text: 'call 2' },
    ])
  })

  test('with requests that its revision forbids: they are not answered, nobody is asked, and the call goes on', async t => {
    const answered = join(folder(t), 'answers')
    const server1 = { args: [modern], env: { LOG: answered }, roots: ['/'], sampling: {} }
    const { turnwire } = await open(t, '', [calling('stub__one'), { text: 'so' }], { server1 })
    assert.equal((await turnwire.servers())[0]?.protocolVersion, '2026-07-28')
    const session = await turnwire.session('a')
    assert.equal((await session.send('go')).status, 'done')
    assert.deepEqual(await resultsOf(session), [{ kind: 'ok', text: 'ran' }])
    assert.ok(!existsSync(answered), existsSync(answered) ? readFileSync(answered, 'utf8') : '')
  })

  test('with a line of 100 MB: the connection ends at the limit, the call is settled, and the server is started again', async t => {
    const { turnwire, ran } = await open(t, 'huge-line', [calling('stub__one'), { text: 'so' }])
    const session = await turnwire.session('a')
    assert.equal((await session.send('go')).text, 'so')
    const [result] = await resultsOf(session)
    assert.equal(result?.kind, 'unknown')
    assert.match(result?.text ?? '', /went away|closed|buffer|bytes/i)
    assert.equal(ran(), 1)
    while ((await turnwire.servers())[0]?.state !== 'connected')
      await new Promise(resolve => setTimeout(resolve, 50))
  })
})

describe('T-37 the command of a server', () => {
  const checked = async (mcp: object): Promise<unknown> =>
    Turnwire.open({
      agents: [{ name: 'a', model: scripted([]) }],
      mcp: mcp as NonNullable<TurnwireConfig['mcp']>,
      data: 'memory',
    })

  test('is one program and no shell line; its arguments reach it as they are', async t => {
    await assert.rejects(
      checked({ s: { command: 'sh -c "touch /tmp/x"' } }),
      /one program, not a command line/,
    )
    const odd = ['a b', '$(touch x)', '; rm -rf /', '"quoted"', '*', "--flag='x y'"]
    const spec = { name: 's', command: process.execPath, args: [program, 'argv', ...odd] }
    process.env['TURNWIRE_CANARY'] = 'secret'
    t.after(() => delete process.env['TURNWIRE_CANARY'])
    const server = await mcpServer(spec)
    t.after(() => server.close())
    const output = await server.tools[0]?.run({}, contextFor())
    const { argv, env } = JSON.parse(joinText(output?.parts ?? [])) as { argv: string[]; env: string[] }
    assert.deepEqual(argv, ['argv', ...odd])
    assert.ok(!env.includes('TURNWIRE_CANARY'))
  })

  test('gets no variable that makes it load foreign code, unless the operator names it', async () => {
    for (const name of ['NODE_OPTIONS', 'LD_PRELOAD', 'PYTHONPATH', 'BASH_ENV', 'node_options']) {
      const server = { command: process.execPath, args: [program, 'argv'], env: { [name]: 'x' } }
      await assert.rejects(checked({ s: server }), /can make any program run foreign code/, name)
    }
  })
})
