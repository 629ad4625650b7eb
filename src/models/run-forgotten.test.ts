// What a vendor once kept for a session, and no longer keeps: a container that is gone costs the session nothing but the
// container, whether the vendor says so or fails with an error of its own.
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import type { ModelRequest } from '../engine/ports/index.ts'
import type { Entry } from '../language/history.ts'
import type { JsonObject } from '../lib/json/index.ts'
import { checkRequestAll } from '../testing/doubles/index.ts'
import { anthropicMessages } from './protocols/anthropic/index.ts'
import { createModel } from './run.ts'
import { agents, serve, target } from './run-harness.test.ts'

const origin = { protocol: 'anthropic', family: 'claude' }
const from = { type: 'code_execution_20260120', tool_id: 'srvtoolu_1' }
const code = { type: 'server_tool_use', id: 'srvtoolu_1', name: 'code_execution', input: {} }
const hosted = [{ type: 'code_execution_20260120', name: 'code_execution' }]

const expiresAt = Date.parse('2026-01-01T00:00:00Z')

/** A call that code made: it waits in its container for the result. */
const history: Entry[] = [
  { role: 'user', parts: [{ type: 'text', text: 'Count.' }] },
  {
    role: 'assistant',
    origin,
    continuity: {
      origin,
      data: { container: { id: 'container_old', expires_at: new Date(expiresAt).toISOString() } },
    },
    parts: [
      { type: 'hosted', tool: 'code_execution', summary: '', native: { origin, data: code } },
      {
        type: 'call',
        id: 'call_1',
        name: 'count',
        form: 'json',
        text: '{}',
        nativeId: 'toolu_1',
        native: { origin, data: { caller: from } },
      },
    ],
  },
  {
    role: 'tool',
    results: [
      {
        callId: 'call_1',
        name: 'count',
        outcome: {
          kind: 'ok',
          parts: [{ type: 'text', text: '3' }],
          from: { source: 'tool', tool: 'count' },
        },
      },
    ],
  },
]
const request: ModelRequest = {
  session: 's',
  history,
  tools: [],
  choice: 'auto',
  parallel: true,
  options: {},
}
const message = {
  id: 'msg_1',
  type: 'message',
  role: 'assistant',
  model: 'm',
  content: [{ type: 'text', text: 'Three.' }],
  stop_reason: 'end_turn',
  usage: { input_tokens: 1, output_tokens: 1 },
}

/** Answers only what names no container; gives what it was sent. */
async function without(
  context: TestContext,
  status: number,
  error: JsonObject,
  now = expiresAt - 1,
): Promise<JsonObject[]> {
  const bodies: JsonObject[] = []
  const url = await serve(context, (response, _, sent) => {
    const body = JSON.parse(sent)
    bodies.push(body)
    const refused = 'container' in body
    response.writeHead(refused ? status : 200, { 'content-type': 'application/json' })
    response.end(JSON.stringify(refused ? { type: 'error', error } : message))
  })
  const model = createModel({
    protocol: anthropicMessages,
    provider: { name: 'p', url: () => url, headers: () => ({ 'x-api-key': 'k' }) },
    target: { ...target, model: 'claude-sonnet-4-6', family: 'claude', hosted },
    limits: { retries: 1, backoffMs: 1, maxBackoffMs: 2 },
    agents,
    now: () => now,
  })
  const answer = await model.respond(request, () => {}, new AbortController().signal)
  assert.equal(answer.stop, 'end')
  assert.deepEqual(answer.continuity?.data, { container: null }, 'later requests do not name it')
  return bodies
}

test('a vendor that lost the container is asked without it at once', async context => {
  const error = { type: 'invalid_request_error', message: 'container: container_old has expired' }
  const bodies = await without(context, 400, error)
  assert.deepEqual(
    bodies.map(({ container }) => container),
    ['container_old', undefined],
  )
  assert.deepEqual(checkRequestAll('anthropic', bodies[1]), [])
})

test('a vendor that keeps failing is asked without the container after the last retry', async context => {
  const bodies = await without(context, 500, { type: 'api_error', message: 'Internal server error' })
  assert.deepEqual(
    bodies.map(({ container }) => container),
    ['container_old', 'container_old', undefined],
  )
})

test('a container that has expired is not named', async context => {
  const error = { type: 'invalid_request_error', message: 'container: container_old has expired' }
  const [body, ...more] = await without(context, 400, error, expiresAt)
  assert.deepEqual(more, [])
  assert.equal('container' in (body ?? {}), false)
  assert.deepEqual(checkRequestAll('anthropic', body), [])
})
