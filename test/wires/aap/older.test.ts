// Versions 1 and 2: what they do differently.
import assert from 'node:assert/strict'
import test from 'node:test'
import { cites } from '../../requirements/manifest.ts'
import {
  agentOf,
  answerOf,
  callsIn,
  clipboard,
  deny,
  grant,
  history,
  newSession,
  type Rig,
  refusal,
  rig,
  say,
  sseOf,
  turn,
} from './rig.ts'

const { parameters, ...rest } = clipboard
const oldClipboard = { ...rest, inputSchema: parameters }
const bases = ['', '/aap/v1', '/aap/v2']

function put(at: Rig, base: string, body: object, headers?: Record<string, string>): Promise<Response> {
  return at.request('PUT', `${base}/session`, { agent: { name: 'helper' }, ...body }, headers)
}

test(cites('AAP-OLD-01', 'AAP-OLD-15', 'PUT /session creates and runs'), async t => {
  const at = await rig(t)
  for (const base of bases) {
    const answer = await put(at, base, say('hi'))
    assert.equal(answer.status, 201)
    const { sessionId, ...body } = (await answer.json()) as { sessionId: string }
    assert.deepEqual(body, { stopReason: 'end_turn', messages: [{ role: 'assistant', content: 'hello' }] })
    assert.equal((await history(at, sessionId)).length, 2)
  }
})

test(cites('AAP-OLD-02', 'AAP-OLD-04', 'the first stream names its session, later ones do not'), async t => {
  const at = await rig(t, { script: () => ({ text: 'hello' }) })
  for (const base of bases)
    for (const stream of ['message', 'delta']) {
      const items = await sseOf(await put(at, base, say('hi', stream)))
      const names = ['session_start', 'turn_start', stream === 'delta' ? 'text_delta' : 'text', 'turn_stop']
      assert.deepEqual(
        items.map(({ event }) => event),
        names,
      )
      const { sessionId } = items[0]!.data as { sessionId: string }
      const later = await sseOf(await at.request('POST', `${base}/session/${sessionId}`, say('more', stream)))
      assert.deepEqual(
        later.map(({ event }) => event),
        names.slice(1),
      )
      assert.equal((await history(at, sessionId)).length, 4)
    }
})

test(
  cites(
    'AAP-OLD-03',
    'AAP-OLD-14',
    'the last message is the user’s, and the messages before it become the history',
  ),
  async t => {
    const at = await rig(t, {
      script: request => ({ text: request.history.map(({ role }) => role).join(' ') }),
    })
    for (const base of bases) {
      for (const messages of [
        [],
        [{ role: 'assistant', content: 'x' }],
        [{ role: 'system', content: 'x' }],
      ]) {
        const answer = await put(at, base, { messages })
        assert.equal(answer.status, 400)
        assert.equal(
          ((await answer.json()) as { error: string }).error,
          'Last message must be a user message',
        )
      }
      assert.deepEqual(await refusal(put(at, base, {})), [400, 'bad_request'])
      const messages = [
        { role: 'system', content: 'Be brief.' },
        { role: 'assistant', content: [{ type: 'tool_use', toolCallId: 'a', name: 'search', input: {} }] },
        { role: 'user', content: 'hi' },
      ]
      const answer = await answerOf(put(at, base, { messages }))
      assert.equal(answer.messages[0]?.content, 'system assistant tool user')
    }
    const { sessions } = (await (await at.request('GET', '/sessions')).json()) as { sessions: unknown[] }
    assert.equal(sessions.length, bases.length, 'a refused creation makes no session')
  },
)

test(cites('AAP-OLD-05', 'AAP-OLD-06', 'schemas are in inputSchema'), async t => {
  const at = await rig(t, { script: () => ({ calls: [{ name: 'clipboard' }] }) })
  for (const base of bases) {
    assert.deepEqual(await refusal(put(at, base, { ...say('hi'), tools: [clipboard] })), [400, 'bad_request'])
    const answer = await put(at, base, { ...say('hi'), tools: [oldClipboard] })
    const { sessionId, stopReason } = (await answer.json()) as { sessionId: string; stopReason: string }
    assert.equal(stopReason, 'tool_use')
    const camera = { ...oldClipboard, name: 'camera' }
    await at.request('POST', `${base}/session/${sessionId}`, { ...say('more'), tools: [camera] })
    const shown = (await (await at.request('GET', `${base}/session/${sessionId}`)).json()) as {
      tools: unknown[]
    }
    assert.deepEqual(shown.tools, [camera])
  }
})

test(cites('AAP-OLD-09', 'AAP-OLD-10', 'AAP-OLD-17', 'version 1 shows history with the session'), async t => {
  const short = agentOf({ agent: { name: 'short', fullHistory: false } }, [])
  const at = await rig(t, { agents: [agentOf({}, []), short] })
  const told = [
    { role: 'user', content: 'hi' },
    { role: 'assistant', content: 'hello' },
  ]
  const get = async (id: string, query: string) => {
    const [named, root] = await Promise.all(
      ['/aap/v1', ''].map(async base => (await at.request('GET', `${base}/session/${id}${query}`)).json()),
    )
    assert.deepEqual(root, named)
    return named as { history: unknown; sessionId: string }
  }
  const { sessionId: id } = (await (await put(at, '/aap/v1', say('hi'))).json()) as { sessionId: string }
  assert.deepEqual((await get(id, '')).history, { compacted: told, full: told })
  assert.deepEqual((await get(id, '?history=full')).history, { full: told })
  assert.deepEqual((await get(id, '?history=compacted')).history, { compacted: told })
  assert.equal((await get(id, '')).sessionId, id)
  assert.deepEqual(await refusal(at.request('GET', `/aap/v1/session/${id}?history=all`)), [
    400,
    'bad_request',
  ])
  const other = await newSession(at, { agent: { name: 'short' } })
  assert.deepEqual((await get(other, '')).history, { compacted: [] })
  assert.deepEqual(await refusal(at.request('GET', `/aap/v1/session/${other}?history=full`)), [
    404,
    'history_not_found',
  ])
})

test(cites('AAP-OLD-11', 'AAP-OLD-12', 'version 2 shows history by itself'), async t => {
  const at = await rig(t)
  const { sessionId } = (await (await put(at, '/aap/v2', say('hi'))).json()) as { sessionId: string }
  for (const query of ['', '?history=full']) {
    const shown = await (await at.request('GET', `/aap/v2/session/${sessionId}${query}`)).json()
    assert.deepEqual(shown, { sessionId, agent: { name: 'helper', tools: [], options: {} } })
  }
  const kept = await at.request('GET', `/aap/v2/session/${sessionId}/history?type=full`)
  assert.deepEqual(Object.keys(((await kept.json()) as { history: object }).history), ['full'])
})

test(cites('AAP-OLD-13', 'AAP-OLD-20', 'deleted or unknown sessions are 404 on every old path'), async t => {
  const at = await rig(t)
  for (const base of bases) {
    const id = await newSession(at)
    const removed = await at.request('DELETE', `${base}/session/${id}`)
    assert.deepEqual([removed.status, await removed.text()], [204, ''])
    for (const [method, path, body] of [
      ['GET', `/session/${id}`, undefined],
      ['POST', `/session/${id}`, say('hi')],
      ['DELETE', `/session/${id}`, undefined],
    ] as const)
      assert.deepEqual(await refusal(at.request(method, base + path, body)), [404, 'session_not_found'])
  }
  const kept = at.request('GET', '/aap/v2/session/nope/history?type=full')
  assert.deepEqual(await refusal(kept), [404, 'session_not_found'])
})

test(cites('AAP-OLD-18', 'one session, three versions'), async t => {
  const at = await rig(t, {
    script: [
      { calls: [{ name: 'mail', input: { to: 'a' } }] },
      { calls: [{ name: 'mail', input: { to: 'b' } }] },
      { text: 'done' },
    ],
  })
  const body = { ...say('go'), agent: { name: 'helper', tools: [{ name: 'mail' }] }, tools: [oldClipboard] }
  const first = (await (await at.request('PUT', '/aap/v1/session', body)).json()) as {
    sessionId: string
    messages: Parameters<typeof callsIn>[0]
  }
  const granting = { messages: [grant(callsIn(first.messages)[0]!.toolCallId)] }
  const second = await answerOf(at.request('POST', `/aap/v2/session/${first.sessionId}`, granting))
  assert.deepEqual(second.messages[0]?.content, 'sent to a')
  const denying = { messages: [deny(callsIn(second.messages)[0]!.toolCallId)] }
  const third = await answerOf(turn(at, first.sessionId, denying))
  assert.equal(third.stopReason, 'end_turn')
  const shown = (await (await at.request('GET', `/sessions/${first.sessionId}`)).json()) as {
    tools: unknown[]
  }
  assert.deepEqual(shown.tools, [clipboard])
})

test(cites('AAP-OLD-19', 'AAP-ERR-08', 'a version serves its own paths only'), async t => {
  const at = await rig(t)
  const id = await newSession(at)
  for (const [method, path] of [
    ['POST', '/aap/v1/sessions'],
    ['GET', `/aap/v1/sessions/${id}`],
    ['GET', `/aap/v1/session/${id}/history?type=full`],
    ['POST', `/aap/v2/sessions/${id}/turns`],
    ['GET', `/aap/v2/sessions/${id}/events`],
    ['PUT', '/aap/v3/session'],
    ['GET', `/aap/v3/session/${id}`],
    ['GET', '/aap/v4/meta'],
    ['PATCH', `/aap/v3/sessions/${id}`],
  ] as const)
    assert.deepEqual(await refusal(at.request(method, path, method === 'GET' ? undefined : say('x'))), [
      404,
      'not_found',
    ])
})
