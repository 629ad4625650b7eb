// The owner's side: what a machine does for a server, and what it refuses, whoever asks.
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { EventEmitter } from 'node:events'
import { chmodSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import test, { type TestContext } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { type WebSocket, WebSocketServer } from 'ws'
import type { ModelRequest } from '../../src/engine/ports/index.ts'
import type { JsonObject } from '../../src/lib/json/index.ts'
import { scripted } from '../../src/models/scripted/index.ts'
import { relayDefaults } from '../../src/relay/config.ts'
import type { OwnerFrame, ServerFrame } from '../../src/relay/frames.ts'
import { waitMs } from '../../src/relay/owner/attachment.ts'
import { openWallet, readServer, readStatus, serverAgent, signIn } from '../../src/relay/owner/index.ts'
import { checkRelayedBody } from '../../src/relay/request.ts'
import { Attached } from '../../src/relay/server/accept.ts'
import { Dispatch } from '../../src/relay/server/dispatch.ts'
import { relayTokens } from '../../src/relay/server/jwt.ts'
import { Registry } from '../../src/relay/server/registry.ts'
import { tool } from '../../src/tools/index.ts'
import { cites } from '../requirements/manifest.ts'
import { ask, attaching, folder, machine, newWallet, relay, textIn, tokenOf, until } from './rig.ts'

/** A server that says whatever a test wants to machines that attach to it. */
class FakeRelay {
  readonly frames: OwnerFrame[] = []
  readonly closes: number[] = []
  url = ''
  socket: WebSocket | undefined
  connections = 0
  welcome: JsonObject = { type: 'auth_ok', pluginId: 'pl_1', protocol: 2 }
  message = (address: string): string => `Sign in to ${this.url}\n\nWallet: ${address}`

  static async start(t: TestContext): Promise<FakeRelay> {
    const fake = new FakeRelay()
    const http = createServer((request, answer) => {
      const url = new URL(request.url ?? '/', 'http://a')
      answer.setHeader('content-type', 'application/json')
      if (url.pathname === '/auth/challenge')
        answer.end(
          JSON.stringify({ nonce: 'n', message: fake.message(url.searchParams.get('address') ?? '') }),
        )
      else answer.end(JSON.stringify({ jwt: 'a.b.c', walletAddress: '', identitySource: 'local' }))
    })
    const sockets = new WebSocketServer({ server: http })
    sockets.on('connection', socket => fake.#take(socket))
    await new Promise<void>(resolve => http.listen(0, '127.0.0.1', resolve))
    t.after(() => {
      for (const socket of sockets.clients) socket.terminate()
      http.close()
    })
    fake.url = `http://127.0.0.1:${(http.address() as AddressInfo).port}`
    return fake
  }

  #take(socket: WebSocket): void {
    this.socket = socket
    this.connections += 1
    socket.on('close', code => void this.closes.push(code))
    socket.on('message', data => {
      const frame = JSON.parse((data as Buffer).toString()) as OwnerFrame
      this.frames.push(frame)
      if (frame.type === 'auth') this.send(this.welcome)
    })
  }

  send(frame: JsonObject | string): void {
    this.socket?.send(typeof frame === 'string' ? frame : JSON.stringify(frame))
  }

  async about(id: string, count = 1): Promise<OwnerFrame[]> {
    const found = (): OwnerFrame[] => this.frames.filter(frame => 'id' in frame && frame.id === id)
    await until(() => found().length >= count, `frames about ${id}`)
    return found()
  }
}

async function all<Item>(items: AsyncIterable<Item>): Promise<Item[]> {
  const found: Item[] = []
  for await (const item of items) found.push(item)
  return found
}

const user = (text: string): JsonObject => ({ type: 'message', role: 'user', content: text })

test(cites('SIX-WS-03', 'SIX-WS-02', 'a machine answers in the words of the protocol'), async t => {
  const fake = await FakeRelay.start(t)
  const script = [
    { thinking: 'hm', calls: [{ name: 'add', input: { a: 1 } }], usage: { input: 4, output: 2 } },
  ]
  await machine(t, fake.url, script, { prices: ['1', '4'], name: 'Ada' })
  assert.deepEqual(fake.frames[0], {
    type: 'auth',
    jwt: 'a.b.c',
    protocol: 2,
    inputTokenPrice: '1',
    outputTokenPrice: '4',
    agentName: 'Ada',
  })
  const tools = [{ type: 'function', function: { name: 'add', parameters: { type: 'object' } } }]
  fake.send({
    type: 'request',
    id: 'r1',
    body: { model: 'default', input: [user('hi')], tools, stream: true },
  })
  await until(() => fake.frames.some(frame => frame.type === 'stream_end'), 'the end')
  const frames = await fake.about('r1')
  assert.deepEqual(frames.at(-1), {
    type: 'stream_end',
    id: 'r1',
    usage: { input_tokens: 4, output_tokens: 2, total_tokens: 6 },
  })
  const events = frames.flatMap(frame => (frame.type === 'stream_event' ? [frame.event] : []))
  const types = events.map(event => event['type'])
  for (const type of [
    'response.created',
    'response.in_progress',
    'response.output_item.added',
    'response.function_call_arguments.done',
    'response.output_item.done',
    'response.completed',
  ])
    assert.ok(types.includes(type), type)
  assert.ok(events.every(event => !('sequence_number' in event)))
  const done = events.find(event => event['type'] === 'response.function_call_arguments.done') ?? {}
  assert.deepEqual(Object.keys(done).sort(), [
    'arguments',
    'call_id',
    'item_id',
    'name',
    'output_index',
    'type',
  ])
  const completed = events.at(-1)?.['response'] as JsonObject
  assert.deepEqual(Object.keys(completed).sort(), [
    'created_at',
    'id',
    'model',
    'object',
    'output',
    'status',
    'usage',
  ])
  const items = completed['output'] as JsonObject[]
  assert.deepEqual(
    items.map(item => item['type']),
    ['reasoning', 'function_call'],
  )

  fake.send({ type: 'request', id: 'r2', body: { model: 'default', input: 'hi', tools } })
  const [whole, ...more] = await fake.about('r2')
  assert.equal(whole?.type, 'response')
  assert.deepEqual(more, [])
})

test(
  cites('SIX-OWN-01', 'no tool of the machine runs or is even offered, whatever the request says'),
  async t => {
    const fake = await FakeRelay.start(t)
    const ran: unknown[] = []
    const asked: ModelRequest[] = []
    const shell = tool({
      name: 'shell',
      description: 'Runs a command.',
      input: { type: 'object', properties: { command: { type: 'string' } } },
      trust: 'trusted',
      run: input => {
        ran.push(input)
        return 'done'
      },
    })
    const model = scripted(request => {
      asked.push(request)
      return { calls: [{ name: 'shell', input: { command: 'rm -rf /' } }] }
    })
    const agents = [{ name: 'own', model, tools: [shell], code: true, responses: { serverTools: true } }]
    await machine(t, fake.url, undefined, { config: { agents } })
    const named = [{ type: 'function', function: { name: 'shell', parameters: { type: 'object' } } }]
    for (const [id, tools] of Object.entries({ none: [], named })) {
      fake.send({ type: 'request', id, body: { model: 'own', input: 'go', tools, store: true } })
      const [answer] = await fake.about(id)
      assert.equal(answer?.type, 'response')
      if (answer?.type === 'response')
        assert.equal((answer.body['output'] as JsonObject[])[0]?.['type'], 'function_call')
    }
    assert.deepEqual(
      asked.map(request => request.tools.map(({ name }) => name)),
      [[], ['shell']],
    )
    assert.ok(asked.every(request => request.hosted === false))
    assert.deepEqual(ran, [])
  },
)

test(
  cites(
    'SIX-OWN-02',
    'SIX-OWN-05',
    'requests for tools, files, stored things or anything unknown are refused and counted',
  ),
  async t => {
    const fake = await FakeRelay.start(t)
    const asked: unknown[] = []
    const model = scripted(request => {
      asked.push(request)
      return { text: 'x' }
    })
    const { statusNow } = await machine(t, fake.url, [], { model })
    const wrong: Record<string, JsonObject> = {
      hosted: { tools: [{ type: 'web_search' }] },
      mcp: { tools: [{ type: 'mcp', server_label: 'a', server_url: 'http://127.0.0.1:1' }] },
      shell: { tools: [{ type: 'local_shell' }] },
      code: { tools: [{ type: 'code_interpreter', container: { type: 'auto' } }] },
      custom: { tools: [{ type: 'custom', name: 'a' }] },
      file: { input: [{ role: 'user', content: [{ type: 'input_file', file_url: 'file:///etc/passwd' }] }] },
      fileId: { input: [{ role: 'user', content: [{ type: 'input_file', file_id: 'file_1' }] }] },
      address: {
        input: [{ role: 'user', content: [{ type: 'input_image', image_url: 'http://169.254.169.254/' }] }],
      },
      inside: {
        input: [
          {
            role: 'user',
            content: [{ type: 'input_image', source: { type: 'url', url: 'http://10.0.0.1' } }],
          },
        ],
      },
      stored: { input: [{ type: 'item_reference', id: 'msg_1' }] },
      session: { conversation: 'conv_1' },
      background: { background: true },
      unknown: { run: 'rm' },
      empty: { input: [] },
    }
    for (const [id, more] of Object.entries(wrong)) {
      fake.send({ type: 'request', id, body: { model: 'default', input: 'a', ...more } })
      const [answer] = await fake.about(id)
      assert.equal(answer?.type, 'error', id)
      if (answer?.type === 'error') assert.equal(answer.code, 'plugin_error')
    }
    assert.deepEqual(asked, [])
    const { requests, refusals } = statusNow()
    assert.equal(requests.refused, Object.keys(wrong).length)
    assert.equal(requests.served + requests.failed, 0)
    assert.match(refusals[0]?.reason ?? '', /Supported values are: 'function'/)
  },
)

test(
  cites(
    'SIX-OWN-02',
    'content is text and data: no address, stored file or unknown part passes, in any form',
  ),
  () => {
    const address = 'http://169.254.169.254/'
    const message = (part: JsonObject): JsonObject => ({ role: 'user', content: [part] })
    const refused: JsonObject[] = [
      message({ type: 'input_image', image_url: address }),
      message({ type: 'input_image', image_url: { url: address } }),
      message({ type: 'input_image', file_id: 'file_1' }),
      message({ type: 'input_image', source: { type: 'url', url: address } }),
      message({ type: 'input_image', source: { type: 'base64', data: '', url: address } }),
      message({ type: 'input_image', source: { type: 'file', path: '/etc/passwd' } }),
      message({ type: 'input_image', source: address }),
      message({ type: 'input_file', file_url: address }),
      message({ type: 'input_file', file_data: address }),
      message({ type: 'input_file', file_id: 'file_1' }),
      message({ type: 'input_file', path: '/etc/passwd' }),
      message({ type: 'image_url', image_url: 'data:,' }),
      message({ type: 'input_audio', input_audio: {} }),
      message({ type: 'input_text', text: 'a', image_url: 'data:,' }),
      message({ text: 'a' }),
      { role: 'user', content: { type: 'input_image', image_url: address } },
      { type: 'reasoning', content: [{ type: 'input_image', image_url: address }] },
      { type: 'reasoning', summary: [{ type: 'summary_text', text: 'a', image_url: address }] },
    ]
    for (const item of refused)
      assert.throws(() => checkRelayedBody({ model: 'm', input: [item] }), JSON.stringify(item))
    const input = [
      message({ type: 'input_text', text: address }),
      message({ type: 'input_image', image_url: 'data:image/png;base64,AA==', file_id: null, detail: 'low' }),
      message({ type: 'input_file', file_data: 'AA==', file_url: null, filename: 'a.pdf' }),
      message({ type: 'input_file', source: { type: 'base64', media_type: 'text/plain', data: 'AA==' } }),
      message({ type: 'output_text', text: 'a', annotations: [], logprobs: [] }),
      message({ type: 'refusal', refusal: 'no' }),
      { type: 'reasoning', summary: [{ type: 'summary_text', text: 'a' }], content: 'b' },
    ]
    checkRelayedBody({ model: 'm', input })
  },
)

test(cites('SIX-WS-12', 'frames that cannot be read or are not known are ignored'), async t => {
  const fake = await FakeRelay.start(t)
  await machine(t, fake.url, [{ text: 'still here' }])
  for (const frame of [
    'not json',
    '[]',
    'null',
    { type: 'read_file', path: '/etc/passwd' },
    { type: 'exec', command: 'id' },
    { type: 'request', id: 'bad', body: 'text' },
    { type: 'request', body: { model: 'a', input: 'a' } },
    { type: 'request', id: 'extra', body: { model: 'a', input: 'a' }, shell: true },
    { type: 'ping' },
    { type: 'jwt_refresh', jwt: 'x.y.z' },
  ])
    fake.send(frame)
  fake.socket?.send(Buffer.from([1, 2, 3]))
  const before = fake.frames.length
  fake.send({ type: 'ping', ts: 42 })
  fake.send({ type: 'request', id: 'good', body: { model: 'a', input: 'a' } })
  const [answer] = await fake.about('good')
  assert.equal(answer?.type, 'response')
  assert.deepEqual(fake.frames[before], { type: 'pong', ts: 42 })
  assert.equal(fake.connections, 1)
})

test('a request that is larger than any frame may be ends the connection, and the machine comes back', async t => {
  const fake = await FakeRelay.start(t)
  await machine(t, fake.url)
  fake.send(`{"type":"request","id":"huge","body":{"model":"a","input":"${'x'.repeat(25 * 1024 * 1024)}"}}`)
  await until(() => fake.connections === 2, 'it is back')
  assert.equal(fake.closes[0], 1009)
})

test('a request before the machine was let in is not answered, and ids are used once at a time', async t => {
  const fake = await FakeRelay.start(t)
  fake.welcome = { type: 'request', id: 'early', body: { model: 'a', input: 'a' } }
  const model = scripted(() => ({ text: 'x', stepDelayMs: 200 }))
  const attaching = machine(t, fake.url, [], { model, atOnce: 2 })
  await until(() => fake.connections === 1 && fake.frames.length === 1, 'it wants in')
  await sleep(100)
  assert.equal(fake.frames.length, 1)
  fake.send({ type: 'auth_ok', pluginId: 'pl', protocol: 2 })
  await attaching
  const body = { model: 'a', input: 'a' }
  for (const id of ['one', 'one', 'two', 'three']) fake.send({ type: 'request', id, body })
  const [busy] = await fake.about('three')
  assert.equal(busy?.type === 'error' && busy.message, 'This machine answers 2 requests already.')
  assert.equal((await fake.about('one')).length, 1)
  await fake.about('two')
  await sleep(100)
  assert.equal((await fake.about('one')).length, 1)
})

test(cites('SIX-WS-11', 'a machine that was refused does not try again'), async t => {
  const fake = await FakeRelay.start(t)
  fake.welcome = { type: 'auth_error', message: 'go away' }
  const { over } = await attaching(t, fake.url)
  await assert.rejects(over, /The server refused: go away/)
  await sleep(1_500)
  assert.equal(fake.connections, 1)
})

test('a wallet signs nothing that is no sign-in', async t => {
  const fake = await FakeRelay.start(t)
  const wallet = await newWallet()
  const signing = (message: string): Promise<unknown> => {
    fake.message = () => message
    return signIn(readServer(fake.url), wallet, AbortSignal.timeout(5_000))
  }
  await assert.rejects(signing(`Pay 0x${'1'.repeat(40)} all of it`), /Nothing was signed/)
  await assert.rejects(signing('x'.repeat(3_000)), /Nothing was signed/)
  await assert.rejects(signing('hidden \u202e text'), /Nothing was signed/)
  await assert.rejects(signing(`Sign in to ${fake.url}`), /Nothing was signed/)
  await assert.rejects(
    signing(`Sign in to ${fake.url} as ${wallet.address} or 0x${'1'.repeat(40)}`),
    /Nothing was signed/,
  )
  assert.ok(await signing(`Sign in to ${fake.url} as ${wallet.address}`))
})

test('a wallet signs for the server that asks, and for no other', async t => {
  const fake = await FakeRelay.start(t)
  const wallet = await newWallet()
  const { host, port } = new URL(fake.url)
  const signing = (message: string, server = fake.url): Promise<unknown> => {
    fake.message = address => `${message}\n\nWallet: ${address}`
    return signIn(readServer(server), wallet, AbortSignal.timeout(5_000))
  }
  for (const other of [
    'Sign in',
    'Sign in to https://relay.example',
    'Sign in to relay.example',
    `Sign in to relay.example through ${host}`,
    `Sign in to https://relay.example@${host}`,
    `Sign in to http://${host}.relay.example`,
    `Sign in to ${host} and http://intranet/login`,
    `Sign in to 127.0.0.1:1${port}`,
    `Sign in to 127.0.0.2:${port}`,
    `relay wants you to sign in with your Ethereum account, at ${host}`,
    `Sign in to ${host}\nNonce: relay.example`,
  ])
    await assert.rejects(signing(other), /Nothing was signed/, other)
  assert.ok(await signing(`${host} wants you to sign in with your Ethereum account:`))
  assert.ok(await signing(`Sign in to http://${host}/relay.\nIssued: 2026-01-01T00:00:00.000Z\nNonce: n`))
  assert.ok(await signing(`Sign in to http://127.0.0.1:${port}`, `http://localhost:${port}`))
})

test(
  cites('SIX-WS-10', 'attempts wait 1 s, then twice as long each, up to 30 s, and a little more by chance'),
  () => {
    assert.deepEqual(
      [0, 1, 2, 3, 4, 5, 6, 40].map(failures => waitMs(failures, 0)),
      [1000, 2000, 4000, 8000, 16_000, 30_000, 30_000, 30_000],
    )
    assert.equal(waitMs(0, 1), 1250)
  },
)

test(
  cites(
    'SIX-WS-09',
    'SIX-WS-10',
    'machines come back at once when the server restarts, and their token still holds',
  ),
  async t => {
    const vault = 'a-vault-key-that-is-long-enough-for-this'
    process.env['TURNWIRE_VAULT_KEY'] = vault
    t.after(() => delete process.env['TURNWIRE_VAULT_KEY'])
    const first = await relay(t)
    const token = await tokenOf(first.url)
    const attached = await machine(t, first.url, [{ text: 'back' }])
    const port = Number(new URL(first.url).port)
    await first.stop()
    const second = await relay(t, {}, {}, port)
    assert.equal(textIn(await ask(second.url, { model: attached.agentId, input: 'a' }, { token })), 'back')
    assert.ok(attached.said.includes('The server restarts. Connecting again.'))
  },
)

test(cites('SIX-WS-08', 'a machine gets a new token before its own expires'), async t => {
  const tokens = relayTokens(randomBytes(32), { tokenMs: 2_000, signInMs: 600_000 })
  const registry = new Registry(Date.now)
  const limits = {
    ...relayDefaults,
    answerChars: 1,
    unsentBytes: 1,
    frameBytes: 10_000,
    authMs: 1_000,
    machines: 1,
    attached: 1,
  }
  const sent: ServerFrame[] = []
  const socket = Object.assign(new EventEmitter(), {
    send: (text: string) => void sent.push(JSON.parse(text) as ServerFrame),
    close: () => {},
    terminate: () => {},
    bufferedAmount: 0,
  })
  t.after(() => socket.emit('close'))
  const dispatch = new Dispatch(registry, { queueMs: 1, mostWaiting: 1 })
  const options = { registry, dispatch, tokens, admits: () => true, limits, now: Date.now, log: () => {} }
  assert.ok(new Attached(socket, options))
  const { jwt, claims } = tokens.issue((await newWallet()).address, Date.now())
  socket.emit('message', JSON.stringify({ type: 'auth', jwt, protocol: 2 }), false)
  const refreshed = (): ServerFrame[] => sent.filter(frame => frame.type === 'jwt_refresh')
  await until(() => refreshed().length >= 2, 'two new tokens')
  const [fresh] = refreshed()
  assert.ok(fresh?.type === 'jwt_refresh' && fresh.jwt !== jwt)
  const read = tokens.read(fresh.jwt, Date.now() - 2_000)
  assert.equal(read?.wallet, claims.wallet)
  assert.ok((read?.expiresAt ?? 0) > claims.expiresAt)
})

test(cites('SIX-WS-07', 'an owner changes prices while the machine runs'), async t => {
  const { url } = await relay(t)
  const { attachment } = await machine(t, url, [{ text: 'x' }], { prices: ['1', '1'] })
  attachment.reprice({ inputTokenPrice: '3', outputTokenPrice: '7' })
  await until(async () => {
    const { providers } = (await (await fetch(`${url}/v1/providers`)).json()) as {
      providers: { pricing: object }[]
    }
    return JSON.stringify(providers[0]?.pricing) === '{"inputTokenPrice":"3","outputTokenPrice":"7"}'
  }, 'the new prices')
})

// ---- a local server ------------------------------------------------------------------------------------------------

test(
  cites('SIX-OWN-03', 'a local Responses server answers, with its token and tools in its form'),
  async t => {
    const seen: { headers: Record<string, unknown>; body: JsonObject }[] = []
    const local = createServer((request, answer) => {
      let text = ''
      request.on('data', chunk => (text += String(chunk)))
      request.on('end', () => {
        seen.push({ headers: request.headers, body: JSON.parse(text) as JsonObject })
        answer.setHeader('content-type', 'text/event-stream')
        const output = [
          { type: 'message', id: 'm', role: 'assistant', content: [{ type: 'output_text', text: 'local' }] },
        ]
        const usage = { input_tokens: 1, output_tokens: 2, total_tokens: 3, extra: 1 }
        const response = {
          id: 'r',
          object: 'response',
          created_at: 1,
          status: 'completed',
          model: 'm',
          output,
          usage,
        }
        answer.end(
          `event: response.completed\ndata: ${JSON.stringify({ type: 'response.completed', response })}\n\ndata: [DONE]\n\n`,
        )
      })
    })
    await new Promise<void>(resolve => local.listen(0, '127.0.0.1', resolve))
    t.after(() => void local.close())
    const url = new URL(`http://127.0.0.1:${(local.address() as AddressInfo).port}/v1/responses`)
    const tools = [{ type: 'function', function: { name: 'add' } }]
    const body = {
      model: 'default',
      input: 'a',
      tools,
      tool_choice: { type: 'function', function: { name: 'add' } },
    }
    const read = async (agent: ReturnType<typeof serverAgent>): Promise<JsonObject[]> =>
      all(agent(body, AbortSignal.timeout(5_000)))
    const others = { user: 'victim', previous_response_id: 'resp_1', store: true, metadata: { session: 'a' } }
    const named = serverAgent({ url, token: 'secret', model: 'llama' })
    const events = await all(named({ ...body, ...others }, AbortSignal.timeout(5_000)))
    assert.equal(events.at(-1)?.['type'], 'response.completed')
    await read(serverAgent({ url, nested: true }))
    assert.equal(seen[0]?.headers['authorization'], 'Bearer secret')
    assert.deepEqual(seen[0]?.body, {
      model: 'llama',
      input: 'a',
      tools: [{ type: 'function', name: 'add' }],
      tool_choice: { type: 'function', name: 'add' },
      stream: true,
    })
    assert.equal(seen[1]?.headers['authorization'], undefined)
    assert.deepEqual(seen[1]?.body, { ...body, stream: true })
  },
)

test('what a local server says when it refuses is not told to the relay', async t => {
  const local = createServer((_, answer) => answer.writeHead(500).end('secret path /home/me'))
  await new Promise<void>(resolve => local.listen(0, '127.0.0.1', resolve))
  t.after(() => void local.close())
  const url = new URL(`http://127.0.0.1:${(local.address() as AddressInfo).port}/v1/responses`)
  await assert.rejects(
    all(serverAgent({ url })({ model: 'a', input: 'a' }, AbortSignal.timeout(5_000))),
    error => {
      assert.ok(error instanceof Error && !error.message.includes('secret'))
      return true
    },
  )
})

// ---- the wallet ----------------------------------------------------------------------------------------------------

test(
  cites(
    'SIX-OWN-04',
    'the key is made once, for its owner alone, and a key that others can read is not used',
  ),
  async t => {
    const file = join(folder(t), 'wallet.key')
    const made = await openWallet(file)
    assert.equal(made.isNew, true)
    assert.equal(statSync(file).mode & 0o777, 0o600)
    const again = await openWallet(file)
    assert.deepEqual([again.isNew, again.address], [false, made.address])
    const text = readFileSync(file, 'utf8')
    chmodSync(file, 0o644)
    await assert.rejects(openWallet(file), /can be read by others/)
    chmodSync(file, 0o600)
    writeFileSync(file, 'not a key')
    await assert.rejects(openWallet(file), /holds no key/)
    assert.match(text, /^0x[0-9a-f]{64}\n$/)
    assert.equal(readStatus(join(folder(t), 'none.json')), undefined)
  },
)

test('a server without a scheme is reached by https, unless it is on this machine', () => {
  for (const [text, url] of [
    ['relay.example', 'https://relay.example/'],
    ['relay.example:8443/a/', 'https://relay.example:8443/a'],
    ['localhost.example', 'https://localhost.example/'],
    ['localhost:4117', 'http://localhost:4117/'],
    ['127.0.0.1:4117', 'http://127.0.0.1:4117/'],
    ['https://localhost:4117', 'https://localhost:4117/'],
  ] as const)
    assert.equal(readServer(text).href, url)
})
