// The vendor's SDK, our wire, a codec and a strict double of its vendor: a real loop of tool calls, once with each model
// protocol; and thinking that comes back to its maker byte for byte.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import Anthropic from '@anthropic-ai/sdk'
import { anthropic, openaiChat } from '../../../src/models/index.ts'
import type { ScriptedTurn } from '../../../src/testing/index.ts'
import { double, serve, vendors, weather, weatherTurns } from '../stateless/rig.ts'

const declared = {
  name: 'weather',
  description: weather.description,
  input_schema: { ...weather.schema, type: 'object' as const },
}

type Params = Partial<Anthropic.MessageCreateParamsNonStreaming>

/** Runs tool calls until the model has answered. Gives all messages. */
async function talk(
  client: Anthropic,
  stream: boolean,
  said: string,
  before: Anthropic.MessageParam[] = [],
  more: Params = {},
): Promise<Anthropic.MessageParam[]> {
  const messages: Anthropic.MessageParam[] = [...before, { role: 'user', content: said }]
  for (;;) {
    const body = { model: 'helper', max_tokens: 4000, tools: [declared], messages, ...more }
    const message = stream
      ? await client.messages.stream(body).finalMessage()
      : await client.messages.create({ ...body, stream: false })
    messages.push({ role: 'assistant', content: message.content })
    const calls = message.content.filter(block => block.type === 'tool_use')
    if (calls.length === 0) return messages
    assert.equal(message.stop_reason, 'tool_use')
    messages.push({
      role: 'user',
      content: calls.map(call => ({ type: 'tool_result', tool_use_id: call.id, content: 'fine' })),
    })
  }
}

for (const [vendor, modelAt] of vendors)
  for (const stream of [true, false])
    test(`@anthropic-ai/sdk → ${vendor}${stream ? ', streaming' : ''}`, async t => {
      const behind = await double(t, vendor, weatherTurns)
      const { url } = await serve(t, { helper: modelAt(behind.url) })
      const client = new Anthropic({ baseURL: url, apiKey: 'any', maxRetries: 0 })
      const first = await talk(client, stream, 'weather in Oslo and Rome?')
      assert.match(JSON.stringify(first.at(-1)), /Rain and sun\./)
      const second = await talk(client, stream, 'thanks', first)
      assert.match(JSON.stringify(second.at(-1)), /You are welcome\./)
      assert.deepEqual(behind.rejections(), [])
      assert.deepEqual(behind.harnessErrors(), [])
      assert.equal(behind.exchanges.length, 4)
    })

type Block = Record<string, unknown>
const thoughtsIn = (messages: unknown): Block[] =>
  (messages as { content: string | Block[] }[]).flatMap(({ content }) =>
    typeof content === 'string' ? [] : content.filter(block => String(block['type']).endsWith('thinking')),
  )
const bare = ({ type, thinking, signature, data }: Block) => ({ type, thinking, signature, data })

/** Signatures and encrypted data in a frame of the vendor. */
function secretsIn(data: string): string[] {
  const event = JSON.parse(data) as { delta?: { signature?: string }; content_block?: { data?: string } }
  return [event.delta?.signature ?? event.content_block?.data].filter(each => each !== undefined)
}

describe('thinking comes back to its maker', () => {
  const scripts: [name: string, weatherTurns: ScriptedTurn[]][] = [
    ['with words', weatherTurns],
    [
      'without words',
      weatherTurns.map(turn => ('thinking' in turn ? { ...turn, thinking: { text: '' } } : turn)),
    ],
    [
      'redacted',
      weatherTurns.map(turn =>
        'thinking' in turn ? { ...turn, thinking: { text: '', redacted: 'c2VjcmV0' } } : turn,
      ),
    ],
  ]
  for (const [name, script] of scripts)
    for (const stream of [true, false])
      test(`${name}${stream ? ', streaming' : ''}`, async t => {
        const behind = await double(t, 'anthropic', script)
        const { url } = await serve(t, {
          helper: anthropic({ model: 'claude-opus-4-6', apiKey: 'k', baseUrl: behind.url }),
        })
        const client = new Anthropic({ baseURL: url, apiKey: 'any', maxRetries: 0 })
        const said = await talk(client, stream, 'weather?', [], { thinking: { type: 'adaptive' } })
        assert.deepEqual(behind.rejections(), [])
        const shown = thoughtsIn(said)
        assert.equal(shown.length, 2)
        const made = behind.exchanges.flatMap(({ frames }) => frames.flatMap(({ data }) => secretsIn(data)))
        assert.deepEqual(
          shown.map(block => block['data'] ?? block['signature']),
          made,
        )
        const { messages } = behind.exchanges[2]!.body as { messages: unknown }
        assert.deepEqual(thoughtsIn(messages).map(bare), shown.map(bare))
        assert.ok(shown.every(block => block['signature'] !== ''))
      })

  test('signed thinking of another model is left out whole', async t => {
    const behind = await double(t, 'openai-chat', [{ text: 'fine' }])
    const { url } = await serve(t, {
      helper: openaiChat({ model: 'gpt-5', apiKey: 'k', baseUrl: `${behind.url}/v1` }),
    })
    const client = new Anthropic({ baseURL: url, apiKey: 'any', maxRetries: 0 })
    await talk(client, true, 'and now?', [
      { role: 'user', content: 'hi' },
      {
        role: 'assistant',
        content: [
          { type: 'thinking', thinking: 'private', signature: 'c2lnbmVk' },
          { type: 'text', text: 'hello' },
        ],
      },
    ])
    assert.deepEqual(behind.rejections(), [])
    assert.doesNotMatch(behind.exchanges[0]?.rawText ?? '', /private|c2lnbmVk/)
  })
})
