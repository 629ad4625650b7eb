// The vendor's SDK, our wire, a codec and a strict double of its vendor: a real loop of tool calls in streams, once with
// each model protocol.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import OpenAI from 'openai'
import { openaiChat } from '../../../src/models/index.ts'
import { cities, double, serve, vendors, weather } from '../stateless/rig.ts'

const turns = [
  { thinking: 'Two cities.', text: 'Let me look.', calls: cities },
  { text: 'Rain and sun.' },
  { text: 'You are welcome.' },
]

for (const [vendor, modelAt] of vendors)
  test(`openai → ${vendor}`, async t => {
    const behind = await double(t, vendor, turns)
    const { url } = await serve(t, { helper: modelAt(behind.url) })
    const client = new OpenAI({ baseURL: `${url}/v1`, apiKey: 'any', maxRetries: 0 })
    const asked: string[] = []
    const runner = client.chat.completions.runTools({
      model: 'helper',
      stream: true,
      messages: [
        { role: 'system', content: 'Be short.' },
        { role: 'user', content: 'weather in Oslo and Rome?' },
      ],
      max_completion_tokens: 2000,
      tools: [
        {
          type: 'function',
          function: {
            name: 'weather',
            description: weather.description,
            parameters: weather.schema,
            parse: JSON.parse as (text: string) => { city: string },
            function: ({ city }: { city: string }) => {
              asked.push(city)
              return `${city}: fine`
            },
          },
        },
      ],
    })
    assert.equal(await runner.finalContent(), 'Rain and sun.')
    assert.deepEqual(asked, ['Oslo', 'Rome'])
    const more = await client.chat.completions.create({
      model: 'helper',
      messages: [...runner.messages, { role: 'user', content: 'thanks' }],
      tools: [{ type: 'function', function: { name: 'weather', parameters: weather.schema } }],
    })
    assert.equal(more.choices[0]?.message.content, 'You are welcome.')
    assert.ok((more.usage?.prompt_tokens ?? 0) > 0)
    assert.deepEqual(behind.rejections(), [])
    assert.deepEqual(behind.harnessErrors(), [])
    assert.equal(behind.exchanges.length, 3)
  })

test('fields of the vendor are passed on to its own models', async t => {
  const behind = await double(t, 'openai-chat', [{ text: '{}' }])
  const { post } = await serve(t, {
    helper: openaiChat({ model: 'gpt-5', apiKey: 'k', baseUrl: `${behind.url}/v1` }),
  })
  const response = await post('/v1/chat/completions', {
    model: 'helper',
    messages: [{ role: 'user', content: 'x' }],
    response_format: { type: 'json_object' },
    temperature: 0.2,
    seed: 7,
  })
  assert.equal(response.status, 200)
  const sent = behind.exchanges[0]?.body as Record<string, unknown>
  assert.deepEqual(
    [sent['response_format'], sent['temperature'], sent['seed']],
    [{ type: 'json_object' }, 0.2, 7],
  )
})
