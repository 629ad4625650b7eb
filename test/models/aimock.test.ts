// The same codecs, through the runner and the engine, against a mock that others wrote. It serves all five APIs
// (Messages, Responses, Chat Completions, generateContent, Interactions) and streams on each of them.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { LLMock } from '@copilotkit/aimock'
import type { Model, ModelDelta, Session } from '../../src/engine/index.ts'
import { joinText } from '../../src/language/content.ts'
import { anthropic, gemini, geminiInteractions, openai, openaiChat } from '../../src/models/index.ts'
import { tool } from '../../src/tools/index.ts'
import { begin, makeRig, say } from '../engine/rig.ts'

const mock = new LLMock({ port: 0, chunkSize: 7 })

mock.on(
  { userMessage: 'weather', hasToolResult: false },
  {
    content: 'Let me look.',
    toolCalls: [
      { name: 'get_weather', arguments: '{"city":"Paris","note":"žluť 😀"}' },
      { name: 'get_weather', arguments: '{"city":"Oslo"}' },
    ],
  },
)
mock.on(
  { userMessage: 'weather', hasToolResult: true },
  { content: 'Paris is fine, Oslo is cold. 😀', reasoning: 'Both are known.' },
)
mock.on({ userMessage: 'nothing' }, { toolCalls: [{ name: 'no_arguments', arguments: '{}' }] })
// Each API has its own names for usage.
const usage = {
  prompt_tokens: 9,
  completion_tokens: 5,
  input_tokens: 9,
  output_tokens: 5,
  total_tokens: 14,
  promptTokenCount: 9,
  candidatesTokenCount: 5,
  totalTokenCount: 14,
}
mock.onMessage(/.*/, { content: 'A plain answer, in several pieces.', usage })

before(() => mock.start())
after(() => mock.stop())

const limits = { retries: 0 }
const models: Record<string, () => Model> = {
  anthropic: () => anthropic({ model: 'claude-sonnet-4-6', apiKey: 'mock', baseUrl: mock.url, limits }),
  'openai-responses': () => openai({ model: 'gpt-5.2', apiKey: 'mock', baseUrl: `${mock.url}/v1`, limits }),
  'openai-chat': () => openaiChat({ model: 'gpt-5.2', apiKey: 'mock', baseUrl: `${mock.url}/v1`, limits }),
  gemini: () => gemini({ model: 'gemini-3-pro', apiKey: 'mock', baseUrl: `${mock.url}/v1beta`, limits }),
  'gemini-interactions': () =>
    geminiInteractions({ model: 'gemini-3-pro', apiKey: 'mock', baseUrl: `${mock.url}/v1beta`, limits }),
}

const calls: string[] = []
const weather = tool({
  name: 'get_weather',
  description: 'The weather in a city.',
  input: {
    type: 'object',
    properties: { city: { type: 'string' }, note: { type: 'string' } },
    required: ['city'],
  },
  trust: 'trusted',
  exposed: false,
  run: input => void calls.push(JSON.stringify(input)),
})

const lastWords = (session: Session): string => {
  const last = session.state.entries.at(-1)
  return last?.role === 'assistant' ? joinText(last.parts) : ''
}

describe('every API, streamed', () => {
  for (const [name, make] of Object.entries(models)) {
    test(`${name}: text arrives in pieces, with its usage`, async () => {
      const deltas: ModelDelta[] = []
      const answer = await make().respond(
        {
          session: 's',
          history: [{ role: 'user', parts: [{ type: 'text', text: 'Hello' }] }],
          tools: [],
          choice: 'auto',
          parallel: true,
          options: {},
        },
        delta => deltas.push(delta),
        new AbortController().signal,
      )
      const words = 'A plain answer, in several pieces.'
      assert.equal(joinText(answer.parts.filter(part => part.type === 'text')), words)
      assert.equal(deltas.map(delta => (delta.type === 'text' ? delta.text : '')).join(''), words)
      assert.ok(deltas.length > 2, 'it streams')
      assert.equal(answer.stop, 'end')
      assert.deepEqual([answer.usage?.input, answer.usage?.output], [9, 5])
    })

    test(`${name}: a turn with two calls completes`, async () => {
      calls.length = 0
      const rig = makeRig({ model: make(), tools: [weather] })
      const session = await begin(rig)
      await say(session, 'What is the weather like?')
      assert.deepEqual(session.state.lastStop, { stop: 'end' }, rig.logs.join('\n'))
      assert.deepEqual(calls, ['{"city":"Paris","note":"žluť 😀"}', '{"city":"Oslo"}'])
      assert.equal(lastWords(session), 'Paris is fine, Oslo is cold. 😀')
      await say(session, 'Thank you.')
      assert.equal(lastWords(session), 'A plain answer, in several pieces.')
    })

    test(`${name}: a call without arguments has an empty object`, async () => {
      const answer = await make().respond(
        {
          session: 's',
          history: [{ role: 'user', parts: [{ type: 'text', text: 'nothing' }] }],
          tools: [weather],
          choice: 'auto',
          parallel: true,
          options: {},
        },
        () => {},
        new AbortController().signal,
      )
      const [call] = answer.parts.filter(part => part.type === 'call')
      assert.deepEqual(
        [call?.name, call?.text, call?.cut, answer.stop],
        ['no_arguments', '{}', undefined, 'calls'],
      )
    })
  }
})
