// Machines that lie, flood and break the protocol: the server closes them, their requests fail or go elsewhere, and no
// client sees what they made up.
import assert from 'node:assert/strict'
import test from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import type { JsonObject } from '../../src/lib/json/index.ts'
import { relayDefaults } from '../../src/relay/config.ts'
import { Attached } from '../../src/relay/server/accept.ts'
import { countedTokens } from '../../src/relay/server/check-answer.ts'
import { Dispatch } from '../../src/relay/server/dispatch.ts'
import { relayTokens } from '../../src/relay/server/jwt.ts'
import { Registry } from '../../src/relay/server/registry.ts'
import { addressNetwork } from '../../src/relay/server/unsigned.ts'
import { cites } from '../requirements/manifest.ts'
import {
  ask,
  eventsIn,
  machine,
  newWallet,
  RawMachine,
  relay,
  saying,
  textIn,
  tokenOf,
  until,
} from './rig.ts'

/** What an honest machine says, so that clients are served whatever the hostile one does. */
const honest = 'honest answer'

async function withHonest(t: test.TestContext, settings = {}): Promise<{ url: string; token: string }> {
  const { url } = await relay(t, settings)
  await machine(t, url, [{ text: honest }], { prices: ['9', '9'] })
  return { url, token: await tokenOf(url) }
}

test(
  cites('SIX-WS-01', 'SIX-WS-15', 'a socket that does not sign in with its first frame is refused'),
  async t => {
    const { url } = await relay(t)
    const jwt = await tokenOf(url)
    const firsts: (JsonObject | string)[] = [
      'not json',
      '[]',
      '{"type":1}',
      { type: 'pong', ts: 1 },
      { type: 'response', id: 'a', body: {} },
      { type: 'auth', jwt },
      { type: 'auth', jwt, protocol: 1 },
      { type: 'auth', jwt, protocol: 2, admin: true },
      { type: 'auth', jwt, protocol: 2, inputTokenPrice: '-1' },
      { type: 'auth', jwt, protocol: 2, inputTokenPrice: 1 },
      { type: 'auth', jwt, protocol: 2, agentName: 'x'.repeat(201) },
    ]
    for (const first of firsts) {
      const raw = await RawMachine.connect(t, url, '/relay')
      raw.send(first)
      await raw.frame('auth_error')
      assert.equal(await raw.closed, 1008, JSON.stringify(first))
    }
    const { plugins } = (await (await fetch(`${url}/health`)).json()) as { plugins: number }
    assert.equal(plugins, 0)
  },
)

test(
  cites(
    'SIX-WS-04',
    'SIX-WS-15',
    'frames that no honest machine sends close it, and the request goes to another',
  ),
  async t => {
    const { url, token } = await withHonest(t)
    const item = (more: JsonObject): JsonObject => ({
      type: 'stream_event',
      event: { type: 'response.output_item.added', output_index: 0, item: { id: 'i', ...more } },
    })
    const lies: Record<string, (id: string) => JsonObject | string> = {
      'an id that was never given out': () => ({
        type: 'response',
        id: 'req_of_another',
        body: saying('stolen'),
      }),
      'a frame with a member too many': id => ({ type: 'stream_end', id, paid: true }),
      'a frame that is no JSON': () => '{"type":',
      'a whole response to a stream': id => ({ type: 'response', id, body: saying('whole') }),
      'a hosted item': id => ({
        ...item({ type: 'mcp_call', server_label: 'x', name: 'y', arguments: '{}' }),
        id,
      }),
      'a tool that was not declared': id => ({
        ...item({ type: 'function_call', call_id: 'c', name: 'rm', arguments: '' }),
        id,
      }),
      'an approval': id => ({ ...item({ type: 'mcp_approval_request', name: 'y', arguments: '{}' }), id }),
      'an index that cannot be': id => ({
        type: 'stream_event',
        id,
        event: { type: 'response.output_text.delta', output_index: 1e9, delta: 'x' },
      }),
      'a negative usage': id => ({
        type: 'stream_end',
        id,
        usage: { input_tokens: -5, output_tokens: 1, total_tokens: 1 },
      }),
      'signing in again': () => ({ type: 'auth', jwt: token, protocol: 2 }),
      'a price that is none': () => ({ type: 'price_update', inputTokenPrice: '1e9', outputTokenPrice: '0' }),
    }
    for (const [what, lie] of Object.entries(lies)) {
      const raw = await RawMachine.attached(t, url)
      const answering = ask(url, { model: 'auto', input: 'a', stream: true }, { token })
      const { id } = await raw.frame('request')
      raw.send(lie(id))
      assert.equal(await raw.closed, 1008, what)
      const events = eventsIn(await answering)
      assert.match(JSON.stringify(events.at(-1)), new RegExp(honest), what)
    }
  },
)

test(cites('SIX-WS-02', 'SIX-WS-15', 'a whole response that lies is not passed on'), async t => {
  const { url, token } = await withHonest(t)
  const lies: Record<string, JsonObject> = {
    'no output that can be read': { ...saying(''), output: 'text' },
    'an item of a tool': { ...saying(''), output: [{ type: 'web_search_call', id: 'w' }] },
    'a tool that was not declared': {
      ...saying(''),
      output: [{ type: 'function_call', id: 'f', call_id: 'c', name: 'format_disk', arguments: '{}' }],
    },
    'too many items': {
      ...saying(''),
      output: Array.from({ length: 300 }, () => ({ type: 'message', content: [] })),
    },
    'not over': { ...saying(''), status: 'in_progress' },
    'a failure': { ...saying(''), status: 'failed', error: { code: 'x', message: 'no' } },
  }
  for (const [what, body] of Object.entries(lies)) {
    const raw = await RawMachine.attached(t, url)
    const answering = ask(url, { model: 'auto', input: 'a' }, { token })
    const { id } = await raw.frame('request')
    raw.send({ type: 'response', id, body })
    assert.equal(textIn(await answering), honest, what)
    raw.end()
    await raw.closed
  }
})

test(cites('SIX-WS-04', 'one machine cannot answer the request of another'), async t => {
  const { url } = await relay(t)
  const [victim, thief] = [await newWallet(), await newWallet()]
  const one = await RawMachine.attached(t, url, victim)
  const other = await RawMachine.attached(t, url, thief)
  const answering = ask(url, { model: victim.address, input: 'a' }, { token: await tokenOf(url) })
  const { id } = await one.frame('request')
  other.send({ type: 'response', id, body: saying('stolen') })
  assert.equal(await other.closed, 1008)
  one.send({ type: 'response', id, body: saying('mine') })
  assert.equal(textIn(await answering), 'mine')
})

test(cites('SIX-WS-15', 'an endless answer is cut off, by its size and not by its time'), async t => {
  const { url, token } = await withHonest(t, { answerBytes: 200_000 })
  const raw = await RawMachine.attached(t, url)
  const answering = ask(url, { model: 'auto', input: 'a', stream: true }, { token })
  const { id } = await raw.frame('request')
  const filler = { type: 'response.in_progress', response: { pad: 'x'.repeat(1_000) } }
  let closed = false
  void raw.closed.then(() => (closed = true))
  for (let sent = 0; !closed && sent < 10_000; sent++) {
    raw.send({ type: 'stream_event', id, event: filler })
    if (sent % 50 === 0) await sleep(1)
  }
  assert.equal(await raw.closed, 1008)
  assert.match((await answering).text, new RegExp(honest))
})

test(
  cites(
    'SIX-WS-05',
    'SIX-WS-15',
    'a machine that goes on after the end is ignored, and closed when it does not stop',
  ),
  async t => {
    const { url } = await relay(t, { answerBytes: 50_000 })
    const raw = await RawMachine.attached(t, url)
    const token = await tokenOf(url)
    const answering = ask(url, { model: 'auto', input: 'a' }, { token })
    const { id } = await raw.frame('request')
    raw.send({ type: 'response', id, body: saying('the answer') })
    raw.send({ type: 'response', id, body: saying('another') })
    raw.send({ type: 'stream_event', id, event: { type: 'response.completed', response: saying('third') } })
    assert.equal(textIn(await answering), 'the answer')
    const next = ask(url, { model: 'auto', input: 'b' }, { token })
    const second = await raw.frame('request', 1)
    raw.send({ type: 'response', id: second.id, body: saying('still served') })
    assert.equal(textIn(await next), 'still served')
    for (let sent = 0; sent < 60; sent++)
      raw.send({ type: 'stream_event', id, event: { type: 'x', pad: 'x'.repeat(1_000) } })
    assert.equal(await raw.closed, 1008)
  },
)

test(cites('SIX-WS-15', 'a frame that is too large closes the socket'), async t => {
  const { url } = await relay(t, {}, { server: { bodyBytes: 100_000, log: 'silent' } })
  const raw = await RawMachine.attached(t, url)
  raw.send({ type: 'pong', ts: 1, pad: 'x'.repeat(200_000) })
  assert.equal(await raw.closed, 1009)
})

test(cites('SIX-WS-15', 'unknown frames are let pass, but not without end'), async t => {
  const { url } = await relay(t)
  const raw = await RawMachine.attached(t, url)
  for (let sent = 0; sent < 50; sent++) raw.send({ type: 'weather', sun: true })
  const answering = ask(url, { model: 'auto', input: 'a' }, { token: await tokenOf(url) })
  const { id } = await raw.frame('request')
  raw.send({ type: 'response', id, body: saying('fine') })
  assert.equal(textIn(await answering), 'fine')
  for (let sent = 0; sent < 60; sent++) raw.send({ type: 'weather' })
  assert.equal(await raw.closed, 1008)
})

test(cites('SIX-WS-01', 'a token attaches more than one machine of its wallet, up to a number'), async t => {
  const { url } = await relay(t)
  const wallet = await newWallet()
  const jwt = await tokenOf(url, wallet)
  const raws: RawMachine[] = []
  for (let count = 0; count < 64; count++) {
    const raw = await RawMachine.connect(t, url)
    raw.send({ type: 'auth', jwt, protocol: 2 })
    raws.push(raw)
  }
  await Promise.all(raws.map(raw => raw.frame('auth_ok')))
  const more = await RawMachine.connect(t, url)
  more.send({ type: 'auth', jwt, protocol: 2 })
  assert.match((await more.frame('auth_error')).message, /64 machines already/)
})

test(cites('SIX-WS-06', 'a machine that does not answer pings is dropped'), async t => {
  const { url } = await relay(t, { pingMs: 100 })
  const quiet = await RawMachine.attached(t, url)
  const honestOne = await machine(t, url)
  const { ts } = await quiet.frame('ping')
  quiet.send({ type: 'pong', ts: ts - 1 })
  assert.equal(await quiet.closed, 1006)
  await sleep(300)
  assert.ok(!honestOne.said.some(line => line.startsWith('Not connected')))
})

test(cites('SIX-WS-07', 'new prices are acknowledged and hold at once'), async t => {
  const { url } = await relay(t)
  const raw = await RawMachine.attached(t, url, undefined, { inputTokenPrice: '1', outputTokenPrice: '4' })
  raw.send({ type: 'price_update', inputTokenPrice: '2', outputTokenPrice: '8' })
  assert.deepEqual(await raw.frame('price_update_ack'), {
    type: 'price_update_ack',
    inputTokenPrice: '2',
    outputTokenPrice: '8',
  })
  const { providers } = (await (await fetch(`${url}/v1/providers`)).json()) as {
    providers: { pricing: unknown }[]
  }
  assert.deepEqual(providers[0]?.pricing, { inputTokenPrice: '2', outputTokenPrice: '8' })
})

test('a machine is paid for no more tokens than it stated twice and was allowed', () => {
  const stated = (input_tokens: number, output_tokens: number) => ({
    input_tokens,
    output_tokens,
    total_tokens: input_tokens + output_tokens,
  })
  assert.deepEqual(countedTokens([stated(5, 7), stated(9, 3)], undefined), { input: 5, output: 3 })
  assert.deepEqual(countedTokens([stated(5, 7000)], 100), { input: 5, output: 100 })
  assert.deepEqual(countedTokens([undefined], 100), { input: 0, output: 0 })
})

test('a machine that connects and says nothing is closed', async t => {
  const { RelayServer } = await import('../../src/relay/server/index.ts')
  const { EventEmitter } = await import('node:events')
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const limits = { bodyBytes: 1000, jsonDepth: 8, heartbeatMs: 0, unsentBytes: 1000 }
  const server = new RelayServer({
    config: { owners: '*' },
    host: { log: () => {}, limits, sign: () => Buffer.alloc(32, 1).toString('base64url') },
    isLocal: () => false,
    isNamed: () => false,
    anyModel: true,
    name: () => 'here',
  })
  const closes: number[] = []
  const ended: string[] = []
  const open = (name: string, remoteAddress: string): void => {
    const socket = Object.assign(new EventEmitter(), {
      send: () => {},
      close: (code: number) => void closes.push(code),
      terminate: () => {
        ended.push(name)
        socket.emit('close')
      },
      bufferedAmount: 0,
    })
    server.open(socket, Object.assign(new EventEmitter(), { remoteAddress }))
  }
  // Who holds most of the places gives way, the oldest first; a machine from elsewhere stays.
  open('honest', '10.0.0.2')
  for (let count = 0; count < 255; count++) open(`flood ${count}`, `2001:db8::1:${count}`)
  assert.deepEqual(ended, [])
  open('another', '10.0.0.3')
  for (let count = 255; count < 300; count++) open(`flood ${count}`, `2001:db8::1:${count}`)
  assert.deepEqual(
    ended,
    Array.from({ length: 46 }, (_, count) => `flood ${count}`),
  )
  t.mock.timers.tick(10_000)
  await until(() => closes.length === 256, 'all are closed')
})

test('addresses of version 6 count by their network', () => {
  const networks = {
    '10.0.0.1': '10.0.0.1',
    '::ffff:10.0.0.1': '10.0.0.1',
    '2001:db8:1:2:3:4:5:6': '2001:db8:1:2',
    '2001:db8::6': '2001:db8:0:0',
    '::1': '0:0:0:0',
    '': '',
  }
  for (const [address, network] of Object.entries(networks)) assert.equal(addressNetwork(address), network)
})

test(
  cites('SIX-WS-15', 'a socket that has not signed in may say little, and then as much as any'),
  async t => {
    const { url } = await relay(t)
    const large = await RawMachine.connect(t, url)
    large.send({ type: 'auth', jwt: 'x'.repeat(100_000), protocol: 2 })
    assert.equal(await large.closed, 1006)
    assert.deepEqual(large.frames, [])
    const about = { agentName: '名'.repeat(200), agentDescription: '述'.repeat(2_000) }
    const raw = await RawMachine.attached(t, url, undefined, about)
    for (let sent = 0; sent < 3; sent++) raw.send({ type: 'weather', pad: 'x'.repeat(50_000) })
    const answering = ask(url, { model: 'auto', input: 'a' }, { token: await tokenOf(url) })
    const { id } = await raw.frame('request')
    raw.send({ type: 'response', id, body: saying('y'.repeat(50_000)) })
    assert.equal(textIn(await answering).length, 50_000)
  },
)

test('who was refused cannot sign in with a later frame', async t => {
  const { url } = await relay(t)
  const jwt = await tokenOf(url)
  const raw = await RawMachine.connect(t, url)
  raw.send({ type: 'pong', ts: 1 })
  raw.send({ type: 'auth', jwt, protocol: 2 })
  assert.equal(await raw.closed, 1008)
  // Agents that are gone are listed too, so it would be there.
  assert.deepEqual(await (await fetch(`${url}/v1/providers`)).json(), { providers: [] })
})

test('a relay that is full lets no more machines in', async () => {
  const { EventEmitter } = await import('node:events')
  const registry = new Registry(Date.now)
  const tokens = relayTokens(Buffer.alloc(32, 1), { tokenMs: 60_000, signInMs: 60_000 })
  const own = { answerChars: 1, unsentBytes: 1, frameBytes: 10_000, authMs: 1_000, machines: 64, attached: 2 }
  const limits = { ...relayDefaults, ...own }
  const dispatch = new Dispatch(registry, { queueMs: 1, mostWaiting: 1 })
  const options = { registry, dispatch, tokens, admits: () => true, limits, now: Date.now, log: () => {} }
  const sent: string[] = []
  const enter = async () => {
    const socket = Object.assign(new EventEmitter(), {
      send: (text: string) => void sent.push((JSON.parse(text) as { type: string }).type),
      close: () => {},
      terminate: () => {},
      bufferedAmount: 0,
    })
    assert.ok(new Attached(socket, options))
    const { jwt } = tokens.issue((await newWallet()).address, Date.now())
    socket.emit('message', JSON.stringify({ type: 'auth', jwt, protocol: 2 }), false)
    return socket
  }
  const sockets = [await enter(), await enter(), await enter()]
  assert.deepEqual(sent, ['auth_ok', 'auth_ok', 'auth_error'])
  sockets[0]?.emit('close')
  sockets.push(await enter())
  assert.deepEqual(sent.at(-1), 'auth_ok')
  for (const socket of sockets) socket.emit('close')
  assert.equal(registry.machines, 0)
})
