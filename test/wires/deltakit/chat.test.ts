// DeltaKit's direct transport: frames, events, sessions and refusals, read by a client that is not ours.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { cites } from '../../requirements/manifest.ts'
import { type Rig, rig, until } from '../rig.ts'
import { blocksOf, Chat, eventsOf, readEvents, textIn, type Wire } from './reference-client.ts'

const post = (at: Rig, body: unknown, options?: Parameters<Rig['request']>[3]) =>
  at.request('POST', '/api/chat', body, options)

const ofType = (events: Wire[], type: string): Wire[] => events.filter(event => event.type === type)
async function rowsOf(at: Rig, owner = 'alice'): Promise<{ id: string; head: number }[]> {
  return (await at.sessions.list(owner, { limit: 50 })).rows
}

test(
  cites('DK-SSE-01', 'DK-SSE-03', 'DK-SSE-04', 'DK-SSE-05', 'DK-CHAT-01', 'frames are what the parser wants'),
  async t => {
    const at = await rig(t, { script: [{ text: 'Yes, it is dry.' }] })
    const answer = await post(at, { message: 'dry?' })
    assert.equal(answer.status, 200)
    assert.match(answer.headers.get('content-type') ?? '', /^text\/event-stream/)
    assert.match(answer.headers.get('cache-control') ?? '', /no-cache/)
    assert.equal(answer.headers.get('x-accel-buffering'), 'no')
    const blocks = await blocksOf(answer)
    assert.equal(blocks.at(-1), 'data: [DONE]')
    for (const block of blocks.slice(0, -1)) {
      assert.match(block, /^data: \{.*\}$/)
      assert.equal(typeof (JSON.parse(block.slice(6)) as Wire).type, 'string')
    }
    assert.ok(!blocks.join('\n\n').includes('\r'))
  },
)

test(cites('DK-SSE-02', 'DK-EVENT-01', 'a document stays on one line, whatever it holds'), async t => {
  const words = 'one\n\ntwo\r\nthree\u2028four\u0085five 😀 data: [DONE] six'
  for (const chunk of [1, 3, 100]) {
    const at = await rig(t, { script: [{ text: words, chunk }] })
    const answer = await post(at, { message: 'x' })
    const blocks = await blocksOf(answer.clone())
    assert.ok(blocks.every(block => /^data: [^\n\r\u0085\u2028\u2029]*$/.test(block)))
    assert.equal(textIn(await readEvents(answer)), words)
  }
})

test(cites('DK-SSE-06', 'heartbeats are comments'), async t => {
  const at = await rig(t, { script: [{ calls: [{ name: 'slow' }] }, { text: 'done' }], heartbeatMs: 5 })
  const answer = await post(at, { message: 'x' })
  let seen = ''
  const decoder = new TextDecoder()
  for await (const bytes of answer.body!) {
    seen += decoder.decode(bytes, { stream: true })
    if (seen.includes('\n\n:\n\n')) at.release()
  }
  assert.match(seen, /\n\n:\n\n/)
  assert.equal(textIn(await readEvents(new Response(seen))), 'done')
})

test(
  cites(
    'DK-EVENT-02',
    'DK-EVENT-03',
    'DK-EVENT-04',
    'DK-EVENT-05',
    'DK-EVENT-08',
    'DK-EVENT-09',
    'a whole turn',
  ),
  async t => {
    const script = [
      {
        thinking: 'I need both. ',
        text: 'Looking. ',
        calls: [
          { name: 'search', input: { q: 'a' } },
          { name: 'search', input: { q: 'b' } },
        ],
        chunk: 2,
      },
      { text: 'Between. ', calls: [{ name: 'search', input: { q: 'c' } }] },
      { text: 'All found.' },
    ]
    const at = await rig(t, { script })
    const events = await readEvents(await post(at, { message: 'find' }))
    const calls = ofType(events, 'tool_call')
    assert.deepEqual(
      calls.map(call => [call['tool_name'], JSON.parse(String(call['argument']))]),
      [
        ['search', { q: 'a' }],
        ['search', { q: 'b' }],
        ['search', { q: 'c' }],
      ],
    )
    assert.equal(new Set(calls.map(call => call['call_id'])).size, 3)
    for (const call of calls) {
      const result = events.findIndex(
        each => each.type === 'tool_result' && each['call_id'] === call['call_id'],
      )
      assert.ok(result > events.indexOf(call))
    }
    const chat = new Chat()
    chat.send('find')
    for (const event of events) chat.take(event)
    assert.deepEqual(
      chat.messages[1]!.parts.map(part => (part.type === 'tool_call' ? part.result : part.text)),
      ['I need both. ', 'Looking. ', 'found a', 'found b', 'Between. ', 'found c', 'All found.'],
    )
  },
)

test(
  cites('DK-EVENT-06', 'DK-EVENT-07', 'DK-EVENT-10', 'results are strings, failures are words'),
  async t => {
    const calls = [
      { name: 'picture' },
      { name: 'fails' },
      { name: 'weather' },
      { name: 'search', text: '{"q":' },
      { name: 'nothing', text: '[1]' },
      { name: 'patch', text: 'free text' },
    ]
    const at = await rig(t, { script: [{ calls }, { text: 'ok' }] })
    const events = await readEvents(await post(at, { message: 'x' }))
    const outputs = ofType(events, 'tool_result').map(event => event['output'])
    assert.ok(outputs.every(output => typeof output === 'string'))
    assert.deepEqual(outputs.slice().sort().slice(0, 1), ['The tool failed: no such luck'])
    assert.ok(outputs.includes('look\n[image https://example.org/a.png]'))
    assert.ok(outputs.includes('{"degrees":4}'))
    assert.ok(outputs.some(output => String(output).startsWith('The tool was not run:')))
    assert.ok(outputs.some(output => String(output).startsWith('There is no tool named "nothing"')))
    const given = ofType(events, 'tool_call').map(event => JSON.parse(String(event['argument'])) as unknown)
    assert.deepEqual(given.slice(3), [{ input: '{"q":' }, { input: '[1]' }, { input: 'free text' }])
  },
)

test(cites('DK-EVENT-11', 'a step that starts over shows nothing twice'), async t => {
  const at = await rig(t, { script: [{ text: 'a b c d e f', chunk: 2, reset: true }] })
  assert.equal(textIn(await readEvents(await post(at, { message: 'x' }))), 'a b c d e f')
})

test(cites('DK-EVENT-11', 'a step that starts over with other text ends with the answer'), async t => {
  const { promise: seen, resolve } = Promise.withResolvers<void>()
  const at = await rig(t, {
    model: {
      id: 'wavering',
      async respond(_request, watch) {
        for (const text of ['I think ', 'it is ', 'wet']) watch({ type: 'text', text })
        await seen
        watch({ type: 'reset' })
        for (const text of ['I think ', 'not ', 'wet ', 'at all']) watch({ type: 'text', text })
        return { parts: [{ type: 'text', text: 'I think not wet at all' }], stop: 'end' }
      },
    },
  })
  const events: Wire[] = []
  for await (const event of eventsOf(await post(at, { message: 'x' }))) {
    events.push(event)
    if (event['delta'] === 'is ') resolve()
  }
  assert.equal(textIn(events), 'I think it is \n\nI think not wet at all')
})

test(cites('DK-EVENT-12', 'DK-CHAT-05', 'a default client shows the text and ignores the rest'), async t => {
  const at = await rig(t, {
    script: [{ text: 'a ', calls: [{ name: 'search', input: { q: 'x' } }] }, { text: 'b' }],
  })
  const answer = await post(at, { message: 'x' })
  const made = answer.headers.get('x-session-id')
  const events = await readEvents(answer)
  assert.deepEqual(events[0], { type: 'session', sessionId: made })
  const chat = new Chat()
  chat.send('x')
  for (const event of events) chat.takeByDefault(event)
  assert.deepEqual(chat.messages[1]!.parts, [{ type: 'text', text: 'a b' }])
})

test(cites('DK-CHAT-02', 'DK-CHAT-03', 'DK-CHAT-04', 'a session by body or by header'), async t => {
  const seen: string[] = []
  const at = await rig(t, {
    script: request => {
      seen.push(request.history.map(({ role }) => role).join(' '))
      return { text: 'ok' }
    },
  })
  const id = (await post(at, { message: 'one', colour: { of: ['no'] } })).headers.get('x-session-id')!
  await until(async () => (await at.sessions.peek('alice', id)).turn === null)
  const second = await post(at, { message: 'two', sessionId: id })
  assert.ok(!(await readEvents(second)).some(event => event.type === 'session'))
  await readEvents(await post(at, { message: 'three' }, { headers: { 'x-session-id': id } }))
  assert.deepEqual(seen, ['user', 'user assistant user', 'user assistant user assistant user'])
  assert.equal((await rowsOf(at)).length, 1)
})

test(cites('DK-CHAT-04', 'a session can be made before its first message'), async t => {
  const at = await rig(t)
  const made = await at.request('POST', '/api/sessions', { agent: 'other' })
  assert.equal(made.status, 201)
  const { sessionId } = (await made.json()) as { sessionId: string }
  const answer = await post(at, { message: 'hi', sessionId })
  assert.equal(textIn(await readEvents(answer)), 'the other one')
})

test(cites('DK-CHAT-06', 'the agent in the path, in the body, or the first'), async t => {
  const at = await rig(t)
  const ask = async (path: string, body: object) =>
    textIn(await readEvents(await at.request('POST', path, { message: 'x', ...body })))
  assert.equal(await ask('/api/chat', {}), 'hello')
  assert.equal(await ask('/api/chat', { agent: 'other' }), 'the other one')
  assert.equal(await ask('/api/chat/other', {}), 'the other one')
  assert.equal((await at.request('POST', '/api/chat/nobody', { message: 'x' })).status, 400)
  const id = (await post(at, { message: 'x' })).headers.get('x-session-id')!
  assert.equal((await at.request('POST', '/api/chat/other', { message: 'x', sessionId: id })).status, 400)
})

test(cites('DK-CHAT-07', 'bad input is refused with a message and changes nothing'), async t => {
  const at = await rig(t)
  const id = (await post(at, { message: 'x' })).headers.get('x-session-id')!
  await until(async () => (await at.sessions.peek('alice', id)).turn === null)
  const before = await rowsOf(at)
  const bodies: unknown[] = [
    '',
    '{',
    '[]',
    '"x"',
    '{"message":"a","message":"b"}',
    {},
    { message: 7 },
    { message: '' },
    { message: '  ' },
    { message: 'x', sessionId: 7 },
    { message: 'x', sessionId: '' },
    { message: 'x', sessionId: 'a\u0000b' },
    { message: 'x', agent: 'nobody' },
    { message: 'x', tools: 'all' },
    { message: 'x', tools: [{ name: 'a' }] },
    { message: 'x', tools: [{ name: 'search', description: 'taken', parameters: {} }] },
    { message: 'x', tools: [{ name: 'a', description: 'b', parameters: 'none' }] },
  ]
  for (const body of bodies) {
    const given =
      typeof body === 'object' ? { ...body, ...(!('sessionId' in (body ?? {})) && { sessionId: id }) } : body
    const answer = await post(at, given)
    assert.equal(answer.status, 400, JSON.stringify(body))
    const { detail, code } = (await answer.json()) as { detail: string; code: string }
    assert.ok(detail.length > 10 && code !== '', JSON.stringify(body))
  }
  const large = await post(at, { message: 'x'.repeat(30 * 1024 * 1024) }).catch(() => undefined)
  assert.ok(large === undefined || large.status === 413)
  assert.deepEqual(await rowsOf(at), before)
})

/** What the hook sees of a stream: its events, and the error that it shows. */
async function hookSees(answer: Response): Promise<{ events: Wire[]; error?: unknown }> {
  const events: Wire[] = []
  try {
    for await (const event of eventsOf(answer)) events.push(event)
    return { events }
  } catch (error) {
    return { events, error }
  }
}

test(
  cites('DK-CHAT-08', 'a model that fails in mid-stream is an error event, and the hook fails'),
  async t => {
    const fail = { code: 'model_failed', message: 'The provider is away.', after: 2 } as const
    const at = await rig(t, { script: [{ text: 'one two three four', chunk: 4, fail }] })
    const { events, error } = await hookSees(await post(at, { message: 'x' }))
    assert.ok(error instanceof Error)
    assert.ok(events.some(({ type }) => type === 'text_delta'))
    assert.deepEqual(events.at(-1), {
      type: 'error',
      message: 'The provider is away.',
      code: 'model_failed',
    })
  },
)

test(cites('DK-CHAT-08', 'a model that fails at once is a status, which the hook shows'), async t => {
  const fail = { code: 'model_failed', message: 'The provider is away.' } as const
  const at = await rig(t, { script: [{ fail }] })
  const answer = await post(at, { message: 'x' })
  assert.match(answer.headers.get('x-session-id') ?? '', /^sess_/)
  const body = (await answer.clone().json()) as { detail: string }
  assert.equal(body.detail, 'The provider is away.')
  const { error } = await hookSees(answer)
  assert.match(String(error), /SSE request failed: 502/)
})

test(cites('DK-CHAT-08', 'a server that stops says so to those who read'), async t => {
  const at = await rig(t, { script: [{ text: 'one two three', chunk: 4, hang: true }] })
  const answer = await post(at, { message: 'x' })
  const events: Wire[] = []
  const reading = async (): Promise<void> => {
    for await (const event of eventsOf(answer)) {
      events.push(event)
      if (event.type === 'text_delta') void at.stop()
    }
  }
  await assert.rejects(reading)
  assert.equal(events.at(-1)?.type, 'error')
  assert.match(String(events.at(-1)?.['message']), /stopping/)
})

test(cites('DK-CHAT-09', 'a client that goes away does not end the turn'), async t => {
  const at = await rig(t, { script: [{ calls: [{ name: 'slow' }] }, { text: 'finished' }] })
  const gone = new AbortController()
  const answer = await post(at, { message: 'x' }, { signal: gone.signal })
  const id = answer.headers.get('x-session-id')!
  await until(() => at.runs.length === 1)
  gone.abort()
  at.release()
  await until(async () => (await at.sessions.peek('alice', id)).turn === null)
  const state = await at.sessions.peek('alice', id)
  assert.equal(state.lastStop?.stop, 'end')
  assert.equal(state.entries.length, 4)
})

test(cites('DK-CHAT-10', 'one turn at a time'), async t => {
  const at = await rig(t, { script: [{ calls: [{ name: 'slow' }] }, { text: 'finished' }] })
  const first = await post(at, { message: 'x' })
  const sessionId = first.headers.get('x-session-id')!
  const second = await post(at, { message: 'y', sessionId })
  assert.equal(second.status, 409)
  assert.equal(((await second.json()) as { code: string }).code, 'busy')
  at.release()
  assert.equal(textIn(await readEvents(first)), 'finished')
})

test(cites('DK-CHAT-11', 'the same key is the same message'), async t => {
  const at = await rig(t, { script: [{ calls: [{ name: 'search', input: { q: 'a' } }] }, { text: 'ok' }] })
  const headers = { 'idempotency-key': 'k-1' }
  const first = await readEvents(await post(at, { message: 'x' }, { headers }))
  const again = await readEvents(await post(at, { message: 'x' }, { headers }))
  assert.deepEqual(again, first)
  assert.equal(at.runs.length, 1)
  assert.equal((await post(at, { message: 'another' }, { headers })).status, 409)
})

test(cites('DK-CHAT-04', 'a client may choose the id of its session'), async t => {
  const seen: number[] = []
  const at = await rig(t, {
    script: ({ history }) => {
      seen.push(history.length)
      return { text: 'ok' }
    },
  })
  const first = await post(at, { message: 'one', sessionId: 'k1' })
  const events = await readEvents(first)
  const id = first.headers.get('x-session-id')!
  assert.deepEqual(events[0], { type: 'session', sessionId: id })
  await readEvents(await post(at, { message: 'two', sessionId: 'k1' }))
  await readEvents(await post(at, { message: 'three' }, { headers: { 'X-Session-Id': 'k1' } }))
  await readEvents(await post(at, { message: 'four', sessionId: id }))
  assert.deepEqual(seen, [1, 3, 5, 7])
  const history = (await (await at.request('GET', '/api/history?sessionId=k1')).json()) as unknown[]
  assert.equal(history.length, 8)
  assert.equal((await at.request('GET', '/api/history?sessionId=k1', undefined, { who: 'bob' })).status, 404)
  assert.equal((await post(at, { message: 'x', sessionId: 'sess_unknown' })).status, 404)
  assert.equal((await at.request('POST', '/api/chat/other', { message: 'x', sessionId: 'k1' })).status, 400)
})

test(cites('DK-CHAT-01', 'a path with a slash at its end, and a body without a type'), async t => {
  const at = await rig(t, { script: [{ text: 'hello' }] })
  for (const path of ['/api/chat', '/api/chat/']) {
    // A text as the body of `fetch` without a Content-Type is sent as text/plain.
    const answer = await fetch(at.url + path, {
      method: 'POST',
      headers: at.headers(),
      body: JSON.stringify({ message: 'x' }),
    })
    assert.equal(textIn(await readEvents(answer)), 'hello')
  }
  const form = { 'Content-Type': 'application/x-www-form-urlencoded' }
  assert.equal((await at.request('POST', '/api/chat', { message: 'x' }, { headers: form })).status, 415)
})

test(cites('DK-CHAT-12', 'DK-JOB-08', 'another owner finds nothing on any route'), async t => {
  const at = await rig(t, { script: [{ calls: [{ name: 'mail', input: { to: 'ana' } }] }, { text: 'ok' }] })
  const started = await at.request('POST', '/api/jobs', { message: 'x' })
  const { runId, sessionId } = (await started.json()) as { runId: string; sessionId: string }
  await until(async () => (await at.sessions.peek('alice', sessionId)).batch[0]?.stage === 'asking')
  const callId = (await at.sessions.peek('alice', sessionId)).batch[0]!.part.id
  const before = (await rowsOf(at))[0]!.head
  const tries: [string, string, unknown?][] = [
    ['POST', '/api/chat', { message: 'x', sessionId }],
    ['POST', '/api/chat/answer', { sessionId, approvals: [{ call_id: callId, approved: true }] }],
    ['GET', `/api/history?sessionId=${sessionId}`],
    ['GET', `/api/active-run?sessionId=${sessionId}`],
    ['GET', `/api/jobs/${runId}`],
    ['GET', `/api/jobs/${runId}/events`],
    ['POST', `/api/jobs/${runId}/cancel`],
  ]
  for (const [method, path, body] of tries) {
    assert.equal((await at.request(method, path, body, { who: 'bob' })).status, 404, path)
    // Whoever has the id of a run may stop it: see the test of jobs.
    if (!path.endsWith('/cancel'))
      assert.equal((await at.request(method, path, body, { who: 'nobody' })).status, 401, path)
  }
  assert.equal((await rowsOf(at))[0]!.head, before)
  assert.deepEqual(at.runs, [])
})

test(cites('DK-CHAT-13', 'a turn that a limit or a length ends says so'), async t => {
  const at = await rig(t, { script: [{ text: 'cut', stop: 'length' }] })
  const events = await readEvents(await post(at, { message: 'x' }))
  assert.deepEqual(events.at(-1), { type: 'stopped', reason: 'length' })
})

test('a client that never reads is dropped, and the turn goes on', async t => {
  const text = 'word '.repeat(200_000)
  const at = await rig(t, { script: [{ text }], unsentBytes: 64 * 1024 })
  const answer = await post(at, { message: 'x' })
  const id = answer.headers.get('x-session-id')!
  await until(async () => (await at.sessions.peek('alice', id)).turn === null)
  await assert.rejects(async () => {
    for (;;)
      if ((await readEvents(answer)).length > 0)
        throw new Error('it was all kept for a client that did not read')
  })
  const items = (await (await at.request('GET', `/api/history?sessionId=${id}`)).json()) as unknown[]
  assert.equal(items.length, 2)
})
