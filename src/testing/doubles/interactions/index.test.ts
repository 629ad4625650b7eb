import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { GoogleGenAI } from '@google/genai'
import type { RunningDouble, ServeOptions } from '../double.ts'
import { isRecord } from '../shape.ts'
import { startDouble } from '../vendors.ts'

const model = 'gemini-3-pro'
const read = {
  type: 'function' as const,
  name: 'read',
  parameters: { type: 'object', properties: { p: { type: 'string' } } },
}
const said = { type: 'user_input', content: [{ type: 'text', text: 'go' }] }

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

test('the SDK completes a tool loop over stored state, with tools sent again each time', async t => {
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

test('the SDK completes a stateless tool loop, and a moved thought is refused (I-05)', async t => {
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
    body: JSON.stringify({ model, input: moved, tools: [read] }),
  })
  assert.equal(response.headers.get('x-double-rule'), 'I-05')
  assert.match(await response.text(), /not in its place/)
})

test('the SDK streams, and a stream can be resumed by event id', async t => {
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

test('stored interactions can be read, cancelled and deleted; others are not found (I-04)', async t => {
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

test('error codes are strings; a wrong key is refused in the older shape, in a list', async t => {
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
