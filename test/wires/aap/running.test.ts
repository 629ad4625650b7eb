// A session that is read while its turn runs, and a stream that is asked for by its media type.
import assert from 'node:assert/strict'
import { test } from 'node:test'

import { later, tool } from '../../../src/tools/index.ts'
import { cites } from '../../requirements/manifest.ts'
import { history, info, latch, newSession, rig, say, turn } from './rig.ts'

test(cites('AAP-HIST-13', 'a trusted tool that runs is shown as running, in every version'), async t => {
  const gate = latch()
  const at = await rig(t, { script: [{ calls: [{ name: 'slow' }] }, { text: 'done' }] }, gate)
  const id = await newSession(at, { agent: { tools: [{ name: 'slow', trust: true }] } })
  const first = turn(at, id, say('go'))
  while (at.runs.length === 0) await new Promise(resolve => setImmediate(resolve))
  const expected = { role: 'tool', content: 'This call is running.', running: true }
  const v1 = (await (await at.request('GET', `/aap/v1/session/${id}?history=full`)).json()) as {
    history: { full: Awaited<ReturnType<typeof history>> }
  }
  const v2 = (await (await at.request('GET', `/aap/v2/session/${id}/history?type=full`)).json()) as typeof v1
  for (const messages of [
    await history(at, id),
    await history(at, id, 'compacted'),
    v1.history.full,
    v2.history.full,
  ]) {
    const [, asked, shown] = messages
    const [call] = asked!.content as { toolCallId: string }[]
    assert.deepEqual(shown, { ...expected, toolCallId: call!.toolCallId })
  }
  gate.open()
  assert.equal((await first).status, 200)
  const [, , result] = await history(at, id)
  assert.equal(result!.content, 'at last')
  assert.equal('running' in result!, false)
})

test(cites('AAP-HIST-13', 'a call whose result comes later is shown as running'), async t => {
  const post = tool({
    name: 'post',
    description: 'Gives its result later.',
    input: { type: 'object', properties: {} },
    trust: 'trusted',
    exposed: false,
    run: () => later({ expires: 60_000 }),
  })
  const at = await rig(t, { script: [{ calls: [{ name: 'post' }] }], agent: { tools: [post] } })
  const id = await newSession(at)
  await turn(at, id, say('go'))
  assert.equal((await history(at, id))[2]!.content, 'This call is running. Its result comes later.')
  assert.equal((await info(at, id)).sessionId, id)
})

test(cites('AAP-TURN-21', 'Accept asks for a stream where the body does not say'), async t => {
  const at = await rig(t, { script: Array.from({ length: 12 }, () => ({ text: 'hello' })) })
  const id = await newSession(at)
  const { messages } = say('go')
  const typeOf = async (accept: string, path: string, method: string, body: object): Promise<string> => {
    const answer = await at.request(method, path, body, { accept })
    const text = await answer.text()
    assert.ok(answer.ok, text)
    const type = answer.headers.get('content-type') ?? ''
    if (type.startsWith('text/event-stream')) assert.match(text, /event: text\ndata: {"text":"hello"}/)
    return type.split(';')[0]!
  }
  const path = `/aap/v3/sessions/${id}/turns`
  const [json, stream] = ['application/json', 'text/event-stream']
  for (const [accept, type] of [
    [stream, stream],
    [`${stream}, ${json};q=0.5`, stream],
    [json, json],
    ['*/*', json],
    [`${json}, ${stream}`, json],
    [`${json}, ${stream};q=0`, json],
  ] as const)
    assert.equal(await typeOf(accept, path, 'POST', { messages }), type, accept)
  assert.equal(await typeOf(stream, path, 'POST', { messages, stream: 'none' }), json)
  for (const version of [1, 2]) {
    const agent = { name: 'helper' }
    assert.equal(await typeOf(stream, `/aap/v${version}/session`, 'PUT', { agent, messages }), stream)
    assert.equal(await typeOf(stream, `/aap/v${version}/session/${id}`, 'POST', { messages }), stream)
  }
})
