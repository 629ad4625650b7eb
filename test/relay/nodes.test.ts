// Several nodes on one PostgreSQL: a machine is attached to one of them, and requests at any of them reach it.
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import test, { type TestContext } from 'node:test'
import { fileURLToPath } from 'node:url'
import { UptoEvmScheme } from '@x402/evm'
import { wrapFetchWithPayment, x402Client } from '@x402/fetch'
import type { JsonObject } from '../../src/lib/json.ts'
import type { RelayConfig } from '../../src/relay/config.ts'
import { clusterSecret } from '../../src/runtime/cluster/node-link.ts'
import { meet } from '../../src/runtime/cluster/peers.ts'
import type { TurnwireConfig } from '../../src/runtime/config.ts'
import { runtimeOf } from '../../src/runtime/turnwire.ts'
import { postgresStore } from '../../src/stores/postgres/index.ts'
import { type Hex, network, skipped, startChain } from '../payments/chain.ts'
import { operator, shop } from '../payments/rig.ts'
import { cites } from '../requirements/manifest.ts'
import { databaseUrl, newSchema, own, withClient } from '../stores/postgres/server.ts'
import { ask, eventsIn, machine, RawMachine, type RelayRig, relay, saying, textIn, until } from './rig.ts'

const options = { skip: own.skip, timeout: 60_000 }
const secret = 'a secret of the cluster, for tests only'

type Database = { url: string; schema: string }

async function database(t: TestContext): Promise<Database> {
  const url = await databaseUrl()
  const schema = newSchema()
  t.after(() => withClient(url, sql => sql.unsafe(`DROP SCHEMA IF EXISTS "${schema}" CASCADE`)))
  return { url, schema }
}

function node(
  t: TestContext,
  { url, schema }: Database,
  settings: Partial<RelayConfig> = {},
  config: Partial<TurnwireConfig> = {},
): Promise<RelayRig> {
  const data = postgresStore({ url, schema, connections: 4 })
  const server = { cluster: { secret, leaseMs: 3_000 }, ...config.server }
  return relay(t, settings, { ...config, data, server })
}

/** A node that can be killed. */
async function nodeProcess(t: TestContext, given: Database) {
  const file = fileURLToPath(new URL('node-process.ts', import.meta.url))
  const child = spawn(process.execPath, [file, JSON.stringify({ ...given, secret })], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const ended = once(child, 'exit')
  const kill = async (): Promise<void> => {
    child.kill('SIGKILL')
    await ended
  }
  t.after(kill)
  const [url] = (await Promise.race([once(createInterface(child.stdout), 'line'), ended])) as [unknown]
  if (typeof url !== 'string') throw new Error('The node ended before it was served.')
  return { url, kill }
}

type Provider = { agentId: string; available: boolean; pricing: JsonObject; stats: JsonObject }

async function providers(url: string): Promise<Provider[]> {
  const answer = await fetch(`${url}/v1/providers`)
  return ((await answer.json()) as { providers: Provider[] }).providers
}

/** A client that reads a stream as it comes. */
function openStream(url: string, signal?: AbortSignal) {
  const asked = fetch(`${url}/v1/responses`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'any', routing: 'cheapest', input: 'Hi', stream: true }),
    ...(signal && { signal }),
  })
  const reader = asked.then(({ body }) => body!.pipeThrough(new TextDecoderStream()).getReader())
  let text = ''
  return {
    /** Gives all that was read once it has these words, or the stream is over. */
    async until(words: string): Promise<string> {
      while (!text.includes(words)) {
        const { value, done } = await (await reader).read()
        if (done) break
        text += value
      }
      return text
    },
  }
}

/** The machine says the first words of an answer. */
function begin(raw: RawMachine, id: string, text: string): void {
  const item = { type: 'message', id: 'm', role: 'assistant', content: [] }
  const place = { item_id: 'm', output_index: 0, content_index: 0 }
  for (const event of [
    { type: 'response.output_item.added', output_index: 0, item },
    { type: 'response.output_text.delta', ...place, delta: text },
  ])
    raw.send({ type: 'stream_event', id, event })
}

test(
  cites(
    'SIX-WS-16',
    'a machine at one node answers requests at another, whole and streamed, and is on its list',
  ),
  options,
  async t => {
    const data = await database(t)
    const [a, b] = [await node(t, data), await node(t, data)]
    const { agentId } = await machine(t, a.url, [{ text: 'hello from afar' }], {
      prices: ['1', '4'],
      name: 'Ada',
    })
    const named = await ask(b.url, { model: 'any', agent_id: agentId, input: 'Hi' })
    assert.equal(named.status, 200, named.text)
    assert.equal(textIn(named), 'hello from afar')
    const routed = await ask(b.url, { model: 'any', routing: 'cheapest', input: 'Hi' })
    assert.equal(textIn(routed), 'hello from afar')
    const streamed = await ask(b.url, { model: 'any', agent_id: agentId, input: 'Hi', stream: true })
    const events = eventsIn(streamed)
    const said = events.flatMap(({ type, delta: text }) =>
      type === 'response.output_text.delta' && typeof text === 'string' ? [text] : [],
    )
    assert.equal(said.join(''), 'hello from afar')
    assert.equal(events.at(-1)?.['type'], 'response.completed')
    await until(async () => (await providers(b.url))[0]?.stats['served'] === 3, 'three answers are counted')
    for (const { url } of [a, b]) {
      const [listed, ...more] = await providers(url)
      assert.equal(more.length, 0)
      assert.equal(listed?.agentId, agentId)
      assert.equal(listed.available, true)
      assert.deepEqual(listed.pricing, { inputTokenPrice: '1', outputTokenPrice: '4' })
      assert.equal(listed.stats['machines'], 1)
      assert.equal(listed.stats['served'], 3)
    }
    const unknown = await ask(b.url, { model: 'any', agent_id: 'nobody', input: 'Hi' })
    assert.equal(unknown.status, 404)
  },
)

test('a stream is passed on as it comes, and a client that leaves frees the place', options, async t => {
  const data = await database(t)
  const [a, b] = [await node(t, data), await node(t, data)]
  const raw = await RawMachine.attached(t, a.url)
  const leaving = new AbortController()
  const reading = openStream(b.url, leaving.signal)
  const { id } = await raw.frame('request')
  begin(raw, id, 'first words')
  assert.match(await reading.until('first words'), /first words/)
  assert.equal((await providers(a.url))[0]?.stats['inFlight'], 1)
  leaving.abort()
  await until(async () => (await providers(a.url))[0]?.stats['inFlight'] === 0, 'the place is free')
})

test('a machine that fails before it said anything is replaced by one at any node', options, async t => {
  const data = await database(t)
  const [a, b] = [await node(t, data), await node(t, data)]
  const raw = await RawMachine.attached(t, a.url)
  await machine(t, a.url, [{ text: 'second' }], { prices: ['1', '1'] })
  await machine(t, b.url, [{ text: 'third' }], { prices: ['2', '2'] })
  await until(async () => (await providers(b.url)).length === 3, 'all are known')
  const asked = ask(b.url, { model: 'any', routing: 'cheapest', input: 'Hi' })
  const { id } = await raw.frame('request')
  raw.send({ type: 'error', id, code: 'x', message: 'I cannot.' })
  assert.equal(textIn(await asked), 'second')
})

/** A connection to the node, as others make it. */
async function engineOf(t: TestContext, { turnwire }: RelayRig) {
  const peer = await meet(runtimeOf(turnwire).node?.address ?? '', clusterSecret(secret))
  t.after(() => peer.close())
  return peer.engine
}

test('a node serves its own machines only: a request makes one hop', options, async t => {
  const data = await database(t)
  const [a, b] = [await node(t, data), await node(t, data)]
  const { agentId } = await machine(t, a.url)
  await until(async () => (await providers(b.url)).length === 1, 'it is known')
  const [atA, atB] = [await engineOf(t, a), await engineOf(t, b)]
  for await (const [listed] of atB.open<unknown[]>('relayAgents', [])) assert.deepEqual(listed, [])
  let id = ''
  for await (const [listed] of atA.open<{ machines: { id: string }[] }[]>('relayAgents', []))
    id = listed?.[0]?.machines[0]?.id ?? ''
  assert.match(id, /^pl_/)
  const request = { session: 's', history: [], tools: [], choice: 'auto', parallel: true, options: {} }
  const asked = { route: { agentId }, model: 'any', stream: false }
  const items: unknown[] = []
  for await (const batch of atB.open('relayAnswer', [{ agentId, machine: id, asked, request }]))
    items.push(...batch)
  assert.deepEqual(items, [{ result: { ending: { end: 'gone' }, shown: false } }])
})

test(cites('SIX-WS-16', 'a node is killed: others take over, or there is no machine'), options, async t => {
  const data = await database(t)
  const a = await nodeProcess(t, data)
  const b = await node(t, data, { queueMs: 1_500 })
  const raw = await RawMachine.attached(t, a.url)
  const local = await machine(t, b.url, [{ text: 'here' }], { prices: ['5', '5'] })
  await until(async () => (await providers(b.url)).length === 2, 'both are known')
  const asked = ask(b.url, { model: 'any', routing: 'cheapest', input: 'Hi' })
  await raw.frame('request')
  await a.kill()
  // Nothing was said yet: another machine is asked.
  assert.equal(textIn(await asked), 'here')
  const isGone = async () =>
    (await providers(b.url)).every(each => each.available === (each.agentId === local.agentId))
  await until(isGone, 'the machine of the dead node is not available')
  local.attachment.stop()
  await local.over
  const none = await ask(b.url, { model: 'any', routing: 'cheapest', input: 'Hi' })
  assert.equal(none.status, 503, none.text)
  assert.match(none.text, /agent_unavailable|No attached agent/)
})

test('a node is killed in the middle of an answer: the answer fails', options, async t => {
  const data = await database(t)
  const a = await nodeProcess(t, data)
  const b = await node(t, data)
  const raw = await RawMachine.attached(t, a.url)
  await machine(t, b.url, [{ text: 'here' }], { prices: ['5', '5'] })
  await until(async () => (await providers(b.url)).length === 2, 'both are known')
  const reading = openStream(b.url)
  const { id } = await raw.frame('request')
  begin(raw, id, 'half')
  assert.match(await reading.until('half'), /half/)
  await a.kill()
  const text = await reading.until('[DONE]')
  assert.match(text, /response\.failed/)
  assert.doesNotMatch(text, /response\.completed|here/)
})

test('a machine that comes to another node is found by a request that waits', options, async t => {
  const data = await database(t)
  const [a, b] = [await node(t, data), await node(t, data)]
  const waiting = ask(b.url, { model: 'any', routing: 'fastest', input: 'Hi' })
  const raw = await RawMachine.attached(t, a.url)
  const { id } = await raw.frame('request')
  raw.send({ type: 'response', id, body: saying('at last') })
  assert.equal(textIn(await waiting), 'at last')
})

test('a payment is taken by one node for a machine at another', {
  ...options,
  skip: own.skip || skipped,
}, async t => {
  const chain = await startChain()
  const { key } = await chain.facilitator()
  const payments = {
    network,
    asset: chain.asset,
    payTo: shop,
    facilitator: { key, rpcUrl: chain.rpcUrl },
    settleMs: 20_000,
    reconcileMs: 200,
  }
  const config = { payments, server: { keys: [operator.entry] } }
  const data = await database(t)
  const [a, b] = [await node(t, data, {}, config), await node(t, data, {}, config)]
  const script = [{ text: 'It is 4.', usage: { input: 100, output: 50 } }]
  const { agentId } = await machine(t, a.url, script, { prices: ['1', '4'] })
  await until(async () => (await providers(b.url)).length === 1, 'the machine is known')
  const client = new x402Client().setSpendControls(false)
  const pay = wrapFetchWithPayment(fetch, client.register(network, new UptoEvmScheme(await chain.payer())))
  const body = JSON.stringify({ model: 'm', routing: 'cheapest', input: '2+2?' })
  const headers = { 'content-type': 'application/json' }
  const paid = await pay(`${b.url}/v1/responses`, { method: 'POST', headers, body })
  assert.equal(paid.status, 200, await paid.clone().text())
  assert.match(await paid.text(), /It is 4\./)
  await until(async () => (await chain.balance(agentId as Hex)) === 300n, 'the agent is paid')
})
