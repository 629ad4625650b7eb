// Calls that wait for a person or for the application: what a default client ignores, and what answers them.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { cites } from '../../requirements/manifest.ts'
import { clipboard, type Rig, rig } from '../rig.ts'
import { Chat, readEvents, type Wire } from './reference-client.ts'

type Waiting = { at: Rig; id: string; events: Wire[]; callId: string; chat: Chat }

const of = (events: Wire[], type: string): Wire | undefined => events.find(event => event.type === type)

async function waiting(at: Rig, body: object, type: string): Promise<Waiting> {
  const answer = await at.request('POST', '/api/chat', { message: 'go', ...body })
  const id = answer.headers.get('x-session-id')!
  const events = await readEvents(answer)
  const chat = new Chat()
  chat.send('go')
  for (const event of events) chat.take(event)
  return { at, id, events, chat, callId: String(of(events, type)?.['call_id']) }
}

async function answered({ at, id, chat }: Waiting, body: object): Promise<Wire[]> {
  const answer = await at.request('POST', '/api/chat/answer', { sessionId: id, ...body })
  assert.equal(answer.status, 200, await answer.clone().text())
  const events = await readEvents(answer)
  for (const event of events) chat.take(event)
  return events
}

const asks = [{ text: 'May I? ', calls: [{ name: 'mail', input: { to: 'ana' } }] }, { text: 'Done.' }]
const asking = async (at: Rig) => waiting(at, {}, 'tool_approval_request')

test(cites('DK-CALL-01', 'DK-CALL-02', 'a call waits for a permission, gets it, and runs'), async t => {
  const at = await rig(t, { script: asks })
  const wait = await asking(at)
  const asked = wait.events.at(-1)!
  assert.equal(asked.type, 'tool_approval_request')
  assert.equal(asked['tool_name'], 'mail')
  assert.deepEqual(JSON.parse(String(asked['argument'])), { to: 'ana' })
  assert.equal(typeof asked['arguments_hash'], 'string')
  assert.deepEqual(at.runs, [])
  const events = await answered(wait, { approvals: [{ call_id: wait.callId, approved: true }] })
  assert.deepEqual(at.runs, [{ tool: 'mail', input: { to: 'ana' } }])
  assert.equal(of(events, 'tool_result')?.['output'], 'sent to ana')
  assert.deepEqual(wait.chat.messages[1]!.parts.at(-1), { type: 'text', text: 'Done.' })
})

test(cites('DK-CALL-03', 'a refusal is a result with its reason'), async t => {
  const at = await rig(t, { script: asks })
  const wait = await asking(at)
  const events = await answered(wait, {
    approvals: [{ call_id: wait.callId, approved: false, reason: 'not to ana' }],
  })
  assert.equal(of(events, 'tool_result')?.['output'], 'Tool call denied: not to ana')
  assert.equal(of(events, 'text_delta')?.['delta'], 'Done.')
  assert.deepEqual(at.runs, [])
})

const hands = [{ calls: [{ name: 'clipboard' }] }, { text: 'Thanks.' }]
const handed = async (at: Rig) => waiting(at, { tools: [clipboard] }, 'tool_execute_request')

test(cites('DK-CALL-04', 'DK-CALL-05', 'a tool of the client, with a text as its result'), async t => {
  const at = await rig(t, { script: hands })
  const wait = await handed(at)
  assert.deepEqual(wait.events.at(-1), {
    type: 'tool_execute_request',
    call_id: wait.callId,
    tool_name: 'clipboard',
    argument: '{}',
  })
  const events = await answered(wait, { results: [{ call_id: wait.callId, output: 'pasted' }] })
  assert.deepEqual(events, [
    { type: 'tool_result', call_id: wait.callId, output: 'pasted' },
    { type: 'text_delta', delta: 'Thanks.' },
  ])
  assert.equal(wait.chat.messages[1]!.parts.length, 2)
})

test(cites('DK-CALL-05', 'a result may be any JSON, or a failure'), async t => {
  for (const [given, shown] of [
    [{ output: { a: [1] } }, '{"a":[1]}'],
    [{ output: null }, 'null'],
    [{ output: 'no clipboard', error: true }, 'The tool failed: no clipboard'],
  ] as const) {
    const at = await rig(t, { script: hands })
    const wait = await handed(at)
    const events = await answered(wait, { results: [{ call_id: wait.callId, ...given }] })
    assert.equal(of(events, 'tool_result')?.['output'], shown)
  }
})

test(cites('DK-CALL-06', 'an approval may change the argument'), async t => {
  const at = await rig(t, { script: asks })
  const wait = await asking(at)
  const argument = '{"to":"bo"}'
  const events = await answered(wait, { approvals: [{ call_id: wait.callId, approved: true, argument }] })
  assert.deepEqual(of(events, 'tool_call_edited'), {
    type: 'tool_call_edited',
    call_id: wait.callId,
    argument,
  })
  assert.deepEqual(at.runs, [{ tool: 'mail', input: { to: 'bo' } }])
})

test(cites('DK-CALL-06', 'free text is changed in its member input'), async t => {
  const at = await rig(t, { script: [{ calls: [{ name: 'patch', text: 'old' }] }, { text: 'ok' }] })
  const wait = await asking(at)
  const approve = (argument: unknown) => ({
    sessionId: wait.id,
    approvals: [{ call_id: wait.callId, approved: true, argument }],
  })
  assert.equal((await at.request('POST', '/api/chat/answer', approve('new'))).status, 400)
  assert.equal((await at.request('POST', '/api/chat/answer', approve({ text: 'new' }))).status, 400)
  await answered(wait, approve({ input: 'new' }))
  assert.deepEqual(at.runs, [{ tool: 'patch', input: 'new' }])
})

test(cites('DK-CALL-07', 'an approval is bound to the arguments that were shown'), async t => {
  const at = await rig(t, { script: asks })
  const wait = await asking(at)
  const shown = String(wait.events.at(-1)!['arguments_hash'])
  const approve = (hash: string) => ({
    sessionId: wait.id,
    approvals: [{ call_id: wait.callId, approved: true, arguments_hash: hash }],
  })
  const stale = await at.request('POST', '/api/chat/answer', approve('other'))
  assert.equal(stale.status, 409)
  assert.equal(((await stale.json()) as { code: string }).code, 'stale_approval')
  await answered(wait, approve(shown))
  assert.equal(at.runs.length, 1)
})

test(cites('DK-CALL-08', 'an answer that does not fit is refused whole'), async t => {
  const at = await rig(t, {
    script: [{ calls: [{ name: 'mail', input: { to: 'ana' } }, { name: 'clipboard' }] }, { text: 'ok' }],
  })
  const wait = await waiting(at, { tools: [clipboard] }, 'tool_approval_request')
  const own = String(of(wait.events, 'tool_execute_request')!['call_id'])
  const head = async () => (await at.sessions.peek('alice', wait.id)).seq
  const before = await head()
  const yes = { call_id: wait.callId, approved: true }
  const bodies: [object, number][] = [
    [{}, 400],
    [{ results: [], approvals: [] }, 400],
    [{ approvals: [{ call_id: 'nobody', approved: true }] }, 400],
    [{ approvals: [yes, { call_id: 'nobody', approved: true }] }, 400],
    [{ approvals: [yes, yes] }, 400],
    [{ approvals: [{ call_id: wait.callId }] }, 400],
    [{ approvals: [{ ...yes, approved: 'yes' }] }, 400],
    [{ approvals: [{ ...yes, argument: '{"to":7}' }] }, 400],
    [{ results: [{ call_id: own }] }, 400],
    [{ results: 'all' }, 400],
    [{ approvals: [{ call_id: own, approved: true }] }, 409],
    [{ results: [{ call_id: wait.callId, output: 'x' }] }, 409],
  ]
  for (const [body, status] of bodies) {
    const answer = await at.request('POST', '/api/chat/answer', { sessionId: wait.id, ...body })
    assert.equal(answer.status, status, JSON.stringify(body))
  }
  assert.equal((await at.request('POST', '/api/chat/answer', { approvals: [yes] })).status, 400)
  assert.equal(await head(), before)
  // A part of what waits is taken, and the rest still waits.
  assert.deepEqual(await answered(wait, { results: [{ call_id: own, output: 'x' }] }), [
    { type: 'tool_result', call_id: own, output: 'x' },
  ])
  const again = await at.request('POST', '/api/chat/answer', {
    sessionId: wait.id,
    results: [{ call_id: own, output: 'y' }],
  })
  assert.equal(again.status, 409)
  await answered(wait, { approvals: [yes] })
  assert.equal(at.runs.length, 1)
})

test(cites('DK-CALL-09', 'an answer without a stream'), async t => {
  const at = await rig(t, { script: asks })
  const wait = await asking(at)
  const answer = await at.request('POST', '/api/chat/answer', {
    sessionId: wait.id,
    stream: false,
    approvals: [{ call_id: wait.callId, approved: true }],
  })
  assert.deepEqual(await answer.json(), { status: 'ok' })
})

test(cites('DK-CALL-10', 'a remembered approval lets the next call run'), async t => {
  const mail = { calls: [{ name: 'mail', input: { to: 'ana' } }] }
  const at = await rig(t, { script: [mail, { text: 'one' }, mail, { text: 'two' }] })
  const wait = await asking(at)
  await answered(wait, { approvals: [{ call_id: wait.callId, approved: true, remember: true }] })
  const next = await readEvents(
    await at.request('POST', '/api/chat', { message: 'again', sessionId: wait.id }),
  )
  assert.equal(of(next, 'tool_approval_request'), undefined)
  assert.equal(at.runs.length, 2)
})

test('a message while calls wait abandons them, and its stream shows only its own turn', async t => {
  const at = await rig(t, { script: [...asks.slice(0, 1), { text: 'Fine.' }] })
  const wait = await asking(at)
  const next = await readEvents(
    await at.request('POST', '/api/chat', { message: 'never mind', sessionId: wait.id }),
  )
  assert.deepEqual(next, [{ type: 'text_delta', delta: 'Fine.' }])
  assert.deepEqual(at.runs, [])
})
