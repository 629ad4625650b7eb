// The protocol behind the runner, over a socket, against the strict double: the contract of every model, a tool loop in
// either mode, and badly split streams, compared with the vendor's own SDK.

import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import OpenAI from 'openai'
import { foldDeltas, type ModelScenario, modelContract } from '../../../../test/contracts/model.ts'
import type { Model, ModelDelta } from '../../../engine/ports/index.ts'
import type { Entry } from '../../../language/history.ts'
import { isJsonObject } from '../../../lib/json/index.ts'
import { type Fault, type RunningDouble, type Script, startDouble } from '../../../testing/doubles/index.ts'
import type { ModelTarget } from '../../protocol.ts'
import { createModel, type RunLimits } from '../../run.ts'
import { createAgents } from '../../run-http.ts'
import { outcome, request, stateful, target, tool, user } from './harness.test.ts'
import { openaiResponses } from './index.ts'

const agents = createAgents({})
after(() => agents.http.destroy())

async function open(
  script: Script,
  more: { target?: ModelTarget; limits?: Partial<RunLimits> } = {},
): Promise<{ model: Model; double: RunningDouble }> {
  const double = await startDouble({ vendor: 'openai-responses', script })
  after(() => double.close())
  const model = createModel({
    protocol: openaiResponses,
    provider: {
      name: 'double',
      url: () => `${double.url}/v1`,
      headers: () => ({ authorization: 'Bearer sk-test-key' }),
    },
    target: more.target ?? target,
    limits: { retries: 0, backoffMs: 1, ...more.limits },
    agents,
  })
  return { model, double }
}

test('if the stored response is gone, the whole history is sent', async () => {
  const { model, double } = await open([{ text: 'one' }, { text: 'two' }], { target: stateful })
  const never = new AbortController().signal
  const first = await model.respond(request([user('hi')]), () => {}, never)
  const entry: Entry = { role: 'assistant', parts: [{ type: 'text', text: 'one' }] }
  const { continuity, origin, parts } = first
  assert.ok(isJsonObject(continuity?.data) && origin !== undefined)
  const kept = { origin, data: { ...continuity.data, response: 'resp_gone' } }
  const said = parts.filter(part => part.type === 'text')
  const history: Entry[] = [user('hi'), { ...entry, parts: said, origin, continuity: kept }, user('more')]
  const answer = await model.respond(request(history), () => {}, never)
  assert.equal(answer.stop, 'end')
  assert.deepEqual(
    double.exchanges.map(({ status, body }) => [
      status,
      isJsonObject(body) && 'previous_response_id' in body,
    ]),
    [
      [200, false],
      [400, true],
      [200, false],
    ],
  )
})

test('a model that refuses reasoning is asked without it from then on', async () => {
  const plain = { ...target, model: 'gpt-4o', family: 'gpt' }
  const { model, double } = await open([{ text: 'one' }, { text: 'two' }], { target: plain })
  const never = new AbortController().signal
  const history = thought()
  assert.equal((await model.respond(request(history), () => {}, never)).stop, 'end')
  assert.equal((await model.respond(request([...history, user('more')]), () => {}, never)).stop, 'end')
  assert.deepEqual(
    double.exchanges.map(({ status, body }) => [status, isJsonObject(body) && 'include' in body]),
    [
      [400, true],
      [200, false],
      [200, false],
    ],
  )
  assert.deepEqual(
    double.rejections().map(({ rule }) => rule),
    ['R-NR'],
  )
})

/** What a model that reasons has said. */
function thought(): Entry[] {
  const origin = { protocol: 'openai-responses', family: 'gpt' }
  const sealed = { type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: 'gAAAA' }
  const said = {
    type: 'message',
    id: 'msg_1',
    role: 'assistant',
    content: [{ type: 'output_text', text: 'yes' }],
  }
  return [
    user('hi'),
    {
      role: 'assistant',
      origin,
      parts: [
        { type: 'thinking', text: '', native: { origin, data: sealed } },
        { type: 'text', text: 'yes', native: { origin, data: said } },
      ],
    },
    user('again'),
  ]
}

const calls = [
  { name: 'get_weather', input: { city: 'Paris' } },
  { name: 'get_time', input: { city: 'Oslo' } },
]

/** Two calls that open in another order than they stand in. */
function disordered(): { data: unknown }[] {
  const message = (n: number) => ({
    id: `msg_${n}`,
    type: 'message',
    role: 'assistant',
    content: [{ type: 'output_text', text: `words ${n}`, annotations: [] }],
  })
  const done = (n: number) => ({ type: 'response.output_item.done', output_index: n, item: message(n) })
  const delta = (n: number) => ({
    type: 'response.output_text.delta',
    output_index: n,
    content_index: 0,
    delta: `words ${n}`,
  })
  const added = (n: number) => ({
    type: 'response.output_item.added',
    output_index: n,
    item: { ...message(n), content: [] },
  })
  const response = { id: 'resp_1', object: 'response', status: 'completed', output: [0, 1].map(message) }
  const events = [
    added(1),
    delta(1),
    added(0),
    delta(0),
    done(1),
    done(0),
    { type: 'response.completed', response },
  ]
  return events.map(data => ({ data }))
}

const scenes: Record<ModelScenario, () => Promise<{ model: Model }>> = {
  words: () => open(() => ({ thinking: 'A greeting.', text: 'Good morning to you.', chunk: 3 })),
  calls: () => open(() => ({ text: 'I look.', calls, chunk: 4 })),
  'one-call': () =>
    open(body => ({
      calls: isJsonObject(body) && body['parallel_tool_calls'] === false ? calls.slice(1) : calls,
    })),
  'no-calls': () =>
    open(body => (isJsonObject(body) && body['tool_choice'] === 'none' ? { text: 'I may not.' } : { calls })),
  reset: () => open(() => ({ raw: disordered() })),
  slow: () => open(() => ({ text: 'one two', chunk: 3, fault: { kind: 'hang-after-frames', frames: 5 } })),
  silent: () => open(() => ({ fault: { kind: 'hang' } })),
  fails: () => open(() => ({ text: 'so far', fault: { kind: 'eof-before-end' } })),
  rejects: () => open(() => ({}), { target: { ...target, body: { max_tokens: 5 } } }),
  'times-out': () => open(() => ({ fault: { kind: 'hang' } }), { limits: { firstByteMs: 20 } }),
}
modelContract('openai-responses', async scenario => (await scenes[scenario]()).model)

async function ask(model: Model, history: Entry[]) {
  const deltas: ModelDelta[] = []
  const tools = [tool('get_weather'), tool('get_time')]
  const answer = await model.respond(
    request([...history], { tools }),
    delta => deltas.push(delta),
    new AbortController().signal,
  )
  return { answer, deltas }
}

for (const mode of [target, stateful]) {
  test(`a tool loop over a socket, ${mode.stateful ? 'stateful' : 'stateless'}`, async () => {
    const { model, double } = await open(
      [{ thinking: 'hm', text: 'I look.', calls }, { calls }, { text: 'Done.' }],
      {
        target: mode,
      },
    )
    const history: Entry[] = [user('how warm, how late?')]
    for (let step = 0; step < 3; step++) {
      const { answer } = await ask(model, history)
      const parts = answer.parts.map((part, at) =>
        part.type === 'call' ? { ...part, id: `ours-${step}-${at}` } : part,
      )
      const { origin, continuity } = answer
      history.push({ role: 'assistant', parts, ...(origin && { origin }), ...(continuity && { continuity }) })
      const asked = parts.filter(part => part.type === 'call')
      if (asked.length === 0) break
      const results = asked.map(({ id, name }) => ({ callId: id, name, outcome: outcome('21') }))
      history.push({ role: 'tool', results })
    }
    assert.deepEqual([double.rejections(), double.harnessErrors()], [[], []])
    assert.equal(history.length, 6)
    const last = double.exchanges.at(-1)?.body
    assert.equal(isJsonObject(last) && 'previous_response_id' in last, mode.stateful)
  })
}

const faults: Fault[] = [
  { kind: 'one-byte-writes' },
  { kind: 'crlf' },
  { kind: 'split-utf8' },
  { kind: 'unknown-events' },
  { kind: 'ping-flood', count: 50 },
]
for (const fault of faults) {
  test(`${fault.kind}: the answer that the vendor's SDK reads without it`, async () => {
    const turn = { thinking: 'hm', text: 'Zürich 🏔', calls, chunk: 2 }
    const { model, double } = await open([{ ...turn, fault }, turn])
    const { answer, deltas } = await ask(model, [user('x')])
    const shown = foldDeltas(deltas)
    assert.equal(shown.text, 'Zürich 🏔')
    const client = new OpenAI({ apiKey: 'sk-test-key', baseURL: `${double.url}/v1`, maxRetries: 0 })
    const final = await client.responses.stream({ model: 'm', input: 'x' }).finalResponse()
    assert.equal(shown.text, final.output_text)
    assert.deepEqual(
      answer.parts.flatMap(part => (part.type === 'call' ? [part.text] : [])),
      final.output.flatMap(item => (item.type === 'function_call' ? [item.arguments] : [])),
    )
  })
}

test('refusals that may pass are retried', async () => {
  const refusals: Fault[] = [
    { kind: 'rate-limit', retryAfter: 0 },
    { kind: 'overloaded' },
    { kind: 'server-error' },
  ]
  const { model, double } = await open([...refusals.map(fault => ({ fault })), { text: 'at last' }], {
    limits: { retries: 3 },
  })
  const { answer } = await ask(model, [user('x')])
  assert.equal(answer.parts[0]?.type === 'text' && answer.parts[0].text, 'at last')
  assert.equal(double.exchanges.length, 4)
})
