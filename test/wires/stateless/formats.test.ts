// The form of an answer that a client asks for reaches every vendor in the vendor's own fields, from every stateless wire,
// and the vendor's strict double accepts it.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Model } from '../../../src/engine/index.ts'
import { anthropic, gemini, openai, openaiChat } from '../../../src/models/index.ts'
import type { VendorName } from '../../../src/testing/index.ts'
import { double, serve } from './rig.ts'

const schema = {
  type: 'object',
  properties: { city: { type: 'string' } },
  required: ['city'],
  additionalProperties: false,
}
const stop = ['END']

const wires: [wire: string, path: string, body: object][] = [
  [
    'chat',
    '/v1/chat/completions',
    {
      model: 'helper',
      messages: [{ role: 'user', content: 'x' }],
      response_format: { type: 'json_schema', json_schema: { name: 'place', schema, strict: true } },
      stop,
      reasoning_effort: 'low',
    },
  ],
  [
    'messages',
    '/v1/messages',
    {
      model: 'helper',
      max_tokens: 100,
      messages: [{ role: 'user', content: 'x' }],
      output_config: { format: { type: 'json_schema', schema } },
      stop_sequences: stop,
    },
  ],
  [
    'gemini',
    '/v1beta/models/helper:generateContent',
    {
      contents: [{ parts: [{ text: 'x' }] }],
      generationConfig: {
        responseMimeType: 'application/json',
        responseJsonSchema: schema,
        stopSequences: stop,
      },
    },
  ],
]

type Body = Record<string, Record<string, unknown>>

const vendors: [vendor: VendorName, model: (url: string) => Model, read: (body: Body) => unknown[]][] = [
  [
    'anthropic',
    baseUrl => anthropic({ model: 'claude-opus-4-6', apiKey: 'k', baseUrl }),
    body => [(body['output_config']!['format'] as Body)['schema'], body['stop_sequences']],
  ],
  [
    'gemini',
    url => gemini({ model: 'gemini-3-pro', apiKey: 'k', baseUrl: `${url}/v1beta` }),
    ({ generationConfig }) => [generationConfig?.['responseJsonSchema'], generationConfig?.['stopSequences']],
  ],
  [
    'openai-chat',
    url => openaiChat({ model: 'gpt-5', apiKey: 'k', baseUrl: `${url}/v1` }),
    body => [(body['response_format']!['json_schema'] as Body)['schema'], body['stop']],
  ],
  [
    'openai-responses',
    url => openai({ model: 'gpt-5', apiKey: 'k', baseUrl: `${url}/v1` }),
    body => [(body['text']!['format'] as Body)['schema'], stop],
  ],
]

for (const [wire, path, asked] of wires)
  for (const [vendor, modelAt, read] of vendors)
    test(`${wire} → ${vendor}`, async t => {
      const behind = await double(t, vendor, [{ text: '{"city":"Oslo"}' }])
      const { post } = await serve(t, { helper: modelAt(behind.url) })
      const response = await post(path, asked)
      assert.deepEqual(behind.rejections(), [])
      assert.equal(response.status, 200)
      const sent = behind.exchanges[0]!.body as Body
      assert.deepEqual(read(sent), [schema, stop])
      if (wire === 'chat' && vendor === 'openai-responses') assert.equal(sent['reasoning']?.['effort'], 'low')
    })
