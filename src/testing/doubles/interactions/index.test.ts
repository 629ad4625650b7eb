import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { GoogleGenAI } from '@google/genai'
import type { RunningDouble, ServeOptions } from '../double.ts'
import { DUMMY_SIGNATURES } from '../google/signatures.ts'
import type { Mode } from '../script.ts'
import { seal } from '../seal.ts'
import { isRecord } from '../shape.ts'
import { checkRequestAll, startDouble } from '../vendors.ts'

type Body = Record<string, unknown>

const model = 'gemini-3-pro'
const read = {
  type: 'function' as const,
  name: 'read',
  parameters: { type: 'object', properties: { p: { type: 'string' } } },
}
const said = { type: 'user_input', content: [{ type: 'text', text: 'go' }] }
const call = (id = 'c1', extra: object = {}): object => ({
  type: 'function_call',
  id,
  name: 'read',
  arguments: { p: 'x' },
  ...extra,
})
const result = (call_id = 'c1', extra: object = {}): object => ({
  type: 'function_result',
  call_id,
  name: 'read',
  result: 'ok',
  ...extra,
})
const thought = (extra: object = {}): object => ({
  type: 'thought',
  signature: seal('thought-step', ''),
  ...extra,
})
const output = { type: 'model_output', content: [{ type: 'text', text: 'so' }] }
const request = (input: unknown, extra: object = {}): Body => ({ model, input, tools: [read], ...extra })

const REFUSED: {
  id: string
  why: string
  body: Body
  says: string
  code?: string
  status?: number
  mode?: Mode
}[] = [
  { id: 'I-01', why: 'no input', body: request(undefined), says: "'input' is required." },
  { id: 'I-01', why: 'no model', body: { input: 'x' }, says: "One of 'model' and 'agent' is required." },
  {
    id: 'I-01',
    why: 'a step of no known type',
    body: request([{ type: 'message' }]),
    says: "'message' is not a step type",
  },
  {
    id: 'I-01',
    why: 'arguments as text',
    body: request([said, thought(), call('c1', { arguments: '{}' }), result()]),
    says: 'input[2].arguments must be an object.',
  },
  {
    id: 'I-01',
    why: 'a field that it has not',
    body: request('x', { tool_choice: 'auto' }),
    says: "Unknown parameter 'tool_choice'.",
  },
  {
    id: 'I-02',
    why: 'a result for no call',
    body: request([said, result('c9')]),
    says: "'c9' is not the id of a function call that waits for a result",
  },
  {
    id: 'I-02',
    why: 'two results for one call',
    body: request([said, thought(), call(), result(), result()]),
    says: 'input[4].call_id',
  },
  {
    id: 'I-02',
    why: 'a call left open',
    body: request([said, thought(), call('a'), call('b'), result('a')]),
    says: 'Function calls without a function_result: b.',
  },
  {
    id: 'I-02',
    why: 'a result that is a number',
    body: request([said, thought(), call(), result('c1', { result: 3 })]),
    says: 'result must be a string, an object or a list of content',
  },
  {
    id: 'I-03',
    why: 'results without the tools',
    body: request([said, thought(), call(), result()], { tools: [] }),
    says: 'tools are sent with every interaction',
  },
  {
    id: 'I-04',
    why: 'background without store',
    body: request('x', { store: false, background: true }),
    says: "'background' needs 'store'.",
  },
  {
    id: 'I-04',
    why: 'an unknown interaction',
    body: request('x', { previous_interaction_id: 'v1_gone' }),
    says: "Interaction 'v1_gone' not found.",
    code: 'not_found',
    status: 404,
  },
  {
    id: 'I-05',
    why: 'a call without its thought',
    body: request([said, call(), result()]),
    says: 'input[1]: a function_call needs the thought that came before it.',
  },
  {
    id: 'I-05',
    why: 'a thought that does not open its turn',
    body: request([said, output, thought(), call(), result()]),
    says: 'a turn with a thought must open with it',
  },
  {
    id: 'I-05',
    why: 'a thought without its signature',
    body: request([said, thought({ signature: '' }), call(), result()]),
    says: 'Missing thought signature.',
  },
  {
    id: 'I-05',
    why: 'a summary changed under its signature',
    body: request([said, thought({ summary: [{ type: 'text', text: 'other' }] }), call(), result()]),
    says: 'Corrupted thought signature.',
  },
  {
    id: 'I-08',
    why: "another vendor's tool choice",
    body: request('x', { generation_config: { tool_choice: 'required' } }),
    says: 'tool_choice must be one of auto, any, none, validated',
  },
]

for (const { id, why, body, says, code = 'invalid_request', status = 400, mode = 'strict' } of REFUSED) {
  test(`${id} refuses ${why}`, () => {
    const all = checkRequestAll('gemini-interactions', body, { mode })
    const match = all.find(rejection => rejection.rule === id && rejection.message.includes(says))
    assert.ok(match, `expected ${id} "${says}", found ${JSON.stringify(all, null, 1)}`)
    assert.deepEqual([match.status, match.code], [status, code])
  })
}

const ACCEPTED: { id: string; why: string; body: Body; mode?: Mode }[] = [
  { id: 'I-01', why: 'a string, content and steps', body: request({ type: 'text', text: 'x' }) },
  {
    id: 'I-02',
    why: 'results in another order, of each form',
    body: request([
      said,
      thought(),
      call('a'),
      call('b'),
      call('c'),
      result('c', { result: { n: 1 } }),
      result('b', { result: [{ type: 'text', text: 'x' }] }),
      result('a'),
    ]),
  },
  {
    id: 'I-05',
    why: 'a signature that fits',
    body: request([said, thought(), call(), result(), thought(), output]),
  },
  {
    id: 'I-05',
    why: 'a dummy signature',
    body: request([said, thought({ signature: DUMMY_SIGNATURES[0] }), call(), result()]),
  },
  {
    id: 'I-05',
    why: 'a changed summary (lenient)',
    body: request([said, thought({ summary: [{ type: 'text', text: 'x' }] }), call(), result()]),
    mode: 'lenient',
  },
  {
    id: 'I-08',
    why: 'allowed tools',
    body: request('x', {
      generation_config: { tool_choice: { allowed_tools: { mode: 'any', tools: ['read'] } } },
    }),
  },
]
for (const { id, why, body, mode = 'strict' } of ACCEPTED) {
  test(`${id} accepts ${why}`, () => {
    assert.deepEqual(checkRequestAll('gemini-interactions', body, { mode }), [])
  })
}

async function open(
  t: TestContext,
  options: ServeOptions,
): Promise<{ double: RunningDouble; client: GoogleGenAI }> {
  const double = await startDouble({ vendor: 'gemini-interactions', apiKey: 'key', ...options })
  t.after(() => double.close())
  return {
    double,
    client: new GoogleGenAI({ apiKey: 'key', vertexai: false, httpOptions: { baseUrl: double.url } }),
  }
}

const turn = { thinking: 'hm', calls: [{ name: 'read', input: { p: 'x' } }] }

test('I-03 I-06 the SDK goes round a stateful tool loop', async t => {
  const { client, double } = await open(t, { script: [turn, { text: 'done' }] })
  const first = await client.interactions.create({ model, input: 'go', tools: [read] })
  assert.equal(first.status, 'requires_action')
  const asked = first.steps?.find(step => step.type === 'function_call')
  assert.deepEqual(asked?.arguments, { p: 'x' })
  const second = await client.interactions.create({
    model,
    tools: [read],
    previous_interaction_id: first.id,
    input: [{ type: 'function_result', call_id: asked!.id, name: 'read', result: 'ok' }],
  })
  assert.deepEqual([second.status, second.output_text], ['completed', 'done'])
  assert.deepEqual(double.rejections(), [])
})

test('I-05 the SDK goes round a stateless tool loop, and a moved thought is refused', async t => {
  const { client, double } = await open(t, { script: [turn, turn, { text: 'done' }] })
  const history: unknown[] = [said]
  for (const expected of ['requires_action', 'requires_action', 'completed']) {
    // The SDK types its steps one by one; these are the ones it handed out.
    const input = history as Parameters<typeof client.interactions.create>[0]['input'] & string
    const made = await client.interactions.create({ model, input, tools: [read], store: false })
    assert.equal(made.status, expected)
    for (const step of made.steps ?? []) {
      history.push(step)
      if (step.type === 'function_call')
        history.push({ type: 'function_result', call_id: step.id, result: 'ok' })
    }
  }
  assert.deepEqual(double.rejections(), [])
  const moved = [...history]
  const places = moved.flatMap((step, at) => (isRecord(step) && step['type'] === 'thought' ? [at] : []))
  moved[places[0]!] = history[places[1]!]
  const response = await fetch(`${double.url}/v1beta/interactions`, {
    method: 'POST',
    headers: { 'x-goog-api-key': 'key', 'content-type': 'application/json' },
    body: JSON.stringify(request(moved)),
  })
  assert.equal(response.headers.get('x-double-rule'), 'I-05')
  assert.match(await response.text(), /not in its place/)
})

test('I-07 the SDK streams, and a stream can be resumed by event id', async t => {
  const { client } = await open(t, { script: [{ ...turn, text: 'I look', chunk: 3 }] })
  const seen: string[] = []
  let id = ''
  let written = ''
  for await (const event of await client.interactions.create({
    model,
    input: 'go',
    tools: [read],
    stream: true,
  })) {
    seen.push(event.event_type === 'step.delta' ? event.delta.type : event.event_type)
    if (event.event_type === 'interaction.created') id = event.interaction.id
    if (event.event_type === 'step.delta' && event.delta.type === 'arguments_delta')
      written += event.delta.arguments ?? ''
  }
  assert.deepEqual(seen, [
    'interaction.created',
    'step.start',
    'thought_summary',
    'thought_signature',
    'step.stop',
    'step.start',
    'text',
    'text',
    'step.stop',
    'step.start',
    'arguments_delta',
    'arguments_delta',
    'arguments_delta',
    'step.stop',
    'interaction.status_update',
    'interaction.completed',
  ])
  assert.deepEqual(JSON.parse(written), { p: 'x' })
  const rest: string[] = []
  for await (const event of await client.interactions.get(id, { stream: true, last_event_id: '15' }))
    rest.push(event.event_type)
  assert.deepEqual(rest, ['interaction.completed'])
})

test('I-04 stored interactions are read, cancelled and deleted; others are not found', async t => {
  const { client } = await open(t, { script: [{ text: 'a' }, { text: 'b' }, { text: 'c' }] })
  const kept = await client.interactions.create({ model, input: 'x' })
  assert.equal((await client.interactions.get(kept.id)).output_text, 'a')
  await client.interactions.delete(kept.id)
  await assert.rejects(async () => await client.interactions.get(kept.id), /not found/)
  const fleeting = await client.interactions.create({ model, input: 'x', store: false })
  await assert.rejects(
    async () => await client.interactions.create({ model, input: 'y', previous_interaction_id: fleeting.id }),
    /store: false/,
  )
  const slow = await client.interactions.create({ model, input: 'x', background: true })
  assert.equal(slow.status, 'in_progress')
  assert.equal((await client.interactions.cancel(slow.id)).status, 'cancelled')
})

test('I-09 an error is a string code; a wrong key comes in the old shape, in a list', async t => {
  const { double } = await open(t, { script: [{ fault: { kind: 'overloaded' } }] })
  const send = async (key: string, body: object): Promise<[number, unknown]> => {
    const headers = { 'x-goog-api-key': key, 'content-type': 'application/json' }
    const response = await fetch(`${double.url}/v1beta/interactions`, {
      method: 'POST',
      headers,
      body: JSON.stringify(body),
    })
    return [response.status, await response.json()]
  }
  assert.deepEqual(await send('key', { model }), [
    400,
    { error: { code: 'invalid_request', message: "'input' is required." } },
  ])
  const [status, wrapped] = await send('other', {})
  assert.deepEqual([status, Array.isArray(wrapped)], [400, true])
  assert.equal((await send('key', { model, input: 'x' }))[0], 503)
})

test('every row of the table has a case', () => {
  const elsewhere = ['I-06', 'I-07', 'I-09']
  const cited = new Set([...REFUSED.map(row => row.id), ...elsewhere])
  const rows = Array.from({ length: 9 }, (_, at) => `I-0${at + 1}`)
  assert.deepEqual(
    rows.filter(row => !cited.has(row)),
    [],
  )
})
