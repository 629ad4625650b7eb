// One session, any wire: a turn starts on one, is watched on another, decided on a third and followed up on a fourth, in
// every order. The session ends with the same events whichever wires were used.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { test } from 'node:test'
import { WebSocket } from 'ws'
import { AapClient, type ToolCall } from '../../src/client/index.ts'
import { tool } from '../../src/tools/index.ts'
import { type AllWires, allWires, deltakitQuestion, wireDrivers } from './all-wires.ts'
import { readEvents, type Wire } from './deltakit/reference-client.ts'
import { until } from './rig.ts'

const script = [
  { text: 'May I? ', calls: [{ name: 'mail', input: { to: 'ana' } }] },
  { text: 'So be it.' },
  { text: 'Goodbye.' },
]

/** The turn of a session as DeltaKit shows it in the background: watched from now on, told when it has ended. */
async function watch(at: AllWires, sessionId: string): Promise<{ runId: string; ended: Promise<Wire[]> }> {
  const active = await at.request('GET', `/api/active-run?sessionId=${sessionId}`)
  const { run_id } = (await active.json()) as { run_id: string }
  return { runId: run_id, ended: readEvents(await at.request('GET', `/api/jobs/${run_id}/events`)) }
}

const shape = (events: Wire[]): unknown[] =>
  events.map(event => event['delta'] ?? event['output'] ?? event['reason'] ?? event.type)

type Message = { role: string; content?: unknown }

async function history(at: AllWires, sessionId: string): Promise<Message[]> {
  const answer = await at.request('GET', `/sessions/${sessionId}/history?type=full`)
  const { history: kinds } = (await answer.json()) as { history: { full: Message[] } }
  return kinds.full
}

const orders = wireDrivers.flatMap(start =>
  wireDrivers.flatMap(decide => wireDrivers.map(say => ({ start, decide, say }))),
)

test('every wire is tried in every position', () => {
  assert.ok(wireDrivers.length >= 6)
  assert.equal(orders.length, wireDrivers.length ** 3)
  assert.equal(new Set(wireDrivers.map(({ name }) => name)).size, wireDrivers.length)
})

for (const granted of [true, false])
  test(`every order of three wires, with a call that is ${granted ? 'allowed' : 'refused'}`, async t => {
    const at = await allWires(t, { script })
    for (const { start, decide, say } of orders)
      await t.test(`${start.name}, ${decide.name}, ${say.name}`, async () => {
        const ran = at.runs.length
        const first = await start.start(at, 'Mail Ana.')
        assert.equal(first.text, 'May I? ')
        assert.ok(first.asks, 'the call waits')
        const { sessionId } = first
        const watching = await watch(at, sessionId)
        const second = await decide.decide(at, sessionId, first.asks, granted)
        assert.equal(second.text, 'So be it.')
        assert.equal(second.asks, undefined)
        const result = granted ? 'sent to ana' : 'Tool call denied'
        assert.deepEqual(shape(await watching.ended), [
          'May ',
          'I? ',
          'tool_call',
          'tool_approval_request',
          result,
          'So ',
          'be ',
          'it.',
          'done',
        ])
        const third = await say.say(at, sessionId, 'Thanks.')
        assert.equal(third.text, 'Goodbye.')
        const call = { type: 'tool_use', toolCallId: first.asks, name: 'mail', input: { to: 'ana' } }
        assert.deepEqual(await history(at, sessionId), [
          { role: 'user', content: 'Mail Ana.' },
          { role: 'assistant', content: [{ type: 'text', text: 'May I? ' }, call] },
          { role: 'tool', toolCallId: first.asks, content: result },
          { role: 'assistant', content: 'So be it.' },
          { role: 'user', content: 'Thanks.' },
          { role: 'assistant', content: 'Goodbye.' },
        ])
        assert.equal(at.runs.length - ran, granted ? 1 : 0)
      })
  })

test('a call that was decided on one wire is refused on every other', async t => {
  const at = await allWires(t, { script })
  for (const late of wireDrivers) {
    const { sessionId, asks } = await wireDrivers[0]!.start(at, 'Mail Ana.')
    await wireDrivers[1]!.decide(at, sessionId, asks!, true)
    const before = at.runs.length
    // AG-UI shows what has become of it, an editor is not asked; all others say that it is too late.
    await late.decide(at, sessionId, asks!, true).catch(error => assert.match(String(error), /4\d\d/))
    assert.equal(at.runs.length, before)
  }
})

test('a session that waits can be decided on any wire after a restart', async t => {
  for (const decide of wireDrivers) {
    const before = await allWires(t, { script })
    const { sessionId, asks } = await wireDrivers[0]!.start(before, 'Mail Ana.')
    const at = await before.restart()
    assert.equal((await decide.decide(at, sessionId, asks!, true)).text, 'So be it.', decide.name)
    assert.deepEqual(at.runs, [{ tool: 'mail', input: { to: 'ana' } }])
  }
})

const askedAgain = /tool has changed since/

/** The tool that the calls of these tests want, and which a restart brings in another form. */
const changedMail = (runs: unknown[]) =>
  tool({
    name: 'mail',
    description: 'Sends a mail, and a copy to us.',
    input: { type: 'object', properties: { to: { type: 'string' } }, required: ['to'] },
    run: input => {
      runs.push(input)
      return 'sent'
    },
  })

for (const wire of wireDrivers)
  test(`${wire.name}: a call whose tool has changed is asked about again, with all of its arguments`, async t => {
    const runs: unknown[] = []
    const before = await allWires(t, { script })
    const { sessionId, asks } = await wire.start(before, 'Mail Ana.')
    const at = await before.restart({ tools: [changedMail(runs)] })
    let shown = await wire.decide(at, sessionId, asks!, true)
    const { name, input, reason } = shown.question ?? {}
    assert.match(String(name), /^mail/)
    assert.deepEqual(input, { to: 'ana' })
    // OpenAI's item has no place for a reason.
    if (wire.name !== 'Responses') assert.match(String(reason), askedAgain)
    // An editor answers each question by itself.
    if (wire.name !== 'ACP') {
      assert.equal(shown.asks, asks)
      assert.deepEqual(runs, [])
      shown = await wire.decide(at, sessionId, asks!, true)
    }
    assert.equal(shown.text, 'So be it.')
    assert.deepEqual(runs, [{ to: 'ana' }])
  })

test('DeltaKit: a job and a socket show a call that is asked about again', async t => {
  const runs: unknown[] = []
  const before = await allWires(t, { script })
  const { sessionId, asks } = await wireDrivers[0]!.start(before, 'Mail Ana.')
  const at = await before.restart({ tools: [changedMail(runs)] })
  const watching = await watch(at, sessionId)
  const socket = new WebSocket(`${at.url.replace('http', 'ws')}/api/ws`, { headers: at.headers() })
  t.after(() => socket.terminate())
  await once(socket, 'open')
  const frames: Wire[] = []
  socket.on('message', data => frames.push(JSON.parse((data as Buffer).toString()) as Wire))
  const questions = (events: Wire[]) => events.filter(({ type }) => type === 'tool_approval_request')
  const { runId } = watching
  socket.send(JSON.stringify({ runId }))
  await until(() => questions(frames).length === 1)
  socket.send(JSON.stringify({ runId, approvals: [{ call_id: asks, approved: true }] }))
  await until(() => questions(frames).length === 2)
  const { name, input, reason } = deltakitQuestion(questions(frames).at(-1))
  assert.deepEqual([name, input], ['mail', { to: 'ana' }])
  assert.match(String(reason), askedAgain)
  assert.deepEqual(runs, [])
  await wireDrivers[1]!.decide(at, sessionId, asks!, true)
  const [first, second, ...more] = questions(await watching.ended)
  assert.equal(more.length, 0)
  assert.equal(first?.['reason'], undefined)
  assert.deepEqual(deltakitQuestion(second), { name, input, reason })
  assert.deepEqual(runs, [{ to: 'ana' }])
})

test('the library and its reply show a call that is asked about again', async t => {
  const runs: unknown[] = []
  const before = await allWires(t, { script })
  const { sessionId, asks } = await wireDrivers[0]!.start(before, 'Mail Ana.')
  const at = await before.restart({ tools: [changedMail(runs)] })
  const session = await at.turnwire.resume(sessionId, { owner: 'alice' })
  const edited = { to: 'bob' }
  const reply = await session.approve(asks!, { input: edited })
  assert.equal(reply.status, 'waiting')
  const [pending] = reply.status === 'waiting' ? reply.pending : []
  assert.deepEqual([pending?.tool, pending?.input, pending?.needs], ['mail', edited, 'permission'])
  assert.match(pending?.reason ?? '', askedAgain)
  assert.deepEqual(runs, [])
  const turn = session.approve(asks!)
  assert.equal((await turn).status, 'done')
  assert.deepEqual(runs, [edited])
})

test('the client of this package, which the chat in the terminal uses, asks again', async t => {
  const runs: unknown[] = []
  const before = await allWires(t, { script })
  const { sessionId, asks } = await wireDrivers[0]!.start(before, 'Mail Ana.')
  const at = await before.restart({ tools: [changedMail(runs)] })
  const asked: ToolCall[] = []
  const client = new AapClient({
    baseUrl: at.url,
    apiKey: at.headers()['authorization']?.replace('Bearer ', '') ?? '',
  })
  const { stopReason } = await client.runTurn({
    sessionId,
    pending: [{ toolCallId: asks!, name: 'mail', input: { to: 'ana' } }],
    onPermission: call => {
      asked.push(call)
      // The first answer changes the arguments.
      return asked.length === 1 ? { granted: true, input: { to: 'bob' } } : true
    },
  })
  assert.equal(stopReason, 'end_turn')
  assert.deepEqual(
    asked.map(({ name, input }) => ({ name, input })),
    [
      { name: 'mail', input: { to: 'ana' } },
      { name: 'mail', input: { to: 'bob' } },
    ],
  )
  assert.match(asked[1]?.reason ?? '', askedAgain)
  assert.deepEqual(runs, [{ to: 'bob' }])
})
