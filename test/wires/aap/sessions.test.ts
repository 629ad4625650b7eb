// Creating, showing, listing and deleting sessions.
import assert from 'node:assert/strict'
import test from 'node:test'
import type { Store } from '../../../src/engine/index.ts'
import { memoryStore } from '../../../src/stores/memory.ts'
import { cites } from '../../requirements/manifest.ts'
import {
  agentOf,
  answerOf,
  clipboard,
  history,
  type Info,
  info,
  newSession,
  type Rig,
  refusal,
  rig,
  say,
  turn,
} from './rig.ts'

test(cites('AAP-SESS-01', 'AAP-SESS-02', 'creation gives an id and runs nothing'), async t => {
  const at = await rig(t, { script: [] })
  const answer = await at.request('POST', '/aap/v3/sessions', {
    agent: { name: 'helper' },
    messages: [{ role: 'user', content: 'hi' }],
  })
  assert.equal(answer.status, 201)
  const body = (await answer.json()) as Record<string, string>
  assert.deepEqual(Object.keys(body), ['sessionId'])
  assert.deepEqual(await history(at, body['sessionId']!), [{ role: 'user', content: 'hi' }])
  assert.equal((await at.engine.events('alice', body['sessionId']!)).length, 1)
})

test(cites('AAP-SESS-03', 'creation names an agent that exists'), async t => {
  const at = await rig(t)
  const create = (body: unknown) => at.request('POST', '/sessions', body)
  assert.deepEqual(await refusal(await create({})), [400, 'bad_request'])
  assert.deepEqual(await refusal(await create({ agent: {} })), [400, 'bad_request'])
  assert.deepEqual(await refusal(await create({ agent: { name: 'nobody' } })), [400, 'unknown_agent'])
  assert.deepEqual(await refusal(await create({ agent: { name: 'x'.repeat(9000) } })), [400, 'bad_request'])
})

test(
  cites(
    'AAP-SESS-04',
    'AAP-SESS-05',
    'AAP-SESS-11',
    'the model is offered what was switched on, and nothing else',
  ),
  async t => {
    const at = await rig(t, {
      script: request => ({ text: request.tools.map(tool => tool.name).join(' ') }),
    })
    const offered = async (body: Record<string, unknown>) => {
      const { messages } = await answerOf(turn(at, await newSession(at, body), say('?')))
      return messages[0]?.content
    }
    assert.equal(await offered({}), 'hidden')
    assert.equal(await offered({ agent: { tools: [] } }), 'hidden')
    assert.equal(await offered({ agent: { tools: [{ name: 'mail' }] } }), 'mail hidden')
    assert.equal(await offered({ tools: [clipboard] }), 'hidden clipboard')
    const create = await at.request('POST', '/sessions', {
      agent: { name: 'helper', tools: [{ name: 'hidden' }] },
    })
    assert.deepEqual(await refusal(create), [400, 'unknown_tool'])
  },
)

test(cites('AAP-SESS-06', 'trust is false unless it is given'), async t => {
  const at = await rig(t, { script: [{ calls: [{ name: 'search', input: { q: 'a' } }] }] })
  const id = await newSession(at, { agent: { tools: [{ name: 'search' }] } })
  assert.deepEqual((await info(at, id)).agent.tools, [{ name: 'search', trust: false }])
  const { stopReason } = await answerOf(turn(at, id, say('go')))
  assert.equal(stopReason, 'tool_use')
  assert.deepEqual(at.runs, [])
})

test(
  cites('AAP-SESS-07', 'AAP-SESS-08', 'options are strings, known, and default to what was declared'),
  async t => {
    const at = await rig(t, { script: request => ({ text: JSON.stringify(request.options) }) })
    const id = await newSession(at, { agent: { options: { tone: 'dry' } } })
    const { messages } = await answerOf(turn(at, id, say('?')))
    assert.deepEqual(JSON.parse(String(messages[0]?.content)), { tone: 'dry', city: 'Paris', key: '' })
    const create = (options: unknown) =>
      at.request('POST', '/sessions', { agent: { name: 'helper', options } })
    assert.deepEqual(await refusal(await create({ tone: 'rude' })), [400, 'unknown_option'])
    assert.deepEqual(await refusal(await create({ nope: 'x' })), [400, 'unknown_option'])
    assert.deepEqual(await refusal(await create({ city: 1 })), [400, 'bad_request'])
    assert.deepEqual(await refusal(await create(['city'])), [400, 'bad_request'])
    assert.deepEqual(
      await refusal(
        await at.request('POST', '/sessions', '{"agent":{"name":"helper","options":{"__proto__":"x"}}}'),
      ),
      [400, 'unknown_option'],
    )
  },
)

test(cites('AAP-SESS-09', 'AAP-HIST-11', 'a seed is the beginning of the history'), async t => {
  const at = await rig(t, {
    script: request => ({ text: request.history.map(entry => entry.role).join(' ') }),
  })
  const messages = [
    { role: 'system', content: 'Be brief.' },
    {
      role: 'user',
      content: [
        { type: 'text', text: 'what is' },
        { type: 'image', url: 'https://example.org/x.png' },
      ],
    },
    {
      role: 'assistant',
      content: [
        { type: 'thinking', thinking: 'hm' },
        { type: 'text', text: 'let me see' },
        { type: 'tool_use', toolCallId: 'a', name: 'search', input: { q: 'x' } },
        { type: 'tool_use', toolCallId: 'b', name: 'patch', input: { input: 'free text' } },
      ],
    },
    { role: 'tool', toolCallId: 'b', content: 'second' },
    {
      role: 'tool',
      toolCallId: 'a',
      content: [
        { type: 'text', text: 'one' },
        { type: 'text', text: 'two' },
      ],
    },
    { role: 'assistant', content: 'a picture' },
  ]
  const id = await newSession(at, { messages })
  const inOrder = [...messages.slice(0, 3), messages[4], messages[3], messages[5]]
  assert.deepEqual(await history(at, id), inOrder)
  assert.deepEqual(await history(at, id, 'compacted'), inOrder)
  const answer = await answerOf(turn(at, id, say('go on')))
  assert.equal(answer.messages[0]?.content, 'system user assistant tool assistant user')
  const [created] = await at.engine.events('alice', id)
  assert.ok(created?.event.type === 'session.created')
  const assistant = created.event.seed[2]
  assert.ok(assistant?.role === 'assistant')
  assert.deepEqual(assistant.parts[3], {
    type: 'call',
    id: 'b',
    name: 'patch',
    form: 'text',
    text: 'free text',
  })
})

test(cites('AAP-SESS-10', 'calls that a seed leaves open are settled as abandoned'), async t => {
  const at = await rig(t, {
    script: request => ({
      text: request.history
        .flatMap(entry => (entry.role === 'tool' ? entry.results : []))
        .map(({ callId, outcome }) => `${callId} ${outcome.kind}`)
        .join(', '),
    }),
  })
  const calls = (...ids: string[]) => ({
    role: 'assistant',
    content: ids.map(toolCallId => ({ type: 'tool_use', toolCallId, name: 'search', input: { q: 'x' } })),
  })
  const id = await newSession(at, {
    messages: [
      calls('a'),
      { role: 'user', content: 'never mind' },
      calls('b', 'c'),
      { role: 'tool', toolCallId: 'c', content: 'yes' },
    ],
  })
  const { messages } = await answerOf(turn(at, id, say('?')))
  assert.equal(messages[0]?.content, 'a abandoned, b abandoned, c ok')
})

test(
  cites('AAP-SESS-12', 'AAP-SESS-13', 'client tools have names of their own, and an agent may take none'),
  async t => {
    const agents = [agentOf({}, []), agentOf({ agent: { name: 'alone', clientTools: false } }, [])]
    const at = await rig(t, { agents })
    const create = (name: string, tools: unknown) =>
      at.request('POST', '/sessions', { agent: { name }, tools })
    const named = (name: string) => ({ ...clipboard, name })
    assert.deepEqual(await refusal(await create('helper', [named('search')])), [400, 'tool_name_conflict'])
    assert.deepEqual(await refusal(await create('helper', [named('hidden')])), [400, 'tool_name_conflict'])
    assert.deepEqual(await refusal(await create('helper', [clipboard, clipboard])), [
      400,
      'tool_name_conflict',
    ])
    assert.deepEqual(await refusal(await create('helper', [named('a\r\nb')])), [400, 'invalid_tool'])
    assert.deepEqual(await refusal(await create('alone', [clipboard])), [400, 'bad_request'])
    assert.deepEqual(await refusal(await create('helper', [{ name: 'x', description: 'y' }])), [
      400,
      'bad_request',
    ])
    assert.deepEqual(await refusal(await create('helper', 'clipboard')), [400, 'bad_request'])
    assert.equal((await create('alone', [])).status, 201)
    for (const parameters of [
      { type: 'objekt' },
      { type: 'array' },
      { type: 'object', required: 'x' },
      { type: 'object', properties: { x: 'string' } },
      { type: 'object', propertes: { x: {} } },
      { type: 'object', properties: { x: { pattern: '^(?=a)' } } },
    ])
      assert.deepEqual(await refusal(await create('helper', [{ ...clipboard, parameters }])), [
        400,
        'invalid_tool',
      ])
  },
)

test(
  cites('AAP-SESS-14', 'AAP-SESS-16', 'AAP-SESS-17', 'a session shows its settings and not its history'),
  async t => {
    const at = await rig(t)
    const id = await newSession(at, {
      agent: { tools: [{ name: 'mail', trust: true }], options: { city: 'Rome' } },
      tools: [{ ...clipboard, title: 'Clipboard' }],
      messages: [{ role: 'user', content: 'hi' }],
    })
    assert.deepEqual(await info(at, id), {
      sessionId: id,
      agent: { name: 'helper', tools: [{ name: 'mail', trust: true }], options: { city: 'Rome' } },
      tools: [{ ...clipboard, title: 'Clipboard' }],
    })
    assert.deepEqual(await info(at, await newSession(at)).then(({ tools }) => tools), undefined)
  },
)

test(
  cites(
    'AAP-SESS-15',
    'AAP-SESS-23',
    'AAP-SESS-27',
    'a secret is sealed before the log and masked wherever it is shown',
  ),
  async t => {
    const at = await rig(t, { script: request => ({ text: `key ${request.options['key']}` }) })
    const id = await newSession(at, { agent: { options: { key: 'sk-CANARY', city: 'Rome' } } })
    assert.deepEqual((await info(at, id)).agent.options, { key: '***', city: 'Rome' })
    const list = await (await at.request('GET', '/sessions')).text()
    assert.ok(list.includes('"***"') && !list.includes('CANARY'))
    assert.deepEqual(at.sealed, ['sk-CANARY'])
    assert.ok(!JSON.stringify(await at.engine.events('alice', id)).includes('CANARY'))
    const answer = await answerOf(turn(at, id, say('?')))
    assert.equal(answer.messages[0]?.content, 'key sk-CANARY')
    const gone = await at.restart({ agents: [] })
    assert.deepEqual(
      (await info(gone, id)).agent.options,
      { key: '***', city: '***' },
      'no agent says what is secret',
    )
  },
)

test(cites('AAP-SESS-28', 'a masked secret that comes back changes nothing'), async t => {
  const at = await rig(t, { script: request => ({ text: `key ${request.options['key']}` }) })
  const id = await newSession(at, { agent: { options: { key: 'real' } } })
  const body = { ...say('?'), agent: { options: { key: '***', city: 'Oslo' } } }
  const answer = await answerOf(turn(at, id, body))
  assert.equal(answer.messages[0]?.content, 'key real')
  assert.deepEqual((await info(at, id)).agent.options, { key: '***', city: 'Oslo' })
  const fresh = await newSession(at, { agent: { options: { key: '***' } } })
  const other = await answerOf(turn(at, fresh, say('?')))
  assert.equal(other.messages[0]?.content, 'key ')
})

test(
  cites('AAP-SESS-18', 'AAP-SESS-19', 'AAP-SESS-20', 'AAP-ERR-06', 'a deleted session is gone'),
  async t => {
    const at = await rig(t)
    const id = await newSession(at)
    const removed = await at.request('DELETE', `/sessions/${id}`)
    assert.deepEqual([removed.status, await removed.text()], [204, ''])
    for (const method of ['GET', 'DELETE']) {
      const answer = await at.request(method, `/sessions/${id}`)
      assert.equal(answer.status, 404)
      assert.deepEqual(await answer.json(), { error: 'Session not found', code: 'session_not_found' })
    }
  },
)

test(
  cites('AAP-SESS-21', 'AAP-SESS-22', 'AAP-SESS-24', 'AAP-OLD-07', 'AAP-OLD-08', 'the list has pages'),
  async t => {
    const at = await rig(t)
    const made: string[] = []
    for (let count = 0; count < 53; count += 1) made.unshift(await newSession(at))
    for (const [base, id] of [
      ['/aap/v3', (item: unknown) => (item as Info).sessionId],
      ['/aap/v2', (item: unknown) => (item as Info).sessionId],
      ['/aap/v1', (item: unknown) => item],
    ] as const) {
      const page = async (query: string) =>
        (await (await at.request('GET', `${base}/sessions${query}`)).json()) as {
          sessions: unknown[]
          next?: string
        }
      const first = await page('')
      const second = await page(`?after=${encodeURIComponent(first.next!)}`)
      assert.equal(first.sessions.length, 50)
      assert.ok(!('next' in second))
      assert.deepEqual([...first.sessions, ...second.sessions].map(id), made)
    }
    const foreign = await at.request('GET', '/sessions?after=zz.aaaaaaaaaaaaaaaa')
    assert.deepEqual(await refusal(foreign), [400, 'bad_request'])
    const mine = (await (await at.request('GET', '/sessions')).json()) as { next: string }
    const bob = await at.request('GET', `/sessions?after=${mine.next}`, undefined, { 'x-owner': 'bob' })
    assert.equal(bob.status, 400)
  },
)

test(cites('AAP-SESS-21', 'a page of sessions is shown without reading their logs'), async t => {
  const store = memoryStore()
  let reads = 0
  const read: Store['read'] = (id, after) => {
    reads += 1
    return store.read(id, after)
  }
  const at = await rig(t, { store: { ...store, read } })
  const id = await newSession(at, { tools: [clipboard] })
  const first = await info(at, id)
  await answerOf(
    turn(at, id, { ...say('go'), agent: { options: { city: 'Oslo', key: 'sk-CANARY' } }, tools: [] }),
  )
  const second = await info(at, id)
  assert.notDeepEqual(second, first)
  const listed = async (place: Rig) =>
    ((await (await place.request('GET', '/sessions')).json()) as { sessions: Info[] }).sessions
  const other = await at.restart({ store: { ...store, read } })
  reads = 0
  assert.deepEqual(await listed(other), [second])
  assert.equal(reads, 0)
})

test(cites('AAP-SESS-26', 'AAP-SESS-29', 'a seed must be a history'), async t => {
  const at = await rig(t)
  const create = (...messages: unknown[]) =>
    at.request('POST', '/sessions', { agent: { name: 'helper' }, messages })
  const call = {
    role: 'assistant',
    content: [{ type: 'tool_use', toolCallId: 'a', name: 'search', input: {} }],
  }
  const result = { role: 'tool', toolCallId: 'a', content: 'x' }
  for (const messages of [
    [{ role: 'tool_permission', toolCallId: 'a', granted: true }],
    [result],
    [call, result, result],
    [call, { ...result, toolCallId: 'b' }],
    [call, { role: 'user', content: 'x' }, result],
    [{ role: 'user', content: '' }],
    [{ role: 'user', content: [{ type: 'tool_use', toolCallId: 'a', name: 'x', input: {} }] }],
    [{ role: 'assistant', content: [{ type: 'image', url: 'https://example.org/x.png' }] }],
    [{ role: 'assistant', content: [{ type: 'tool_use', toolCallId: '', name: 'x', input: {} }] }],
    [{ role: 'assistant', content: [{ type: 'tool_use', toolCallId: 'a', name: 'x', input: 'text' }] }],
    [{ role: 'narrator', content: 'x' }],
    ['hello'],
  ])
    assert.deepEqual(await refusal(await create(...messages)), [400, 'bad_request'], JSON.stringify(messages))
  assert.deepEqual(await refusal(await create(call, result, call, result)), [400, 'duplicate_call'])
})
