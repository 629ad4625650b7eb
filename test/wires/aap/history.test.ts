// The history endpoint, whole results, and what stands in a history while calls wait.
import assert from 'node:assert/strict'
import test from 'node:test'
import { scripted } from '../../../src/models/scripted/index.ts'
import { cites } from '../../requirements/manifest.ts'
import {
  agentOf,
  answerOf,
  callsIn,
  clipboard,
  history,
  newSession,
  refusal,
  result,
  rig,
  say,
  turn,
} from './rig.ts'

test(cites('AAP-HIST-01', 'AAP-HIST-02', 'AAP-HIST-03', 'one kind of history at a time'), async t => {
  const at = await rig(t)
  const id = await newSession(at, { messages: [{ role: 'system', content: 'Be kind.' }] })
  await answerOf(turn(at, id, say('hi')))
  const told = [
    { role: 'system', content: 'Be kind.' },
    { role: 'user', content: 'hi' },
    { role: 'assistant', content: 'hello' },
  ]
  for (const base of ['/aap/v3/sessions', '/sessions', '/aap/v2/session'])
    for (const type of ['full', 'compacted']) {
      const answer = await at.request('GET', `${base}/${id}/history?type=${type}`)
      assert.deepEqual(await answer.json(), { history: { [type]: told } })
    }
})

test(cites('AAP-HIST-02', 'AAP-HIST-01', 'after a compaction the two differ'), async t => {
  const at = await rig(t)
  const id = await newSession(at)
  await answerOf(turn(at, id, say('hi')))
  const session = await at.engine.open('alice', id)
  await session.save([
    {
      v: 1,
      at: 0,
      type: 'history.compacted',
      replaces: 2,
      entries: [{ role: 'user', parts: [{ type: 'text', text: 'They said hello.' }] }],
    },
  ])
  assert.deepEqual(await history(at, id, 'compacted'), [{ role: 'user', content: 'They said hello.' }])
  assert.deepEqual((await history(at, id)).length, 2)
})

test(
  cites('AAP-HIST-04', 'AAP-HIST-05', 'AAP-HIST-06', 'AAP-ERR-06', 'an unknown kind of history is refused'),
  async t => {
    const short = agentOf({ agent: { name: 'short', fullHistory: false } }, [])
    const at = await rig(t, { agents: [agentOf({}, []), short] })
    const id = await newSession(at, { agent: { name: 'short' } })
    for (const base of ['/aap/v3/sessions', '/aap/v2/session']) {
      const get = (session: string, query: string) => at.request('GET', `${base}/${session}/history${query}`)
      for (const query of ['', '?type=', '?type=short', '?type=FULL']) {
        const answer = await get(id, query)
        assert.equal(answer.status, 400)
        assert.deepEqual(await answer.json(), {
          error: 'type must be "compacted" or "full"',
          code: 'bad_request',
        })
      }
      const undeclared = await get(id, '?type=full')
      assert.equal(undeclared.status, 404)
      assert.deepEqual(await undeclared.json(), {
        error: 'Specified history not found',
        code: 'history_not_found',
      })
      assert.equal((await get(id, '?type=compacted')).status, 200)
      assert.deepEqual(await refusal(get('nope', '?type=full')), [404, 'session_not_found'])
    }
  },
)

test(
  cites('AAP-HIST-07', 'AAP-HIST-08', 'a waiting batch is in the history with the results that it has'),
  async t => {
    const at = await rig(t, {
      script: [
        {
          calls: [
            { name: 'search', input: { q: 'a' } },
            { name: 'mail', input: { to: 'ana' } },
            { name: 'clipboard' },
          ],
        },
      ],
    })
    const id = await newSession(at, {
      agent: { tools: [{ name: 'search', trust: true }, { name: 'mail' }] },
      tools: [clipboard],
    })
    const calls = callsIn((await answerOf(turn(at, id, say('go')))).messages).map(call => call.toolCallId)
    for (const type of ['full', 'compacted']) {
      const messages = await history(at, id, type)
      assert.deepEqual(
        messages.map(message => message.role),
        ['user', 'assistant', 'tool'],
      )
      assert.deepEqual(messages[2], result(calls[0]!, 'found a'))
    }
    await answerOf(turn(at, id, { messages: [result(calls[2]!, 'clip')] }))
    assert.deepEqual((await history(at, id)).slice(2), [
      result(calls[0]!, 'found a'),
      result(calls[2]!, 'clip'),
    ])
  },
)

test(
  cites(
    'AAP-HIST-09',
    'AAP-HIST-10',
    'AAP-EXT-08',
    'AAP-EXT-09',
    'a result that was cut for the model is whole in full',
  ),
  async t => {
    const script = [{ calls: [{ name: 'large' }, { name: 'clipboard' }] }, { text: 'done' }]
    const at = await rig(t, { model: scripted(script, { seeded: 1 }) })
    const id = await newSession(at, {
      agent: { tools: [{ name: 'large', trust: true }] },
      tools: [clipboard],
      messages: [
        {
          role: 'assistant',
          content: [{ type: 'tool_use', toolCallId: 'seeded', name: 'clipboard', input: {} }],
        },
        { role: 'tool', toolCallId: 'seeded', content: 's'.repeat(300_000) },
      ],
    })
    const { messages } = await answerOf(turn(at, id, say('go')))
    const [large, own] = callsIn(messages).map(call => call.toolCallId)
    assert.ok(String(messages[1]?.content).length <= 512)
    await answerOf(turn(at, id, { messages: [result(own!, 'c'.repeat(400_000))] }))
    const whole = new Map([
      ['seeded', 's'.repeat(300_000)],
      [large!, 'x'.repeat(5000)],
      [own!, 'c'.repeat(400_000)],
    ])
    const full = await history(at, id)
    const compacted = await history(at, id, 'compacted')
    for (const [callId, text] of whole) {
      const find = (list: typeof full) => list.find(message => message.toolCallId === callId)
      assert.equal(find(full)?.content, text)
      assert.ok(String(find(compacted)?.content).length < text.length)
      const kept = await at.request('GET', `/sessions/${id}/results/${callId}`)
      assert.deepEqual(await kept.json(), result(callId, text))
    }
    assert.deepEqual(await refusal(at.request('GET', `/sessions/${id}/results/nope`)), [404, 'not_found'])
    assert.deepEqual(await refusal(at.request('GET', `/sessions/nope/results/${large}`)), [
      404,
      'session_not_found',
    ])
  },
)

test(cites('AAP-EXT-08', 'a result that was never cut is given as it is'), async t => {
  const at = await rig(t, { script: [{ calls: [{ name: 'search', input: { q: 'a' } }] }, { text: 'done' }] })
  const id = await newSession(at, { agent: { tools: [{ name: 'search', trust: true }] } })
  const [call] = callsIn((await answerOf(turn(at, id, say('go')))).messages)
  const answer = await at.request('GET', `/aap/v3/sessions/${id}/results/${call!.toolCallId}`)
  assert.deepEqual(await answer.json(), result(call!.toolCallId, 'found a'))
})
