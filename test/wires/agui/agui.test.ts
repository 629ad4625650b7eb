// AG-UI with its own client: HttpAgent checks the order of events and keeps the messages; the tests look at both.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type AgentSubscriber, HttpAgent, type RunAgentResult } from '@ag-ui/client'
import type { BaseEvent, Interrupt, Message, RunFinishedEvent, Tool } from '@ag-ui/core'
import { type Rig, rig, until } from '../rig.ts'

type Seen = BaseEvent & Record<string, unknown>
type Client = {
  agent: HttpAgent
  events: Seen[]
  /** Runs, and gives the events of this run alone. */
  run(options?: {
    tools?: Tool[]
    resume?: object[]
    context?: object[]
    words?: string
    runId?: string
  }): Promise<Seen[]>
  last(): RunFinishedEvent
}

let count = 0
const next = (): number => {
  count += 1
  return count
}

function client(
  at: Rig,
  threadId = `thread-${next()}`,
  initialMessages: Message[] = [],
  path = '/agui/helper',
): Client {
  const agent = new HttpAgent({ url: at.url + path, headers: at.headers(), threadId, initialMessages })
  const events: Seen[] = []
  const subscriber: AgentSubscriber = {
    onEvent: ({ event }) => {
      events.push(structuredClone(event) as Seen)
    },
  }
  return {
    agent,
    events,
    async run({ words, ...options } = {}) {
      if (words !== undefined) agent.addMessage({ id: `u-${next()}`, role: 'user', content: words })
      const from = events.length
      // Its types ask for members that it does not need.
      const result: RunAgentResult = await agent.runAgent(
        options as Parameters<HttpAgent['runAgent']>[0],
        subscriber,
      )
      assert.ok(Array.isArray(result.newMessages))
      return events.slice(from)
    },
    last: () => events.at(-1) as unknown as RunFinishedEvent,
  }
}

const types = (events: Seen[]): string[] => events.map(({ type }) => String(type))
const said = ({ agent }: Client): unknown[] =>
  agent.messages.map(message =>
    message.role === 'assistant'
      ? [message.content ?? '', ...(message.toolCalls ?? []).map(call => call.function.name)]
      : `${message.role}: ${typeof message.content === 'string' ? message.content : ''}`,
  )

const clipboard: Tool = {
  name: 'clipboard',
  description: 'Text on the clipboard',
  parameters: { type: 'object', properties: {} },
}

test('a whole turn, in an order that its client accepts', async t => {
  const at = await rig(t, {
    script: [
      {
        thinking: 'hm hm',
        text: 'Looking.',
        calls: [{ name: 'search', input: { q: 'a' } }, { name: 'fails' }],
        chunk: 3,
        usage: { input: 10, output: 5, thinking: 2 },
      },
      { text: 'Found it.', usage: { input: 20, output: 5 } },
    ],
  })
  const me = client(at)
  const events = await me.run({ words: 'find it' })
  const seen = types(events)
  assert.equal(seen[0], 'RUN_STARTED')
  assert.equal(seen.at(-1), 'RUN_FINISHED')
  for (const type of [
    'REASONING_START',
    'REASONING_MESSAGE_CONTENT',
    'TEXT_MESSAGE_CONTENT',
    'TOOL_CALL_ARGS',
    'TOOL_CALL_RESULT',
  ])
    assert.ok(seen.includes(type), type)
  assert.deepEqual(said(me), [
    'user: find it',
    'reasoning: hm hm',
    ['Looking.', 'search', 'fails'],
    'tool: found a',
    'tool: The tool failed: no such luck',
    ['Found it.'],
  ])
  const { outcome, usage } = me.last()
  assert.deepEqual(outcome, { type: 'success' })
  assert.deepEqual(usage, [
    { model: 'scripted', inputTokens: 30, outputTokens: 10, totalTokens: 40, reasoningTokens: 2 },
  ])
})

test('a thread continues, and only new content is used', async t => {
  const seen: number[] = []
  const at = await rig(t, {
    script: request => {
      seen.push(request.history.length)
      return { text: `answer ${seen.length}` }
    },
  })
  const me = client(at)
  await me.run({ words: 'one' })
  await me.run({ words: 'two' })
  assert.deepEqual(seen, [1, 3])
  assert.equal((await at.sessions.list('alice', { limit: 9 })).rows.length, 1)
  const again = await at.restart()
  const later = client(again, me.agent.threadId, me.agent.messages)
  await later.run({ words: 'three' })
  assert.deepEqual(seen, [1, 3, 5])
  assert.equal((await again.sessions.list('alice', { limit: 9 })).rows.length, 1)
})

test('a thread that is unknown begins with the history that the client has', async t => {
  const at = await rig(t, {
    script: request => ({ text: request.history.map(({ role }) => role).join(' ') }),
  })
  const history: Message[] = [
    { id: '1', role: 'system', content: 'Be kind.' },
    { id: '2', role: 'user', content: 'one' },
    {
      id: '3',
      role: 'assistant',
      content: 'looking',
      toolCalls: [
        { id: 'c1', type: 'function', function: { name: 'clipboard', arguments: '{}' } },
        { id: 'c2', type: 'function', function: { name: 'clipboard', arguments: '{}' } },
      ],
    },
    { id: '4', role: 'tool', toolCallId: 'c1', content: 'pasted' },
  ]
  const me = client(at, 'known-to-the-client', history)
  await me.run({ words: 'two' })
  assert.deepEqual(me.agent.messages.at(-1)?.content, 'system user assistant tool user')
  const other = client(at, 'ends-with-a-result', history)
  await other.run()
  assert.deepEqual(other.agent.messages.at(-1)?.content, 'system user assistant tool')
})

test('tools of the front end: the run ends, the client runs them, the next run continues', async t => {
  const at = await rig(t, {
    script: [
      { calls: [{ name: 'search', input: { q: 'a' } }, { name: 'clipboard' }] },
      { text: 'Thanks.', expect: { results: [{ text: 'found a' }, { text: 'pasted' }] } },
    ],
  })
  const me = client(at)
  await me.run({ words: 'go', tools: [clipboard] })
  const { outcome } = me.last()
  const [pending] = outcome?.type === 'success' ? (outcome.pendingToolCallIds ?? []) : []
  const call = me.agent.messages
    .flatMap(message => (message.role === 'assistant' ? (message.toolCalls ?? []) : []))
    .find(({ function: { name } }) => name === 'clipboard')
  assert.equal(pending, call?.id)
  me.agent.addMessage({ id: 'r1', role: 'tool', toolCallId: pending!, content: 'pasted' })
  const later = await me.run({ tools: [clipboard] })
  assert.deepEqual(types(later), [
    'RUN_STARTED',
    'TEXT_MESSAGE_START',
    'TEXT_MESSAGE_CONTENT',
    'TEXT_MESSAGE_END',
    'RUN_FINISHED',
  ])
  assert.deepEqual(me.last().outcome, { type: 'success' })
})

test('a failed result, and a result for only one of two waiting calls', async t => {
  const at = await rig(t, {
    script: [
      { calls: [{ name: 'clipboard' }, { name: 'clipboard', input: { n: 2 } }] },
      { text: 'Thanks.', expect: { results: [{ kind: 'error' }, { kind: 'ok', text: 'two' }] } },
    ],
  })
  const me = client(at)
  await me.run({ words: 'go', tools: [clipboard] })
  const outcome = me.last().outcome
  const [one, two] = outcome?.type === 'success' ? (outcome.pendingToolCallIds ?? []) : []
  me.agent.addMessage({ id: 'r1', role: 'tool', toolCallId: one!, content: '', error: 'no clipboard here' })
  await me.run({ tools: [clipboard] })
  assert.deepEqual(me.last().outcome, { type: 'success', pendingToolCallIds: [two] })
  me.agent.addMessage({ id: 'r2', role: 'tool', toolCallId: two!, content: 'two' })
  await me.run({ tools: [clipboard] })
  assert.equal(me.agent.messages.at(-1)?.content, 'Thanks.')
})

const asks = [{ text: 'May I?', calls: [{ name: 'mail', input: { to: 'ana' } }] }, { text: 'Done.' }]

async function interrupted(at: Rig): Promise<{ me: Client; interrupt: Interrupt }> {
  const me = client(at)
  await me.run({ words: 'go' })
  const { outcome } = me.last()
  assert.equal(outcome?.type, 'interrupt')
  const [interrupt] = outcome?.type === 'interrupt' ? outcome.interrupts : []
  assert.deepEqual(me.agent.pendingInterrupts, [interrupt])
  return { me, interrupt: interrupt! }
}

test('an approval is an interrupt, and a resume', async t => {
  const at = await rig(t, { script: asks })
  const { me, interrupt } = await interrupted(at)
  const call = me.agent.messages.at(-1)
  assert.equal(interrupt.toolCallId, call?.role === 'assistant' ? call.toolCalls?.[0]?.id : undefined)
  assert.deepEqual(at.runs, [])
  await me.run({ resume: [{ interruptId: interrupt.id, status: 'resolved', payload: { approved: true } }] })
  assert.deepEqual(at.runs, [{ tool: 'mail', input: { to: 'ana' } }])
  assert.deepEqual(said(me).slice(-2), ['tool: sent to ana', ['Done.']])
  assert.deepEqual(me.agent.pendingInterrupts, [])
})

test('a refusal, a dismissal, and other arguments', async t => {
  for (const [entry, result] of [
    [
      { status: 'resolved', payload: { approved: false, reason: 'not her' } },
      'tool: Tool call denied: not her',
    ],
    [{ status: 'resolved', payload: false }, 'tool: Tool call denied'],
    [{ status: 'cancelled' }, 'tool: Tool call denied: The question was dismissed.'],
    [{ status: 'resolved', payload: { approved: true, editedArgs: { to: 'bo' } } }, 'tool: sent to bo'],
    [{ status: 'resolved', payload: { approved: true, arguments: { to: 'cy' } } }, 'tool: sent to cy'],
  ] as const) {
    const at = await rig(t, { script: asks })
    const { me, interrupt } = await interrupted(at)
    await me.run({ resume: [{ interruptId: interrupt.id, ...entry }] })
    assert.deepEqual(said(me).slice(-2), [result, ['Done.']])
  }
})

test('a resume that does not fit is refused, and the call still waits', async t => {
  const at = await rig(t, { script: asks })
  const { me, interrupt } = await interrupted(at)
  for (const payload of [undefined, 'yes', { approved: 'yes' }, { approved: true, arguments: { to: 7 } }])
    await assert.rejects(
      me.run({
        resume: [
          { interruptId: interrupt.id, status: 'resolved', ...(payload !== undefined && { payload }) },
        ],
      }),
      /400/,
    )
  const yes = { interruptId: interrupt.id, status: 'resolved', payload: true }
  await assert.rejects(me.run({ resume: [yes, { ...yes, interruptId: 'nobody' }] }), /400/)
  assert.deepEqual(at.runs, [])
  await me.run({ resume: [yes] })
  assert.equal(at.runs.length, 1)
})

test('a step that starts over is taken back, its calls too', async t => {
  const { promise: seen, resolve } = Promise.withResolvers<void>()
  const at = await rig(t, {
    model: {
      id: 'wavering',
      async respond({ history }, watch) {
        if (history.length > 1) return { parts: [{ type: 'text', text: 'Done.' }], stop: 'end' }
        watch({ type: 'text', text: 'Wrong ' })
        watch({ type: 'call', index: 0, name: 'clipboard', form: 'json' })
        watch({ type: 'arguments', index: 0, text: '{"a":' })
        await seen
        watch({ type: 'reset' })
        watch({ type: 'text', text: 'Right' })
        watch({ type: 'call', index: 0, name: 'search', form: 'json' })
        watch({ type: 'arguments', index: 0, text: '{"q":"b"}' })
        return {
          parts: [
            { type: 'text', text: 'Right' },
            { type: 'call', name: 'search', form: 'json', text: '{"q":"b"}' },
          ],
          stop: 'calls',
        }
      },
    },
  })
  const me = client(at)
  const running = me.run({ words: 'go', tools: [clipboard] })
  await until(() => me.events.some(({ type }) => String(type) === 'TOOL_CALL_ARGS'))
  resolve()
  await running
  assert.deepEqual(said(me), ['user: go', ['Right', 'search'], 'tool: found b', ['Done.']])
  assert.deepEqual(me.last().outcome, { type: 'success' })
})

test('an error before the run is an HTTP status, in the run an event', async t => {
  const at = await rig(t, {
    script: [{ text: 'so far', fail: { code: 'model_failed', message: 'Away.', after: 1 } }],
  })
  const me = client(at)
  const events = await me.run({ words: 'x' }).catch(() => me.events)
  const error = events.at(-1)
  assert.deepEqual(
    [String(error?.type), error?.['message'], error?.['code']],
    ['RUN_ERROR', 'Away.', 'model_failed'],
  )
  await assert.rejects(client(at, 't', [], '/agui/nobody').run({ words: 'x' }), /400/)
})

test('after a failure the same messages are tried again', async t => {
  let asked = 0
  const at = await rig(t, {
    script: () => {
      asked += 1
      return asked === 1 ? { fail: { code: 'model_failed', message: 'Away.' } } : { text: 'Here.' }
    },
  })
  const me = client(at, 'retry')
  await me.run({ words: 'x' }).catch(() => {})
  await me.run()
  assert.equal(me.agent.messages.at(-1)?.content, 'Here.')
  const state = await at.sessions.list('alice', { limit: 5 })
  assert.equal(state.rows.length, 1)
  assert.equal(asked, 2)
})

test('a run that was sent twice is answered once, with the same answer', async t => {
  const at = await rig(t, { script: [{ calls: [{ name: 'search', input: { q: 'a' } }] }, { text: 'Once.' }] })
  const me = client(at, 'twice')
  await me.run({ words: 'x', runId: 'run-1' })
  const again = client(at, 'twice', me.agent.messages.slice(0, 1))
  await again.run({ runId: 'run-1' })
  assert.deepEqual(again.agent.messages, me.agent.messages)
  assert.equal(at.runs.length, 1)
})

test('a message in a new run is said anew: the model does not read its answer', async t => {
  const read: string[] = []
  const at = await rig(t, {
    script: ({ history }) => {
      read.push(history.map(({ role }) => role).join(' '))
      return { text: `answer ${read.length}` }
    },
  })
  const me = client(at, 'anew')
  await me.run({ words: 'one' })
  await me.run({ words: 'two' })
  const again = client(at, 'anew', me.agent.messages.slice(0, 3))
  await again.run()
  assert.deepEqual(said(again), ['user: one', ['answer 1'], 'user: two', ['answer 3']])
  await again.run({ words: 'three' })
  assert.deepEqual(read, [
    'user',
    'user assistant user',
    'user assistant user',
    'user assistant user assistant user',
  ])
  const [row] = (await at.sessions.list('alice', { limit: 2 })).rows
  assert.equal((await at.sessions.peek('alice', row!.id)).entries.length, 8)
})

test('sealed values of thoughts and calls are restored when a new session begins with them', async t => {
  const origin = { protocol: 'p', family: 'f' }
  const native = { origin, data: { signature: 's3cret' } }
  const at = await rig(t, {
    script: request => {
      if (request.history.length === 1)
        return {
          thinking: 'hm',
          native,
          calls: [{ name: 'clipboard', native: { origin, data: { thought: 'c4ll' } } }],
        }
      const [, answer] = request.history
      return {
        text:
          answer?.role === 'assistant'
            ? JSON.stringify(answer.parts.map(part => ('native' in part ? part.native?.data : null)))
            : 'none',
      }
    },
  })
  const me = client(at, 'sealed')
  const events = await me.run({ words: 'go', tools: [clipboard] })
  assert.equal(types(events).filter(type => type === 'REASONING_ENCRYPTED_VALUE').length, 2)
  assert.ok(!JSON.stringify(events).includes('s3cret'))
  const outcome = me.last().outcome
  const [callId] = outcome?.type === 'success' ? (outcome.pendingToolCallIds ?? []) : []
  me.agent.addMessage({ id: 'r', role: 'tool', toolCallId: callId!, content: 'x' })
  const moved = client(at, 'elsewhere', me.agent.messages)
  await moved.run({ tools: [clipboard] })
  assert.equal(moved.agent.messages.at(-1)?.content, '[{"signature":"s3cret"},{"thought":"c4ll"}]')
  const forged = me.agent.messages.map(message =>
    'encryptedValue' in message ? { ...message, encryptedValue: 'forged' } : message,
  )
  const other = client(at, 'forged', forged)
  await other.run({ tools: [clipboard] })
  assert.equal(other.agent.messages.at(-1)?.content, '[null,{"thought":"c4ll"}]')
  const stranger = client(at, 'stranger', me.agent.messages)
  stranger.agent.headers = at.headers('bob')
  await stranger.run({ tools: [clipboard] })
  assert.equal(stranger.agent.messages.at(-1)?.content, '[null,null]')
})

test('context reaches the model, and tools follow what the page offers', async t => {
  const seen: [string | undefined, string[]][] = []
  const at = await rig(t, {
    tools: [],
    script: request => {
      seen.push([request.system, request.tools.map(({ name }) => name)])
      return { text: 'ok' }
    },
  })
  const me = client(at)
  await me.run({ words: 'a', context: [{ description: 'page', value: 'cart' }], tools: [clipboard] })
  await me.run({ words: 'b', context: [{ description: 'page', value: 'checkout' }], tools: [] })
  assert.match(seen[0]![0] ?? '', /page: cart/)
  assert.match(seen[1]![0] ?? '', /page: checkout/)
  assert.deepEqual(
    seen.map(([, names]) => names),
    [['clipboard'], []],
  )
})

test('a turn that is cancelled, and one that a length ends', async t => {
  const at = await rig(t, { script: [{ calls: [{ name: 'slow' }] }, { text: 'cut', stop: 'length' }] })
  const me = client(at)
  const running = me.run({ words: 'go' })
  await until(() => at.runs.length === 1)
  const [row] = (await at.sessions.list('alice', { limit: 1 })).rows
  await (await at.sessions.open('alice', row!.id)).cancel()
  await running
  assert.deepEqual(me.last().outcome, { type: 'cancelled' })
  await me.run({ words: 'more' })
  assert.deepEqual([me.last().outcome, me.last().result], [{ type: 'success' }, { stopReason: 'length' }])
})

test('bad input is refused with a message and records nothing', async t => {
  const at = await rig(t)
  const good = {
    threadId: 't',
    runId: 'r',
    messages: [{ id: '1', role: 'user', content: 'x' }],
    tools: [],
    context: [],
  }
  const bodies: unknown[] = [
    '',
    '[]',
    {},
    { ...good, threadId: 7 },
    { ...good, threadId: '' },
    { ...good, runId: undefined },
    { ...good, messages: 'x' },
    { ...good, messages: [] },
    { ...good, messages: [{ role: 'user', content: 'x' }] },
    { ...good, messages: [{ id: '1', role: 'robot', content: 'x' }] },
    {
      ...good,
      messages: [
        {
          id: '1',
          role: 'user',
          content: [{ type: 'audio', source: { type: 'url', value: 'https://x.y/z' } }],
        },
      ],
    },
    {
      ...good,
      messages: [
        {
          id: '1',
          role: 'user',
          content: [{ type: 'image', source: { type: 'url', value: 'http://x.y/z' } }],
        },
      ],
    },
    {
      ...good,
      messages: [
        {
          id: '1',
          role: 'user',
          content: [{ type: 'image', source: { type: 'data', value: 'not base64!', mimeType: 'image/png' } }],
        },
      ],
    },
    { ...good, tools: [{ name: 'search', description: 'taken' }] },
    { ...good, tools: [{ name: 'a' }] },
    { ...good, resume: [{ interruptId: 'x', status: 'maybe' }] },
  ]
  for (const body of bodies) {
    const answer = await at.request('POST', '/agui/helper', body)
    assert.equal(answer.status, 400, JSON.stringify(body))
    assert.ok(((await answer.json()) as { error: string }).error.length > 10)
  }
  assert.deepEqual((await at.sessions.list('alice', { limit: 5 })).rows, [])
})

test('a thread is its owner’s; a session of another owner is not found', async t => {
  const at = await rig(t)
  const input = { threadId: 'same', runId: 'r', messages: [{ id: '1', role: 'user', content: 'x' }] }
  const mine = await at.request('POST', '/agui/helper', input)
  const theirs = await at.request('POST', '/agui/helper', input, { who: 'bob' })
  const id = mine.headers.get('x-session-id')!
  assert.notEqual(theirs.headers.get('x-session-id'), id)
  await until(async () => (await at.sessions.peek('alice', id)).turn === null)
  assert.equal(
    (await at.request('POST', '/agui/helper', { ...input, threadId: id }, { who: 'bob' })).status,
    404,
  )
  assert.equal((await at.request('POST', '/agui/other', { ...input, threadId: id })).status, 400)
  assert.equal((await at.request('POST', '/agui/helper', input, { who: 'nobody' })).status, 401)
})
