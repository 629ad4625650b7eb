// One more wire in the table, with nothing else changed: it has keys, limits, refusals in its own form, payments, metrics, its
// line at GET / and the check of its docs.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import type { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { type TestContext, test } from 'node:test'
import { WebSocket } from 'ws'
import { newKey } from '../../src/callers/keys.ts'
import { scripted, Turnwire, type TurnwireConfig } from '../../src/index.ts'
import { runtimeOf } from '../../src/library/turnwire.ts'
import { serveRuntime } from '../../src/server/server.ts'
import { WireTable, wires } from '../../src/server/wires.ts'
import type { Wire } from '../../src/wires/wire.ts'
import { undocumented } from '../docs/wire-pages.ts'
import { ndjson } from './ndjson-wire.ts'

const boss = newKey('boss', true)
const known = { authorization: `Bearer ${boss.key}` }
const hello = { agent: 'helper', text: 'Hi' }

/** The wire, with a socket as well. */
const added: Wire = {
  ...ndjson,
  serve: async host => ({
    ...(await ndjson.serve(host)),
    sockets: [{ path: '/ndjson/live', open: ({ socket }) => socket.send('here') }],
  }),
}

async function serve(t: TestContext, config: Partial<TurnwireConfig> = {}) {
  const turnwire = await Turnwire.open({
    agents: [
      {
        name: 'helper',
        model: scripted([{ text: 'Hello.' }]),
        ...(config.payments && { price: { request: '0.01' } }),
      },
    ],
    data: 'memory',
    ...config,
    server: { log: 'error', keys: [boss.entry], bodyBytes: 1024, ...config.server },
  })
  const running = await serveRuntime(runtimeOf(turnwire), { port: 0, wires: [...wires, added] })
  t.after(async () => {
    await running.stop()
    await turnwire.close()
  })
  const { url, port } = running
  const post = (body: object, headers: Record<string, string> = {}) =>
    fetch(`${url}/ndjson`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify(body),
    })
  return { url, port, post }
}

async function refusalOf(answer: Response): Promise<[number, unknown]> {
  const body = (await answer.json()) as Record<string, unknown> // Looked at next.
  assert.deepEqual(Object.keys(body), ['refused', 'because'])
  return [answer.status, body['refused']]
}

test('an added wire takes keys, and its turns are counted under its name', async t => {
  const { url, post } = await serve(t)
  const answer = await post(hello, known)
  assert.equal(answer.status, 200)
  assert.match(await answer.text(), /"turn\.ended"/)
  const metrics = await (await fetch(`${url}/metrics`, { headers: known })).text()
  assert.match(metrics, /turnwire_turns_started_total\{agent="helper",wire="ndjson"\} 1/)
})

test('what the server refuses has the form of the added wire', async t => {
  const { url, port, post } = await serve(t)
  const withoutKey = await post(hello)
  assert.equal(withoutKey.headers.get('www-authenticate'), 'Bearer')
  assert.deepEqual(await refusalOf(withoutKey), [401, 'unauthorized'])
  assert.deepEqual(await refusalOf(await fetch(`${url}/ndjson/a/b`, { headers: known })), [404, 'not_found'])
  assert.deepEqual(await refusalOf(await post({ text: 'x'.repeat(2000) }, known)), [413, 'too_large'])
  assert.deepEqual(await refusalOf(await post({ agent: 'none', text: 'x' }, known)), [400, 'unknown_agent'])
  const foreign = await fetch(`${url}/ndjson/a`, { headers: { ...known, origin: 'https://evil.example' } })
  assert.deepEqual(await refusalOf(foreign), [403, 'forbidden_origin'])
  const socket = connect(port, '127.0.0.1', () => socket.write('GET /ndjson/\\a HTTP/1.1\r\nHost: x\r\n\r\n'))
  const [bytes] = (await once(socket, 'data')) as [Buffer] // Of a socket without an encoding.
  socket.destroy()
  assert.match(bytes.toString(), /^HTTP\/1\.1 400 [\s\S]*\{"refused":"bad_request","because":/)
})

test('a socket of the added wire needs a key, counts for its owner, and is refused in its form', async t => {
  const { url } = await serve(t, { server: { perOwner: { streams: 1 } } })
  const address = `${url.replace('http', 'ws')}/ndjson/live`
  const refused = new WebSocket(address).on('error', () => {})
  const [, response] = (await once(refused, 'unexpected-response')) as [unknown, Readable] // As ws says.
  const body = await text(response)
  assert.match(body, /^\{"refused":"unauthorized","because":/)
  const [words] = (await once(new WebSocket(address, { headers: known }), 'message')) as [Buffer] // As ws says.
  assert.equal(words.toString(), 'here')
  assert.deepEqual(await refusalOf(await fetch(`${url}/ndjson/a`, { headers: known })), [429, 'rate_limited'])
})

test('a turn of the added wire can be paid for by whoever has no key', async t => {
  const network = 'eip155:84532'
  const facilitator = createServer((_, answer) =>
    answer.end(JSON.stringify({ kinds: [{ x402Version: 2, scheme: 'exact', network }] })),
  )
  await new Promise<void>(resolve => facilitator.listen(0, '127.0.0.1', resolve))
  t.after(() => facilitator.close())
  const { port } = facilitator.address() as AddressInfo // It listens on TCP.
  const payments: NonNullable<TurnwireConfig['payments']> = {
    network,
    asset: { address: '0x036CbD53842c5426634e7929541eC2318f3dCF7e', name: 'USDC', version: '2' },
    payTo: '0x00000000000000000000000000000000000000aa',
    facilitator: { url: `http://127.0.0.1:${port}` },
  }
  const { url, post } = await serve(t, { payments })
  const unpaid = await post(hello)
  assert.equal(unpaid.status, 402)
  assert.ok(unpaid.headers.has('payment-required'))
  assert.deepEqual(await refusalOf(await fetch(`${url}/ndjson/a`)), [401, 'unauthorized'])
})

test('the added wire is listed at GET /, and its docs are asked for', async t => {
  const { url } = await serve(t)
  const listed = (await (await fetch(url, { headers: known })).json()) as { wires: Record<string, string> } // Looked at next.
  assert.equal(listed.wires['/ndjson'], 'Lines of JSON: docs/protocols/ndjson.md')
  assert.deepEqual(undocumented([...wires, added]), ['ndjson: there is no docs/protocols/ndjson.md'])
})

test('every request goes to the wire whose path it is, and where wires share one, to that of its client', () => {
  const table = new WireTable()
  const google = { 'x-goog-api-key': 'x' }
  const anthropic = { 'anthropic-version': 'x' }
  const cases: [method: string, path: string, headers: Record<string, string>, wire: string | undefined][] = [
    ['GET', '/v1/models', {}, 'responses'],
    ['GET', '/v1/models/helper', google, 'gemini'],
    ['GET', '/v1/models', anthropic, 'messages'],
    ['POST', '/v1/models/helper:generateContent', {}, 'gemini'],
    ['POST', '/v1/messages', google, 'messages'],
    ['POST', '/v1/responses', anthropic, 'responses'],
    ['POST', '/v1/chat/completions', {}, 'chat'],
    ['GET', '/v1beta/models', {}, 'gemini'],
    ['POST', '/session', {}, 'aap'],
    ['POST', '/mcp', {}, 'mcp'],
    ['GET', '/sessionsx', {}, undefined],
    ['GET', '/', {}, undefined],
  ]
  for (const [method, path, headers, wire] of cases)
    assert.equal(table.at({ method, path, header: name => headers[name] })?.name, wire, `${method} ${path}`)
})
