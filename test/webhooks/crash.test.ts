// A server that is killed at any point of an event and its message: the message is sent, by the next process if need be, and no
// event has two of them.
import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { sqliteStore } from '../../src/stores/sqlite/index.ts'
import { courierPoints } from '../../src/webhooks/index.ts'
import { killed, newFolder } from '../crash/killed-server.ts'
import { until } from '../wires/rig.ts'
import { type Receiver, receive } from './rig.ts'

const script = new URL('killed-server.ts', import.meta.url).pathname

async function serve(t: TestContext, folder: string, hook: string, crashAt?: string) {
  const { TURNWIRE_CRASH_AT: _, ...rest } = process.env
  const env = { ...rest, HOOK_URL: hook, ...(crashAt !== undefined && { TURNWIRE_CRASH_AT: crashAt }) }
  const child: ChildProcess = spawn(process.execPath, [script, folder], {
    env,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  t.after(() => void child.kill('SIGKILL'))
  const [line] = (await once(child.stdout!, 'data')) as [Buffer]
  return { url: line.toString().trim(), child }
}

async function begin(url: string): Promise<void> {
  const post = async (path: string, body: unknown) =>
    (await fetch(url + path, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    }).then(answer => answer.json())) as { sessionId: string }
  const own = [{ name: 'mail', trust: false }]
  const { sessionId } = await post('/sessions', { agent: { name: 'helper', tools: own } })
  await post(`/sessions/${sessionId}/turns`, { messages: [{ role: 'user', content: 'go' }] })
}

/** As if the time for which the dead process had taken the message were over. */
async function letTimePass(folder: string): Promise<void> {
  const store = sqliteStore({ file: join(folder, 'sessions.db') })
  for (const record of (await store.records.list({ kind: 'webhook ops', limit: 9 })).rows)
    if (JSON.parse(record.body).state === 'waiting')
      await store.records.change(record, { body: record.body, dueAt: Date.now() })
  await store.close()
}

const idsOf = ({ messages }: Receiver): Set<string> => new Set(messages.map(({ id }) => id))

for (const point of ['approval-recorded', ...courierPoints])
  test(`killed at ${point}: the approval is told, and only once unless the kill came after it was sent`, async t => {
    const receiver = await receive(t)
    const folder = newFolder(t)
    const first = await serve(t, folder, receiver.url, point)
    const gone = once(first.child, 'exit')
    await begin(first.url).catch(() => {})
    await gone
    await letTimePass(folder)
    const second = await serve(t, folder, receiver.url)
    const sent = async (): Promise<boolean> => receiver.messages.length >= (point === 'webhook-sent' ? 2 : 1)
    await until(sent)
    assert.equal(idsOf(receiver).size, 1)
    assert.equal(receiver.messages[0]?.type, 'approval.requested')
    // Long enough for an attempt that should not be made.
    if (point !== 'webhook-sent') assert.equal(receiver.messages.length, 1)
    await killed(second.child)
  })
