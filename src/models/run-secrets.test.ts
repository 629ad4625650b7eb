// No key is ever told, whatever a vendor echoes; and the proxy of the environment is the way out where one is set.
import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import { describe, test } from 'node:test'
import type { Model } from '../engine/ports/index.ts'
import { openaiChat } from './protocols/openai-chat/index.ts'
import { createModel } from './run.ts'
import {
  addressOf,
  agents,
  ask,
  closing,
  double,
  failing,
  KEY,
  listen,
  modelAt,
  serve,
  target,
  textOf,
} from './run-harness.test.ts'
import { createAgents } from './run-http.ts'

describe('secrets', () => {
  test('a key that the vendor repeats is masked in any form', async context => {
    for (const body of [
      JSON.stringify({ error: { message: `Incorrect API key provided: ${KEY}`, code: 'invalid_api_key' } }),
      `<html>Authorization: Bearer ${KEY}</html>`,
      JSON.stringify({ error: { message: `url was https://h/?key=${encodeURIComponent(KEY)}` } }),
    ]) {
      const server = await serve(context, response => response.writeHead(401).end(body))
      const error = await failing(modelAt(server))
      assert.equal(error.code, 'model_rejected')
      assert.ok(!error.message.includes('canary'), error.message)
    }
  })

  test('a key in any other auth header is masked too', async context => {
    for (const header of ['ocp-apim-subscription-key', 'helicone-auth', 'x-credential']) {
      const server = await serve(context, response => response.writeHead(403).end('no: 7f3a9c canary 11'))
      const model = createModel({
        protocol: openaiChat,
        provider: { name: 'p', url: () => server, headers: () => ({ [header]: '7f3a9c canary 11' }) },
        target,
        agents,
      })
      assert.ok(!(await failing(model)).message.includes('canary'), header)
    }
  })

  test('in a stream too', async context => {
    const server = await serve(context, response => {
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      response.end(
        `data: ${JSON.stringify({ error: { message: `bad ${KEY}`, type: 'invalid_request_error' } })}\n\n`,
      )
    })
    assert.ok(!(await failing(modelAt(server))).message.includes('canary'))
  })

  test('a key with a line break is an error and is not sent', async context => {
    const server = await double(context, { text: 'x' })
    const model = createModel({
      protocol: openaiChat,
      provider: {
        name: 'double',
        url: () => server.url,
        headers: () => ({ authorization: `Bearer ${KEY}\nx` }),
      },
      target,
      agents,
    })
    const error = await failing(model)
    assert.match(error.message, /line breaks/)
    assert.equal(server.exchanges.length, 0)
  })
})

test('the environment\u2019s proxy is used, except for the hosts in NO_PROXY', async context => {
  const seen: string[] = []
  const proxy = createServer((incoming, response) => {
    seen.push(incoming.url ?? '')
    response.writeHead(200, { 'content-type': 'application/json' })
    response.end('{"choices":[{"index":0,"message":{"content":"by proxy"},"finish_reason":"stop"}]}')
  })
  proxy.on('connect', (incoming, socket) => {
    seen.push(`CONNECT ${incoming.url}`)
    socket.end('HTTP/1.1 502 Bad Gateway\r\n\r\n')
  })
  const env = {
    HTTP_PROXY: await listen(proxy),
    HTTPS_PROXY: addressOf(proxy),
    NO_PROXY: 'direct.invalid',
  }
  const proxied = createAgents(env)
  context.after(async () => {
    proxied.http.destroy()
    proxied.https.destroy()
    await closing(proxy)
  })
  const at = (url: string): Model =>
    createModel({
      protocol: openaiChat,
      provider: { name: 'double', url: () => url, headers: () => ({}) },
      target,
      agents: proxied,
      limits: { retries: 0 },
    })
  assert.equal(textOf((await ask(at('http://vendor.invalid/v1'))).answer), 'by proxy')
  assert.deepEqual(seen, ['http://vendor.invalid/v1/chat/completions'])
  await failing(at('https://vendor.invalid/v1'))
  assert.deepEqual(seen[1], 'CONNECT vendor.invalid:443')
  await failing(at('http://direct.invalid/v1'))
  assert.equal(seen.length, 2)
})
