// Requests that name a model nobody has configured: who answers them, and what the others are told. And who keeps responses.
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { demoConfig } from '../../src/demo/agent.ts'
import { scripted, startServer, Turnwire, type TurnwireConfig } from '../../src/index.ts'

const unknown = 'claude-sonnet-4-20250514'
const agent = (name: string) => ({ name, model: scripted(() => ({ text: `I am ${name}.` })) })

async function serve(t: TestContext, config: TurnwireConfig): Promise<string> {
  const turnwire = await Turnwire.open({
    data: 'memory',
    ...config,
    server: { log: 'silent', ...config.server },
  })
  const server = await startServer(turnwire, { port: 0 })
  t.after(async () => {
    await server.stop()
    await turnwire.close()
  })
  return server.url
}

const messages = [{ role: 'user', content: 'Hi' }]
const asked: Record<string, { path: string; body: object }> = {
  responses: { path: '/v1/responses', body: { model: unknown, input: 'Hi' } },
  chat: { path: '/v1/chat/completions', body: { model: unknown, messages } },
  messages: { path: '/v1/messages', body: { model: unknown, max_tokens: 100, messages } },
  gemini: {
    path: `/v1beta/models/${unknown}:generateContent`,
    body: { contents: [{ role: 'user', parts: [{ text: 'Hi' }] }] },
  },
}

async function post(url: string, { path, body }: { path: string; body: object }) {
  const headers = { 'content-type': 'application/json' }
  const answer = await fetch(`${url}${path}`, { method: 'POST', headers, body: JSON.stringify(body) })
  return { status: answer.status, text: await answer.text() }
}

test('the demonstration answers to every model name, on every wire that names models', async t => {
  const url = await serve(t, demoConfig({ data: 'memory' }))
  for (const [wire, request] of Object.entries(asked)) {
    const { status, text } = await post(url, request)
    assert.equal(status, 200, `${wire}: ${text}`)
    assert.ok(text.includes(unknown), `${wire} gives back the name that was asked for`)
  }
  assert.equal((await fetch(`${url}/v1/models/${unknown}`)).status, 404, 'a list does not make models up')
})

test('elsewhere an unknown name is refused with the names that are known, and the setting', async t => {
  const one = await serve(t, { agents: [agent('helper')] })
  const two = await serve(t, { agents: [agent('helper'), agent('writer')], server: { anyModel: true } })
  for (const [wire, request] of Object.entries(asked)) {
    const alone = await post(one, request)
    assert.equal(alone.status, 404, wire)
    assert.match(alone.text, /Known here: helper\. With the setting server\.anyModel: true/, wire)
    const several = await post(two, request)
    assert.equal(several.status, 404, wire)
    assert.match(several.text, /Known here: helper, writer\./, wire)
    assert.doesNotMatch(several.text, /anyModel/, wire)
  }
  const on = await serve(t, { agents: [agent('helper')], server: { anyModel: true } })
  for (const request of Object.values(asked)) assert.match((await post(on, request)).text, /I am helper\./)
})

test('a setting that is no switch is refused', async () => {
  const wrong = { agents: [agent('helper')], server: { anyModel: 'yes', responses: { store: 'no' } } }
  await assert.rejects(Turnwire.open({ ...wrong, data: 'memory' } as unknown as TurnwireConfig), error => {
    assert.match(String(error), /server\.anyModel/)
    assert.match(String(error), /server\.responses\.store/)
    return true
  })
})

test('responses are stored only where they are asked to be, if the operator says so', async t => {
  const config = { agents: [agent('helper')] }
  const stores = async (url: string, more: object): Promise<[boolean, number]> => {
    const { text } = await post(url, {
      path: '/v1/responses',
      body: { model: 'helper', input: 'Hi', ...more },
    })
    const { id, store } = JSON.parse(text) as { id: string; store: boolean }
    return [store, (await fetch(`${url}/v1/responses/${id}`)).status]
  }
  const usual = await serve(t, config)
  assert.deepEqual(await stores(usual, {}), [true, 200])
  assert.deepEqual(await stores(usual, { store: false }), [false, 404])
  const url = await serve(t, { ...config, server: { responses: { store: false } } })
  assert.deepEqual(await stores(url, {}), [false, 404])
  assert.deepEqual(await stores(url, { store: null }), [false, 404])
  assert.deepEqual(await stores(url, { store: true }), [true, 200])
  assert.deepEqual(await stores(url, { background: true }), [true, 200])
  const sessions = (await (await fetch(`${url}/sessions`)).json()) as { sessions: unknown[] }
  assert.equal(sessions.sessions.length, 2)
})

test('the clients of three vendors find a model whose name has a slash, however they write it', async t => {
  const url = await serve(t, { agents: [agent('helper')], models: { 'labs/one': scripted([]) } })
  const clients = {
    openai: {},
    anthropic: { 'anthropic-version': '2023-06-01' },
    google: { 'x-goog-api-key': 'x' },
  }
  for (const [client, headers] of Object.entries(clients))
    for (const name of ['labs/one', 'labs%2Fone']) {
      const answer = await fetch(`${url}/v1/models/${name}`, { headers })
      assert.equal(answer.status, 200, `${client}: ${name}`)
      assert.match(await answer.text(), /labs\/one/, `${client}: ${name}`)
    }
})
