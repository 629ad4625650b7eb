// A server whose agent has given a task to another agent is killed with SIGKILL, while the other asks a person and at
// points of its work. Another process goes on, and the mail of the task is sent at most once.
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { runtimeOf } from '../../src/library/turnwire.ts'
import { acpHost } from '../../src/server/acp.ts'
import { connect, cwd, textOf, until } from '../wires/acp/rig.ts'
import { openAgents } from './agents.ts'
import { begin, effectsIn, killed, newFolder, post, say, serveScript, waiting } from './killed-server.ts'

const script = fileURLToPath(new URL('./agents.ts', import.meta.url))
const serve = (t: TestContext, folder: string, crashAt?: string) => serveScript(t, script, folder, crashAt)

const granted = (toolCallId: string) => ({
  messages: [{ role: 'tool_permission', toolCallId, granted: true }],
})

test('the question of an agent is asked over AAP where its task was given, also after a kill', async t => {
  const folder = newFolder(t)
  const first = await serve(t, folder)
  const id = await begin(first.url)
  const mail = waiting(await say(first.url, id), 'mail')
  await killed(first.child)

  const second = await serve(t, folder)
  const last = await post(second.url, `/sessions/${id}/turns`, granted(mail))
  assert.equal(last.stopReason, 'end_turn')
  assert.match(JSON.stringify(last.messages), /Ana has mail.*All done/)
  assert.deepEqual(effectsIn(folder), ['mail 1'])
  await killed(second.child)
})

test('killed while an agent asks: an editor over ACP is asked and the task goes on', async t => {
  const folder = newFolder(t)
  const first = await serve(t, folder)
  const id = await begin(first.url)
  waiting(await say(first.url, id), 'mail')
  await killed(first.child)

  const turnwire = await openAgents(folder)
  t.after(() => turnwire.close())
  const editor = await connect(t, await acpHost(runtimeOf(turnwire)))
  await editor.agent.request('session/load', { sessionId: id, cwd, mcpServers: [] })
  await until(() => textOf(editor.updates).includes('All done.'))
  assert.equal(editor.permissions.length, 1)
  assert.deepEqual(effectsIn(folder), ['mail 1'])
  editor.close()
})

for (const point of [
  'intent-recorded:1',
  'decision-recorded:1',
  'intent-recorded:2',
  'call-ran:1',
  'outcome-recorded:1',
])
  test(`killed at ${point} of a task: it goes on, and its mail is sent at most once`, async t => {
    const folder = newFolder(t)
    const first = await serve(t, folder, point)
    const id = await begin(first.url)
    try {
      const mail = waiting(await say(first.url, id), 'mail')
      await post(first.url, `/sessions/${id}/turns`, granted(mail))
    } catch {
      // The server is gone, as it is to be.
    }
    await killed(first.child)
    const turnwire = await openAgents(folder)
    const session = await turnwire.resume(id)
    let reply = await session.resume()
    for (let answers = 0; reply.status === 'waiting' && answers < 3; answers++)
      reply = await session.approve(reply.pending[0]?.callId ?? '')
    assert.deepEqual([reply.status, reply.text], ['done', 'All done.'], point)
    await turnwire.close()
    assert.ok(effectsIn(folder).length <= 1, effectsIn(folder).join(', '))
  })
