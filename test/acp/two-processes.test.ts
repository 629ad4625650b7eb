// One session, any door, also when the doors are in two processes: whoever speaks last has it.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { tool } from '../../src/tools/index.ts'
import { makeRig, say } from '../engine/rig.ts'
import { cites } from '../requirements/manifest.ts'
import { cwd, makeAcp, textOf, until } from './rig.ts'

const script = (request: { history: readonly { role: string }[] }) => ({
  text: `answer ${request.history.filter(entry => entry.role === 'user').length}. `,
})

describe('a session in two processes', () => {
  test(
    cites('ACP-SESS-11', 'is taken back by the next prompt, with what was said meanwhile'),
    async context => {
      const rig = makeAcp(context, { script })
      const client = await rig.connect({ capabilities: { fs: { readTextFile: true } } })
      const id = await client.newSession()
      await client.prompt(id, 'one')
      const other = makeRig({ store: rig.store, script })
      await say(await other.engine.open('local', id), 'two')
      assert.deepEqual(await client.prompt(id, 'three'), { stopReason: 'end_turn' })
      assert.equal(textOf(client.updates), 'answer 1. answer 2. answer 3. ')
      assert.equal(textOf(client.updates, 'user_message_chunk'), 'two')
      const session = await rig.engine.open('local', id)
      assert.ok(session.offer.byName.has('read_text_file'), 'the tools of the connection are attached again')
    },
  )

  test(cites('ACP-PERM-08', 'withdraws its questions when it is taken over'), async context => {
    const mail = tool({ name: 'mail', description: 'Sends.', input: { type: 'object' }, run: () => 'sent' })
    const calls = [{ calls: [{ name: 'mail' }] }, { text: 'done' }]
    const rig = makeAcp(context, { script: calls, tools: [mail] })
    let withdrawn: AbortSignal | undefined
    const client = await rig.connect({
      permission: (_request, signal) => {
        withdrawn = signal
        return new Promise(() => {})
      },
    })
    const id = await client.newSession()
    const prompt = client.prompt(id, 'send').then(
      () => 'answered',
      () => 'failed',
    )
    await until(() => client.permissions.length === 1)
    const other = makeRig({ store: rig.store, tools: [mail], script: calls })
    const session = await other.engine.open('local', id)
    const callId = client.permissions[0]!.toolCall.toolCallId
    await session.respond({ results: [], decisions: [{ callId, granted: true, by: 'bo' }] })
    // This process learns of it when it next writes.
    const mine = await rig.engine.open('local', id)
    await assert.rejects(mine.respond({ results: [], decisions: [{ callId, granted: false, by: 'ana' }] }))
    await until(() => withdrawn?.aborted)
    assert.equal(await prompt, 'failed')
    await client.agent.request('session/load', { sessionId: id, cwd, mcpServers: [] })
    assert.match(textOf(client.updates), /done/)
  })
})
