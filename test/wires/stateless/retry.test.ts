// What a client is told about another attempt when the model's vendor refuses. A vendor that is too busy is 429 with the
// vendor's own wait, on every wire. A refusal that will be the same next time goes to the vendor once, however eager the
// client's SDK is.
import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import test, { type TestContext } from 'node:test'
import Anthropic from '@anthropic-ai/sdk'
import OpenAI from 'openai'
import { openaiChat } from '../../../src/models/index.ts'
import { type Rig, serve } from './rig.ts'

type Vendor = Rig & { asked: () => number }

/** A server whose one model always gets this refusal from its vendor. */
async function refusing(
  t: TestContext,
  status: number,
  headers: Record<string, string> = {},
): Promise<Vendor> {
  let asked = 0
  const vendor = createServer((request, response) => {
    asked += 1
    request.resume()
    response.writeHead(status, { 'content-type': 'application/json', ...headers })
    response.end(JSON.stringify({ error: { message: 'Not now.', type: 'x', code: null } }))
  })
  await new Promise<void>(resolve => vendor.listen(0, '127.0.0.1', resolve))
  t.after(() => void vendor.close())
  const { port } = vendor.address() as AddressInfo
  const model = openaiChat({ model: 'm', apiKey: 'k', baseUrl: `http://127.0.0.1:${port}/v1` })
  return { ...(await serve(t, { helper: model })), asked: () => asked }
}

const wires: [wire: string, path: string, body: object][] = [
  ['responses', '/v1/responses', { model: 'helper', input: 'x', store: false }],
  ['responses, streamed', '/v1/responses', { model: 'helper', input: 'x', store: false, stream: true }],
  ['chat', '/v1/chat/completions', { model: 'helper', messages: [{ role: 'user', content: 'x' }] }],
  [
    'messages',
    '/v1/messages',
    { model: 'helper', max_tokens: 9, messages: [{ role: 'user', content: 'x' }] },
  ],
  ['gemini', '/v1beta/models/helper:generateContent', { contents: [{ parts: [{ text: 'x' }] }] }],
]

for (const [wire, path, body] of wires) {
  test(`${wire}: a vendor that is too busy is 429, and its wait is passed on`, async t => {
    const { post, asked } = await refusing(t, 429, { 'retry-after': '90' })
    const response = await post(path, body)
    assert.equal(response.status, 429)
    assert.equal(response.headers.get('retry-after'), '90')
    assert.equal(response.headers.get('x-should-retry'), 'true')
    assert.match(await response.text(), /try again in 90s/)
    assert.equal(asked(), 1)
  })

  test(`${wire}: a vendor that refuses the operator's key is final`, async t => {
    const { post } = await refusing(t, 401)
    const response = await post(path, body)
    assert.equal(response.status, 400)
    assert.equal(response.headers.get('x-should-retry'), 'false')
  })
}

test('the wait is in the body where Google has it', async t => {
  const { post } = await refusing(t, 429, { 'retry-after': '90' })
  const response = await post('/v1beta/models/helper:generateContent', {
    contents: [{ parts: [{ text: 'x' }] }],
  })
  const { error } = (await response.json()) as { error: { status: string; details: unknown } }
  assert.equal(error.status, 'RESOURCE_EXHAUSTED')
  assert.deepEqual(error.details, [
    { '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay: '90s' },
  ])
})

test('the official SDKs send a request that is refused for good once', async t => {
  const { url, asked } = await refusing(t, 403)
  const openai = new OpenAI({ apiKey: 'any', baseURL: `${url}/v1` })
  const anthropic = new Anthropic({ apiKey: 'any', baseURL: url })
  const messages = [{ role: 'user', content: 'x' } as const]
  await assert.rejects(openai.responses.create({ model: 'helper', input: 'x', store: false }), {
    status: 400,
  })
  await assert.rejects(openai.chat.completions.create({ model: 'helper', messages }), { status: 400 })
  await assert.rejects(anthropic.messages.create({ model: 'helper', max_tokens: 9, messages }), {
    status: 400,
  })
  assert.equal(asked(), 3)
})
