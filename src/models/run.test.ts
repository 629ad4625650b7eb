// The runner against a double that misbehaves on demand: what is tried again, what is not, when it gives up, what
// an abort closes, and that no key is ever told.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, describe, type TestContext, test } from 'node:test'
import type { Model, ModelAnswer, ModelDelta, ModelRequest } from '../engine/ports.ts'
import { TurnwireError } from '../language/errors.ts'
import { type RunningDouble, type ScriptedTurn, startDouble } from '../testing/doubles/index.ts'
import type { Protocol, Target } from './protocol.ts'
import { openaiChat } from './protocols/openai-chat.ts'
import { createModel, preparedFor, type RunLimits } from './run.ts'
import { createAgents } from './run-http.ts'

const KEY = 'sk-canary-0123456789abcdef'
const target: Target = {
  model: 'm',
  family: 'f',
  maxTokens: 100,
  body: {},
  hosted: [],
  quirks: new Set(),
  stateful: false,
}
const agents = createAgents({})
after(() => {
  agents.http.destroy()
  agents.https.destroy()
})

const request: ModelRequest = {
  session: 's',
  history: [{ role: 'user', parts: [{ type: 'text', text: 'Hi' }] }],
  tools: [],
  choice: 'auto',
  parallel: true,
  options: {},
}

function modelAt(
  url: string,
  limits: Partial<RunLimits> = {},
  protocol: Protocol<never> | typeof openaiChat = openaiChat,
): Model {
  return createModel({
    // The runner hands a protocol its own state only, so any protocol fits.
    protocol: protocol as typeof openaiChat,
    provider: { name: 'double', url: () => `${url}/v1`, headers: () => ({ authorization: `Bearer ${KEY}` }) },
    target,
    limits: { backoffMs: 1, maxBackoffMs: 2, ...limits },
    agents,
  })
}

async function double(context: TestContext, ...script: ScriptedTurn[]): Promise<RunningDouble> {
  const running = await startDouble({ vendor: 'openai-chat', script })
  context.after(() => running.close())
  return running
}

async function ask(model: Model, signal = new AbortController().signal) {
  const deltas: ModelDelta[] = []
  const answer = await model.respond(request, delta => deltas.push(delta), signal)
  return { answer, deltas }
}

async function failing(model: Model): Promise<TurnwireError> {
  const error: unknown = await ask(model).then(
    () => assert.fail('it answered'),
    (thrown: unknown) => thrown,
  )
  assert.ok(error instanceof TurnwireError, String(error))
  assert.ok(
    !JSON.stringify([error.message, error.stack, String(error.cause)]).includes(KEY),
    'the key is told',
  )
  return error
}

const textOf = (answer: ModelAnswer): string =>
  answer.parts.map(part => (part.type === 'text' ? part.text : '')).join('')

describe('trying again', () => {
  for (const fault of [
    { kind: 'server-error' },
    { kind: 'server-error', status: 503 },
    { kind: 'overloaded' },
    { kind: 'reset' },
    { kind: 'rate-limit', retryAfter: 0 },
    { kind: 'rate-limit', retryAfter: 0, as: 'http-date' },
    { kind: 'eof-before-end' },
  ] satisfies ScriptedTurn['fault'][])
    test(`after ${JSON.stringify(fault)}, when nothing was shown`, async context => {
      const server = await double(context, { calls: [], fault }, { text: 'Hello.' })
      const { answer } = await ask(modelAt(server.url))
      assert.equal(textOf(answer), 'Hello.')
      assert.equal(server.exchanges.length, 2)
    })

  test('waits as long as the vendor says, in seconds', async context => {
    const server = await double(context, { fault: { kind: 'rate-limit', retryAfter: 1 } }, { text: 'x' })
    const began = performance.now()
    await ask(modelAt(server.url))
    assert.ok(performance.now() - began >= 990)
  })

  test('does not wait longer than the operator allows', async context => {
    for (const as of ['seconds', 'http-date'] as const) {
      const server = await double(
        context,
        { fault: { kind: 'rate-limit', retryAfter: 30, as } },
        { text: 'x' },
      )
      const error = await failing(modelAt(server.url, { maxRetryAfterMs: 10_000 }))
      assert.equal(error.code, 'model_failed')
      assert.equal(server.exchanges.length, 1)
    }
  })

  test('gives up after so many attempts', async context => {
    const fault = { kind: 'server-error' } as const
    const server = await double(context, ...Array.from({ length: 9 }, () => ({ fault })))
    assert.equal((await failing(modelAt(server.url, { retries: 2 }))).code, 'model_failed')
    assert.equal(server.exchanges.length, 3)
  })

  test('never once something was shown', async context => {
    const server = await double(
      context,
      { text: 'A long answer that is cut.', chunk: 4, fault: { kind: 'eof-before-end' } },
      { text: 'again' },
    )
    const deltas: ModelDelta[] = []
    const answer = modelAt(server.url).respond(
      request,
      delta => deltas.push(delta),
      new AbortController().signal,
    )
    await assert.rejects(answer, { code: 'model_failed' })
    assert.ok(deltas.length > 0)
    assert.equal(server.exchanges.length, 1)
  })

  test('not after a rejection, whose words are told', async context => {
    const server = await double(context, { text: 'x' })
    const bad: ModelRequest = { ...request, history: [] }
    const model = createModel({
      protocol: {
        ...openaiChat,
        prepare: () => ({ ...openaiChat.prepare(bad, target), body: '{"model":"m"}' }),
      },
      provider: {
        name: 'double',
        url: () => server.url,
        headers: () => ({ authorization: `Bearer ${KEY}` }),
      },
      target,
      agents,
    })
    const error = await failing(model)
    assert.equal(error.code, 'model_rejected')
    assert.match(error.message, /messages/)
    assert.equal(server.exchanges.length, 1)
  })

  test('a refused connection is a failure that says where', async () => {
    const server = createServer()
    const url = await listen(server)
    await closing(server)
    const error = await failing(modelAt(url, { retries: 1 }))
    assert.equal(error.code, 'model_failed')
    assert.match(error.message, /double.*ECONNREFUSED/)
  })
})

describe('deadlines', () => {
  test('for the first byte: one more attempt, then model_timeout', async context => {
    const hang = { fault: { kind: 'hang' } } as const
    const server = await double(context, hang, hang, hang)
    const error = await failing(modelAt(server.url, { firstByteMs: 30 }))
    assert.equal(error.code, 'model_timeout')
    assert.equal(server.exchanges.length, 2)
  })

  test('for the silence after the headers, and in the middle', async context => {
    const server = await double(
      context,
      { text: 'x', fault: { kind: 'hang-after-headers' } },
      { text: 'some words that stop', chunk: 3, fault: { kind: 'hang-after-frames', frames: 3 } },
    )
    const error = await failing(modelAt(server.url, { idleMs: 30 }))
    assert.equal(error.code, 'model_timeout')
    assert.equal(server.exchanges.length, 2)
  })

  test('an answer that was whole before the silence is an answer', async context => {
    const server = await serve(context, response => {
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      response.write('data: {"choices":[{"index":0,"delta":{"content":"whole"},"finish_reason":"stop"}]}\n\n')
    })
    const { answer } = await ask(modelAt(server, { idleMs: 30 }))
    assert.equal(textOf(answer), 'whole')
  })

  test('after [DONE] nothing is waited for', async context => {
    const server = await serve(context, response => {
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      response.write('data: {"choices":[{"index":0,"delta":{"content":"done"},"finish_reason":"stop"}]}\n\n')
      response.write('data: [DONE]\n\n')
    })
    const { answer } = await ask(modelAt(server, { idleMs: 10_000 }))
    assert.equal(textOf(answer), 'done')
  })
})

describe('abort', () => {
  for (const [name, fault] of [
    ['before the first byte', { kind: 'hang' }],
    ['after the headers', { kind: 'hang-after-headers' }],
  ] as const)
    test(`${name} closes the socket`, async context => {
      let closed: Promise<unknown> | undefined
      const server = await serve(context, (response, incoming) => {
        closed = new Promise<void>(resolve => incoming.socket.on('close', () => resolve()))
        incoming.socket.on('error', () => {})
        if (fault.kind === 'hang-after-headers') {
          response.writeHead(200, { 'content-type': 'text/event-stream' })
          response.flushHeaders()
        }
        abort.abort(new Error('stop it'))
      })
      const abort = new AbortController()
      await assert.rejects(ask(modelAt(server), abort.signal), /stop it/)
      await closed
    })

  test('during a wait ends the wait', async context => {
    const server = await double(context, { fault: { kind: 'rate-limit', retryAfter: 30 } })
    const abort = new AbortController()
    const answer = ask(modelAt(server.url), abort.signal)
    const wait = setInterval(() => {
      if (server.exchanges[0]?.status === 429) abort.abort(new Error('stop it'))
    }, 5)
    await assert.rejects(answer)
    clearInterval(wait)
  })
})

describe('what is sent and read', () => {
  test('a whole body is a fold of the stream', async context => {
    const server = await double(context, { text: 'Hello.' }, { text: 'Hello.' })
    const streamed = await ask(modelAt(server.url))
    const wholeTarget = { ...target, quirks: new Set(['no-stream']) }
    const whole = await ask(
      createModel({
        protocol: openaiChat,
        provider: {
          name: 'double',
          url: () => `${server.url}/v1`,
          headers: () => ({ authorization: 'Bearer k' }),
        },
        target: wholeTarget,
        agents,
      }),
    )
    assert.deepEqual(whole.answer.parts, streamed.answer.parts)
    assert.equal(server.exchanges[1]?.frames.length, 0)
    assert.equal(server.exchanges[0]?.headers['content-type'], 'application/json')
  })

  test('one connection serves one request after another', async context => {
    const ports = new Set<number | undefined>()
    const server = await serve(context, (response, incoming) => {
      ports.add(incoming.socket.remotePort)
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      response.end(
        'data: {"choices":[{"index":0,"delta":{"content":"x"},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n',
      )
    })
    for (let turn = 0; turn < 3; turn++) await ask(modelAt(server))
    assert.equal(ports.size, 1)
  })

  test('the prepared body can be looked at with no network', () => {
    const model = modelAt('http://127.0.0.1:1')
    const prepared = preparedFor(model, request)
    assert.ok(prepared !== undefined)
    assert.deepEqual(JSON.parse(prepared.body).messages, [{ role: 'user', content: 'Hi' }])
    assert.equal(preparedFor({ id: 'x', respond: () => Promise.reject(new Error('no')) }, request), undefined)
  })

  test('fields for this protocol come over the operator\u2019s; those for another are left out, in words', () => {
    const model = createModel({
      protocol: openaiChat,
      provider: { name: 'p', url: () => 'http://127.0.0.1:1', headers: () => ({}) },
      target: {
        ...target,
        body: { temperature: 1, metadata: { a: '1', b: '2' }, response_format: { type: 'text', x: 1 } },
      },
    })
    const body = {
      'openai-chat': {
        temperature: 0,
        metadata: { b: '3' },
        response_format: { type: 'json_object' },
        messages: [],
      },
      gemini: { generationConfig: {} },
      anthropic: {},
    }
    const prepared = preparedFor(model, { ...request, body })
    const sent = JSON.parse(prepared?.body ?? '{}')
    assert.equal(sent.temperature, 0)
    assert.deepEqual(sent.metadata, { a: '1', b: '3' })
    assert.deepEqual(sent.response_format, { type: 'json_object' })
    assert.equal(sent.messages.length, 1)
    assert.deepEqual(prepared?.warnings, [
      'Fields for gemini were left out, as the model speaks openai-chat: generationConfig.',
    ])
  })

  test('a vendor that has forgotten the conversation is sent the whole of it, once', async context => {
    const forgetful: typeof openaiChat = {
      ...openaiChat,
      prepare: (asked, at) => openaiChat.prepare(asked, { ...at, body: at.stateful ? { bogus: 1 } : {} }),
      failure: (status, headers, body) => ({ ...openaiChat.failure(status, headers, body), forgotten: true }),
    }
    const server = await double(context, { text: 'Hello.' })
    const model = createModel({
      protocol: forgetful,
      provider: { name: 'p', url: () => `${server.url}/v1`, headers: () => ({ authorization: 'Bearer k' }) },
      target: { ...target, stateful: true },
      agents,
    })
    assert.equal(textOf((await ask(model)).answer), 'Hello.')
    assert.deepEqual(
      server.exchanges.map(({ status }) => status),
      [400, 200],
    )
    const never = await double(context)
    const stubborn = {
      ...forgetful,
      prepare: (asked: ModelRequest, at: Target) => openaiChat.prepare(asked, { ...at, body: { bogus: 1 } }),
    }
    const other = createModel({
      protocol: stubborn,
      provider: { name: 'p', url: () => `${never.url}/v1`, headers: () => ({ authorization: 'Bearer k' }) },
      target: { ...target, stateful: true },
      agents,
    })
    assert.equal((await failing(other)).code, 'model_rejected')
    assert.equal(never.exchanges.length, 2)
  })

  test('warnings of what was sent reach the answer', async context => {
    const server = await double(context, { text: 'x' })
    const warned: typeof openaiChat = {
      ...openaiChat,
      prepare: (asked, at) => ({ ...openaiChat.prepare(asked, at), warnings: ['adapted'] }),
    }
    assert.deepEqual((await ask(modelAt(server.url, {}, warned))).answer.warnings, ['adapted'])
  })

  test('an event without end is not kept without end', async context => {
    const server = await serve(context, response => {
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      response.write(`data: ${'x'.repeat(5000)}`)
    })
    assert.equal((await failing(modelAt(server, { maxEventChars: 1000 }))).code, 'model_failed')
  })

  test('a codec that cannot read an answer is a failure of the model', async context => {
    const server = await double(context, { text: 'x' })
    const broken: typeof openaiChat = {
      ...openaiChat,
      step: () => {
        throw new RangeError('a defect')
      },
    }
    assert.equal((await failing(modelAt(server.url, {}, broken))).code, 'model_failed')
  })

  test('a redirect is not followed', async context => {
    let hits = 0
    const elsewhere = await serve(context, response => {
      hits++
      response.end()
    })
    const server = await serve(context, response => response.writeHead(307, { location: elsewhere }).end())
    const error = await failing(modelAt(server))
    assert.equal(error.code, 'model_rejected')
    assert.match(error.message, /redirect/)
    assert.equal(hits, 0)
  })

  test('a base URL that is none is told, without what it held', async () => {
    const error = await failing(modelAt('not an address'))
    assert.equal(error.code, 'model_rejected')
  })
})

describe('secrets', () => {
  test('a vendor that echoes the key is masked, in any wrapping', async context => {
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

  test('in a stream too', async context => {
    const server = await serve(context, response => {
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      response.end(
        `data: ${JSON.stringify({ error: { message: `bad ${KEY}`, type: 'invalid_request_error' } })}\n\n`,
      )
    })
    assert.ok(!(await failing(modelAt(server))).message.includes('canary'))
  })

  test('a key with a line break is told of, not sent', async context => {
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

test('the proxy of the environment is used, but for the hosts that it leaves out', async context => {
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

// ---- servers ---------------------------------------------------------------------------------------------

async function serve(
  context: TestContext,
  answer: (response: Response, incoming: Incoming) => void,
): Promise<string> {
  const server = createServer((incoming, response) => {
    incoming.resume()
    incoming.on('end', () => answer(response, incoming))
  })
  context.after(() => closing(server))
  return listen(server)
}

type Listener = NonNullable<Parameters<typeof createServer>[1]>
type Incoming = Parameters<Listener>[0]
type Response = Parameters<Listener>[1]

async function listen(server: Server): Promise<string> {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return addressOf(server)
}

function addressOf(server: Server): string {
  // A TCP server that listens has an AddressInfo; the string form is for pipes only.
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

async function closing(server: Server): Promise<void> {
  if (!server.listening) return
  server.close()
  server.closeAllConnections()
  await once(server, 'close')
}
