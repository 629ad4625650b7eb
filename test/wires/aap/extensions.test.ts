// What we add to the protocol: the stream of a session's events, and cancelling a turn.
import assert from 'node:assert/strict'
import test from 'node:test'
import { AapClient } from '../../../src/client/index.ts'
import { scripted } from '../../../src/models/scripted/index.ts'
import { cites } from '../../requirements/manifest.ts'
import { serve } from '../stateless/rig.ts'
import {
  answerOf,
  callsIn,
  clipboard,
  history,
  latch,
  newSession,
  parseSse,
  type Rig,
  refusal,
  result,
  rig,
  type SseItem,
  say,
  sseOf,
  turn,
} from './rig.ts'

/** Reads a stream of events until it has seen enough, then goes away. */
async function watch(
  at: Rig,
  path: string,
  enough: (items: SseItem[]) => boolean,
  headers: Record<string, string> = {},
  whileOpen: () => void = () => {},
): Promise<SseItem[]> {
  const answer = await fetch(`${at.url}${path}`, { headers })
  assert.equal(answer.status, 200)
  assert.equal(answer.headers.get('content-type'), 'text/event-stream')
  whileOpen()
  let text = ''
  const decoder = new TextDecoder()
  for await (const chunk of answer.body!) {
    text += decoder.decode(chunk, { stream: true })
    const items = parseSse(text.slice(0, text.lastIndexOf('\n\n') + 2))
    // Leaving the loop cancels the body, which closes the connection.
    if (enough(items)) return items
  }
  throw new Error('the stream ended too early')
}

const durable = (items: SseItem[]) => items.filter(item => item.id !== undefined)
const ids = (items: SseItem[]) => durable(items).map(item => Number(item.id))

test(cites('AAP-EXT-11', 'the model of a session is chosen by its client'), async t => {
  const models = { other: scripted([{ text: 'From the other.' }]), 'any-*': scripted([{ text: 'x' }]) }
  const at = await serve(t, { helper: scripted([{ text: 'One.' }]) }, { config: { models } })
  const client = new AapClient({ baseUrl: at.url })
  const id = await client.createSession({ agent: { name: 'helper' } })
  assert.deepEqual(await client.getModels(id), { model: null, models: ['other'] })
  await client.setModel(id, 'other')
  assert.deepEqual(await client.getModels(id), { model: 'other', models: ['other'] })
  const said = await client.sendTurn(id, { messages: [{ role: 'user', content: 'Hi' }], stream: 'none' })
  assert.match(JSON.stringify(await said.answer()), /From the other\./)
  await assert.rejects(client.setModel(id, 'none'), { status: 400, code: 'unknown_model' })
  await assert.rejects(client.setModel(id, 'x'.repeat(200)), { status: 400 })
  await assert.rejects(client.getModels('sess_none'), { status: 404, code: 'session_not_found' })
})

test(cites('AAP-EXT-01', 'AAP-EXT-02', 'AAP-EXT-03', 'the log is a stream that can be resumed'), async t => {
  const at = await rig(t, {
    script: [{ calls: [{ name: 'search', input: { q: 'a' } }] }, { text: 'done' }],
  })
  const id = await newSession(at, { agent: { tools: [{ name: 'search', trust: true }] } })
  await answerOf(turn(at, id, say('go')))
  const log = await at.engine.events('alice', id)
  const last = log.length
  for (const base of ['', '/aap/v3']) {
    const path = `${base}/sessions/${id}/events`
    const items = await watch(at, path, seen => ids(seen).at(-1) === last)
    assert.deepEqual(
      durable(items).map(({ id: seq, event, data }) => [Number(seq), event, (data as { type: string }).type]),
      log.map(({ seq, event }) => [seq, event.type, event.type]),
    )
    assert.deepEqual(durable(items).at(-1)?.data, log.at(-1)?.event)
    const rest = await watch(at, path, seen => ids(seen).at(-1) === last, { 'last-event-id': '3' })
    assert.deepEqual(ids(rest), ids(items).slice(3))
    const same = await watch(at, `${path}?after=3`, seen => ids(seen).at(-1) === last)
    assert.deepEqual(same, rest)
    const both = await watch(at, `${path}?after=1`, seen => ids(seen).at(-1) === last, {
      'last-event-id': '3',
    })
    assert.deepEqual(both, rest, 'a browser that reconnects keeps the query and adds the header')
  }
  const head = await at.request('HEAD', `/sessions/${id}/events`)
  assert.equal(head.status, 200)
})

test(cites('AAP-EXT-04', 'ids that are no event of this session are refused'), async t => {
  const at = await rig(t)
  const id = await newSession(at)
  await answerOf(turn(at, id, say('go')))
  const head = (await at.engine.events('alice', id)).length
  for (const bad of [
    '-1',
    '1e999',
    '9007199254740993',
    String(head + 1),
    '1.5',
    'abc',
    '0x1',
    '99999999999999999999',
  ]) {
    const headers = { 'last-event-id': bad }
    assert.deepEqual(
      await refusal(at.request('GET', `/sessions/${id}/events`, undefined, headers)),
      [400, 'bad_request'],
      bad,
    )
    assert.equal((await at.request('GET', `/sessions/${id}/events?after=${bad}`)).status, 400, bad)
  }
  assert.deepEqual(await refusal(at.request('GET', '/sessions/nope/events')), [404, 'session_not_found'])
})

test(
  cites(
    'AAP-EXT-01',
    'AAP-EXT-05',
    'deltas are live and carry no id; a client that resumes gets nothing twice',
  ),
  async t => {
    const gate = latch()
    const at = await rig(
      t,
      {
        script: [
          { text: 'first words', chunk: 3, calls: [{ name: 'slow' }] },
          { text: 'last words', chunk: 3 },
        ],
      },
      gate,
    )
    const id = await newSession(at, { agent: { tools: [{ name: 'slow', trust: true }] } })
    let answer: Promise<unknown> | undefined
    const items = await watch(
      at,
      `/sessions/${id}/events`,
      seen => seen.some(item => item.event === 'turn.ended'),
      {},
      () => {
        answer = answerOf(turn(at, id, say('go')))
        const opening = setInterval(() => {
          if (at.runs.length === 0) return
          clearInterval(opening)
          gate.open()
        }, 1)
      },
    )
    await answer
    const pieces = items.filter(item => item.event === 'text')
    assert.ok(pieces.every(item => item.id === undefined))
    assert.equal(pieces.map(item => (item.data as { text: string }).text).join(''), 'first wordslast words')
    assert.deepEqual(
      ids(items),
      Array.from({ length: durable(items).length }, (_, index) => index + 1),
    )
    const seen = durable(items)
    const cut = 4
    const later = await watch(
      at,
      `/sessions/${id}/events?after=${cut}`,
      rest => rest.length === seen.length - cut,
    )
    assert.deepEqual([...seen.slice(0, cut), ...later], seen)
  },
)

test(cites('AAP-EXT-05', 'a client that attaches in the middle of a step gets its text so far'), async t => {
  const at = await rig(t, { script: [{ text: 'half a sentence', hang: true }] })
  const id = await newSession(at)
  const running = turn(at, id, say('go')).catch(() => undefined)
  const session = await at.engine.open('alice', id)
  while (!session.feed.live.snapshot().some(({ type }) => type === 'text'))
    await new Promise(resolve => setImmediate(resolve))
  const items = await watch(at, `/sessions/${id}/events`, seen => seen.some(item => item.event === 'text'))
  assert.deepEqual(items.at(-1)?.data, { type: 'text', text: 'half a sentence' })
  await at.request('POST', `/sessions/${id}/cancel`)
  await running
})

test(
  cites('AAP-EXT-06', 'AAP-EXT-07', 'AAP-STOP-09', 'a cancelled turn ends cleanly and can be continued'),
  async t => {
    for (const stream of ['none', 'message', 'delta']) {
      const at = await rig(t, { script: [{ text: 'so far', hang: true }, { text: 'again' }] })
      const id = await newSession(at)
      const first = turn(at, id, say('go', stream)).then(answer => answer.text())
      const session = await at.engine.open('alice', id)
      while (!session.feed.live.snapshot().some(({ type }) => type === 'text'))
        await new Promise(resolve => setImmediate(resolve))
      const cancelled = await at.request('POST', `/aap/v3/sessions/${id}/cancel`)
      assert.deepEqual([cancelled.status, await cancelled.text()], [204, ''])
      const body = await first
      assert.match(body, /"stopReason":"end_turn"/)
      assert.equal(body.match(/stopReason/g)?.length, 1)
      assert.equal((await at.request('POST', `/sessions/${id}/cancel`)).status, 204)
      assert.equal((await answerOf(turn(at, id, say('more')))).messages[0]?.content, 'again')
      assert.deepEqual(
        (await history(at, id)).map(message => message.content),
        ['go', 'so far', 'more', 'again'],
      )
    }
  },
)

test(cites('AAP-EXT-06', 'cancelling while calls wait settles them; a later result is refused'), async t => {
  const at = await rig(t, { script: [{ calls: [{ name: 'clipboard' }] }, { text: 'fine' }] })
  const id = await newSession(at, { tools: [clipboard] })
  const [call] = callsIn((await answerOf(turn(at, id, say('go')))).messages)
  await at.request('POST', `/sessions/${id}/cancel`)
  const late = { messages: [result(call!.toolCallId, 'late')] }
  assert.deepEqual(await refusal(turn(at, id, late)), [409, 'call_settled'])
  assert.equal((await answerOf(turn(at, id, say('on')))).stopReason, 'end_turn')
  assert.deepEqual(
    (await history(at, id)).map(message => message.role),
    ['user', 'assistant', 'tool', 'user', 'assistant'],
  )
  assert.deepEqual(await refusal(at.request('POST', '/sessions/nope/cancel')), [404, 'session_not_found'])
})

test(cites('AAP-EXT-06', 'calls that a cancellation stopped are shown with a result'), async t => {
  const at = await rig(t, { script: [{ calls: [{ name: 'slow' }] }] })
  const id = await newSession(at, { agent: { tools: [{ name: 'slow', trust: true }] } })
  const first = turn(at, id, say('go', 'message'))
  while (at.runs.length === 0) await new Promise(resolve => setImmediate(resolve))
  await at.request('POST', `/sessions/${id}/cancel`)
  const items = await sseOf(await first)
  assert.deepEqual(
    items.map(({ event }) => event),
    ['turn_start', 'tool_call', 'tool_result', 'turn_stop'],
  )
  assert.match((items[2]!.data as { content: string }).content, /^Cancelled while it was running/)
})

test(cites('AAP-EXT-10', 'secrets are masked in events, sealed or not'), async t => {
  const at = await rig(t)
  const id = await newSession(at, { agent: { options: { key: 'sk-CANARY', city: 'Rome' } } })
  await answerOf(turn(at, id, { ...say('hi'), agent: { options: { key: 'sk-CANARY2' } } }))
  const head = (await at.engine.events('alice', id)).length
  const items = await watch(at, `/sessions/${id}/events`, seen => ids(seen).at(-1) === head)
  const text = JSON.stringify(items)
  assert.ok(
    !text.includes('sealed') && !text.includes(Buffer.from('sk-CANARY').toString('base64').slice(0, 10)),
  )
  for (const item of items.filter(
    ({ event }) => event === 'session.created' || event === 'session.configured',
  ))
    assert.deepEqual((item.data as { settings: { options: unknown } }).settings.options, {
      key: '***',
      city: 'Rome',
    })
})

test('a deleted session ends its streams', async t => {
  const at = await rig(t)
  const id = await newSession(at)
  const stream = await at.request('GET', `/sessions/${id}/events`)
  await at.request('DELETE', `/sessions/${id}`)
  assert.deepEqual(ids(parseSse(await stream.text())), [1])
})
