// Strict tools of clients: fitted into what the model's vendor takes and back, or refused in the form of the client's protocol.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isJsonObject, type JsonObject } from '../../../src/lib/json/index.ts'
import { vendors as allVendors, double, framesOf, serve } from './rig.ts'

const vendors = allVendors.filter(([vendor]) => vendor !== 'gemini')

const asked = [{ role: 'user', content: 'Look.' }]
const wires: Record<string, { path: string; body: (schema: JsonObject) => JsonObject }> = {
  chat: {
    path: '/v1/chat/completions',
    body: parameters => ({
      messages: asked,
      tools: [{ type: 'function', function: { name: 'look', parameters, strict: true } }],
    }),
  },
  responses: {
    path: '/v1/responses',
    body: parameters => ({
      input: 'Look.',
      store: false,
      tools: [{ type: 'function', name: 'look', parameters, strict: true }],
    }),
  },
  messages: {
    path: '/v1/messages',
    body: input_schema => ({
      messages: asked,
      max_tokens: 500,
      tools: [{ name: 'look', description: 'Looks.', input_schema, strict: true }],
    }),
  },
}

const map: JsonObject = { type: 'object', additionalProperties: { type: 'string' } }
const loose: JsonObject = {
  type: 'object',
  properties: { city: { type: 'string', minLength: 1 }, days: { type: 'integer', minimum: 1 } },
  required: ['city'],
}

for (const [vendor, modelAt] of vendors)
  for (const [wire, { path, body }] of Object.entries(wires)) {
    test(`${wire} → ${vendor}: a schema that cannot be strict is refused with the reason`, async t => {
      const behind = await double(t, vendor, [{ text: 'Never.' }])
      const { post } = await serve(t, { helper: modelAt(behind.url) })
      const response = await post(path, { model: 'helper', ...body(map) })
      const text = await response.text()
      assert.equal(response.status, 400, text)
      const { error } = JSON.parse(text) as { error: { type: string; message: string } }
      assert.equal(error.type, 'invalid_request_error')
      assert.match(error.message, /"look" cannot be strict with this model.*leave "strict" out/)
      assert.equal(behind.exchanges.length, 0)
    })

    test(`${wire} → ${vendor}: absent arguments come back absent, in the stream too`, async t => {
      const isNullable = vendor !== 'anthropic'
      const input = isNullable ? { city: 'Oslo', days: null } : { city: 'Oslo' }
      const behind = await double(t, vendor, [{ calls: [{ name: 'look', input }] }])
      const { post } = await serve(t, { helper: modelAt(behind.url) })
      const response = await post(path, { model: 'helper', stream: true, ...body(loose) })
      assert.equal(response.status, 200)
      const frames = await framesOf(response)
      const deltas = frames.flatMap(({ data }) => argumentsIn(data)).join('')
      assert.equal(deltas, '{"city":"Oslo"}')
      assert.deepEqual(behind.rejections(), [])
      const sent = behind.exchanges[0]?.rawText ?? ''
      assert.match(sent, /"strict":true/)
    })
  }

/** The pieces of arguments in a frame of any of the three protocols. */
function argumentsIn(data: string): string[] {
  if (data === '[DONE]') return []
  const frame: unknown = JSON.parse(data)
  if (!isJsonObject(frame)) return []
  const { type, delta } = frame
  if (type === 'response.function_call_arguments.delta') return typeof delta === 'string' ? [delta] : []
  const found = [...data.matchAll(/"(?:arguments|partial_json)":("(?:[^"\\]|\\.)*")/g)]
  const isDelta = type === 'content_block_delta' || frame['object'] === 'chat.completion.chunk'
  return isDelta ? found.map(([, text = '""']) => JSON.parse(text) as string) : []
}
