// Frames that break the protocol: each wire answers as its protocol has it, and the session, which waits for a
// permission all the while, is as it was and goes on.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { WebSocket } from 'ws'
import { codeOf, cwd } from './acp/rig.ts'
import { type AllWires, allWires, wireDrivers } from './all-wires.ts'

const script = [{ text: 'May I? ', calls: [{ name: 'mail', input: { to: 'ana' } }] }, { text: 'So be it.' }]
const bodyBytes = 64 * 1024
const large = `{"message":"${'x'.repeat(bodyBytes)}"}`

type Wrong = [words: string, method: string, path: (id: string) => string, body: unknown, status: number]

/** The address of each wire for a session that exists. */
const places: Record<string, (id: string) => string> = {
  AAP: id => `/sessions/${id}/turns`,
  DeltaKit: () => '/api/chat',
  'DeltaKit answers': () => '/api/chat/answer',
  'DeltaKit runs': () => '/api/jobs',
  'AG-UI': () => '/agui/helper',
  'AI SDK UI': () => '/ui/helper',
  Responses: () => '/v1/responses',
}

const everywhere: Wrong[] = Object.entries(places).flatMap(([name, path]): Wrong[] => [
  [`${name}: no JSON`, 'POST', path, '{"message": ', 400],
  [`${name}: a member twice`, 'POST', path, '{"message": "a", "message": "b"}', 400],
  [`${name}: no object`, 'POST', path, '[]', 400],
  [`${name}: nothing in it`, 'POST', path, {}, 400],
  [`${name}: too large`, 'POST', path, large, 413],
  [`${name}: a method that it has not`, 'PATCH', path, {}, 404],
])

const one: Wrong[] = [
  ['AAP: a version that there is not', 'POST', id => `/aap/v4/sessions/${id}/turns`, { messages: [] }, 404],
  ['AAP: an unknown role', 'POST', places['AAP']!, { messages: [{ role: 'oracle', content: 'x' }] }, 400],
  ['DeltaKit: an unknown run', 'GET', () => '/api/jobs/run_none/events', undefined, 404],
  [
    'AI SDK UI: an unknown trigger',
    'POST',
    places['AI SDK UI']!,
    { id: 'c', messages: [], trigger: 'x' },
    400,
  ],
  ['Responses: an unknown response', 'GET', () => '/v1/responses/resp_none_1', undefined, 404],
  ['an unknown path', 'POST', () => '/v2/responses', {}, 404],
]

async function log(at: AllWires, id: string): Promise<unknown> {
  return at.sessions.events('alice', id)
}

test('a frame that breaks the protocol is refused, and the session is unharmed', async t => {
  const at = await allWires(t, { script, bodyBytes })
  const { sessionId, asks } = await wireDrivers[0]!.start(at, 'Mail Ana.')
  const before = await log(at, sessionId)
  for (const [words, method, path, body, status] of [...everywhere, ...one])
    await t.test(words, async () => {
      const answer = await at.request(method, path(sessionId), body, {
        headers: { 'x-session-id': sessionId },
      })
      const text = await answer.text()
      assert.equal(answer.status, status, text)
      type Refused = { detail?: string; error: string | { message: string } }
      const { error, detail = error } = JSON.parse(text) as Refused
      assert.match(typeof detail === 'string' ? detail : detail.message, /\w/)
      assert.deepEqual(await log(at, sessionId), before)
    })
  assert.equal((await wireDrivers[0]!.decide(at, sessionId, asks!, true)).text, 'So be it.')
})

for (const [words, frame, code] of [
  ['no JSON', 'hello', 1003],
  ['no object', '[1]', 1003],
  ['bytes', Buffer.from([1, 2, 3]), 1003],
  ['too large', large, 1009],
] as const)
  test(`a socket that is sent ${words} is closed with ${code}, and the session is unharmed`, async t => {
    const at = await allWires(t, { script, bodyBytes })
    const { sessionId, asks } = await wireDrivers[1]!.start(at, 'Mail Ana.')
    const before = await log(at, sessionId)
    const socket = new WebSocket(`${at.url.replace('http', 'ws')}/api/ws`, { headers: at.headers() })
    t.after(() => socket.terminate())
    await new Promise(resolve => socket.once('open', resolve))
    socket.send(frame)
    const closed = await new Promise(resolve => socket.once('close', resolve))
    assert.equal(closed, code)
    assert.deepEqual(await log(at, sessionId), before)
    assert.equal((await wireDrivers[1]!.decide(at, sessionId, asks!, true)).text, 'So be it.')
  })

test('an editor that names an unknown method or session gets an error, and the session is unharmed', async t => {
  const at = await allWires(t, { script })
  const { sessionId, asks } = await wireDrivers[0]!.start(at, 'Mail Ana.')
  const before = await log(at, sessionId)
  const editor = await at.edit({ permission: () => new Promise(() => {}), protocolVersion: 99 })
  await editor.agent.request('session/load', { sessionId, cwd, mcpServers: [] })
  // None of these is a request that the SDK's types know.
  const ask = (method: string, params: unknown): Promise<number> =>
    codeOf(editor.agent.request(method, params as Record<string, unknown>))
  assert.equal(await ask('session/teleport', { sessionId }), -32601)
  assert.equal(await ask('session/prompt', { sessionId, prompt: 'no blocks' }), -32602)
  assert.equal(await ask('session/load', { sessionId: 'sess_none', cwd, mcpServers: [] }), -32002)
  assert.equal(await ask('session/set_mode', { sessionId, modeId: 'none' }), -32602)
  assert.deepEqual(await log(at, sessionId), before)
  assert.equal((await wireDrivers[0]!.decide(at, sessionId, asks!, true)).text, 'So be it.')
})
