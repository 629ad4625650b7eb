// Conversations with the strict double, which gets its own answers back; and the same through the runner, over a socket.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { Entry } from '../../../language/history.ts'
import type { JsonObject } from '../../../lib/json/index.ts'
import { startDouble } from '../../../testing/doubles/index.ts'
import { SessionCache } from '../../common/session-cache.ts'
import { createModel } from '../../run.ts'
import {
  answerOf,
  assistant,
  call,
  entryOf,
  messagesOf,
  request,
  results,
  startTalk,
  target,
  user,
} from './harness.test.ts'
import { anthropicMessages } from './index.ts'

describe('conversations with the double', () => {
  const at = target({ body: { thinking: { type: 'enabled', budget_tokens: 2000 } } })

  test('rounds of thinking and parallel calls encode only their new entries', () => {
    const talk = startTalk()
    const history: Entry[] = [user('go')]
    for (let round = 0; round < 4; round++) {
      const turn = {
        thinking: `step ${round} 😀`,
        calls: [
          { name: 'read', input: { p: 'x' } },
          { name: 'read', input: {} },
        ],
      }
      const heard = talk.ask(request({ history: [...history] }), at, turn)
      assert.equal(heard.prepared.encoded, round === 0 ? 1 : 2)
      const entry = entryOf(answerOf(heard))
      history.push(entry, results(entry))
    }
    const heard = talk.ask(request({ history }), at, { text: 'done' })
    const signatures = messagesOf(heard.prepared).flatMap(message =>
      message.content.flatMap(block => block['signature'] ?? []),
    )
    const kept = history.flatMap(entry =>
      entry.role === 'assistant'
        ? entry.parts.flatMap(part => (part.type === 'thinking' ? (part.native?.data ?? []) : []))
        : [],
    )
    assert.deepEqual(
      signatures,
      kept.map(data => (data as JsonObject)['signature']),
    ) // thinking blocks are objects
    assert.equal(signatures.length, 4)
  })

  test('entries that are joined into one message are still encoded once', () => {
    const asked = assistant(call('c1', 'read'))
    const history = [user('a'), user('b'), asked, results(asked), user('c')]
    const cache = new SessionCache()
    const encodedFor = (entries: Entry[]): number =>
      anthropicMessages.prepare(request({ history: entries }), target(), cache).encoded
    assert.equal(encodedFor(history), 5)
    assert.equal(encodedFor([...history, user('d')]), 1)
  })

  test('another model family continues a turn without the artifacts of the first', () => {
    const talk = startTalk()
    const heard = talk.ask(request(), at, { thinking: 'mine', calls: [{ name: 'read', input: {} }] })
    const entry = entryOf(answerOf(heard))
    const other = { ...at, family: 'other' }
    const next = startTalk().ask(request({ history: [user('a'), entry, results(entry)] }), other, {
      text: 'ok',
    })
    assert.equal(next.prepared.body.includes('signature'), false)
  })

  const search = { type: 'web_search_20260318', name: 'web_search' }
  const use = { type: 'server_tool_use', id: 'srvtoolu_1', name: 'web_search', input: { query: 'q' } }
  const found = {
    type: 'web_search_tool_result',
    tool_use_id: 'srvtoolu_1',
    content: [{ type: 'web_search_result', url: 'https://e.com', title: 'E' }],
  }

  test('a paused answer goes back unchanged, and the next answer continues it', () => {
    const talk = startTalk()
    const hosted = target({ hosted: [search] })
    const paused = talk.ask(request(), hosted, { native: [use], stop: 'pause_turn' })
    assert.equal(answerOf(paused).stop, 'pause')
    const first = entryOf(answerOf(paused))
    const resumed = talk.ask(request({ history: [user('hello'), first] }), hosted, {
      native: [found],
      text: 'E.',
    })
    assert.equal(messagesOf(resumed.prepared).at(-1)?.role, 'assistant')
    const second = entryOf(answerOf(resumed))
    const later = talk.ask(request({ history: [user('hello'), first, second, user('thanks')] }), hosted, {
      text: 'ok',
    })
    assert.deepEqual(
      messagesOf(later.prepared)[1]?.content.map(block => block.type),
      ['server_tool_use', 'web_search_tool_result', 'text'],
    )
  })

  test('two pauses in a row go back as one message', () => {
    const talk = startTalk()
    const hosted = target({ hosted: [search] })
    const history: Entry[] = [user('hello')]
    const again = { ...use, id: 'srvtoolu_2' }
    for (const turn of [
      { native: [use], stop: 'pause_turn' },
      { native: [found, again], stop: 'pause_turn' },
      { native: [{ ...found, tool_use_id: 'srvtoolu_2' }], text: 'E.' },
    ])
      history.push(entryOf(answerOf(talk.ask(request({ history: [...history] }), hosted, turn))))
    const later = talk.ask(request({ history: [...history, user('thanks')] }), hosted, { text: 'ok' })
    assert.deepEqual(
      messagesOf(later.prepared)[1]?.content.map(block => block.type),
      ['server_tool_use', 'web_search_tool_result', 'server_tool_use', 'web_search_tool_result', 'text'],
    )
  })

  test('a paused search that was never continued is dropped whole', () => {
    const talk = startTalk()
    const hosted = target({ hosted: [search] })
    const paused = entryOf(
      answerOf(talk.ask(request(), hosted, { text: 'let me see', native: [use], stop: 'pause_turn' })),
    )
    const later = talk.ask(request({ history: [user('hello'), paused, user('never mind')] }), hosted, {
      text: 'ok',
    })
    assert.equal(later.prepared.body.includes('srvtoolu_1'), false)
    const gone = talk.ask(request({ history: [user('hello'), paused] }), target(), { text: 'ok' })
    assert.equal(gone.prepared.body.includes('srvtoolu_1'), false)
  })

  test('an open search beside a call of ours survives only if nothing but results follows', () => {
    const talk = startTalk()
    const hosted = target({ hosted: [search] })
    const mixed = entryOf(
      answerOf(talk.ask(request(), hosted, { native: [use], calls: [{ name: 'read', input: {} }] })),
    )
    const next = talk.ask(request({ history: [user('hello'), mixed, results(mixed)] }), hosted, {
      native: [found],
      text: 'E.',
    })
    assert.equal(next.prepared.body.includes('srvtoolu_1'), true)
    const changed = talk.ask(
      request({ history: [user('hello'), mixed, results(mixed), user('wait')] }),
      hosted,
      { text: 'ok' },
    )
    assert.equal(changed.prepared.body.includes('srvtoolu_1'), false)
  })

  test('calls from code: the container is sent only with their results', () => {
    const talk = startTalk()
    const hosted = target({
      hosted: [
        { type: 'code_execution_20260120', name: 'code_execution' },
        { name: 'read', allowed_callers: ['code_execution_20260120'] },
      ],
    })
    const run = {
      type: 'server_tool_use',
      id: 'srvtoolu_7',
      name: 'code_execution',
      input: { code: 'read()' },
    }
    const made = {
      type: 'tool_use',
      id: 'toolu_7',
      name: 'read',
      input: {},
      caller: { type: 'code_execution_20260120', tool_id: 'srvtoolu_7' },
    }
    const asked = entryOf(answerOf(talk.ask(request(), hosted, { native: [run, made] })))
    const next = talk.ask(request({ history: [user('hello'), asked, results(asked)] }), hosted, {
      text: 'ok',
    })
    assert.match(JSON.stringify(next.body['container']), /^"container_/)
    assert.deepEqual(messagesOf(next.prepared)[1]?.content[1]?.['caller'], made.caller)
    const broken = talk.ask(
      request({ history: [user('hello'), asked, results(asked), user('stop')] }),
      hosted,
      { text: 'ok' },
    )
    assert.equal(broken.prepared.body.includes('srvtoolu_7'), false)
  })

  test('an answer with faulty ids and unknown tools gives a history that the double accepts', () => {
    for (const fault of [
      { kind: 'call-ids', ids: 'duplicate' },
      { kind: 'call-ids', ids: 'long' },
      { kind: 'call-ids', ids: 'empty' },
      { kind: 'tool-not-offered', name: 'a.ghost' },
      { kind: 'arguments', text: '[1' },
      { kind: 'max-tokens-in-arguments' },
    ] as const) {
      const talk = startTalk()
      const calls = [
        { name: 'read', input: { p: 'x' } },
        { name: 'read', input: { p: 'y' } },
      ]
      const entry = entryOf(answerOf(talk.ask(request(), target(), { calls, fault })))
      talk.ask(request({ history: [user('hello'), entry, results(entry)] }), target(), { text: 'ok' })
    }
  })
})

describe('through the runner', () => {
  test('a tool loop over a socket, byte by byte', async t => {
    const double = await startDouble({
      vendor: 'anthropic',
      apiKey: 'k',
      script: [
        {
          thinking: 'hm',
          text: 'I look. 😀',
          calls: [{ name: 'read', input: { p: 'ä' } }],
          fault: { kind: 'one-byte-writes' },
        },
        { text: 'done', fault: [{ kind: 'crlf' }, { kind: 'split-utf8' }] },
      ],
    })
    t.after(() => double.close())
    const model = createModel({
      protocol: anthropicMessages,
      provider: { name: 'double', url: () => double.url, headers: () => ({ 'x-api-key': 'k' }) },
      target: target({ body: { thinking: { type: 'enabled', budget_tokens: 2000 } } }),
    })
    let seen = ''
    const ask = (history: Entry[]) =>
      model.respond(
        request({ history }),
        delta => (seen += delta.type === 'text' ? delta.text : ''),
        new AbortController().signal,
      )
    const entry = entryOf(await ask([user('hello')]))
    const last = await ask([user('hello'), entry, results(entry)])
    assert.equal(last.stop, 'end')
    assert.equal(seen, 'I look. 😀done')
    assert.deepEqual(double.rejections(), [])
  })

  const mcpUse = { type: 'mcp_tool_use', id: 'mcptoolu_1', name: 'send', server_name: 'mail', input: {} }

  test('overload, rate limits and a stream that broke after it was shown are tried again', async t => {
    const double = await startDouble({
      vendor: 'anthropic',
      script: [
        { fault: { kind: 'overloaded' } },
        { fault: { kind: 'rate-limit', retryAfter: 0 } },
        { text: 'there', fault: { kind: 'error-event', after: 1 } },
        { text: 'there' },
        { text: 'broken off', fault: { kind: 'eof-before-end' } },
        { text: 'whole' },
        { text: 'broken off', native: [mcpUse], fault: { kind: 'eof-before-end' } },
      ],
    })
    t.after(() => double.close())
    const model = createModel({
      protocol: anthropicMessages,
      provider: { name: 'double', url: () => double.url, headers: () => ({ 'x-api-key': 'k' }) },
      target: target(),
      limits: { backoffMs: 1 },
    })
    const ask = () => model.respond(request(), () => {}, new AbortController().signal)
    assert.equal((await ask()).stop, 'end')
    assert.equal((await ask()).stop, 'end')
    assert.equal(double.exchanges.length, 6)
    // The vendor has called an MCP server for it: nobody knows what asking again would do.
    await assert.rejects(ask(), /closed the stream/)
    assert.equal(double.exchanges.length, 7)
  })
})
