// The runner against a double that misbehaves on demand: what is tried again and what is not, when it gives up, what
// an abort closes, what is sent and how it is read.
import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import { describe, test } from 'node:test'
import type { ModelDelta, ModelRequest } from '../engine/ports/index.ts'
import type { ScriptedTurn } from '../testing/doubles/index.ts'
import { fallback } from './fallback.ts'
import { anthropicMessages } from './protocols/anthropic/index.ts'
import { openaiChat } from './protocols/openai-chat/index.ts'
import { createModel, preparedFor } from './run.ts'
import {
  agents,
  ask,
  closing,
  double,
  failing,
  KEY,
  listen,
  modelAt,
  request,
  serve,
  target,
  textOf,
} from './run-harness.test.ts'

describe('retries', () => {
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
      assert.equal(error.code, 'model_limited')
      assert.equal(server.exchanges.length, 1)
    }
  })

  test('gives up after the configured number of retries', async context => {
    const fault = { kind: 'server-error' } as const
    const server = await double(context, ...Array.from({ length: 9 }, () => ({ fault })))
    assert.equal((await failing(modelAt(server.url, { retries: 2 }))).code, 'model_failed')
    assert.equal(server.exchanges.length, 3)
  })

  test('also once something was shown, which is then taken back', async context => {
    const cut = { text: 'A long answer that is cut.', chunk: 4, fault: { kind: 'eof-before-end' } as const }
    const server = await double(
      context,
      cut,
      { ...cut, fault: { kind: 'error-event', after: 3 } },
      { text: 'again' },
    )
    const deltas: ModelDelta[] = []
    const answer = await modelAt(server.url).respond(
      request,
      delta => deltas.push(delta),
      new AbortController().signal,
    )
    assert.deepEqual(
      answer.parts.map(part => part.type === 'text' && part.text),
      ['again'],
    )
    const resets = deltas.flatMap((delta, at) => (delta.type === 'reset' ? [at] : []))
    assert.equal(resets.length, 2)
    assert.ok(resets[0]! > 0)
    assert.deepEqual(deltas.slice(resets[1]! + 1), [{ type: 'text', text: 'again' }])
    assert.equal(server.exchanges.length, 3)
  })

  test('no more often than is allowed, also when each attempt showed something', async context => {
    const cut = { text: 'A long answer that is cut.', chunk: 4, fault: { kind: 'eof-before-end' } as const }
    const server = await double(context, cut, cut, cut, cut, cut)
    await failing(modelAt(server.url, { retries: 2 }))
    assert.equal(server.exchanges.length, 3)
  })

  test('not after a rejection, whose message is reported', async context => {
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

  test('a refused connection is a failure that names the provider', async () => {
    const server = createServer()
    const url = await listen(server)
    await closing(server)
    const error = await failing(modelAt(url, { retries: 1 }))
    assert.equal(error.code, 'model_failed')
    assert.match(error.message, /double.*ECONNREFUSED\. Does it run, and is its address right\?/)
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

  test('for the first byte, where another model is asked next: no other attempt', async context => {
    const slow = await double(context, { fault: { kind: 'hang' } }, { text: 'late' })
    const next = await double(context, { text: 'Here.' })
    const model = fallback([modelAt(slow.url, { firstByteMs: 30 }), modelAt(next.url)])
    assert.equal(textOf((await ask(model)).answer), 'Here.')
    assert.equal(slow.exchanges.length, 1)
  })

  test('for the time after the headers and between two chunks', async context => {
    const server = await double(
      context,
      { text: 'x', fault: { kind: 'hang-after-headers' } },
      { text: 'some words that stop', chunk: 3, fault: { kind: 'hang-after-frames', frames: 3 } },
    )
    const error = await failing(modelAt(server.url, { idleMs: 30 }))
    assert.equal(error.code, 'model_timeout')
    assert.equal(server.exchanges.length, 2)
  })

  test('an answer that was whole before the timeout is an answer', async context => {
    const server = await serve(context, response => {
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      response.write('data: {"choices":[{"index":0,"delta":{"content":"whole"},"finish_reason":"stop"}]}\n\n')
    })
    const { answer } = await ask(modelAt(server, { idleMs: 1_000 }))
    assert.equal(textOf(answer), 'whole')
  })

  test('[DONE] ends the answer at once', async context => {
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
  test('while a key is being fetched, which may never come', async () => {
    const model = createModel({
      protocol: openaiChat,
      provider: { name: 'p', url: () => 'http://127.0.0.1:1', headers: () => new Promise(() => {}) },
      target,
      agents,
    })
    const abort = new AbortController()
    const answer = ask(model, abort.signal)
    abort.abort(new Error('stop it'))
    await assert.rejects(answer, /stop it/)
  })

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

  test('ends the wait for a retry', async context => {
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

  test('deltas of one chunk are merged', async context => {
    const delta = (fields: object): string => `data: ${JSON.stringify({ choices: [{ delta: fields }] })}\n\n`
    const url = await serve(context, response => {
      response.setHeader('content-type', 'text/event-stream')
      const words = ['One ', 'two ', 'three.'].map(content => delta({ content }))
      const thoughts = ['hm', '!'].map(content => delta({ reasoning_content: content }))
      const end = 'data: {"choices":[{"delta":{},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n'
      response.end([...thoughts, ...words, end].join(''))
    })
    const { deltas } = await ask(modelAt(url))
    assert.deepEqual(
      deltas.filter(({ type }) => type === 'text' || type === 'thinking'),
      [
        { type: 'thinking', text: 'hm!' },
        { type: 'text', text: 'One two three.' },
      ],
    )
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

  test('preparedFor gives the body with no network', () => {
    const model = modelAt('http://127.0.0.1:1')
    const prepared = preparedFor(model, request)
    assert.ok(prepared !== undefined)
    assert.deepEqual(JSON.parse(prepared.body).messages, [{ role: 'user', content: 'Hi' }])
    assert.equal(preparedFor({ id: 'x', respond: () => Promise.reject(new Error('no')) }, request), undefined)
  })

  test('fields for this protocol override the operator\u2019s; those for another are left out with a warning', () => {
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

  test('features that a caller asks for are added to the operator’s', () => {
    const model = createModel({
      protocol: anthropicMessages,
      provider: { name: 'p', url: () => 'http://127.0.0.1:1', headers: () => ({}) },
      target: { ...target, body: { betas: ['a-2026', 'b-2026'] } },
    })
    const prepared = preparedFor(model, { ...request, body: { anthropic: { betas: ['b-2026', 'c-2026'] } } })
    assert.equal(prepared?.headers['anthropic-beta'], 'a-2026,b-2026,c-2026')
  })

  test('a vendor that lost the stored conversation is sent the whole of it, once', async context => {
    const forgetful: typeof openaiChat = {
      ...openaiChat,
      prepare: (asked, at) => ({
        ...openaiChat.prepare(asked, { ...at, body: at.forgotten ? {} : { bogus: 1 } }),
        usesStored: at.forgotten !== true,
      }),
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
      prepare: (asked: ModelRequest, at: typeof target) => ({
        ...openaiChat.prepare(asked, { ...at, body: { bogus: 1 } }),
        usesStored: at.forgotten !== true,
      }),
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

  test('warnings about the request are in the answer', async context => {
    const server = await double(context, { text: 'x' })
    const warned: typeof openaiChat = {
      ...openaiChat,
      prepare: (asked, at) => ({ ...openaiChat.prepare(asked, at), warnings: ['adapted'] }),
    }
    assert.deepEqual((await ask(modelAt(server.url, {}, warned))).answer.warnings, ['adapted'])
  })

  test('an endless event is refused', async context => {
    const server = await serve(context, response => {
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      response.write(`data: ${'x'.repeat(5000)}`)
    })
    assert.equal((await failing(modelAt(server, { maxEventChars: 1000 }))).code, 'model_failed')
  })

  test('an answer that a protocol cannot read is a failure of the model', async context => {
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

  test('a base URL that is no web address is an error that does not repeat it', async () => {
    const error = await failing(modelAt('not an address'))
    assert.equal(error.code, 'model_rejected')
  })
})
