// The three response modes, event by event, and every way in which a turn can stop.
import assert from 'node:assert/strict'
import test from 'node:test'
import type { Model, Store } from '../../../src/engine/index.ts'
import { TurnwireError } from '../../../src/language/errors.ts'
import type { Script } from '../../../src/models/scripted/index.ts'
import { defaultLimits } from '../../../src/policy/index.ts'
import { memoryStore } from '../../../src/stores/memory.ts'
import { cites } from '../../requirements/manifest.ts'
import { Rebuilder } from './reference-client.ts'
import { answerOf, callsIn, clipboard, newSession, type Rig, rig, say, sseOf, turn } from './rig.ts'

const script: Script = [
  {
    thinking: 'let me think',
    text: 'Looking it up.',
    calls: [
      { name: 'search', input: { q: 'a' } },
      { name: 'search', input: { q: 'b' } },
    ],
    chunk: 4,
  },
  { text: 'Here it is.', chunk: 4 },
]
const trusting = { agent: { tools: [{ name: 'search', trust: true }] } }

/** Names with data, ids replaced by their order. */
async function seen(at: Rig, stream: string, words = 'go'): Promise<[string, unknown][]> {
  const items = await sseOf(await turn(at, await newSession(at, trusting), say(words, stream)))
  const ids: string[] = []
  return items.map(({ event, data }) => {
    const { toolCallId, ...rest } = data as { toolCallId?: string }
    if (toolCallId !== undefined && !ids.includes(toolCallId)) ids.push(toolCallId)
    return [event ?? '', toolCallId === undefined ? rest : { toolCallId: ids.indexOf(toolCallId), ...rest }]
  })
}

test(cites('AAP-MODE-01', 'AAP-MODE-02', 'none: one JSON answer with all messages in order'), async t => {
  const at = await rig(t, { script })
  const answer = await turn(at, await newSession(at, trusting), say('go'))
  assert.equal(answer.status, 200)
  assert.match(answer.headers.get('content-type') ?? '', /^application\/json/)
  const { stopReason, messages } = await answerOf(answer)
  assert.equal(stopReason, 'end_turn')
  const [call] = callsIn(messages)
  assert.deepEqual(
    messages.map(message => message.role),
    ['assistant', 'tool', 'tool', 'assistant'],
  )
  assert.deepEqual(messages[1], { role: 'tool', toolCallId: call?.toolCallId, content: 'found a' })
  assert.deepEqual(messages[3], { role: 'assistant', content: 'Here it is.' })
})

test(
  cites(
    'AAP-MODE-03',
    'AAP-MODE-04',
    'AAP-MODE-13',
    'streams are server-sent events of a name and a line, and then close',
  ),
  async t => {
    const at = await rig(t, { script })
    for (const stream of ['delta', 'message']) {
      const answer = await turn(at, await newSession(at, trusting), say('go', stream))
      assert.equal(answer.status, 200)
      assert.equal(answer.headers.get('content-type'), 'text/event-stream')
      assert.match(answer.headers.get('cache-control') ?? '', /no-cache/)
      const body = await answer.text()
      for (const block of body.split('\n\n').slice(0, -1)) {
        const match = /^event: ([a-z_]+)\ndata: (\{.*\})$/.exec(block)
        assert.ok(match, block)
        assert.ok(!('event' in JSON.parse(match[2]!)))
      }
      assert.ok(body.endsWith('\n\n'))
    }
  },
)

test(
  cites(
    'AAP-MODE-05',
    'AAP-MODE-06',
    'AAP-MODE-07',
    'AAP-MODE-10',
    'AAP-MODE-11',
    'AAP-MODE-12',
    'AAP-MODE-14',
    'AAP-MODE-18',
    'AAP-MODE-20',
    'delta: pieces of thinking and text, whole calls, results, one stop',
  ),
  async t => {
    const at = await rig(t, { script })
    assert.deepEqual(await seen(at, 'delta'), [
      ['turn_start', {}],
      ...['let ', 'me t', 'hink'].map(delta => ['thinking_delta', { delta }]),
      ...['Look', 'ing ', 'it u', 'p.'].map(delta => ['text_delta', { delta }]),
      ['tool_call', { toolCallId: 0, name: 'search', input: { q: 'a' } }],
      ['tool_call', { toolCallId: 1, name: 'search', input: { q: 'b' } }],
      ['tool_result', { toolCallId: 0, content: 'found a' }],
      ['tool_result', { toolCallId: 1, content: 'found b' }],
      ...['Here', ' it ', 'is.'].map(delta => ['text_delta', { delta }]),
      ['turn_stop', { stopReason: 'end_turn' }],
    ])
  },
)

test(
  cites(
    'AAP-MODE-08',
    'AAP-MODE-09',
    'AAP-MODE-10',
    'AAP-MODE-11',
    'AAP-MODE-19',
    'message: whole texts and thoughts, no pieces',
  ),
  async t => {
    const at = await rig(t, { script })
    assert.deepEqual(await seen(at, 'message'), [
      ['turn_start', {}],
      ['thinking', { thinking: 'let me think' }],
      ['text', { text: 'Looking it up.' }],
      ['tool_call', { toolCallId: 0, name: 'search', input: { q: 'a' } }],
      ['tool_call', { toolCallId: 1, name: 'search', input: { q: 'b' } }],
      ['tool_result', { toolCallId: 0, content: 'found a' }],
      ['tool_result', { toolCallId: 1, content: 'found b' }],
      ['text', { text: 'Here it is.' }],
      ['turn_stop', { stopReason: 'end_turn' }],
    ])
    const names = (await seen(at, 'delta')).map(([name]) => name)
    assert.ok(!names.includes('text') && !names.includes('thinking'))
  },
)

test(cites('AAP-MODE-15', 'an answer without deltas is shown whole'), async t => {
  const silent: Model = {
    id: 'silent',
    respond: async () => ({
      parts: [
        { type: 'thinking', text: 'hm' },
        { type: 'text', text: 'yes' },
        {
          type: 'hosted',
          tool: 'web',
          summary: '3 pages',
          native: { origin: { protocol: 'x', family: 'y' }, data: 1 },
        },
      ],
      stop: 'end',
    }),
  }
  const at = await rig(t, { model: silent })
  assert.deepEqual((await seen(at, 'delta')).slice(1, -1), [
    ['thinking_delta', { delta: 'hm' }],
    ['text_delta', { delta: 'yes' }],
    ['thinking_delta', { delta: '[web] 3 pages' }],
  ])
})

test(
  cites('AAP-MODE-16', 'a step that starts over repeats nothing and ends with the whole answer'),
  async t => {
    const starting = (first: string, then: string): Model => ({
      id: 'restless',
      respond: async (_request, watch) => {
        watch({ type: 'text', text: first })
        watch({ type: 'reset' })
        for (const text of then) watch({ type: 'text', text })
        return { parts: [{ type: 'text', text: then }], stop: 'end' }
      },
    })
    const shown = async (first: string, then: string) => {
      const at = await rig(t, { model: starting(first, then) })
      assert.deepEqual((await seen(at, 'message')).slice(1, -1), [['text', { text: then }]])
      return (await seen(at, 'delta')).map(([, data]) => (data as { delta?: string }).delta ?? '').join('')
    }
    assert.equal(await shown('Hello', 'Hello world'), 'Hello world')
    assert.equal(await shown('Hello', 'Help'), 'Hello\n\nHelp')
    assert.equal(await shown('Hello world', 'Hello'), 'Hello world\n\nHello')
    assert.equal(await shown('Hello', 'Hello'), 'Hello')
  },
)

test(cites('AAP-MODE-17', 'the three modes have the same content'), async t => {
  const at = await rig(t, { script })
  // The published client puts text before thinking, and text alone in a list: neither is a difference.
  const plain = (messages: readonly object[]) =>
    messages.map(message => {
      const { content, ...rest } = message as { content: string | { type: string }[] }
      const blocks = typeof content === 'string' ? [{ type: 'text', text: content }] : content
      const sorted = blocks.toSorted((a, b) => b.type.localeCompare(a.type))
      return JSON.stringify({ ...rest, content: sorted }).replaceAll(/call_\w+/g, 'call')
    })
  const { messages } = await answerOf(turn(at, await newSession(at, trusting), say('go')))
  for (const stream of ['message', 'delta']) {
    const rebuilt = new Rebuilder()
    const items = await sseOf(await turn(at, await newSession(at, trusting), say('go', stream)))
    for (const { event, data } of items) rebuilt.take({ event: event ?? '', ...(data as object) })
    assert.deepEqual(plain(rebuilt.messages), plain(messages), stream)
  }
})

// ---- how a turn stops ---------------------------------------------------------------------------------------

async function stops(at: Rig, body: Record<string, unknown> = {}): Promise<string[]> {
  const reasons: string[] = []
  for (const stream of ['none', 'message', 'delta']) {
    const answer = await turn(at, await newSession(at, body), say('go', stream))
    if (stream === 'none') reasons.push((await answerOf(answer)).stopReason)
    else {
      const items = await sseOf(answer)
      assert.equal(items.filter(({ event }) => event === 'turn_stop').length, 1)
      assert.equal(items[0]?.event, 'turn_start')
      assert.equal(items.at(-1)?.event, 'turn_stop')
      reasons.push((items.at(-1)!.data as { stopReason: string }).stopReason)
    }
  }
  return reasons
}

const all = (reason: string) => [reason, reason, reason]

test(
  cites(
    'AAP-STOP-01',
    'AAP-STOP-02',
    'AAP-STOP-03',
    'AAP-STOP-05',
    'AAP-STOP-06',
    'AAP-MODE-12',
    'how the model stops is how the turn stops',
  ),
  async t => {
    const withStop = (step: object) => rig(t, { script: [{ text: 'so', ...step }] })
    assert.deepEqual(await stops(await withStop({})), all('end_turn'))
    assert.deepEqual(await stops(await withStop({ stop: 'length' })), all('max_tokens'))
    assert.deepEqual(await stops(await withStop({ stop: 'refusal' })), all('refusal'))
    assert.deepEqual(await stops(await withStop({ stop: 'filter' })), all('refusal'))
    const calling = await withStop({ calls: [{ name: 'clipboard' }] })
    assert.deepEqual(await stops(calling, { tools: [clipboard] }), all('tool_use'))
  },
)

test(cites('AAP-STOP-04', 'a limit of the runtime is max_tokens'), async t => {
  const at = await rig(t, {
    script: () => ({ calls: [{ name: 'search', input: { q: 'again' } }] }),
    agent: { limits: { ...defaultLimits, identicalCalls: 2 } },
  })
  assert.deepEqual(await stops(at, trusting), all('max_tokens'))
})

test(cites('AAP-STOP-07', 'a model that fails, at once or in mid-stream, is one error'), async t => {
  for (const after of [0, 2]) {
    const fail = { code: 'model_failed', message: 'sk-CANARY is not valid', after } as const
    const at = await rig(t, { script: () => ({ text: 'half an answer', chunk: 4, fail }) })
    assert.deepEqual(await stops(at), all('error'))
  }
  const broken: Model = { id: 'broken', respond: () => Promise.reject(new Error('a defect')) }
  assert.deepEqual(await stops(await rig(t, { model: broken })), all('error'))
})

test(cites('AAP-STOP-08', 'a store that fails in mid-turn is one error'), async t => {
  const reasons: string[] = []
  for (const stream of ['none', 'message', 'delta']) {
    const store = memoryStore()
    let failing = false
    const unsure: Store = {
      ...store,
      append: batch =>
        failing ? Promise.reject(new TurnwireError('store_failed', 'disk CANARY')) : store.append(batch),
    }
    const model: Model = {
      id: 'm',
      respond: async (_request, watch) => {
        await new Promise(resolve => setImmediate(resolve))
        watch({ type: 'text', text: 'so far' })
        failing = true
        return { parts: [{ type: 'text', text: 'so far' }], stop: 'end' }
      },
    }
    const at = await rig(t, { store: unsure, model })
    const id = await newSession(at)
    const body = await (await turn(at, id, say('go', stream))).text()
    assert.ok(!body.includes('CANARY'))
    reasons.push(/"stopReason":"(\w+)"/.exec(body)?.[1] ?? '')
    assert.equal(body.match(/stopReason/g)?.length, 1)
    const refused = await turn(at, id, say('again', stream))
    // Refused by the store, or busy with what the log says is unfinished: never accepted.
    assert.ok(refused.status === 503 || refused.status === 409)
    await refused.text()
  }
  assert.deepEqual(reasons, all('error'))
})
