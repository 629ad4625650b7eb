// The tool-call rules: who runs a call, who is asked, and what is shown and kept of it.
import assert from 'node:assert/strict'
import test from 'node:test'
import { joinText } from '../../../src/language/content.ts'
import type { Script } from '../../../src/models/scripted/index.ts'
import { cites } from '../../requirements/manifest.ts'
import {
  answerOf,
  callsIn,
  clipboard,
  deny,
  grant,
  history,
  latch,
  newSession,
  type Rig,
  refusal,
  result,
  rig,
  say,
  sseOf,
  turn,
} from './rig.ts'

const on = (...names: string[]) => ({ agent: { tools: names.map(name => ({ name })) }, tools: [clipboard] })
const trusting = (...names: string[]) => ({
  agent: { tools: names.map(name => ({ name, trust: true })) },
  tools: [clipboard],
})

/** A session whose first turn has stopped, with its calls. */
async function waiting(at: Rig, body: Record<string, unknown>): Promise<{ id: string; calls: string[] }> {
  const id = await newSession(at, body)
  const { stopReason, messages } = await answerOf(turn(at, id, say('go')))
  assert.equal(stopReason, 'tool_use')
  return { id, calls: callsIn(messages).map(call => call.toolCallId) }
}

const mail = { name: 'mail', input: { to: 'ana' } }
const search = { name: 'search', input: { q: 'a' } }
const own = { name: 'clipboard' }
const thenDone = (...calls: object[]): Script => [{ calls } as never, { text: 'done' }]

test(cites('AAP-CALL-01', 'a trusted server tool runs inline'), async t => {
  const at = await rig(t, { script: thenDone(search) })
  const { stopReason } = await answerOf(turn(at, await newSession(at, trusting('search')), say('go')))
  assert.equal(stopReason, 'end_turn')
  assert.deepEqual(at.runs, [{ tool: 'search', input: { q: 'a' } }])
})

test(
  cites('AAP-CALL-02', 'AAP-CALL-03', 'untrusted and client tools stop the turn and do not run'),
  async t => {
    for (const call of [mail, own]) {
      const at = await rig(t, { script: thenDone(call) })
      await waiting(at, on('mail'))
      assert.deepEqual(at.runs, [])
    }
  },
)

test(
  cites(
    'AAP-CALL-04',
    'AAP-TURN-03',
    'AAP-CALL-30',
    'a batch of all kinds: trusted runs, the rest waits, one turn answers it',
  ),
  async t => {
    const at = await rig(t, {
      script: thenDone(
        search,
        own,
        mail,
        { name: 'patch', text: 'p' },
        { name: 'hidden', input: { q: 'h' } },
      ),
    })
    const id = await newSession(at, {
      agent: { tools: [{ name: 'search', trust: true }, { name: 'mail' }, { name: 'patch' }] },
      tools: [clipboard],
    })
    const items = await sseOf(await turn(at, id, say('go', 'message')))
    const named = items
      .filter(({ event }) => event === 'tool_call')
      .map(({ data }) => data as { toolCallId: string })
    const [a, b, c, d, e] = named.map(call => call.toolCallId)
    const results = items.filter(({ event }) => event === 'tool_result').map(({ data }) => data)
    assert.deepEqual(results, [
      { toolCallId: a, content: 'found a' },
      { toolCallId: e, content: 'from behind' },
    ])
    assert.deepEqual(
      callsIn(await history(at, id)).map(call => call.toolCallId),
      [a, b, c, d, e],
    )
    const body = { messages: [grant(d!), result(b!, 'clip'), deny(c!)] }
    assert.equal((await answerOf(turn(at, id, body))).stopReason, 'end_turn')
    assert.deepEqual(
      at.runs.map(run => run.tool),
      ['search', 'hidden', 'patch'],
    )
  },
)

test(
  cites(
    'AAP-CALL-05',
    'AAP-CALL-06',
    'AAP-CALL-10',
    'a granted call runs, is shown and is kept; the permission is not',
  ),
  async t => {
    for (const stream of ['none', 'message', 'delta']) {
      const at = await rig(t, { script: thenDone(mail) })
      const { id, calls } = await waiting(at, on('mail'))
      const answer = await turn(at, id, { stream, messages: [grant(calls[0]!)] })
      const sent = { toolCallId: calls[0], content: 'sent to ana' }
      if (stream === 'none') assert.deepEqual((await answerOf(answer)).messages[0], { role: 'tool', ...sent })
      else {
        const items = await sseOf(answer)
        assert.deepEqual(items.slice(0, 2), [
          { event: 'turn_start', data: {} },
          { event: 'tool_result', data: sent },
        ])
      }
      assert.deepEqual(at.runs, [{ tool: 'mail', input: { to: 'ana' } }])
      const messages = await history(at, id)
      assert.deepEqual(
        messages.map(message => message.role),
        ['user', 'assistant', 'tool', 'assistant'],
      )
      assert.deepEqual(messages[2], { role: 'tool', ...sent })
    }
  },
)

test(
  cites(
    'AAP-CALL-07',
    'AAP-CALL-08',
    'AAP-CALL-09',
    'AAP-CALL-24',
    'a denial has the protocol’s wording, and the turn continues',
  ),
  async t => {
    for (const [reason, words] of [
      [undefined, 'Tool call denied'],
      ['not now', 'Tool call denied: not now'],
    ] as const) {
      const at = await rig(t, { script: thenDone(mail) })
      const { id, calls } = await waiting(at, on('mail'))
      const items = await sseOf(
        await turn(at, id, { stream: 'message', messages: [deny(calls[0]!, reason)] }),
      )
      assert.deepEqual(items, [
        { event: 'turn_start', data: {} },
        { event: 'tool_result', data: { toolCallId: calls[0], content: words } },
        { event: 'text', data: { text: 'done' } },
        { event: 'turn_stop', data: { stopReason: 'end_turn' } },
      ])
      assert.deepEqual((await history(at, id))[2], { role: 'tool', toolCallId: calls[0], content: words })
      assert.deepEqual(at.runs, [])
    }
  },
)

test(
  cites('AAP-CALL-11', 'AAP-CALL-27', 'a client result reaches the model and does not come back'),
  async t => {
    const at = await rig(t, {
      script: [
        { calls: [own, own] },
        {
          text: 'done',
          expect: {
            results: [
              { kind: 'ok', text: 'hello' },
              { kind: 'ok', text: 'one' },
            ],
          },
        },
      ],
    })
    const { id, calls } = await waiting(at, on())
    const blocks = [
      { type: 'text', text: 'one' },
      { type: 'image', url: 'https://example.org/x.png' },
    ]
    const answer = await answerOf(
      turn(at, id, { messages: [result(calls[0]!, 'hello'), result(calls[1]!, blocks)] }),
    )
    assert.deepEqual(answer, { stopReason: 'end_turn', messages: [{ role: 'assistant', content: 'done' }] })
    const messages = await history(at, id)
    assert.deepEqual(messages.slice(2, 4), [result(calls[0]!, 'hello'), result(calls[1]!, blocks)])
  },
)

test(cites('AAP-CALL-12', 'a partial submission is accepted, and the turn stops for the rest'), async t => {
  for (const stream of ['none', 'message']) {
    const at = await rig(t, { script: thenDone(own, mail, search) })
    const { id, calls } = await waiting(at, on('mail', 'search'))
    const send = async (message: object) => {
      const answer = await turn(at, id, { stream, messages: [message] })
      return stream === 'none'
        ? (await answerOf(answer)).stopReason
        : (await sseOf(answer)).map(({ event }) => event).join()
    }
    const shown =
      stream === 'none'
        ? ['tool_use', 'tool_use', 'end_turn']
        : [
            'turn_start,turn_stop',
            'turn_start,tool_result,turn_stop',
            'turn_start,tool_result,text,turn_stop',
          ]
    assert.equal(await send(result(calls[0]!, 'x')), shown[0])
    assert.equal(await send(grant(calls[1]!)), shown[1])
    assert.equal(await send(deny(calls[2]!)), shown[2])
  }
})

test(cites('AAP-CALL-13', 'AAP-CALL-14', 'one wrong id refuses the whole request'), async t => {
  const at = await rig(t, { script: thenDone(mail, own) })
  const { id, calls } = await waiting(at, on('mail'))
  const before = (await at.engine.events('alice', id)).length
  const [a, b] = [calls[0]!, calls[1]!]
  assert.deepEqual(await refusal(turn(at, id, { messages: [grant(a), grant('call_no')] })), [
    400,
    'unknown_call',
  ])
  assert.deepEqual(await refusal(turn(at, id, { messages: [grant(a), deny(a)] })), [400, 'duplicate_call'])
  assert.deepEqual(await refusal(turn(at, id, { messages: [result(b, 'x'), result(b, 'y')] })), [
    400,
    'duplicate_call',
  ])
  assert.equal((await at.engine.events('alice', id)).length, before)
  assert.deepEqual(at.runs, [])
})

test(cites('AAP-CALL-15', 'AAP-CALL-16', 'a call is answered once, by the right party'), async t => {
  const at = await rig(t, { script: thenDone(mail, own, search) })
  const { id, calls } = await waiting(at, on('mail', 'search'))
  const [a, b, c] = [calls[0]!, calls[1]!, calls[2]!]
  assert.deepEqual(await refusal(turn(at, id, { messages: [result(a, 'forged')] })), [409, 'wrong_party'])
  assert.deepEqual(await refusal(turn(at, id, { messages: [grant(b)] })), [409, 'wrong_party'])
  await answerOf(turn(at, id, { messages: [grant(a), result(b, 'x')] }))
  for (const message of [grant(a), deny(a), result(b, 'y')])
    assert.deepEqual(await refusal(turn(at, id, { messages: [message] })), [409, 'call_settled'])
  await answerOf(turn(at, id, { messages: [deny(c)] }))
  assert.deepEqual(await refusal(turn(at, id, { messages: [grant(c)] })), [409, 'call_settled'])
  assert.deepEqual(
    at.runs.map(run => run.tool),
    ['mail'],
  )
})

test(cites('AAP-CALL-17', 'an unexposed tool runs as the operator says, and is shown'), async t => {
  const at = await rig(t, { script: thenDone({ name: 'hidden', input: { q: 'x' } }) })
  const { messages } = await answerOf(turn(at, await newSession(at), say('go')))
  assert.equal(callsIn(messages)[0]?.name, 'hidden')
  assert.equal(messages[1]?.content, 'from behind')
})

test(cites('AAP-CALL-18', 'AAP-CALL-28', 'free text is in input.input, in requests and answers'), async t => {
  const at = await rig(t, { script: thenDone({ name: 'patch', text: '*** Begin\n' }) })
  const id = await newSession(at, on('patch'))
  const { messages } = await answerOf(turn(at, id, say('go')))
  const [call] = callsIn(messages)
  assert.deepEqual(call?.input, { input: '*** Begin\n' })
  const edited = { messages: [grant(call!.toolCallId, { input: { other: 'x' } })] }
  assert.deepEqual(await refusal(turn(at, id, edited)), [400, 'bad_request'])
  await answerOf(turn(at, id, { messages: [grant(call!.toolCallId, { input: { input: 'mine' } })] }))
  assert.deepEqual(at.runs, [{ tool: 'patch', input: 'mine' }])
})

test(
  cites(
    'AAP-CALL-19',
    'AAP-CALL-20',
    'AAP-CALL-22',
    'a call that cannot run is shown with a result that says why',
  ),
  async t => {
    const strict = {
      ...clipboard,
      parameters: { type: 'object', properties: { n: { type: 'number' } }, required: ['n'] },
    }
    const at = await rig(t, {
      script: thenDone(
        { name: 'search', text: '{"q": ' },
        { name: 'search', text: '[1]' },
        { name: 'nobody', input: { x: 1 } },
        { name: 'clipboard', input: { n: 'one' } },
        { name: 'search', text: '{"q":"a","q":"b"}' },
      ),
    })
    const id = await newSession(at, { agent: { tools: [{ name: 'search', trust: true }] }, tools: [strict] })
    const { stopReason, messages } = await answerOf(turn(at, id, say('go')))
    assert.equal(stopReason, 'end_turn', 'the client has nothing to do')
    assert.deepEqual(
      callsIn(messages).map(call => call.input),
      [{ input: '{"q": ' }, { input: [1] }, { x: 1 }, { n: 'one' }, { input: '{"q":"a","q":"b"}' }],
    )
    const results = messages.filter(message => message.role === 'tool')
    assert.deepEqual(
      results.map(message => message.toolCallId),
      callsIn(messages).map(call => call.toolCallId),
    )
    for (const { content } of results) assert.match(String(content), /not run|There is no tool/)
    assert.deepEqual(at.runs, [])
  },
)

test(cites('AAP-CALL-21', 'AAP-CALL-23', 'a failure is text, a richer result is blocks'), async t => {
  const at = await rig(t, { script: thenDone({ name: 'fails' }, { name: 'picture' }) })
  const { messages } = await answerOf(turn(at, await newSession(at, trusting('fails', 'picture')), say('go')))
  assert.deepEqual(
    messages.filter(message => message.role === 'tool').map(message => message.content),
    [
      'The tool failed: no such luck',
      [
        { type: 'text', text: 'look' },
        { type: 'image', url: 'https://example.org/a.png' },
      ],
    ],
  )
})

test(cites('AAP-CALL-25', 'the model reads results in the order in which it asked'), async t => {
  const gate = latch()
  const at = await rig(
    t,
    {
      script: [
        { calls: [{ name: 'slow' }, search, own] },
        {
          text: 'done',
          expect: request => {
            const last = request.history.at(-1)
            const texts =
              last?.role === 'tool' ? last.results.map(({ outcome }) => joinText(outcome.parts)) : []
            return texts.join() === 'at last,found a,clip' ? undefined : `the order ${texts.join()}`
          },
        },
      ],
    },
    gate,
  )
  const id = await newSession(at, trusting('slow', 'search'))
  const first = turn(at, id, say('go'))
  while (at.runs.length < 2) await new Promise(resolve => setImmediate(resolve))
  gate.open()
  const calls = callsIn((await answerOf(first)).messages)
  const { stopReason } = await answerOf(turn(at, id, { messages: [result(calls[2]!.toolCallId, 'clip')] }))
  assert.equal(stopReason, 'end_turn')
})

test(cites('AAP-CALL-26', 'granted is a boolean'), async t => {
  const at = await rig(t, { script: thenDone(mail) })
  const { id, calls } = await waiting(at, on('mail'))
  for (const granted of ['true', 1, null, undefined])
    assert.deepEqual(
      await refusal(turn(at, id, { messages: [{ role: 'tool_permission', toolCallId: calls[0], granted }] })),
      [400, 'bad_request'],
    )
  assert.deepEqual(at.runs, [])
})

test(cites('AAP-CALL-28', 'AAP-CALL-29', 'a grant may change the arguments, within the schema'), async t => {
  const at = await rig(t, { script: thenDone(mail) })
  const { id, calls } = await waiting(at, on('mail'))
  const send = (message: object) => turn(at, id, { messages: [message] })
  assert.deepEqual(await refusal(send(grant(calls[0]!, { input: { to: 7 } }))), [400, 'invalid_edit'])
  assert.deepEqual(await refusal(send(grant(calls[0]!, { input: 'bob' }))), [400, 'bad_request'])
  assert.deepEqual(await refusal(send({ ...deny(calls[0]!), input: { to: 'bob' } })), [400, 'bad_request'])
  await answerOf(send(grant(calls[0]!, { input: { to: 'bob' } })))
  assert.deepEqual(at.runs, [{ tool: 'mail', input: { to: 'bob' } }])
  const [note, sent] = (await history(at, id))[2]!.content as { text: string }[]
  assert.match(note!.text, /changed.*\{"to":"bob"\}/)
  assert.equal(sent?.text, 'sent to bob')
  const late = grant(calls[0]!, { input: { to: 'eve' } })
  assert.deepEqual(await refusal(send(late)), [409, 'call_settled'])
  assert.deepEqual(await refusal(send({ ...late, toolCallId: 'call_none' })), [400, 'unknown_call'])
})
