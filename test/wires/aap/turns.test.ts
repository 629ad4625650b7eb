// What a turn takes, and what it changes of its session.
import assert from 'node:assert/strict'
import test from 'node:test'
import { cites } from '../../requirements/manifest.ts'
import {
  agentOf,
  answerOf,
  callsIn,
  clipboard,
  history,
  info,
  latch,
  newSession,
  refusal,
  rig,
  say,
  turn,
} from './rig.ts'

const image = 'data:image/png;base64,iVBORw0KGgo='

test(
  cites(
    'AAP-TURN-01',
    'AAP-TURN-02',
    'AAP-TURN-05',
    'AAP-TURN-20',
    'one user message makes a turn, under either path',
  ),
  async t => {
    const at = await rig(t)
    assert.deepEqual(await refusal(turn(at, 'nope', say('hi'))), [404, 'session_not_found'])
    for (const base of ['', '/aap/v3']) {
      const id = await newSession(at)
      const answer = await at.request('POST', `${base}/sessions/${id}/turns`, {
        messages: [{ role: 'user', content: 'hi' }],
      })
      assert.match(answer.headers.get('content-type') ?? '', /^application\/json/)
      assert.deepEqual(await answer.json(), {
        stopReason: 'end_turn',
        messages: [{ role: 'assistant', content: 'hello' }],
      })
    }
  },
)

test(cites('AAP-TURN-04', 'AAP-TURN-06', 'AAP-TURN-17', 'any other set of messages is refused'), async t => {
  const at = await rig(t)
  const id = await newSession(at)
  const user = { role: 'user', content: 'hi' }
  const result = { role: 'tool', toolCallId: 'c', content: 'x' }
  for (const messages of [
    undefined,
    'hi',
    [],
    ['hi'],
    [user, user],
    [user, result],
    [result, user],
    [{ role: 'system', content: 'x' }],
    [{ role: 'assistant', content: 'x' }],
    [{ role: 'user' }],
    [{ role: 'user', content: 7 }],
    [{ role: 'user', content: '' }],
    [{ role: 'user', content: [] }],
    [{ role: 'user', content: [{ type: 'text', text: '' }] }],
    [{ role: 'user', content: [{ type: 'thinking', thinking: 'x' }] }],
    [{ role: 'tool', content: 'x' }],
    [{ role: 'tool', toolCallId: 'c' }],
    [{ role: 'tool_permission', toolCallId: 'c' }],
  ])
    assert.deepEqual(
      await refusal(turn(at, id, { messages })),
      [400, 'bad_request'],
      JSON.stringify(messages),
    )
  assert.deepEqual(await refusal(turn(at, id, say('hi', 'chunk'))), [400, 'bad_request'])
  assert.equal((await at.engine.events('alice', id)).length, 1, 'nothing was recorded')
})

test(
  cites('AAP-TURN-07', 'AAP-TURN-08', 'AAP-TURN-09', 'AAP-TURN-10', 'overrides apply at once and stay'),
  async t => {
    const at = await rig(t, {
      script: request => ({
        text: `${request.tools.map(tool => tool.name).join(' ')} | ${request.options['city']} ${request.options['tone']}`,
      }),
    })
    const id = await newSession(at, {
      agent: { tools: [{ name: 'search', trust: true }], options: { city: 'Rome' } },
      tools: [clipboard],
    })
    const said = async (body: object) =>
      (await answerOf(turn(at, id, { ...say('?'), ...body }))).messages[0]?.content
    assert.equal(await said({}), 'search hidden clipboard | Rome warm')
    assert.equal(await said({ agent: { tools: [{ name: 'mail' }] } }), 'mail hidden clipboard | Rome warm')
    assert.equal(await said({ agent: { options: { tone: 'dry' } } }), 'mail hidden clipboard | Rome dry')
    const camera = { ...clipboard, name: 'camera' }
    assert.equal(await said({ tools: [camera] }), 'mail hidden camera | Rome dry')
    assert.equal(await said({}), 'mail hidden camera | Rome dry')
    assert.deepEqual(await info(at, id), {
      sessionId: id,
      agent: {
        name: 'helper',
        tools: [{ name: 'mail', trust: false }],
        options: { city: 'Rome', tone: 'dry' },
      },
      tools: [camera],
    })
    assert.equal(await said({ tools: [], agent: { tools: [] } }), 'hidden | Rome dry')
  },
)

test(cites('AAP-TURN-11', 'AAP-SESS-25', 'a session stays with its agent'), async t => {
  const at = await rig(t, { agents: [agentOf({}, []), agentOf({ agent: { name: 'other' } }, [])] })
  const id = await newSession(at)
  const body = { ...say('hi'), agent: { name: 'other' } }
  assert.deepEqual(await refusal(turn(at, id, body)), [400, 'bad_request'])
  assert.equal((await turn(at, id, { ...say('hi'), agent: { name: 'helper' } })).status, 200)
  assert.equal((await info(at, id)).agent.name, 'helper')
})

test(cites('AAP-TURN-12', 'a refused turn records nothing'), async t => {
  const at = await rig(t)
  const id = await newSession(at)
  for (const body of [
    { ...say('hi'), agent: { tools: [{ name: 'mail' }, { name: 'nope' }], options: { city: 'Oslo' } } },
    { ...say('hi'), agent: { options: { city: 'Oslo', tone: 'rude' } } },
    { ...say('hi'), agent: { options: { city: 'Oslo' } }, tools: [{ ...clipboard, name: 'mail' }] },
    { messages: [{ role: 'tool', toolCallId: 'x', content: 'y' }], agent: { options: { city: 'Oslo' } } },
  ])
    assert.equal((await turn(at, id, body)).status, 400)
  assert.equal((await at.engine.events('alice', id)).length, 1)
  assert.deepEqual((await info(at, id)).agent.options, {})
})

test(cites('AAP-TURN-13', 'a second turn is refused while one runs'), async t => {
  const gate = latch()
  const at = await rig(t, { script: [{ calls: [{ name: 'slow' }] }, { text: 'done' }] }, gate)
  const id = await newSession(at, { agent: { tools: [{ name: 'slow', trust: true }] } })
  const first = turn(at, id, say('go'))
  while (at.runs.length === 0) await new Promise(resolve => setImmediate(resolve))
  assert.deepEqual(await refusal(turn(at, id, say('and now?'))), [409, 'busy'])
  gate.open()
  assert.equal((await answerOf(first)).stopReason, 'end_turn')
  assert.deepEqual(
    (await history(at, id)).map(message => message.role),
    ['user', 'assistant', 'tool', 'assistant'],
  )
})

test(
  cites('AAP-TURN-13', 'an answer to a call that is open is too early while its batch still runs'),
  async t => {
    const gate = latch()
    const at = await rig(
      t,
      { script: [{ calls: [{ name: 'slow' }, { name: 'clipboard' }] }, { text: 'done' }] },
      gate,
    )
    const id = await newSession(at, { agent: { tools: [{ name: 'slow', trust: true }] }, tools: [clipboard] })
    const first = turn(at, id, say('go'))
    while (at.runs.length === 0) await new Promise(resolve => setImmediate(resolve))
    const open = callsIn(await history(at, id))[1]!.toolCallId
    const early = { messages: [{ role: 'tool', toolCallId: open, content: 'soon' }] }
    assert.deepEqual(await refusal(turn(at, id, early)), [409, 'busy'])
    gate.open()
    assert.equal((await answerOf(first)).stopReason, 'tool_use')
    assert.equal((await answerOf(turn(at, id, early))).stopReason, 'end_turn')
  },
)

test(
  cites(
    'AAP-TURN-14',
    'AAP-TURN-15',
    'AAP-TURN-16',
    'content is text, or blocks of text and of images that the agent accepts',
  ),
  async t => {
    const blocks = [
      { type: 'text', text: 'what is' },
      { type: 'image', url: 'https://example.org/x.png' },
      { type: 'image', url: image },
    ]
    const blind = agentOf({ agent: { name: 'blind', images: { http: false, data: false } } }, [])
    const at = await rig(t, { agents: [agentOf({}, []), blind] })
    const id = await newSession(at)
    assert.equal((await turn(at, id, { messages: [{ role: 'user', content: blocks }] })).status, 200)
    assert.deepEqual((await history(at, id))[0], { role: 'user', content: blocks })
    const send = (session: string, url: unknown) =>
      turn(at, session, { messages: [{ role: 'user', content: [{ type: 'image', url }] }] })
    for (const url of [
      'http://example.org/x.png',
      'https://',
      'file:///etc/passwd',
      'javascript:alert(1)',
      'data:text/html;base64,AAAA',
      'data:image/png,raw',
      'data:image/png;base64,@@',
      `https://example.org/${'x'.repeat(9000)}`,
      7,
    ])
      assert.deepEqual(await refusal(send(id, url)), [400, 'bad_request'], String(url).slice(0, 60))
    const unseen = await newSession(at, { agent: { name: 'blind' } })
    assert.equal((await send(unseen, 'https://example.org/x.png')).status, 400)
    assert.equal((await send(unseen, image)).status, 400)
  },
)

test(cites('AAP-TURN-18', 'AAP-RESU-05', 'a client that goes away does not end the turn'), async t => {
  for (const stream of ['delta', 'message', 'none']) {
    const gate = latch()
    const at = await rig(t, { script: [{ calls: [{ name: 'slow' }] }, { text: 'done' }] }, gate)
    const id = await newSession(at, { agent: { tools: [{ name: 'slow', trust: true }] } })
    const leaving = new AbortController()
    const gone = fetch(`${at.url}/sessions/${id}/turns`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(say('go', stream)),
      signal: leaving.signal,
    }).then(answer => answer.text())
    while (at.runs.length === 0) await new Promise(resolve => setImmediate(resolve))
    leaving.abort()
    await assert.rejects(gone)
    gate.open()
    while ((await at.engine.peek('alice', id)).turn) await new Promise(resolve => setImmediate(resolve))
    const messages = await history(at, id)
    assert.deepEqual(messages.at(-1), { role: 'assistant', content: 'done' }, stream)
  }
})

test(cites('AAP-TURN-19', 'a user message in place of an answer abandons the calls that wait'), async t => {
  const at = await rig(t, {
    script: [
      { calls: [{ name: 'mail', input: { to: 'ana' } }, { name: 'clipboard' }] },
      { text: 'as you like' },
    ],
  })
  const id = await newSession(at, { agent: { tools: [{ name: 'mail' }] }, tools: [clipboard] })
  assert.equal((await answerOf(turn(at, id, say('go')))).stopReason, 'tool_use')
  assert.deepEqual(await answerOf(turn(at, id, say('never mind'))), {
    stopReason: 'end_turn',
    messages: [{ role: 'assistant', content: 'as you like' }],
  })
  const messages = await history(at, id)
  assert.deepEqual(
    messages.map(message => message.role),
    ['user', 'assistant', 'tool', 'tool', 'user', 'assistant'],
  )
  assert.match(String(messages[2]?.content), /^Not run/)
  assert.deepEqual(at.runs, [])
})
