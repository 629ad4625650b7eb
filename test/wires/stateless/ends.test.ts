// How a stateless request ends when its model does not: the same on every wire, each in its protocol's words.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { Model } from '../../../src/engine/index.ts'
import { framesOf, serve } from './rig.ts'

/** A model that says this and then nothing more, until it is stopped. */
function hanging(text?: string): { model: Model; asked: Promise<void>; stopped: Promise<void> } {
  const asked = Promise.withResolvers<void>()
  const stopped = Promise.withResolvers<void>()
  const model: Model = {
    id: 'hanging',
    respond(_request, watch, signal) {
      if (text !== undefined) watch({ type: 'text', text })
      asked.resolve()
      return new Promise((_, reject) => {
        signal.addEventListener('abort', () => {
          stopped.resolve()
          reject(signal.reason)
        })
      })
    },
  }
  return { model, asked: asked.promise, stopped: stopped.promise }
}

type ErrorOf = (code: 'model_timeout' | 'stopping', message: string) => unknown

type WireCase = {
  wire: string
  whole: string
  stream: string
  body: object
  streamed?: object
  error: ErrorOf
}

const wires: WireCase[] = [
  {
    wire: 'chat',
    whole: '/v1/chat/completions',
    stream: '/v1/chat/completions',
    body: { model: 'helper', messages: [{ role: 'user', content: 'hi' }] },
    streamed: { stream: true },
    error: (code, message) => ({ error: { message, type: 'server_error', param: null, code } }),
  },
  {
    wire: 'messages',
    whole: '/v1/messages',
    stream: '/v1/messages',
    body: { model: 'helper', max_tokens: 9, messages: [{ role: 'user', content: 'hi' }] },
    streamed: { stream: true },
    error: (code, message) => ({
      type: 'error',
      error: { type: code === 'stopping' ? 'overloaded_error' : 'timeout_error', message },
    }),
  },
  {
    wire: 'gemini',
    whole: '/v1beta/models/helper:generateContent',
    stream: '/v1beta/models/helper:streamGenerateContent?alt=sse',
    body: { contents: [{ parts: [{ text: 'hi' }] }] },
    error: (code, message) => ({
      error:
        code === 'stopping'
          ? { code: 503, message, status: 'UNAVAILABLE' }
          : { code: 504, message, status: 'DEADLINE_EXCEEDED' },
    }),
  },
]

const tooSlow = 'The model did not answer within the time that "helper" has.'
const stopping = 'The server is stopping. Try again in a moment.'
const agent = { limits: { time: 40 } }

const bodyOf = async (response: Response): Promise<unknown> => {
  const { request_id: _, ...body } = (await response.json()) as Record<string, unknown>
  return body
}

for (const { wire, whole, stream, body, streamed, error } of wires)
  describe(`${wire}: a model that hangs`, () => {
    test('is an HTTP 504 without a stream, and is stopped', async t => {
      const { model, stopped } = hanging('so far')
      const { post } = await serve(t, { helper: model }, { agent })
      const response = await post(whole, body)
      assert.equal(response.status, 504)
      assert.deepEqual(await bodyOf(response), error('model_timeout', tooSlow))
      await stopped
    })

    test('is an HTTP 504 before the first frame of a stream', async t => {
      const { post } = await serve(t, { helper: hanging().model }, { agent })
      const response = await post(stream, { ...body, ...streamed })
      assert.equal(response.status, 504)
      assert.deepEqual(await bodyOf(response), error('model_timeout', tooSlow))
    })

    test('ends a stream that has begun with an error', async t => {
      const { post } = await serve(t, { helper: hanging('so far').model }, { agent })
      const response = await post(stream, { ...body, ...streamed })
      assert.equal(response.status, 200)
      const frames = await framesOf(response)
      assert.match(frames.map(({ data }) => data).join(''), /so far/)
      assert.deepEqual(JSON.parse(frames.at(-1)?.data ?? ''), error('model_timeout', tooSlow))
    })

    test('ends a stream that was opened by a heartbeat with an error', async t => {
      const config = { server: { heartbeatMs: 5 } }
      const { post } = await serve(t, { helper: hanging().model }, { agent, config })
      const response = await post(stream, { ...body, ...streamed })
      assert.equal(response.status, 200)
      const frames = await framesOf(response)
      assert.deepEqual(JSON.parse(frames.at(-1)?.data ?? ''), error('model_timeout', tooSlow))
    })

    test('is an HTTP 503 when the server stops', async t => {
      const { model, asked } = hanging()
      const { post, turnwire } = await serve(t, { helper: model })
      const answer = post(whole, body)
      await asked
      await turnwire.close()
      const response = await answer
      assert.equal(response.status, 503)
      assert.deepEqual(await bodyOf(response), error('stopping', stopping))
    })
  })
