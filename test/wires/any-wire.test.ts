// One session, any wire: a turn starts on one, is watched on another, decided on a third and followed up on a fourth, in
// every order. The session ends with the same events whichever wires were used.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type AllWires, allWires, wireDrivers } from './all-wires.ts'
import { readEvents, type Wire } from './deltakit/reference-client.ts'

const script = [
  { text: 'May I? ', calls: [{ name: 'mail', input: { to: 'ana' } }] },
  { text: 'So be it.' },
  { text: 'Goodbye.' },
]

/** The turn of a session as DeltaKit shows it in the background: watched from now on, told when it has ended. */
async function watch(at: AllWires, sessionId: string): Promise<{ ended: Promise<Wire[]> }> {
  const active = await at.request('GET', `/api/active-run?sessionId=${sessionId}`)
  const { run_id } = (await active.json()) as { run_id: string }
  return { ended: readEvents(await at.request('GET', `/api/jobs/${run_id}/events`)) }
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
