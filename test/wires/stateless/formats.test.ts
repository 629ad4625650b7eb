// The form of an answer that a client asks for holds on every wire and with every vendor: in the vendor's own way where it
// has one, which its strict double checks, and otherwise told in words, checked, and asked for again.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { describe, type TestContext, test } from 'node:test'
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
import { double, framesOf, serve } from './rig.ts'

const schema = {
  type: 'object',
  properties: { city: { type: 'string' } },
  required: ['city'],
  additionalProperties: false,
}
const right = '{"city":"Oslo"}'
const stop = ['END']

type Wire = {
  path: (streams: boolean) => string
  /** `form`: absent for any JSON object. */
  body: (form: object | undefined, streams: boolean) => object
  /** The text of an answer that came whole. */
  text: (answer: Body) => unknown
  /** The text of an answer that came as a stream. */
  streamed: (frame: Body) => unknown
}

type Body = Record<string, never>

const wires: Record<string, Wire> = {
  responses: {
    path: () => '/v1/responses',
    body: (form, stream) => ({
      model: 'helper',
      input: 'x',
      text: {
        format: form
          ? { type: 'json_schema', name: 'place', schema: form, strict: true }
          : { type: 'json_object' },
      },
      stream,
    }),
    text: answer => answer['output']![0]!['content']![0]!['text'],
    streamed: frame => (frame['type'] === 'response.output_text.delta' ? frame['delta'] : ''),
  },
  chat: {
    path: () => '/v1/chat/completions',
    body: (form, stream) => ({
      model: 'helper',
      messages: [{ role: 'user', content: 'x' }],
      response_format: form
        ? { type: 'json_schema', json_schema: { name: 'place', schema: form, strict: true } }
        : { type: 'json_object' },
      stop,
      stream,
    }),
    text: answer => answer['choices']![0]!['message']!['content'],
    streamed: frame => frame['choices']?.[0]?.['delta']?.['content'] ?? '',
  },
  messages: {
    path: () => '/v1/messages',
    body: (form, stream) => ({
      model: 'helper',
      max_tokens: 100,
      messages: [{ role: 'user', content: 'x' }],
      output_config: { format: { type: 'json_schema', schema: form } },
      stop_sequences: stop,
      stream,
    }),
    text: answer => answer['content']![0]!['text'],
    streamed: frame => frame['delta']?.['text'] ?? '',
  },
  gemini: {
    path: streams => `/v1beta/models/helper:${streams ? 'streamGenerateContent?alt=sse' : 'generateContent'}`,
    body: form => ({
      contents: [{ parts: [{ text: 'x' }] }],
      generationConfig: {
        responseMimeType: 'application/json',
        ...(form && { responseJsonSchema: form }),
        stopSequences: stop,
      },
    }),
    text: answer => answer['candidates']![0]!['content']!['parts']![0]!['text'],
    streamed: frame => frame['candidates']?.[0]?.['content']?.['parts']?.[0]?.['text'] ?? '',
  },
}

/** `own`: where the vendor's own way has the schema. Absent: the vendor has none. */
type Vendor = {
  name: VendorName
  model: (url: string) => Model
  own?: (body: Body) => unknown
  json?: boolean
}

const vendors: Record<string, Vendor> = {
  anthropic: {
    name: 'anthropic',
    model: baseUrl => anthropic({ model: 'claude-opus-4-6', apiKey: 'k', baseUrl }),
    own: body => body['output_config']?.['format']?.['schema'],
  },
  gemini: {
    name: 'gemini',
    model: url => gemini({ model: 'gemini-3-pro', apiKey: 'k', baseUrl: `${url}/v1beta` }),
    own: body => body['generationConfig']?.['responseJsonSchema'],
    json: true,
  },
  interactions: {
    name: 'gemini-interactions',
    model: url => geminiInteractions({ model: 'gemini-3-pro', apiKey: 'k', baseUrl: `${url}/v1beta` }),
    own: body => body['response_format']?.['schema'],
    json: true,
  },
  chat: {
    name: 'openai-chat',
    model: url => openaiChat({ model: 'gpt-5', apiKey: 'k', baseUrl: `${url}/v1` }),
    own: body => body['response_format']?.['json_schema']?.['schema'],
    json: true,
  },
  responses: {
    name: 'openai-responses',
    model: url => openai({ model: 'gpt-5', apiKey: 'k', baseUrl: `${url}/v1` }),
    own: body => body['text']?.['format']?.['schema'],
    json: true,
  },
  'an older Claude': {
    name: 'anthropic',
    model: baseUrl => anthropic({ model: 'claude-3-5-haiku-20241022', apiKey: 'k', baseUrl }),
  },
  'a server without schemas': {
    name: 'openai-compatible',
    model: url =>
      compatible({
        name: 'plain',
        model: 'm',
        url: `${url}/v1`,
        quirks: ['max-tokens', 'no-response-schema'],
      }),
  },
  'a server without forms': {
    name: 'openai-compatible',
    model: url =>
      compatible({
        name: 'bare',
        model: 'm',
        url: `${url}/v1`,
        quirks: ['max-tokens', 'no-response-format'],
      }),
  },
}

type Asked = { wire: Wire; vendor: Vendor; form?: object; streams?: boolean }

async function ask(t: TestContext, { wire, vendor, form, streams = false }: Asked, script: ScriptedTurn[]) {
  const behind = await double(t, vendor.name, script)
  const { post } = await serve(t, { helper: vendor.model(behind.url) })
  const response = await post(wire.path(streams), wire.body(form, streams))
  const status = response.status
  const texts = streams
    ? (await framesOf(response)).map(({ data }) =>
        wire.streamed(data.startsWith('{') ? JSON.parse(data) : {}),
      )
    : [status === 200 ? wire.text((await response.json()) as Body) : undefined]
  assert.deepEqual(behind.rejections(), [])
  return { status, text: texts.join(''), sent: behind.exchanges.map(({ body }) => body as Body) }
}

for (const [from, wire] of Object.entries(wires))
  for (const [to, vendor] of Object.entries(vendors))
    describe(`${from} → ${to}`, () => {
      test('a schema', async t => {
        const { own } = vendor
        const script = own
          ? [{ text: right }]
          : [{ text: 'Sure: Oslo' }, { text: '```json\n{"city":7}\n```' }, { text: right }]
        const { status, text, sent } = await ask(t, { wire, vendor, form: schema, streams: !own }, script)
        assert.equal(status, 200)
        // Of an answer in a wrong form nothing is shown, also in a stream.
        assert.equal(text, right)
        assert.equal(sent.length, script.length)
        if (own) assert.deepEqual(own(sent[0]!), schema)
        else assert.match(JSON.stringify(sent[0]), /JSON Schema.*additionalProperties/)
      })

      if (from !== 'messages')
        test('any JSON object', async t => {
          const { json } = vendor
          const script = json ? [{ text: right }] : [{ text: '[1]' }, { text: `\`\`\`\n${right}\n\`\`\`` }]
          const { text } = await ask(
            t,
            { wire, vendor, streams: true },
            vendor.name === 'openai-compatible' ? [{ text: right }] : script,
          )
          assert.equal(text, right)
        })
    })

test('a schema that a vendor takes only in part is checked, and the answer is asked for again', async t => {
  const form = {
    type: 'object',
    properties: { n: { type: 'string', minLength: 2 }, hint: { type: 'string' } },
    required: ['n'],
  }
  for (const to of ['anthropic', 'responses', 'chat', 'interactions', 'gemini']) {
    const whole = to === 'interactions' || to === 'gemini'
    const script = [...(whole ? [] : [{ text: '{"n":"a"}' }]), { text: '{"n":"ab"}' }]
    const { text, sent } = await ask(
      t,
      { wire: wires['messages']!, vendor: vendors[to]!, form, streams: true },
      script,
    )
    assert.equal(text, '{"n":"ab"}', to)
    assert.equal(sent.length, script.length, to)
    if (!whole) assert.match(JSON.stringify(sent[1]), /does not match its schema/)
  }
})

test('an answer that never matches is an error', async t => {
  const script = [{ text: 'no' }, { text: 'no' }, { text: 'no' }, { text: 'no' }]
  const { status, sent } = await ask(
    t,
    { wire: wires['chat']!, vendor: vendors['an older Claude']!, form: schema },
    script,
  )
  assert.equal(status, 502)
  assert.equal(sent.length, 3)
})

test('tools and a form go together: calls pass as they are, and the text after them has the form', async t => {
  for (const to of ['gemini', 'anthropic', 'responses', 'an older Claude']) {
    const vendor = vendors[to]!
    const behind = await double(t, vendor.name, [
      { text: 'I will look.', calls: [{ name: 'look', input: {} }] },
      { text: right },
    ])
    const { post } = await serve(t, { helper: vendor.model(behind.url) })
    const tools = [
      { type: 'function', function: { name: 'look', parameters: { type: 'object', properties: {} } } },
    ]
    const asked = { ...wires['chat']!.body(schema, false), tools }
    const first = (await (await post('/v1/chat/completions', asked)).json()) as Body
    assert.equal(first['choices']![0]!['message']!['content'], 'I will look.', to)
    assert.equal(first['choices']![0]!['finish_reason'], 'tool_calls')
    assert.deepEqual(behind.rejections(), [])
  }
})

test('an older Gemini cannot combine tools with a form, so the form is told and checked', async t => {
  const behind = await double(t, 'gemini', [{ text: 'Oslo' }, { text: right }])
  const model = gemini({ model: 'gemini-2.5-pro', apiKey: 'k', baseUrl: `${behind.url}/v1beta` })
  const { post } = await serve(t, { helper: model })
  const tools = [
    { type: 'function', function: { name: 'look', parameters: { type: 'object', properties: {} } } },
  ]
  const response = await post('/v1/chat/completions', { ...wires['chat']!.body(schema, false), tools })
  assert.equal(((await response.json()) as Body)['choices']![0]!['message']!['content'], right)
  assert.deepEqual(behind.rejections(), [])
})

test('a server that refuses the form is asked without it from then on', async t => {
  const forms: unknown[] = []
  const server = createServer((request, response) => {
    void text(request).then(given => {
      const form = (JSON.parse(given) as Body)['response_format']?.['type']
      forms.push(form)
      const isKnown = form !== 'json_schema'
      const refusal = { error: { message: 'This response_format type is unavailable now' } }
      const message = { role: 'assistant', content: right }
      const answer = { choices: [{ index: 0, message, finish_reason: 'stop' }] }
      response.writeHead(isKnown ? 200 : 400, { 'content-type': 'application/json' })
      response.end(JSON.stringify(isKnown ? answer : refusal))
    })
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  t.after(() => server.close())
  const { port } = server.address() as AddressInfo
  const model = compatible({ name: 'late', model: 'm', url: `http://127.0.0.1:${port}/v1` })
  const { post } = await serve(t, { helper: model })
  for (let count = 0; count < 2; count++) {
    const response = await post('/v1/chat/completions', wires['chat']!.body(schema, false))
    assert.equal(((await response.json()) as Body)['choices']![0]!['message']!['content'], right)
  }
  assert.deepEqual(forms, ['json_schema', 'json_object', 'json_object'])
})

test('stop texts reach every vendor that has them', async t => {
  const read: Record<string, (body: Body) => unknown> = {
    anthropic: body => body['stop_sequences'],
    gemini: body => body['generationConfig']!['stopSequences'],
    interactions: body => body['generation_config']!['stop_sequences'],
    chat: body => body['stop'],
  }
  for (const [to, stopOf] of Object.entries(read)) {
    const { sent } = await ask(t, { wire: wires['chat']!, vendor: vendors[to]!, form: schema }, [
      { text: right },
    ])
    assert.deepEqual(stopOf(sent[0]!), stop, to)
  }
})
