// The client with a real server: every endpoint, every stream mode.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { AapClient, AapError, type TurnEvent } from '../../src/client/index.ts'
import { both, clipboard, serve } from './rig.ts'

const hello = [{ role: 'user' as const, content: 'Hello' }]

describe('endpoints', () => {
  test('metadata, a session, its history and its deletion', async t => {
    const { client } = await serve(t, [{ text: 'Hi!' }])
    const meta = await client.getMeta()
    assert.equal(meta.version, 3)
    assert.deepEqual(
      meta.agents.map(agent => [agent.name, agent.tools?.map(tool => tool.name)]),
      [['helper', ['look', 'send']]],
    )
    const id = await client.createSession({ agent: { name: 'helper', tools: both }, tools: [clipboard] })
    const info = await client.getSession(id)
    assert.equal(info.sessionId, id)
    assert.deepEqual(info.tools, [clipboard])
    await (await client.sendTurn(id, { messages: hello })).answer()
    assert.deepEqual(await client.getHistory(id), [...hello, { role: 'assistant', content: 'Hi!' }])
    assert.deepEqual(await client.getHistory(id, 'full'), await client.getHistory(id, 'compacted'))
    await client.deleteSession(id)
    await assert.rejects(client.getSession(id), { name: 'AapError', status: 404, code: 'session_not_found' })
  })

  test('sessions are listed across pages', async t => {
    const { client } = await serve(t, [])
    const made: string[] = []
    for (let count = 0; count < 55; count += 1)
      made.push(await client.createSession({ agent: { name: 'helper' } }))
    const listed: string[] = []
    for await (const { sessionId } of client.listSessions()) listed.push(sessionId)
    assert.deepEqual(listed.toSorted(), made.toSorted())
  })

  test('requests with the same key create one session', async t => {
    const { client } = await serve(t, [])
    const options = { idempotencyKey: 'k1' }
    const first = await client.createSession({ agent: { name: 'helper' } }, options)
    assert.equal(await client.createSession({ agent: { name: 'helper' } }, options), first)
  })

  test('the whole result of a call can be read', async t => {
    const { client } = await serve(t, [{ calls: [{ name: 'look', input: { q: 1 } }] }, { text: 'Done' }])
    const id = await client.createSession({ agent: { name: 'helper', tools: both } })
    const { messages } = await (await client.sendTurn(id, { messages: hello })).answer()
    const result = messages.find(message => message.role === 'tool')
    assert.ok(result)
    assert.deepEqual(await client.getResult(id, result.toolCallId), result)
  })
})

describe('a turn', () => {
  const script = [
    { thinking: 'Hm.', text: 'Let me look.', calls: [{ name: 'look', input: { q: 'x' } }], chunk: 3 },
    { text: 'There it is: 🌍.', chunk: 2 },
  ]

  for (const stream of ['delta', 'message', 'none'] as const)
    test(`has the same messages in every stream mode: ${stream}`, async t => {
      const { client } = await serve(t, script)
      const id = await client.createSession({ agent: { name: 'helper', tools: both } })
      const turn = await client.sendTurn(id, { messages: hello, stream })
      const events: TurnEvent[] = []
      for await (const event of turn) events.push(event)
      const { stopReason, messages } = await turn.answer()
      assert.equal(stopReason, 'end_turn')
      assert.deepEqual(
        messages.map(message => message.role),
        ['assistant', 'tool', 'assistant'],
      )
      assert.equal(messages.at(-1)?.content, 'There it is: 🌍.')
      assert.deepEqual([events[0]?.event, events.at(-1)?.event], ['turn_start', 'turn_stop'])
      assert.equal(events.filter(event => event.event === 'text_delta').length > 2, stream === 'delta')
    })

  test('with the same key is carried out once', async t => {
    const { client, turnwire } = await serve(t, [{ text: 'Once.' }])
    const id = await client.createSession({ agent: { name: 'helper' } })
    const ask = async () =>
      (await client.sendTurn(id, { messages: hello, stream: 'none' }, { idempotencyKey: 'turn-1' })).answer()
    assert.deepEqual(await ask(), await ask())
    assert.equal((await (await turnwire.resume(id)).history()).length, 2)
  })

  test('can be cancelled by another request', async t => {
    const { client } = await serve(t, [{ text: 'I shall never end', hang: true }])
    const id = await client.createSession({ agent: { name: 'helper' } })
    const turn = await client.sendTurn(id, { messages: hello })
    for await (const event of turn) if (event.event === 'text_delta') await client.cancel(id)
    assert.equal((await turn.answer()).stopReason, 'end_turn')
  })

  test('continues after its reader has left', async t => {
    const { client } = await serve(t, [{ text: 'a b c d e f', chunk: 2, delayMs: 5 }])
    const id = await client.createSession({ agent: { name: 'helper' } })
    const turn = await client.sendTurn(id, { messages: hello })
    for await (const event of turn) if (event.event === 'text_delta') break
    await assert.rejects(turn.answer(), { code: 'connection_lost' })
    for await (const watched of client.watch(id))
      if ('seq' in watched && watched.event.type === 'turn.ended') break
    assert.deepEqual((await client.getHistory(id)).at(-1), { role: 'assistant', content: 'a b c d e f' })
  })
})

describe('keys and errors', () => {
  test('the API key is sent, and a missing key is reported', async t => {
    const { newKey } = await import('../../src/callers/keys.ts')
    const { key, entry } = newKey('ana')
    const { client, url } = await serve(t, [], {
      config: { server: { keys: [entry] } },
      client: { apiKey: key },
    })
    assert.equal((await client.getMeta()).version, 3)
    await assert.rejects(new AapClient({ baseUrl: url }).getMeta(), (error: unknown) => {
      assert.ok(error instanceof AapError)
      assert.deepEqual([error.status, error.code], [401, 'unauthorized'])
      return /Bearer/.test(error.message)
    })
  })

  test('a page of an allowed origin can make requests, any other cannot', async t => {
    const origin = 'https://app.example'
    const { url } = await serve(t, [], { config: { server: { origins: [origin] } } })
    const asked = await fetch(`${url}/sessions`, {
      method: 'OPTIONS',
      headers: {
        origin,
        'access-control-request-method': 'POST',
        'access-control-request-headers': 'idempotency-key, x-stainless-lang,anthropic-version',
      },
    })
    assert.equal(asked.status, 204)
    const allowed = asked.headers.get('access-control-allow-headers') ?? ''
    for (const header of [
      'Authorization',
      'Content-Type',
      'idempotency-key',
      'x-stainless-lang',
      'anthropic-version',
    ])
      assert.ok(allowed.includes(header), header)
    const read = await fetch(`${url}/meta`, { headers: { origin } })
    assert.equal(read.headers.get('access-control-allow-origin'), origin)
    assert.equal((await fetch(`${url}/meta`)).headers.get('access-control-allow-origin'), null)
    assert.equal((await fetch(`${url}/meta`, { headers: { origin: 'https://evil.example' } })).status, 403)
  })

  test('errors have the server’s status and code', async t => {
    const { client } = await serve(t, [])
    await assert.rejects(client.createSession({ agent: { name: 'nobody' } }), {
      status: 400,
      code: 'unknown_agent',
    })
    await assert.rejects(client.sendTurn('nope', { messages: hello }), { status: 404 })
  })

  test('an invalid address and a server of another protocol are reported', async () => {
    assert.throws(() => new AapClient({ baseUrl: 'localhost' }), /whole address/)
    const page = new AapClient({ baseUrl: 'http://x.example', fetch: async () => new Response('<html>') })
    await assert.rejects(page.getMeta(), { code: 'unexpected_answer' })
    const old = new AapClient({
      baseUrl: 'http://x.example',
      fetch: async () => Response.json({ version: 1, agents: [] }),
    })
    await assert.rejects(old.getMeta(), /speaks version 1 of the protocol here/)
  })
})
