import assert from 'node:assert/strict'
import { test } from 'node:test'
import { AapClient } from '../../client/index.ts'
import { runWhenFree } from './when-free.ts'

const busy = (): Response => Response.json({ error: 'A turn is running.', code: 'busy' }, { status: 409 })
const answer = (): Response =>
  Response.json({ stopReason: 'end_turn', messages: [{ role: 'assistant', content: 'Hello' }] })

function clientOf(respond: (path: string) => Response): AapClient {
  const fetch = (input: string | URL | Request): Promise<Response> =>
    Promise.resolve(respond(new URL(input instanceof Request ? input.url : input).pathname))
  return new AapClient({ baseUrl: 'http://double', fetch, retries: 0 })
}

test('a message waits for the turn before it, and says so once', async () => {
  const waiting = [busy, busy, answer]
  let told = 0
  const result = await runWhenFree(
    clientOf(() => (waiting.shift() ?? assert.fail())()),
    { sessionId: 's', text: 'Hi', signal: new AbortController().signal },
    () => (told += 1),
  )
  assert.deepEqual([result.stopReason, told], ['end_turn', 1])
})

test('interrupted while it waits, it cancels what it waits for', async () => {
  const asked: string[] = []
  const controller = new AbortController()
  const client = clientOf(path => {
    asked.push(path)
    return path.endsWith('/cancel') ? new Response(null, { status: 204 }) : busy()
  })
  const result = await runWhenFree(client, { sessionId: 's', text: 'Hi', signal: controller.signal }, () =>
    controller.abort(),
  )
  assert.equal(result.stopReason, 'cancelled')
  assert.deepEqual(asked, ['/sessions/s/turns', '/sessions/s/cancel'])
})

test('another failure, or one after the turn has begun, is not tried again', async () => {
  const other = clientOf(() => Response.json({ error: 'No', code: 'session_not_found' }, { status: 404 }))
  const options = { sessionId: 's', text: 'Hi', signal: new AbortController().signal }
  await assert.rejects(runWhenFree(other, options, assert.fail), { code: 'session_not_found' })
  const answers = [() => Response.json({ stopReason: 'tool_use', messages: [call] }), busy]
  const call = {
    role: 'assistant',
    content: [{ type: 'tool_use', toolCallId: 'c1', name: 'own', input: {} }],
  }
  const begun = clientOf(() => (answers.shift() ?? assert.fail())())
  await assert.rejects(runWhenFree(begun, { ...options, tools: { own: () => 'x' } }, assert.fail), {
    code: 'busy',
  })
})
