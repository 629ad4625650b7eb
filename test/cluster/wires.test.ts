// Every wire on nodes that do not have the session: a turn is begun on one node, decided on a second, followed up on a third,
// and cancelled from another, with the drivers of the wires' own tests. What is seen is what one node would show.
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { type AllWires, type WireDriver, wireDrivers } from '../wires/all-wires.ts'
import { eventsOf, readEvents, type Wire } from '../wires/deltakit/reference-client.ts'
import { until } from '../wires/rig.ts'
import { socketEditor, type WireNodes, wireNodes } from './wire-nodes.ts'

const script = [
  { text: 'May I? ', calls: [{ name: 'mail', input: { to: 'ana' } }] },
  { text: 'So be it.' },
  { text: 'Goodbye.' },
]

/** As the driver of ACP, but over a WebSocket with a node. */
const acpSocket = (t: TestContext): WireDriver => ({
  name: 'ACP over a WebSocket',
  async start(at, words) {
    const editor = await socketEditor(t, at, 'none')
    const sessionId = await editor.begin()
    void editor.prompt(sessionId, words).catch(() => {})
    await until(() => editor.asked.length > 0)
    return { sessionId, text: editor.texts.join(''), asks: editor.asked[0]! }
  },
  async decide(at, sessionId, callId, granted) {
    const editor = await socketEditor(t, at, granted ? 'allow' : 'reject')
    await editor.load(sessionId)
    await until(() => editor.texts.join('').endsWith('.'))
    assert.deepEqual(editor.asked, [callId])
    editor.close()
    return { text: editor.texts.join('') }
  },
  async say(at, sessionId, words) {
    const editor = await socketEditor(t, at)
    await editor.load(sessionId)
    await editor.prompt(sessionId, words)
    await until(() => editor.texts.join('').endsWith('.'))
    editor.close()
    return { text: editor.texts.join('') }
  },
})

type Message = { role: string; content?: unknown }

async function history(at: AllWires, sessionId: string): Promise<Message[]> {
  const answer = await at.request('GET', `/sessions/${sessionId}/history?type=full`)
  return ((await answer.json()) as { history: { full: Message[] } }).history.full
}

/** The turn as DeltaKit shows it in the background, on any node, from now on. */
async function watched(at: AllWires, sessionId: string): Promise<Promise<Wire[]>[]> {
  const active = await at.request('GET', `/api/active-run?sessionId=${sessionId}`)
  const { run_id } = (await active.json()) as { run_id: string }
  return [readEvents(await at.request('GET', `/api/jobs/${run_id}/events`))]
}

const words = (events: readonly Wire[]): unknown[] =>
  events.map(event => event['delta'] ?? event['output'] ?? event['reason'] ?? event.type)

async function converse(wire: WireDriver, nodes: WireNodes, granted: boolean): Promise<void> {
  const { a, b, c, holder } = nodes
  const ran = a.runs.length
  const first = await wire.start(a, 'Mail Ana.')
  const { sessionId, asks } = first
  assert.equal(first.text, 'May I? ')
  assert.ok(asks, 'the call waits')
  assert.equal(await holder(sessionId), 'a')
  const watching = [...(await watched(a, sessionId)), ...(await watched(b, sessionId))]
  watching.push(...(await watched(c, sessionId)))
  const second = await wire.decide(b, sessionId, asks, granted)
  assert.equal(second.text, 'So be it.')
  const result = granted ? 'sent to ana' : 'Tool call denied'
  // Live, in order, and the same on every node.
  for (const events of await Promise.all(watching))
    assert.deepEqual(words(events), [
      ...['May ', 'I? ', 'tool_call', 'tool_approval_request', result],
      ...['So ', 'be ', 'it.', 'done'],
    ])
  assert.equal((await wire.say(c, sessionId, 'Thanks.')).text, 'Goodbye.')
  assert.equal(await holder(sessionId), 'a')
  const call = { type: 'tool_use', toolCallId: asks, name: 'mail', input: { to: 'ana' } }
  const whole = [
    { role: 'user', content: 'Mail Ana.' },
    { role: 'assistant', content: [{ type: 'text', text: 'May I? ' }, call] },
    { role: 'tool', toolCallId: asks, content: result },
    { role: 'assistant', content: 'So be it.' },
    { role: 'user', content: 'Thanks.' },
    { role: 'assistant', content: 'Goodbye.' },
  ]
  for (const node of [a, b, c]) assert.deepEqual(await history(node, sessionId), whole)
  // It ran once, on the node that has the session.
  assert.equal(a.runs.length - ran, granted ? 1 : 0)
  assert.deepEqual([b.runs, c.runs], [[], []])
}

test('a turn is begun on one node, decided on a second and followed up on a third, on every wire', async t => {
  const nodes = await wireNodes(t, { script, server: { acp: true } })
  for (const wire of [...wireDrivers, acpSocket(t)])
    for (const granted of [true, false])
      await t.test(`${wire.name}, ${granted ? 'allowed' : 'refused'}`, () => converse(wire, nodes, granted))
})

test('the decision on one node and wire is too late on every other', async t => {
  const { a, b, c } = await wireNodes(t, { script })
  for (const late of wireDrivers) {
    const { sessionId, asks } = await wireDrivers[0]!.start(a, 'Mail Ana.')
    await wireDrivers[1]!.decide(b, sessionId, asks!, true)
    const before = a.runs.length
    await late.decide(c, sessionId, asks!, true).catch(error => assert.match(String(error), /4\d\d/))
    assert.equal(a.runs.length, before, late.name)
  }
})

// ---- cancelling -------------------------------------------------------------------------------------------------

/** Starts a turn on `a` that hangs, and gives how it is stopped on `b`. */
type Cancelling = { name: string; run: (t: TestContext, nodes: WireNodes) => Promise<string> }

async function json<Body>(answer: Promise<Response>): Promise<Body> {
  const given = await answer
  assert.ok(given.ok, `${given.status} ${given.ok ? '' : await given.text()}`)
  return (await given.json()) as Body
}

async function isShown(events: AsyncIterable<Wire>, type: string): Promise<void> {
  for await (const event of events) if (event.type === type) return
}

/** Clients that can only close their request: the turn began on another node's session. */
const byClosing = (name: string, path: string, type: string, body: (id: string) => object): Cancelling => ({
  name,
  async run(_t, { a, b }) {
    const { sessionId } = await json<{ sessionId: string }>(
      a.request('POST', '/sessions', { agent: { name: 'helper' } }),
    )
    const closing = new AbortController()
    const answer = await b.request('POST', path, body(sessionId), { signal: closing.signal })
    await isShown(eventsOf(answer), type)
    closing.abort()
    return sessionId
  },
})

const cancelling: readonly Cancelling[] = [
  {
    name: 'AAP',
    async run(_t, { a, b }) {
      const { sessionId } = await json<{ sessionId: string }>(
        a.request('POST', '/sessions', { agent: { name: 'helper' } }),
      )
      const turn = { messages: [{ role: 'user', content: 'Go.' }] }
      const going = a.request('POST', `/sessions/${sessionId}/turns`, turn)
      await until(async () => {
        const state = await json<{ status: string }>(b.request('GET', `/sessions/${sessionId}/state`))
        return state.status === 'running'
      })
      await b.request('POST', `/sessions/${sessionId}/cancel`, {})
      await going
      return sessionId
    },
  },
  {
    name: 'DeltaKit',
    async run(_t, { a, b }) {
      const { run_id, job_id, sessionId } = await json<{
        run_id?: string
        job_id: string
        sessionId: string
      }>(a.request('POST', '/api/jobs', { message: 'Go.' }))
      const id = run_id ?? job_id
      await isShown(eventsOf(await b.request('GET', `/api/jobs/${id}/events`)), 'text_delta')
      await json(b.request('POST', `/api/jobs/${id}/cancel`))
      return sessionId
    },
  },
  {
    name: 'Responses',
    async run(_t, { a, b }) {
      const body = { model: 'helper', input: 'Go.', background: true, store: true }
      const { id, conversation } = await json<{ id: string; conversation: { id: string } }>(
        a.request('POST', '/v1/responses', body),
      )
      const cancelled = await json<{ status: string }>(b.request('POST', `/v1/responses/${id}/cancel`))
      assert.equal(cancelled.status, 'cancelled')
      return conversation.id
    },
  },
  {
    name: 'ACP over a WebSocket',
    async run(t, { a, b }) {
      const editor = await socketEditor(t, a)
      const sessionId = await editor.begin()
      const going = editor.prompt(sessionId, 'Go.')
      await until(() => editor.texts.length > 0)
      const other = await socketEditor(t, b)
      await other.load(sessionId)
      await other.cancel(sessionId)
      assert.equal((await going).stopReason, 'cancelled')
      return sessionId
    },
  },
  byClosing('AG-UI', '/agui/helper', 'TEXT_MESSAGE_CONTENT', threadId => ({
    threadId,
    runId: 'run-1',
    messages: [{ id: 'm1', role: 'user', content: 'Go.' }],
    tools: [],
    context: [],
  })),
  byClosing('AI SDK UI', '/ui/helper', 'text-delta', id => ({
    id,
    messages: [{ id: 'm1', role: 'user', parts: [{ type: 'text', text: 'Go.' }] }],
    trigger: 'submit-message',
  })),
]

/** A turn that someone reads on one node, and a message to it on another. */
const reading = [
  {
    name: 'AG-UI',
    path: '/agui/helper',
    type: 'TEXT_MESSAGE_CONTENT',
    body: (threadId: string, id: string) => ({
      ...{ threadId, runId: id, tools: [], context: [] },
      messages: [{ id, role: 'user', content: 'Go.' }],
    }),
  },
  {
    name: 'AI SDK UI',
    path: '/ui/helper',
    type: 'text-delta',
    body: (chat: string, id: string) => ({
      ...{ id: chat, trigger: 'submit-message' },
      messages: [{ id, role: 'user', parts: [{ type: 'text', text: 'Go.' }] }],
    }),
  },
]

test('a message on one node does not end a turn that is read on another, and does once nobody reads it', async t => {
  const { a, b, c } = await wireNodes(t, { script: [{ text: 'half of it', chunk: 4, hang: true }] })
  for (const { name, path, type, body } of reading)
    await t.test(name, async () => {
      const { sessionId } = await json<{ sessionId: string }>(
        a.request('POST', '/sessions', { agent: { name: 'helper' } }),
      )
      const closing = new AbortController()
      const read = await b.request('POST', path, body(sessionId, 'one'), { signal: closing.signal })
      // The stream stays open: leaving a loop would close it.
      const events = eventsOf(read)
      for (let event = await events.next(); !event.done && event.value.type !== type; )
        event = await events.next()
      const session = await a.sessions.open('alice', sessionId)
      const { turn } = session.state
      const refused = await c.request('POST', path, body(sessionId, 'two'))
      assert.match(await refused.text(), /busy|works on a turn|running/i)
      assert.equal(session.state.turn?.id, turn?.id, 'the turn goes on')
      closing.abort()
      const taken = new AbortController()
      const next = await c.request('POST', path, body(sessionId, 'three'), { signal: taken.signal })
      await isShown(eventsOf(next), type)
      assert.notEqual(session.state.turn?.id, turn?.id)
      taken.abort()
    })
})

test('a turn on one node is cancelled from another, on every wire', async t => {
  const nodes = await wireNodes(t, {
    script: [{ text: 'half of it', chunk: 4, hang: true }],
    server: { acp: true },
  })
  for (const { name, run } of cancelling)
    await t.test(name, async () => {
      const sessionId = await run(t, nodes)
      assert.equal(await nodes.holder(sessionId), 'a')
      const session = await nodes.a.sessions.open('alice', sessionId)
      await until(() => session.status === 'idle' && session.state.lastStop?.stop === 'cancelled')
    })
})
