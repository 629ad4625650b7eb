// Anthropic Messages with the vendor's own SDK, and models that need no network.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import Anthropic, { APIError, BadRequestError, NotFoundError } from '@anthropic-ai/sdk'
import { betaTool } from '@anthropic-ai/sdk/helpers/beta/json-schema'
import { rehearsal } from '../../../src/models/rehearsal/index.ts'
import { scripted } from '../../../src/models/scripted/index.ts'
import { forecast, serve, weather, weatherModel } from '../stateless/rig.ts'

const declared = {
  name: 'weather',
  description: weather.description,
  input_schema: { ...weather.schema, type: 'object' as const },
}
const runnable = betaTool({
  name: 'weather',
  description: weather.description,
  inputSchema: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
  run: ({ city }) => `${city}: ${forecast[city]}`,
})

test("creates a message, and throws the vendor's error classes", async t => {
  const { url } = await serve(t, { helper: weatherModel() })
  const client = new Anthropic({ baseURL: url, apiKey: 'any', maxRetries: 0 })
  const message = await client.messages.create({
    model: 'helper',
    max_tokens: 100,
    messages: [{ role: 'user', content: 'weather?' }],
    tools: [declared],
  })
  assert.equal(message.stop_reason, 'tool_use')
  assert.deepEqual(
    message.content.map(block => (block.type === 'tool_use' ? block.input : block.type)),
    ['text', { city: 'Oslo' }, { city: 'Rome' }],
  )
  const wrong = { max_tokens: 1, messages: [{ role: 'user' as const, content: 'x' }] }
  await assert.rejects(client.messages.create({ ...wrong, model: 'none' }), NotFoundError)
  await assert.rejects(client.messages.create({ ...wrong, model: 'helper', max_tokens: 0 }), BadRequestError)
  const counted = await client.messages.countTokens({ model: 'helper', messages: wrong.messages })
  assert.ok(counted.input_tokens > 0)
})

test('streams, and folds the stream into the same message', async t => {
  const { url } = await serve(t, { helper: weatherModel() })
  const client = new Anthropic({ baseURL: url, apiKey: 'any' })
  const stream = client.messages.stream({
    model: 'helper',
    max_tokens: 100,
    messages: [{ role: 'user', content: 'weather?' }],
    tools: [declared],
  })
  const pieces: string[] = []
  stream.on('text', piece => pieces.push(piece))
  const message = await stream.finalMessage()
  assert.deepEqual(pieces, ['Let m', 'e loo', 'k.'])
  assert.equal(message.stop_reason, 'tool_use')
  assert.equal(message.usage.output_tokens, 5)
  assert.equal(message.usage.input_tokens, 10)
  assert.deepEqual(
    message.content.flatMap(block => (block.type === 'tool_use' ? [block.input] : [])),
    [{ city: 'Oslo' }, { city: 'Rome' }],
  )
})

for (const stream of [false, true])
  test(`the tool runner runs the tool loop${stream ? ' in streams' : ''}`, async t => {
    const { url } = await serve(t, { helper: weatherModel() })
    const client = new Anthropic({ baseURL: url, apiKey: 'any' })
    const runner = client.beta.messages.toolRunner({
      model: 'helper',
      max_tokens: 100,
      messages: [{ role: 'user', content: 'weather?' }],
      tools: [runnable],
      stream,
    })
    const message = await runner.runUntilDone()
    assert.deepEqual(
      message.content.map(block => block.type === 'text' && block.text),
      ['Rain and sun.'],
    )
  })

test('a stream that breaks is an error', async t => {
  const { url } = await serve(t, {
    helper: scripted([{ text: 'abcd', chunk: 1, fail: { code: 'model_failed', message: 'gone', after: 2 } }]),
  })
  const client = new Anthropic({ baseURL: url, apiKey: 'any', maxRetries: 0 })
  const stream = client.messages.stream({
    model: 'helper',
    max_tokens: 10,
    messages: [{ role: 'user', content: 'x' }],
  })
  await assert.rejects(stream.finalMessage(), APIError)
})

test('a rehearsal model answers without a script', async t => {
  const { url } = await serve(t, { helper: rehearsal() })
  const client = new Anthropic({ baseURL: url, apiKey: 'any' })
  const message = await client.beta.messages
    .toolRunner({
      model: 'helper',
      max_tokens: 500,
      messages: [{ role: 'user', content: 'What is the weather in Oslo?' }],
      tools: [runnable],
    })
    .runUntilDone()
  assert.match(JSON.stringify(message.content), /rain/)
})
