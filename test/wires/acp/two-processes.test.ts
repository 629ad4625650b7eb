// One session in two processes on one store: the process that wrote last has it.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { tool } from '../../../src/tools/index.ts'
import { cites } from '../../requirements/manifest.ts'
import { cwd, makeAcp, refOf, sayElsewhere, textOf, until } from './rig.ts'

type Asked = { history: readonly { role: string }[]; tools: readonly { name: string }[] }
const script = (request: Asked) => ({
  text: `answer ${request.history.filter(entry => entry.role === 'user').length}. `,
})

describe('a session in two processes', () => {
  test(
    cites('ACP-SESS-11', 'is continued by the next prompt, which first shows what happened meanwhile'),
    async context => {
      let tools: string[] = []
      const rig = makeAcp(context, {
        script: request => {
          tools = request.tools.map(({ name }) => name)
          return script(request)
        },
      })
      const client = await rig.connect({ capabilities: { fs: { readTextFile: true } } })
      const id = await client.newSession()
      await client.prompt(id, 'one')
      const other = makeAcp(context, { store: rig.store, script })
      const { first } = await sayElsewhere(other, id, 'two')
      const reading = other.engine.follow(refOf(id), { from: first, until: 'stop', deltas: 'none' })
      for await (const _ of reading);
      assert.deepEqual(await client.prompt(id, 'three'), { stopReason: 'end_turn' })
      assert.equal(textOf(client.updates), 'answer 1. answer 2. answer 3. ')
      assert.equal(textOf(client.updates, 'user_message_chunk'), 'two')
      assert.ok(tools.includes('read_text_file'), 'the tools of the connection are attached again')
    },
  )

  test(
    cites('ACP-PERM-08', 'withdraws its permission requests when another process takes it over'),
    async context => {
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
      const other = makeAcp(context, { store: rig.store, tools: [mail], script: calls })
      const callId = client.permissions[0]!.toolCall.toolCallId
      const decide = ({ engine }: typeof rig, granted: boolean, by: string) =>
        engine.command(refOf(id), {
          do: 'respond',
          results: [],
          decisions: [{ callId, granted, by }],
        })
      await decide(other, true, 'bo')
      // This process learns of it when it next writes.
      await assert.rejects(decide(rig, false, 'ana'))
      await until(() => withdrawn?.aborted)
      assert.equal(await prompt, 'failed')
      await client.agent.request('session/load', { sessionId: id, cwd, mcpServers: [] })
      assert.match(textOf(client.updates), /done/)
    },
  )
})
