// Chat Completions with clients that we did not write, and models that need no network: the vendor's own SDK, and the AI
// SDK's provider for it.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { createOpenAI } from '@ai-sdk/openai'
import { generateText, isStepCount, jsonSchema, streamText, tool } from 'ai'
import OpenAI, { APIError, NotFoundError } from 'openai'
import { rehearsal } from '../../../src/models/rehearsal/index.ts'
import { scripted } from '../../../src/models/scripted/index.ts'
import { forecast, serve, weather, weatherModel } from '../stateless/rig.ts'

const cityOf = (args: unknown): string => (args as { city: string }).city
const look = (args: unknown): string => `${cityOf(args)}: ${forecast[cityOf(args)]}`

const sdkTool = {
  type: 'function' as const,
  function: { name: 'weather', description: weather.description, parameters: weather.schema },
}

describe('openai', () => {
  test("creates a completion, and throws the vendor's error classes", async t => {
    const { url } = await serve(t, { helper: weatherModel() })
    const client = new OpenAI({ baseURL: `${url}/v1`, apiKey: 'any', maxRetries: 0 })
    const answer = await client.chat.completions.create({
      model: 'helper',
      messages: [{ role: 'user', content: 'weather?' }],
      tools: [sdkTool],
    })
    assert.equal(answer.choices[0]?.message.tool_calls?.length, 2)
    assert.equal(answer.usage?.total_tokens, 15)
    await assert.rejects(
      client.chat.completions.create({ model: 'none', messages: [{ role: 'user', content: 'x' }] }),
      (error: unknown) => error instanceof NotFoundError && error.code === 'model_not_found',
    )
  })

  test('streams, and folds the stream into the same message', async t => {
    const { url } = await serve(t, { helper: weatherModel() })
    const client = new OpenAI({ baseURL: `${url}/v1`, apiKey: 'any' })
    const stream = client.chat.completions.stream({
      model: 'helper',
      messages: [{ role: 'user', content: 'weather?' }],
      tools: [sdkTool],
      stream_options: { include_usage: true },
    })
    const pieces: string[] = []
    stream.on('content', piece => pieces.push(piece))
    const whole = await stream.finalChatCompletion()
    assert.deepEqual(pieces, ['Let m', 'e loo', 'k.'])
    const [choice] = whole.choices
    assert.equal(choice?.message.content, 'Let me look.')
    assert.equal(choice?.finish_reason, 'tool_calls')
    assert.deepEqual(
      choice?.message.tool_calls?.map(call => call.type === 'function' && call.function.arguments),
      ['{"city":"Oslo"}', '{"city":"Rome"}'],
    )
    assert.equal(whole.usage?.total_tokens, 15)
  })

  for (const stream of [false, true])
    test(`runTools runs the tool loop${stream ? ' in streams' : ''}`, async t => {
      const { url } = await serve(t, { helper: weatherModel() })
      const client = new OpenAI({ baseURL: `${url}/v1`, apiKey: 'any' })
      const body = {
        model: 'helper',
        messages: [{ role: 'user' as const, content: 'weather?' }],
        tools: [
          {
            type: 'function' as const,
            function: {
              name: 'weather',
              description: weather.description,
              parameters: weather.schema,
              parse: JSON.parse as (text: string) => object,
              function: (args: object) => look(args),
            },
          },
        ],
      }
      const runner = stream
        ? client.chat.completions.runTools({ ...body, stream: true })
        : client.chat.completions.runTools(body)
      assert.equal(await runner.finalContent(), 'Rain and sun.')
    })

  test('a stream that breaks is an error, not a short answer', async t => {
    const { url } = await serve(t, {
      helper: scripted([
        { text: 'abcd', chunk: 1, fail: { code: 'model_failed', message: 'gone', after: 2 } },
      ]),
    })
    const client = new OpenAI({ baseURL: `${url}/v1`, apiKey: 'any', maxRetries: 0 })
    const stream = await client.chat.completions.create({
      model: 'helper',
      messages: [{ role: 'user', content: 'x' }],
      stream: true,
    })
    await assert.rejects(async () => {
      for await (const _ of stream);
    }, APIError)
  })

  test('a rehearsal model answers without a script', async t => {
    const { url } = await serve(t, { helper: rehearsal() })
    const client = new OpenAI({ baseURL: `${url}/v1`, apiKey: 'any' })
    const runner = client.chat.completions.runTools({
      model: 'helper',
      messages: [{ role: 'user', content: 'What is the weather in Oslo?' }],
      tools: [
        {
          type: 'function',
          function: {
            name: 'weather',
            description: weather.description,
            parameters: weather.schema,
            parse: JSON.parse as (text: string) => object,
            function: (args: object) => look(args),
          },
        },
      ],
    })
    assert.match((await runner.finalContent()) ?? '', /rain/)
  })
})

describe('@ai-sdk/openai', () => {
  const tools = {
    weather: tool({
      description: weather.description,
      inputSchema: jsonSchema<{ city: string }>(weather.schema as Parameters<typeof jsonSchema>[0]),
      execute: async input => look(input),
    }),
  }

  test('generates with tools', async t => {
    const { url } = await serve(t, { helper: weatherModel() })
    const openai = createOpenAI({ baseURL: `${url}/v1`, apiKey: 'any' })
    const result = await generateText({
      model: openai.chat('helper'),
      prompt: 'weather?',
      tools,
      stopWhen: isStepCount(5),
    })
    assert.equal(result.text, 'Rain and sun.')
    assert.equal(result.steps.length, 2)
  })

  test('streams with tools', async t => {
    const { url } = await serve(t, { helper: weatherModel() })
    const openai = createOpenAI({ baseURL: `${url}/v1`, apiKey: 'any' })
    const result = streamText({
      model: openai.chat('helper'),
      prompt: 'weather?',
      tools,
      stopWhen: isStepCount(5),
    })
    let text = ''
    for await (const piece of result.textStream) text += piece
    assert.match(text, /Let me look\.\s*Rain and sun\./)
    assert.equal(await result.finishReason, 'stop')
  })
})
