// Budgets of agents that work for others: what they use is their caller's too, and is the owner's once.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Budgets } from '../../src/engine/index.ts'
import { agentTool, memoryStore, scripted, Turnwire } from '../../src/index.ts'

const usage = { input: 90, output: 10, cost: 1 }

async function open(budgets: Budgets) {
  const data = memoryStore()
  const turnwire = await Turnwire.open({
    agents: [
      {
        name: 'desk',
        tools: [agentTool('writer', { description: 'Writes.', trust: 'trusted' })],
        model: scripted(({ history }) =>
          history.at(-1)?.role === 'tool'
            ? { text: 'Sent.', usage }
            : { calls: [{ name: 'ask_writer', input: { task: 'Write.' } }], usage },
        ),
      },
      { name: 'writer', model: scripted(() => ({ text: 'Written.', usage })) },
    ],
    budgets,
    data,
  })
  return { data, turnwire }
}

test('a worker counts for the session and the agent that it works for, and once for the owner', async t => {
  const { data, turnwire } = await open({ session: { money: 100 }, ownerDay: { money: 100 } })
  t.after(() => turnwire.close())
  const session = await turnwire.session('desk')
  assert.equal((await session.send('Go.')).text, 'Sent.')
  const month = new Date().toISOString().slice(0, 7)
  const [owner = ''] = await data.owners()
  assert.equal((await data.spent?.({ owner }, month))?.money, 3)
  assert.equal((await data.spent?.({ agent: 'desk' }, month))?.money, 3)
  assert.equal((await data.spent?.({ agent: 'writer' }, month))?.money, 1)
})

test('what a worker spends can end the turn of the session that it works for', async t => {
  const { turnwire } = await open({ session: { money: 2 } })
  t.after(() => turnwire.close())
  const session = await turnwire.session('desk')
  const reply = await session.send('Go.')
  assert.deepEqual(reply, { status: 'done', text: '', stop: 'limit', limit: 'money' })
})
