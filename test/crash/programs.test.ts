// A server that runs a program is killed with SIGKILL at every point of it, also while the program waits for a person and
// for the application. Another process goes on: over AAP, for an editor over ACP, and for a program that uses the library.
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { runtimeOf } from '../../src/library/turnwire.ts'
import { acpHost } from '../../src/server/acp.ts'
import { connect, cwd, textOf, until } from '../wires/acp/rig.ts'
import { begin, effectsIn, killed, newFolder, post, say, serveScript, waiting } from './killed-server.ts'
import { openPrograms } from './programs.ts'

const script = fileURLToPath(new URL('./programs.ts', import.meta.url))
const tools = [{ name: 'ring', description: 'Rings.', parameters: { type: 'object' } }]
const serve = (t: TestContext, folder: string, crashAt?: string) => serveScript(t, script, folder, crashAt)

const everything = ['mail 3', 'pay 1', 'pay 2']

test('killed while a program waits for a person and then for the application: AAP goes on', async t => {
  const folder = newFolder(t)
  const first = await serve(t, folder)
  const id = await begin(first.url, tools)
  const mail = waiting(await say(first.url, id), 'mail')
  await killed(first.child)

  const second = await serve(t, folder)
  const granted = { role: 'tool_permission', toolCallId: mail, granted: true }
  const ringing = waiting(await post(second.url, `/sessions/${id}/turns`, { messages: [granted] }), 'ring')
  await killed(second.child)

  const third = await serve(t, folder)
  const result = { role: 'tool', toolCallId: ringing, content: 'rung' }
  const last = await post(third.url, `/sessions/${id}/turns`, { messages: [result] })
  assert.equal(last.stopReason, 'end_turn')
  const results = last.messages.filter(({ role }) => role === 'tool').map(({ content }) => content)
  assert.deepEqual(results, ['["pay 1","pay 2","mail 3","rung"]'])
  assert.deepEqual(effectsIn(folder).toSorted(), everything)
  await killed(third.child)
})

test('killed while a program waits for a person: an editor over ACP is asked and goes on', async t => {
  const folder = newFolder(t)
  const first = await serve(t, folder)
  const id = await begin(first.url, tools)
  waiting(await say(first.url, id), 'mail')
  await killed(first.child)

  const turnwire = await openPrograms(folder)
  t.after(() => turnwire.close())
  const editor = await connect(t, await acpHost(runtimeOf(turnwire)))
  await editor.agent.request('session/load', { sessionId: id, cwd, mcpServers: [] })
  await until(() => effectsIn(folder).includes('mail 3'))
  assert.equal(editor.permissions.length, 1)
  const session = await turnwire.resume(id)
  const reply = await session.resume()
  const [pending] = reply.status === 'waiting' ? reply.pending : []
  assert.deepEqual([pending?.tool, pending?.needs], ['ring', 'result'])
  const done = await session.result(pending?.callId ?? '', 'rung')
  assert.equal(done.text, 'All done.')
  await until(() => textOf(editor.updates).includes('All done.'))
  const nested = editor.updates.filter(update => update.sessionUpdate === 'tool_call' && update._meta)
  assert.ok(nested.length >= 3, 'calls of the program name their parent')
  assert.deepEqual(effectsIn(folder).toSorted(), everything)
  editor.close()
})

/** Kills the process at this point, and lets the library finish the turn. */
async function survives(t: TestContext, point: string): Promise<string> {
  const folder = newFolder(t)
  const first = await serve(t, folder, point)
  const id = await begin(first.url, tools)
  try {
    const mail = waiting(await say(first.url, id), 'mail')
    const granted = { role: 'tool_permission', toolCallId: mail, granted: true }
    await post(first.url, `/sessions/${id}/turns`, { messages: [granted] })
  } catch {
    // The server is gone, as it is to be.
  }
  await killed(first.child)
  const turnwire = await openPrograms(folder)
  const session = await turnwire.resume(id)
  let reply = await session.resume().catch(() => session.send('Go on.'))
  for (let answers = 0; reply.status === 'waiting' && answers < 5; answers++) {
    const [pending] = reply.pending
    if (pending?.needs === 'permission') reply = await session.approve(pending.callId)
    else reply = await session.result(pending?.callId ?? '', 'rung')
  }
  assert.equal(reply.status, 'done', point)
  const kinds: string[] = []
  for await (const item of session.watch({ until: 'stop' }))
    if (item.type === 'event' && item.event.type === 'call.settled') kinds.push(item.event.outcome.kind)
  await turnwire.close()
  const effects = effectsIn(folder)
  assert.equal(new Set(effects).size, effects.length, `${point}: nothing ran twice (${effects.join(', ')})`)
  return kinds.toSorted().join(' ')
}

for (const point of [
  'intent-recorded:1',
  'intent-recorded:2',
  'call-ran:1',
  'outcome-decided:2',
  'decision-recorded:1',
  'call-ran:3',
])
  test(`killed at ${point} of a program: it goes on, and no call of it runs twice`, async t => {
    const kinds = await survives(t, point)
    // A call that may have run throws in the program; the payments are caught there, the mail is not.
    assert.match(kinds, /^(ok ok ok ok ok|ok ok ok ok unknown|ok ok ok unknown unknown|error ok ok unknown)$/)
  })
