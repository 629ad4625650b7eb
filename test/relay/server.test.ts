// The relay of a server: routing, the queue, failures of machines, and what clients see.
import assert from 'node:assert/strict'
import test from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { newKey } from '../../src/callers/keys.ts'
import { rehearsal } from '../../src/models/rehearsal/index.ts'
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

const onePixel =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=='

test(
  cites(
    'SIX-HTTP-05',
    'SIX-HTTP-06',
    'SIX-HTTP-07',
    'a tool call comes back to the client, and its result goes to the machine',
  ),
  async t => {
    const { url } = await relay(t)
    const { agentId } = await machine(t, url, [
      { calls: [{ name: 'add', input: { a: 2, b: 2 } }], usage: { input: 30, output: 9 } },
      { text: 'It is 4.', usage: { input: 50, output: 5 } },
    ])
    const token = await tokenOf(url)
    const inner = { name: 'add', parameters: { type: 'object' } }
    for (const tool of [
      { type: 'function', function: inner },
      { type: 'function', ...inner },
    ]) {
      const choice = { type: 'function', name: 'add' }
      const first = await ask(
        url,
        { model: 'auto', input: '2+2?', tools: [tool], tool_choice: choice },
        { token },
      )
      assert.equal(first.status, 200, first.text)
      const [call] = first.body['output'] as {
        type: string
        call_id: string
        name: string
        arguments: string
      }[]
      assert.deepEqual([call?.type, call?.name, call?.arguments], ['function_call', 'add', '{"a":2,"b":2}'])
      assert.deepEqual((first.body['usage'] as { total_tokens: number }).total_tokens, 39)
      const input = [
        { type: 'message', role: 'user', content: '2+2?' },
        { type: 'function_call', call_id: call!.call_id, name: 'add', arguments: call!.arguments },
        { type: 'function_call_output', call_id: call!.call_id, output: '4' },
      ]
      const second = await ask(url, { model: agentId, input, tools: [tool] }, { token })
      assert.equal(textIn(second), 'It is 4.')
    }
  },
)

test(
  cites('SIX-HTTP-05', 'SIX-HTTP-12', 'a machine gets the request in the form of its protocol'),
  async t => {
    const { url } = await relay(t)
    const raw = await RawMachine.attached(t, url)
    const token = await tokenOf(url)
    const body = {
      model: 'auto',
      instructions: 'Be brief.',
      input: [
        {
          type: 'message',
          role: 'user',
          content: [{ type: 'input_image', image_url: `data:image/png;base64,${onePixel}` }],
        },
      ],
      tools: [
        {
          type: 'function',
          name: 'add',
          description: 'Adds.',
          parameters: { type: 'object', properties: {} },
          strict: false,
        },
      ],
      tool_choice: { type: 'function', name: 'add' },
      max_output_tokens: 5,
      temperature: 0.5,
      store: true,
      metadata: { who: 'me' },
      previous_response_id: 'resp_0',
    }
    const answering = ask(url, body, { token })
    const { id, body: sent } = await raw.frame('request')
    const called = { type: 'function_call', id: 'fc_1', call_id: 'call_1', name: 'add', arguments: '{}' }
    raw.send({ type: 'response', id, body: { ...saying('ok'), output: [called] } })
    assert.equal((await answering).status, 200)
    assert.deepEqual(sent, {
      model: 'default',
      instructions: 'Be brief.',
      input: [
        {
          type: 'message',
          role: 'user',
          content: [
            { type: 'input_image', source: { type: 'base64', media_type: 'image/png', data: onePixel } },
          ],
        },
      ],
      tools: [
        {
          type: 'function',
          function: { name: 'add', description: 'Adds.', parameters: { type: 'object', properties: {} } },
        },
      ],
      tool_choice: { type: 'function', function: { name: 'add' } },
      max_output_tokens: 5,
      temperature: 0.5,
    })
  },
)

test(cites('SIX-WS-03', 'an answer is streamed as it comes'), async t => {
  const { url } = await relay(t)
  await machine(t, url, [{ text: 'one two three', chunk: 4, usage: { input: 1, output: 3 } }])
  const answer = await ask(
    url,
    { model: 'auto', input: 'count', stream: true },
    { token: await tokenOf(url) },
  )
  const events = eventsIn(answer)
  const deltas = events.filter(event => event['type'] === 'response.output_text.delta')
  assert.ok(deltas.length > 1)
  assert.equal(deltas.map(({ delta }) => (typeof delta === 'string' ? delta : '')).join(''), 'one two three')
  assert.equal(events.at(-1)?.['type'], 'response.completed')
})

test(
  cites('SIX-HTTP-01', 'SIX-HTTP-02', 'the attached agents are listed and counted, without a key'),
  async t => {
    const { entry } = newKey('ana')
    const { url } = await relay(t, {}, { server: { keys: [entry], log: 'silent' } })
    const health = async (): Promise<unknown> => (await fetch(`${url}/health`)).json()
    assert.deepEqual(await health(), { status: 'ok', agents: 0, plugins: 0 })
    const { agentId } = await machine(t, url, [{ text: 'x' }], { prices: ['1', '4'], name: 'Ada' })
    assert.deepEqual(await health(), { status: 'ok', agents: 0, plugins: 1 })
    const { providers } = (await (await fetch(`${url}/v1/providers`)).json()) as { providers: unknown[] }
    assert.deepEqual(providers, [
      {
        agentId,
        walletAddress: agentId,
        name: 'Ada',
        available: true,
        pricing: { inputTokenPrice: '1', outputTokenPrice: '4' },
        stats: { machines: 1, inFlight: 0, served: 0, failed: 0, refused: 0 },
      },
    ])
  },
)

test(cites('SIX-HTTP-03', 'an owner reads what their agent did, and nobody else does'), async t => {
  const { entry } = newKey('ana')
  const { url } = await relay(t, {}, { server: { keys: [entry], log: 'silent' } })
  const { wallet, agentId } = await machine(t, url, [{ text: 'x', usage: { input: 7, output: 3 } }])
  const token = await tokenOf(url, wallet)
  await ask(url, { model: 'auto', input: 'a' }, { token })
  const read = (authorization?: string): Promise<Response> =>
    fetch(`${url}/v1/usage`, authorization === undefined ? {} : { headers: { authorization } })
  const usage = (await (await read(`Bearer ${token}`)).json()) as Record<string, unknown>
  assert.deepEqual(usage['requests'], { served: 1, failed: 0, refused: 0, cancelled: 0 })
  assert.deepEqual(usage['usage'], { input_tokens: 7, output_tokens: 3, total_tokens: 10 })
  assert.equal(usage['agentId'], agentId)
  assert.equal((await read()).status, 401)
  assert.equal((await read('Bearer a.b.c')).status, 401)
})

test(
  cites(
    'SIX-HTTP-04',
    'SIX-HTTP-12',
    'what the protocol does not have is refused before any machine sees it',
  ),
  async t => {
    const { url } = await relay(t)
    const { status } = await machine(t, url)
    const token = await tokenOf(url)
    const wrong: [object, RegExp][] = [
      [{ colour: 'red' }, /Unknown parameter: 'colour'/],
      [{ include: ['reasoning.encrypted_content'] }, /Unknown parameter: 'include'/],
      [{ background: true }, /Unknown parameter: 'background'/],
      [{ conversation: 'conv_1' }, /Unknown parameter: 'conversation'/],
      [{ tools: [{ type: 'web_search' }] }, /Supported values are: 'function'/],
      [{ tools: [{ type: 'mcp', server_url: 'https://a.example' }] }, /Supported values are: 'function'/],
      [{ tools: [{ type: 'function', function: { name: 'a', run: 'rm' } }] }, /tools\[0\]\.function\.run/],
      [{ input: [{ type: 'mcp_call', id: 'a' }] }, /input\[0\]|Supported values/],
      [{ input: [{ type: 'item_reference', id: 'msg_1' }] }, /nothing is kept here/],
      [{ input: [{ type: 'message', role: 'user', content: 'a', extra: 1 }] }, /input\[0\]\.extra/],
      [
        { input: [{ role: 'user', content: [{ type: 'input_file', file_url: 'https://a.example/f' }] }] },
        /by address/,
      ],
      [
        {
          input: [
            {
              role: 'user',
              content: [{ type: 'input_image', source: { type: 'url', url: 'https://a.example' } }],
            },
          ],
        },
        /by address/,
      ],
      [{ model: undefined }, /Missing required parameter: 'model'/],
      [{ temperature: 'hot' }, /temperature/],
      [{ max_output_tokens: 0 }, /max_output_tokens/],
    ]
    for (const [part, words] of wrong) {
      const answer = await ask(url, { model: 'auto', input: 'a', ...part }, { token })
      assert.equal(answer.status, 400, `${JSON.stringify(part)} ${answer.text}`)
      assert.match(textIn(answer), words)
      assert.equal(typeof (answer.body['error'] as { type: unknown }).type, 'string')
    }
    const { providers } = (await (await fetch(`${url}/v1/providers`)).json()) as {
      providers: { stats: unknown }[]
    }
    assert.deepEqual(providers[0]?.stats, { machines: 1, inFlight: 0, served: 0, failed: 0, refused: 0 })
    assert.ok(status)
  },
)

test(
  cites('SIX-HTTP-07', 'SIX-HTTP-09', 'a token reaches attached agents only: by id, or the cheapest'),
  async t => {
    const { url } = await relay(t, {}, { agents: [{ name: 'house', model: rehearsal() }] })
    const dear = await machine(t, url, [{ text: 'dear' }], { prices: ['5', '5'] })
    const cheap = await machine(t, url, [{ text: 'cheap' }], { prices: ['1', '2'] })
    const token = await tokenOf(url)
    const said = async (model: string): Promise<string> =>
      textIn(await ask(url, { model, input: 'a' }, { token }))
    assert.equal(await said('auto'), 'cheap')
    assert.equal(await said(dear.agentId), 'dear')
    assert.equal(await said(cheap.agentId.toUpperCase().replace('0X', '0x')), 'cheap')
    assert.equal(
      textIn(await ask(url, { model: 'm', input: 'a' }, { token, path: `/v1/responses/${dear.agentId}` })),
      'dear',
    )
    const house = await ask(url, { model: 'house', input: 'a' }, { token })
    assert.equal(house.status, 404)
    const path = await ask(url, { model: 'm', input: 'a' }, { token, path: '/v1/responses/house' })
    assert.equal(path.status, 404)
  },
)

test(
  cites(
    'SIX-HTTP-08',
    'SIX-HTTP-09',
    'with a key of the server, agent_id, the path or routing name the agent',
  ),
  async t => {
    const { key, entry } = newKey('ana')
    const server = { keys: [entry], log: 'silent' as const }
    const { url } = await relay(t, {}, { agents: [{ name: 'house', model: rehearsal() }], server })
    const raw = await RawMachine.attached(t, url)
    const { agentId } = (
      (await (await fetch(`${url}/v1/providers`)).json()) as { providers: { agentId: string }[] }
    ).providers[0]!
    let asked = 0
    const through = async (body: object, path = '/v1/responses'): Promise<unknown> => {
      const answering = ask(url, { model: 'their-model', input: 'a', ...body }, { token: key, path })
      const { id, body: sent } = await raw.frame('request', asked++)
      raw.send({ type: 'response', id, body: saying('there') })
      assert.equal(textIn(await answering), 'there')
      return sent['model']
    }
    assert.equal(await through({ agent_id: agentId }), 'their-model')
    assert.equal(await through({}, `/v1/responses/${agentId}`), 'their-model')
    assert.equal(await through({ routing: 'cheapest' }), 'their-model')
    assert.equal(await through({ routing: 'fastest' }), 'their-model')
    const both = await ask(
      url,
      { model: 'm', input: 'a', agent_id: agentId, routing: 'fastest' },
      { token: key },
    )
    assert.equal(both.status, 400)
    assert.match(textIn(both), /Mutually exclusive/)
    const own = await ask(url, { model: 'house', input: 'Hello' }, { token: key })
    assert.equal(own.status, 200)
    assert.equal(
      (await ask(url, { model: 'm', input: 'a', routing: 'fastest' }, { token: 'wrong' })).status,
      401,
    )
  },
)

test('a server without a relay has none of its routes', async t => {
  const { Turnwire } = await import('../../src/library/turnwire.ts')
  const { startServer } = await import('../../src/server/server.ts')
  const config = {
    agents: [{ name: 'house', model: rehearsal() }],
    data: 'memory',
    server: { log: 'silent' as const },
  }
  const running = await startServer(await Turnwire.open(config), { port: 0 })
  const { url } = running
  t.after(() => running.stop())
  for (const path of ['/auth/challenge?address=0x', '/v1/providers', '/v1/usage'])
    assert.equal((await fetch(`${url}${path}`)).status, 404, path)
  assert.deepEqual(await (await fetch(`${url}/health`)).json(), { status: 'ok', agents: 1 })
})

test(
  cites('SIX-HTTP-02', 'the agents are listed in pages, all of them or those that are available'),
  async t => {
    const { url } = await relay(t)
    const raws: RawMachine[] = []
    for (let count = 0; count < 5; count++) raws.push(await RawMachine.attached(t, url))
    type Page = { providers: { agentId: string }[]; next?: number }
    const pageAt = async (query: string): Promise<Page> =>
      (await (await fetch(`${url}/v1/providers${query}`)).json()) as Page
    const all = await pageAt('')
    assert.deepEqual([all.providers.length, all.next], [5, undefined])
    const seen: string[] = []
    for (let after: number | undefined = 0; after !== undefined; ) {
      const { providers, next } = await pageAt(`?limit=2&after=${after}`)
      assert.ok(providers.length <= 2)
      seen.push(...providers.map(({ agentId }) => agentId))
      after = next
    }
    assert.deepEqual(
      seen,
      all.providers.map(({ agentId }) => agentId),
    )
    raws[0]?.end()
    await until(async () => (await pageAt('?available=true')).providers.length === 4, 'one is gone')
    assert.equal((await pageAt('?available=true&limit=1')).providers[0]?.agentId, seen[1])
    for (const query of ['?limit=0', '?limit=501', '?limit=x', '?after=-1'])
      assert.equal((await fetch(`${url}/v1/providers${query}`)).status, 400, query)
  },
)

// ---- the queue -----------------------------------------------------------------------------------------------------

test(cites('SIX-HTTP-10', 'requests wait in order for a machine that is free'), async t => {
  const { url } = await relay(t, { atOnce: 1 })
  const raw = await RawMachine.attached(t, url)
  const token = await tokenOf(url)
  const answers = [1, 2, 3].map(async number => {
    await sleep(number * 60)
    return textIn(await ask(url, { model: 'auto', input: `${number}` }, { token }))
  })
  const order: unknown[] = []
  for (let asked = 0; asked < 3; asked++) {
    const { id, body } = await raw.frame('request', asked)
    const said = JSON.stringify(body['input'])
    order.push(/(\d)"/.exec(said)?.[1])
    // The machine has one place: nobody else is asked meanwhile.
    await sleep(200)
    assert.equal(raw.frames.filter(frame => frame.type === 'request').length, asked + 1)
    raw.send({ type: 'response', id, body: saying(`answer ${asked}`) })
  }
  assert.deepEqual(order, ['1', '2', '3'])
  assert.deepEqual(await Promise.all(answers), ['answer 0', 'answer 1', 'answer 2'])
})

test(
  cites('SIX-HTTP-10', 'SIX-HTTP-09', 'a request that waits too long is 503; an agent nobody knows is 404'),
  async t => {
    const { url } = await relay(t, { queueMs: 300 })
    const token = await tokenOf(url)
    const nobody = await ask(url, { model: 'auto', input: 'a' }, { token })
    assert.equal(nobody.status, 503)
    assert.equal((nobody.body['error'] as { code: string }).code, 'agent_unavailable')
    assert.equal((await ask(url, { model: 'someone', input: 'a' }, { token })).status, 404)
    await sleep(300)
    const gone = `0x${'1'.repeat(40)}`
    assert.equal((await ask(url, { model: gone, input: 'a' }, { token })).status, 404)
    const was = await machine(t, url)
    was.attachment.stop()
    await was.over
    await until(async () => {
      const { plugins } = (await (await fetch(`${url}/health`)).json()) as { plugins: number }
      return plugins === 0
    }, 'the machine is gone')
    assert.equal((await ask(url, { model: was.agentId, input: 'a' }, { token })).status, 503)
  },
)

test(cites('SIX-HTTP-10', 'no more than so many requests wait'), async t => {
  const { url } = await relay(t, { queueMs: 60_000, waiting: 2 })
  const token = await tokenOf(url)
  const leave = new AbortController()
  const waiting = [1, 2].map(() =>
    ask(url, { model: 'auto', input: 'a' }, { token, signal: leave.signal }).catch(() => {}),
  )
  await sleep(200)
  assert.equal((await ask(url, { model: 'auto', input: 'a' }, { token })).status, 503)
  leave.abort()
  await Promise.all(waiting)
})

test(cites('SIX-HTTP-11', 'SIX-WS-15', 'a machine that says nothing is 504, and rests'), async t => {
  const { url } = await relay(t, { firstFrameMs: 200, idleMs: 200, attempts: 1, queueMs: 300 })
  const raw = await RawMachine.attached(t, url)
  const token = await tokenOf(url)
  const silent = await ask(url, { model: 'auto', input: 'a' }, { token })
  assert.equal(silent.status, 504)
  const { providers } = (await (await fetch(`${url}/v1/providers`)).json()) as {
    providers: { available: boolean }[]
  }
  assert.equal(providers[0]?.available, false)
  assert.equal((await ask(url, { model: 'auto', input: 'a' }, { token })).status, 503)
  await until(async () => {
    const now = (await (await fetch(`${url}/v1/providers`)).json()) as { providers: { available: boolean }[] }
    return now.providers[0]?.available
  }, 'it has rested')
  const halfway = ask(url, { model: 'auto', input: 'a', stream: true }, { token })
  const { id } = await raw.frame('request', 1)
  raw.send({ type: 'stream_event', id, event: { type: 'response.created', response: {} } })
  assert.equal((await halfway).status, 504)
})

// ---- failures ------------------------------------------------------------------------------------------------------

test(
  cites('SIX-WS-14', 'a request whose machine dies before it said anything is asked of another'),
  async t => {
    const { url } = await relay(t)
    const dying = await RawMachine.attached(t, url, undefined, { inputTokenPrice: '0' })
    const token = await tokenOf(url)
    for (const stream of [false, true]) {
      const raw = stream ? await RawMachine.attached(t, url) : dying
      const answering = ask(url, { model: 'auto', input: 'a', stream }, { token })
      const { id } = await raw.frame('request')
      if (stream) raw.send({ type: 'stream_event', id, event: { type: 'response.created', response: {} } })
      const other = await RawMachine.attached(t, url)
      raw.end()
      const again = await other.frame('request')
      other.send(
        stream
          ? {
              type: 'stream_event',
              id: again.id,
              event: { type: 'response.completed', response: saying('saved') },
            }
          : { type: 'response', id: again.id, body: saying('saved') },
      )
      if (stream) other.send({ type: 'stream_end', id: again.id })
      assert.match((await answering).text, /saved/)
      other.end()
      await other.closed
    }
  },
)

test(cites('SIX-WS-14', 'a request for one agent waits until its machine is back'), async t => {
  const { url } = await relay(t)
  const wallet = await newWallet()
  const dying = await RawMachine.attached(t, url, wallet)
  const answering = ask(url, { model: wallet.address, input: 'a' }, { token: await tokenOf(url) })
  await dying.frame('request')
  dying.end()
  await machine(t, url, [{ text: 'back' }], { wallet })
  assert.equal(textIn(await answering), 'back')
})

test(
  cites('SIX-WS-14', 'once something was said, a machine that dies ends the stream with a failure'),
  async t => {
    const { url } = await relay(t)
    const raw = await RawMachine.attached(t, url)
    await machine(t, url, [{ text: 'never asked' }], { prices: ['9', '9'] })
    const answering = ask(url, { model: 'auto', input: 'a', stream: true }, { token: await tokenOf(url) })
    const { id } = await raw.frame('request')
    const item = { type: 'message', id: 'm', role: 'assistant', content: [] }
    raw.send({
      type: 'stream_event',
      id,
      event: { type: 'response.output_item.added', output_index: 0, item },
    })
    const delta = {
      type: 'response.output_text.delta',
      item_id: 'm',
      output_index: 0,
      content_index: 0,
      delta: 'half',
    }
    raw.send({ type: 'stream_event', id, event: delta })
    await sleep(100)
    raw.end()
    const events = eventsIn(await answering)
    assert.equal(events.at(-1)?.['type'], 'response.failed')
    assert.ok(!JSON.stringify(events).includes('never asked'))
  },
)

test(
  cites('SIX-WS-14', 'SIX-WS-02', 'an agent that says that it failed is not asked again; others are'),
  async t => {
    const { url } = await relay(t)
    const wallet = await newWallet()
    const raw = await RawMachine.attached(t, url, wallet)
    const token = await tokenOf(url)
    const named = ask(url, { model: wallet.address, input: 'a' }, { token })
    const { id } = await raw.frame('request')
    raw.send({ type: 'error', id, code: 'plugin_error', message: 'out of\u0000 tokens' })
    const failed = await named
    assert.equal(failed.status, 502)
    assert.match(textIn(failed), /The attached agent failed: out of/)
    await until(
      async () => (await fetch(`${url}/v1/providers`)).text().then(text => text.includes('"available":true')),
      'rested',
    )
    await machine(t, url, [{ text: 'the other' }], { prices: ['9', '9'] })
    const any = ask(url, { model: 'auto', input: 'a' }, { token })
    const second = await raw.frame('request', 1)
    raw.send({ type: 'error', id: second.id, code: 'plugin_error', message: 'again' })
    assert.equal(textIn(await any), 'the other')
  },
)

test(
  cites(
    'SIX-WS-13',
    'SIX-WS-05',
    'a client that leaves frees the place; what the machine still says is ignored',
  ),
  async t => {
    const { url } = await relay(t, { atOnce: 1 })
    const raw = await RawMachine.attached(t, url)
    const token = await tokenOf(url)
    for (const stream of [false, true]) {
      const asked = raw.frames.filter(frame => frame.type === 'request').length
      const leave = new AbortController()
      const left = ask(url, { model: 'auto', input: 'a', stream }, { token, signal: leave.signal }).catch(
        () => 'left',
      )
      const { id } = await raw.frame('request', asked)
      leave.abort()
      assert.equal(await left, 'left')
      const next = ask(url, { model: 'auto', input: 'b' }, { token })
      const second = await raw.frame('request', asked + 1)
      raw.send(stream ? { type: 'stream_end', id } : { type: 'response', id, body: saying('too late') })
      raw.send({ type: 'error', id, code: 'plugin_error', message: 'also too late' })
      raw.send({ type: 'response', id: second.id, body: saying('second') })
      assert.equal(textIn(await next), 'second')
    }
  },
)

test(cites('SIX-WS-04', 'several requests are in flight at one machine, and end in any order'), async t => {
  const { url } = await relay(t)
  const raw = await RawMachine.attached(t, url)
  const token = await tokenOf(url)
  const answers = [0, 1, 2, 3].map(number => ask(url, { model: 'auto', input: `n${number}` }, { token }))
  const requests = await Promise.all([0, 1, 2, 3].map(number => raw.frame('request', number)))
  for (const { id, body } of requests.reverse())
    raw.send({ type: 'response', id, body: saying(/n\d/.exec(JSON.stringify(body['input']))?.[0] ?? '') })
  assert.deepEqual((await Promise.all(answers)).map(textIn), ['n0', 'n1', 'n2', 'n3'])
})

test('the fastest agent is asked, once it is known who is', async t => {
  const { url } = await relay(t)
  const slow = await machine(t, url, [{ text: 'slow', stepDelayMs: 300 }], { prices: ['0', '0'] })
  const quick = await machine(t, url, [{ text: 'quick' }], { prices: ['9', '9'] })
  const token = await tokenOf(url)
  for (const { agentId } of [slow, quick]) await ask(url, { model: agentId, input: 'a' }, { token })
  for (let n = 0; n < 3; n++)
    assert.equal(textIn(await ask(url, { model: 'm', input: 'a', routing: 'fastest' }, { token })), 'quick')
  assert.equal(textIn(await ask(url, { model: 'm', input: 'a', routing: 'cheapest' }, { token })), 'slow')
})
