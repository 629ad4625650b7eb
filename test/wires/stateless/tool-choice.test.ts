// A tool choice holds with every vendor, whatever its model does: no forbidden call reaches the client, in a stream or whole,
// and an answer without the call that was demanded is asked for again.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { Model } from '../../../src/engine/index.ts'
import {
  anthropic,
  compatible,
  gemini,
  geminiInteractions,
  openai,
  openaiChat,
} from '../../../src/models/index.ts'
import type { ScriptedTurn, VendorName } from '../../../src/testing/index.ts'
import { double, serve } from './rig.ts'

const vendors: [vendor: VendorName, model: (url: string) => Model][] = [
  ['anthropic', baseUrl => anthropic({ model: 'claude-opus-4-6', apiKey: 'k', baseUrl, thinking: 'high' })],
  ['gemini', url => gemini({ model: 'gemini-3-pro', apiKey: 'k', baseUrl: `${url}/v1beta` })],
  [
    'gemini-interactions',
    url => geminiInteractions({ model: 'gemini-3-pro', apiKey: 'k', baseUrl: `${url}/v1beta` }),
  ],
  ['openai-chat', url => openaiChat({ model: 'gpt-5', apiKey: 'k', baseUrl: `${url}/v1` })],
  ['openai-responses', url => openai({ model: 'gpt-5', apiKey: 'k', baseUrl: `${url}/v1` })],
  [
    'openai-compatible',
    url => compatible({ name: 'plain', model: 'm', url: `${url}/v1`, quirks: ['max-tokens', 'no-required'] }),
  ],
]

const schema = { type: 'object', properties: { city: { type: 'string' } } }
const names = ['allowed', 'forbidden']

/** Requests to each wire with both tools: `none`, or a call of the first is demanded. */
const wires: Record<string, (isNone: boolean, stream: boolean) => [path: string, body: object]> = {
  chat: (isNone, stream) => [
    '/v1/chat/completions',
    {
      model: 'helper',
      stream,
      messages: [{ role: 'user', content: 'x' }],
      tools: names.map(name => ({ type: 'function', function: { name, parameters: schema } })),
      tool_choice: isNone ? 'none' : { type: 'function', function: { name: 'allowed' } },
    },
  ],
  responses: (isNone, stream) => [
    '/v1/responses',
    {
      model: 'helper',
      stream,
      input: 'x',
      store: false,
      tools: names.map(name => ({ type: 'function', name, parameters: schema, strict: false })),
      tool_choice: isNone ? 'none' : { type: 'function', name: 'allowed' },
    },
  ],
  messages: (isNone, stream) => [
    '/v1/messages',
    {
      model: 'helper',
      stream,
      max_tokens: 9000,
      messages: [{ role: 'user', content: 'x' }],
      tools: names.map(name => ({ name, input_schema: schema })),
      tool_choice: isNone ? { type: 'none' } : { type: 'tool', name: 'allowed' },
    },
  ],
  gemini: (isNone, stream) => [
    `/v1beta/models/helper:${stream ? 'streamGenerateContent?alt=sse' : 'generateContent'}`,
    {
      contents: [{ role: 'user', parts: [{ text: 'x' }] }],
      tools: [{ functionDeclarations: names.map(name => ({ name, parametersJsonSchema: schema })) }],
      toolConfig: {
        functionCallingConfig: isNone ? { mode: 'NONE' } : { mode: 'ANY', allowedFunctionNames: ['allowed'] },
      },
    },
  ],
}

const call = (name: string) => ({ name, input: { city: `for ${name}` } })
const both: ScriptedTurn = { text: 'Said.', calls: [call('forbidden'), call('allowed')] }

for (const [vendor, modelAt] of vendors)
  describe(vendor, () => {
    for (const [wire, requestTo] of Object.entries(wires))
      for (const stream of [false, true])
        test(`${wire}${stream ? ', streamed' : ''}`, async t => {
          const script: ScriptedTurn[] = [
            { calls: [call('forbidden')] },
            both,
            { text: 'No call.' },
            { calls: [call('forbidden')] },
            both,
          ]
          const behind = await double(t, vendor, script)
          const { post } = await serve(t, { helper: modelAt(behind.url) })
          const none = await (await post(...requestTo(true, stream))).text()
          assert.match(none, /Said\./)
          assert.doesNotMatch(none, /for (?:allowed|forbidden)/)
          assert.equal(behind.exchanges.length, 2)

          const named = await (await post(...requestTo(false, stream))).text()
          assert.match(named, /for allowed/)
          assert.doesNotMatch(named, /for forbidden|No call/)
          assert.equal(behind.exchanges.length, 5)
          assert.deepEqual(behind.rejections(), [])
        })
  })

test('a demand that is never met is an error', async t => {
  const behind = await double(t, 'openai-chat', () => ({ text: 'I would rather talk.' }))
  const { post } = await serve(t, { helper: vendors[3]![1](behind.url) })
  const response = await post(...wires['chat']!(false, true))
  assert.equal(response.status, 502)
  assert.match(await response.text(), /A tool had to be called/)
  assert.equal(behind.exchanges.length, 3)
})
