// Idempotency-Key on creation and on turns: the same request has one effect and one answer, however often it comes.
import assert from 'node:assert/strict'
import test from 'node:test'
import { cites } from '../../requirements/manifest.ts'
import {
  answerOf,
  callsIn,
  clipboard,
  grant,
  history,
  latch,
  newSession,
  refusal,
  result,
  rig,
  say,
  sseOf,
  turn,
} from './rig.ts'

const keyed = (key: string, owner = 'alice') => ({ 'idempotency-key': key, 'x-owner': owner })
const mailing = [{ calls: [{ name: 'mail', input: { to: 'ana' } }] }, { text: 'sent' }]

test(cites('AAP-IDEM-01', 'AAP-IDEM-02', 'AAP-IDEM-09', 'one key, one session, per owner'), async t => {
  const at = await rig(t)
  const create = async (city: string, headers: Record<string, string>) => {
    const answer = await at.request(
      'POST',
      '/sessions',
      { agent: { name: 'helper', options: { city } } },
      headers,
    )
    return [answer.status, (await answer.json()) as { sessionId?: string; code?: string }] as const
  }
  const [status, first] = await create('Rome', keyed('k1'))
  const [again, second] = await create('Rome', keyed('k1'))
  assert.deepEqual([status, again, second.sessionId], [201, 201, first.sessionId])
  const [conflict, refused] = await create('Oslo', keyed('k1'))
  assert.deepEqual([conflict, refused.code], [409, 'idempotency_conflict'])
  const [, other] = await create('Rome', keyed('k2'))
  const [, bob] = await create('Rome', keyed('k1', 'bob'))
  assert.equal(new Set([first.sessionId, other.sessionId, bob.sessionId]).size, 3)
})

test(cites('AAP-IDEM-03', 'AAP-IDEM-06', 'a repeated turn is answered the same and runs once'), async t => {
  const at = await rig(t, { script: mailing })
  const id = await newSession(at, { agent: { tools: [{ name: 'mail' }] } })
  const first = await answerOf(turn(at, id, say('go'), keyed('a')))
  assert.deepEqual(await answerOf(turn(at, id, say('go'), keyed('a'))), first)
  assert.deepEqual(await refusal(turn(at, id, say('go!'), keyed('a'))), [409, 'idempotency_conflict'])
  const granting = { messages: [grant(callsIn(first.messages)[0]!.toolCallId, { input: { to: 'bob' } })] }
  const second = await answerOf(turn(at, id, granting, keyed('b')))
  assert.deepEqual(await answerOf(turn(at, id, granting, keyed('b'))), second)
  assert.deepEqual(await answerOf(turn(at, id, say('go'), keyed('a'))), first, 'later turns do not leak in')
  assert.deepEqual(at.runs, [{ tool: 'mail', input: { to: 'bob' } }])
  const denying = { messages: [{ ...granting.messages[0], granted: false, input: undefined }] }
  assert.deepEqual(await refusal(turn(at, id, denying, keyed('b'))), [409, 'idempotency_conflict'])
  assert.equal((await history(at, id)).length, 4)
})

test(cites('AAP-IDEM-04', 'a repeated stream says the same'), async t => {
  for (const stream of ['message', 'delta']) {
    const at = await rig(t, { script: [{ thinking: 'hm', ...mailing[0] }, { text: 'sent' }] })
    const id = await newSession(at, { agent: { tools: [{ name: 'mail', trust: true }] } })
    const first = await sseOf(await turn(at, id, say('go', stream), keyed('a')))
    assert.equal(first.length, 6)
    assert.deepEqual(await sseOf(await turn(at, id, say('go', stream), keyed('a'))), first)
    assert.equal(at.runs.length, 1)
  }
})

test(cites('AAP-IDEM-04', 'a repeat of a message that abandoned calls starts at its own turn'), async t => {
  const at = await rig(t, {
    script: [{ calls: [{ name: 'clipboard' }, { name: 'clipboard' }] }, { text: 'fine' }],
  })
  const id = await newSession(at, { tools: [clipboard] })
  await answerOf(turn(at, id, say('go')))
  const first = await answerOf(turn(at, id, say('stop'), keyed('s')))
  assert.deepEqual(first, { stopReason: 'end_turn', messages: [{ role: 'assistant', content: 'fine' }] })
  assert.deepEqual(await answerOf(turn(at, id, say('stop'), keyed('s'))), first)
})

test(cites('AAP-IDEM-05', 'a repeat while the first still runs attaches to it'), async t => {
  for (const stream of ['none', 'message', 'delta']) {
    const gate = latch()
    const script = [{ text: 'wait', calls: [{ name: 'slow' }] }, { text: 'done' }]
    const at = await rig(t, { script }, gate)
    const id = await newSession(at, { agent: { tools: [{ name: 'slow', trust: true }] } })
    const send = async () => (await turn(at, id, say('go', stream), keyed('a'))).text()
    const first = send()
    while (at.runs.length === 0) await new Promise(resolve => setImmediate(resolve))
    const [second, third] = [send(), send()]
    const session = await at.engine.open('alice', id)
    while (!session.feed.watched) await new Promise(resolve => setImmediate(resolve))
    gate.open()
    const bodies = await Promise.all([first, second, third])
    assert.equal(bodies[1], bodies[0])
    assert.equal(bodies[2], bodies[0])
    for (const words of ['at last', 'done', 'end_turn']) assert.ok(bodies[0]?.includes(words), words)
    assert.equal(at.runs.length, 1)
  }
})

test(cites('AAP-IDEM-05', 'ten equal requests at the same moment have one effect'), async t => {
  const at = await rig(t, { script: mailing })
  const id = await newSession(at, { agent: { tools: [{ name: 'mail', trust: true }] } })
  const bodies = await Promise.all(
    Array.from({ length: 10 }, async () => (await turn(at, id, say('go', 'message'), keyed('x'))).text()),
  )
  assert.equal(new Set(bodies).size, 1)
  assert.equal(at.runs.length, 1)
  assert.equal((await history(at, id)).length, 4)
})

test(cites('AAP-IDEM-07', 'a key is 1 to 255 visible characters'), async t => {
  const at = await rig(t)
  const id = await newSession(at)
  for (const key of ['', 'a b', 'x'.repeat(256)]) {
    assert.deepEqual(await refusal(turn(at, id, say('hi'), keyed(key))), [400, 'bad_request'])
    const body = { agent: { name: 'helper' } }
    assert.deepEqual(await refusal(at.request('POST', '/sessions', body, keyed(key))), [400, 'bad_request'])
  }
})

test(cites('AAP-IDEM-08', 'AAP-IDEM-09', 'keys survive a restart and belong to their session'), async t => {
  const at = await rig(t, { script: mailing })
  const body = { agent: { name: 'helper', tools: [{ name: 'mail', trust: true }] } }
  const made = (await (await at.request('POST', '/sessions', body, keyed('c'))).json()) as {
    sessionId: string
  }
  const first = await sseOf(await turn(at, made.sessionId, say('go', 'message'), keyed('a')))
  const after = await at.restart()
  const again = await after.request('POST', '/sessions', body, keyed('c'))
  assert.deepEqual(await again.json(), made)
  assert.deepEqual(await sseOf(await turn(after, made.sessionId, say('go', 'message'), keyed('a'))), first)
  assert.deepEqual([at.runs.length, after.runs.length], [1, 0])
  const other = await newSession(after, { agent: { tools: [{ name: 'mail', trust: true }] } })
  assert.notDeepEqual(await sseOf(await turn(after, other, say('go', 'message'), keyed('a'))), first)
  assert.equal(after.runs.length, 1)
})

test(cites('AAP-IDEM-10', 'PUT /session with a key makes one session and one turn'), async t => {
  const at = await rig(t)
  for (const stream of ['none', 'message']) {
    const put = async (words: string) =>
      at.request(
        'PUT',
        '/aap/v1/session',
        { agent: { name: 'helper' }, ...say(words, stream) },
        keyed(stream),
      )
    const first = await (await put('hi')).text()
    assert.equal(await (await put('hi')).text(), first)
    assert.deepEqual(await refusal(put('ho')), [409, 'idempotency_conflict'])
  }
  const { sessions } = (await (await at.request('GET', '/aap/v1/sessions')).json()) as { sessions: string[] }
  assert.equal(sessions.length, 2)
})

test(cites('AAP-IDEM-03', 'a client result is accepted once'), async t => {
  const at = await rig(t, {
    script: [{ calls: [{ name: 'clipboard' }, { name: 'clipboard' }] }, { text: 'done' }],
  })
  const id = await newSession(at, { tools: [clipboard] })
  const [a] = callsIn((await answerOf(turn(at, id, say('go')))).messages)
  const body = { messages: [result(a!.toolCallId, 'x'.repeat(300_000))] }
  const both = await Promise.all([turn(at, id, body, keyed('r')), turn(at, id, body, keyed('r'))])
  const answers = await Promise.all(both.map(answerOf))
  assert.deepEqual(answers[0], { stopReason: 'tool_use', messages: [] })
  assert.deepEqual(answers[1], answers[0])
})
