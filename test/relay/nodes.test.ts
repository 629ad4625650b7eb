// Several nodes on one PostgreSQL: a machine is attached to one of them, and requests at any of them reach it.
import assert from 'node:assert/strict'
import test, { type TestContext } from 'node:test'
import { clusterSecret } from '../../src/engines/cluster/node-link.ts'
import { meet } from '../../src/engines/cluster/peers.ts'
import { runtimeOf } from '../../src/library/turnwire.ts'
import { cites } from '../requirements/manifest.ts'
import { begin } from './counting-machine.ts'
import { database, node, nodeProcess, options, providers, secret } from './nodes-rig.ts'
import { ask, eventsIn, machine, newWallet, RawMachine, type RelayRig, saying, textIn, until } from './rig.ts'

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

test(
  cites(
    'SIX-WS-16',
    'the node that has the machine is stopped: the machine comes to another, and no request is lost',
  ),
  options,
  async t => {
    const data = await database(t)
    const [a, b] = [await nodeProcess(t, data), await node(t, data)]
    const wallet = await newWallet()
    const raw = await RawMachine.attached(t, a.url, wallet)
    await until(async () => (await providers(b.url)).length === 1, 'it is known')
    // Nothing was said yet when its node is told to stop.
    const asked = ask(b.url, { model: 'any', agent_id: wallet.address, input: 'Hi' })
    await raw.frame('request')
    const stopped = a.stop()
    assert.equal(await raw.closed, 1012)
    // As machines do, at once: they are told that the server restarts.
    const back = await RawMachine.attached(t, b.url, wallet)
    const { id } = await back.frame('request')
    back.send({ type: 'response', id, body: saying('from the other node') })
    assert.equal(textIn(await asked), 'from the other node')
    assert.equal(await stopped, 0)
    await until(async () => (await providers(b.url))[0]?.stats['machines'] === 1, 'one machine is left')
  },
)

test(
  'three nodes: each of them reaches machines of both others, and what is said is said once',
  options,
  async t => {
    const data = await database(t)
    const nodes = [await node(t, data), await node(t, data), await node(t, data)]
    const attached = await Promise.all(
      nodes.map(({ url }, index) => machine(t, url, [{ text: `at ${index}` }])),
    )
    for (const { url } of nodes)
      await until(
        async () => (await providers(url)).filter(each => each.available).length === 3,
        'all are known',
      )
    for (const { url } of nodes)
      for (const [index, { agentId }] of attached.entries()) {
        const answer = await ask(url, { model: 'any', agent_id: agentId, input: 'Hi' })
        assert.equal(textIn(answer), `at ${index}`, answer.text)
      }
    for (const { statusNow } of attached) assert.equal(statusNow().requests.served, 3)
  },
)

test(
  'one agent with a machine at each of two nodes is one agent, and either machine answers for the other',
  options,
  async t => {
    const data = await database(t)
    const [a, b] = [await node(t, data, { atOnce: 1 }), await node(t, data, { atOnce: 1 })]
    const wallet = await newWallet()
    const [atA, atB] = [
      await RawMachine.attached(t, a.url, wallet),
      await RawMachine.attached(t, b.url, wallet),
    ]
    for (const { url } of [a, b]) {
      await until(async () => (await providers(url))[0]?.stats['machines'] === 2, 'both machines are known')
      assert.equal((await providers(url)).length, 1)
    }
    // Each machine takes one request at a time: the second goes to the other node.
    const body = { model: 'any', agent_id: wallet.address, input: 'Hi' }
    const first = ask(a.url, body)
    const held = await atA.frame('request')
    const second = ask(a.url, body)
    const passed = await atB.frame('request')
    atB.send({ type: 'response', id: passed.id, body: saying('from B') })
    assert.equal(textIn(await second), 'from B')
    // The machine here dies before it said anything: the one at the other node is asked.
    atA.end()
    const { id } = await atB.frame('request', 1)
    assert.notEqual(id, held.id)
    atB.send({ type: 'response', id, body: saying('B again') })
    assert.equal(textIn(await first), 'B again')
  },
)
