// Permissions that hold in all sessions of an agent, where the operator allows that.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { tool } from '../../../src/tools/index.ts'
import { cites } from '../../requirements/manifest.ts'
import { cwd, makeAcp, textOf } from './rig.ts'

const input = { type: 'object', properties: { to: { type: 'string' } } }
const mailTool = (description: string) => tool({ name: 'mail', description, input, run: () => 'sent' })
const script = ({ history }: { history: readonly { role: string }[] }) =>
  history.at(-1)?.role === 'user' ? { calls: [{ name: 'mail', input: { to: 'ana' } }] } : { text: 'ok' }

const allowed = { agentGrants: true } as const
const rigOf = (t: Parameters<typeof makeAcp>[0], agent: object = allowed, tools = [mailTool('Sends.')]) =>
  makeAcp(t, { script, tools, agent })

test(
  cites('ACP-PERM-10', 'a permission for the agent holds in its other sessions, until it is forgotten'),
  async t => {
    const rig = rigOf(t)
    const client = await rig.connect({ permission: 'allow-agent' })
    const [first, second] = [await client.newSession(), await client.newSession()]
    await client.prompt(first, 'go')
    assert.deepEqual(
      client.permissions[0]?.options.map(({ optionId }) => optionId),
      ['allow', 'allow-session', 'allow-agent', 'reject', 'reject-session'],
    )
    await client.prompt(second, 'go')
    await client.prompt(await client.newSession(), 'go')
    assert.equal(client.permissions.length, 1, 'it asked once')
    client.updates.length = 0
    await client.prompt(second, '/grants')
    assert.match(textOf(client.updates), /`mail` allowed by local, in all sessions of this agent/)
    const { sessions } = await client.agent.request('session/list', {})
    assert.equal(sessions.length, 3, 'what holds them is no conversation')
    await client.prompt(second, '/forget mail')
    for (const sessionId of [second, first]) {
      const asked = await rig.connect({ permission: 'reject' })
      await asked.agent.request('session/resume', { sessionId, cwd, mcpServers: [] })
      await asked.prompt(sessionId, 'again')
      assert.equal(asked.permissions.length, 1)
    }
  },
)

test(cites('ACP-PERM-10', 'a forgotten permission ends in sessions that have a copy of it'), async t => {
  const rig = rigOf(t)
  const client = await rig.connect({ permission: 'allow-agent' })
  const [first, second] = [await client.newSession(), await client.newSession()]
  await client.prompt(first, 'go')
  await client.prompt(second, 'go')
  await client.prompt(first, '/forget all')
  const again = await rig.connect({ permission: 'reject' })
  await again.agent.request('session/resume', { sessionId: second, cwd, mcpServers: [] })
  await again.prompt(second, 'go')
  assert.equal(again.permissions.length, 1)
})

test(cites('ACP-PERM-10', 'it is for one owner, and for the tool as it was'), async t => {
  const rig = rigOf(t)
  const client = await rig.connect({ permission: 'allow-agent' })
  await client.prompt(await client.newSession(), 'go')
  const changed = makeAcp(t, { script, tools: [mailTool('Sends to all.')], agent: allowed, store: rig.store })
  const later = await changed.connect({ permission: 'reject' })
  await later.prompt(await later.newSession(), 'go')
  assert.equal(later.permissions.length, 1, 'its definition has changed')
  const other = makeAcp(
    t,
    { script, tools: [mailTool('Sends.')], agent: allowed, store: rig.store },
    { principal: { owner: 'bob', name: 'bob' } },
  )
  const bob = await other.connect({ permission: 'reject' })
  await bob.prompt(await bob.newSession(), 'go')
  assert.equal(bob.permissions.length, 1, 'another owner is asked')
})

test(cites('ACP-PERM-10', 'it is not offered, nor taken, where the operator does not allow it'), async t => {
  const rig = rigOf(t, {})
  const client = await rig.connect({ permission: 'allow-agent' })
  await client.prompt(await client.newSession(), 'go')
  assert.ok(!client.permissions[0]?.options.some(({ optionId }) => optionId === 'allow-agent'))
  const [update] = client.updates.filter(
    each => each.sessionUpdate === 'tool_call_update' && each.status === 'failed',
  )
  assert.ok(update, 'an option that was not offered is a refusal')
})
