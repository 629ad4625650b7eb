// A client chooses the value of a secret option and the server seals it. Neither that sealed text nor any other that a client
// can get passes as a token, and none is shown where the log is read.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { newKey } from '../../src/callers/keys.ts'
import { scripted, startServer, Turnwire, tool } from '../../src/index.ts'
import { runtimeOf } from '../../src/library/turnwire.ts'
import { memoryStore } from '../../src/stores/memory.ts'

const wallet = `0x${'11'.repeat(20)}`
const key = newKey('eve')
const headers = { authorization: `Bearer ${key.key}`, 'content-type': 'application/json' }
const apiKey = 'sk-abcdefghij0123456789'

async function open(t: { after(run: () => Promise<void>): void }) {
  const login = tool({
    name: 'login',
    description: 'Logs in.',
    input: { type: 'object', properties: { key: { type: 'string' } } },
    trust: 'ask',
    run: () => 'in',
  })
  const calls = [{ name: 'login', input: { key: apiKey } }]
  const store = memoryStore()
  const turnwire = await Turnwire.open({
    agents: [
      {
        name: 'helper',
        model: scripted([{ calls }, { text: 'Hi.' }]),
        tools: [login],
        options: [{ name: 'token', type: 'secret', default: '' }],
      },
    ],
    policy: { redact: ['secrets'] },
    payments: {
      network: 'eip155:8453',
      asset: { address: wallet, name: 'USD Coin', version: '2' },
      payTo: wallet,
      facilitator: { url: 'https://facilitator.example' },
    },
    server: { log: 'error', keys: [key.entry] },
    data: store,
  })
  const server = await startServer(turnwire, { port: 0 })
  t.after(async () => {
    await server.stop()
    await turnwire.close()
  })
  return { url: server.url, turnwire, store }
}

test('the sealed value of an option is no token of a wallet, and no reader is shown it', async t => {
  const { url, turnwire, store } = await open(t)
  const token = JSON.stringify({ use: 'wallet', owner: `wallet:${wallet}`, expiresAt: Date.now() + 10 ** 9 })
  const body = JSON.stringify({
    agent: { name: 'helper', options: { token } },
    messages: [{ role: 'user', content: 'Hi' }],
  })
  const made = await fetch(`${url}/session`, { method: 'PUT', headers, body })
  assert.equal(made.status, 201, await made.clone().text())
  const { sessionId } = (await made.json()) as { sessionId: string }

  const { engine, vault } = runtimeOf(turnwire)
  const ref = { owner: 'eve', session: sessionId }
  const log = JSON.stringify(await store.read(sessionId))
  const sealed = [...log.matchAll(/"sealed":"([^"]+)"/g)].map(([, text = '']) => text)
  assert.equal(sealed.length, 2, 'the option and the arguments are sealed in the log')
  assert.equal(vault.open(sealed[0] ?? '', 'option'), token)
  for (const text of [...sealed, ...sealed.map(each => each.slice(2))]) {
    const asWallet = { authorization: `Bearer twp_${text}` }
    assert.equal((await fetch(`${url}/v1/usage`, { headers: asWallet })).status, 401)
  }

  const followed: unknown[] = []
  for await (const batch of engine.follow(ref, { from: 1, until: 'stop', deltas: 'append' }))
    followed.push(...batch)
  const read = [
    followed,
    await engine.events(ref),
    await engine.events(ref, 0, 1024),
    await engine.summary(ref),
    await engine.history(ref, { get: 'entries' }),
    await engine.history(ref, { get: 'view' }),
    await engine.history(ref, { get: 'request', text: 'And now?' }),
    await engine.command(ref, { do: 'cancel' }),
  ].map(each => JSON.stringify(each))
  for (const path of ['events', 'state', 'request', 'history'].map(
    name => `/operator/sessions/${sessionId}/${name}`,
  ))
    read.push(await (await fetch(`${url}${path}`, { headers })).text())
  for (const [at, text] of read.entries())
    for (const seal of sealed) assert.ok(!text.includes(seal), `reader ${at}: ${text}`)
})
