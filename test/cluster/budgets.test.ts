// Budgets over two nodes on PostgreSQL: a node dies in a turn with another agent, the other node takes the turn over, and asks;
// it dies too, and a third is answered. What was spent is counted once.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { total } from '../crash/budgets.ts'
import { type Answer, ended, post, processes, say, stateOf, until } from './processes.ts'

const script = fileURLToPath(new URL('./budget-node.ts', import.meta.url))

for (const crashAt of ['answer-recorded:3', 'outcome-recorded:2'])
  test(`a turn with budgets whose node died at ${crashAt} counts once on the nodes that take it over`, {
    timeout: 180_000,
  }, async t => {
    const cluster = await processes(t, 2_000)
    const a = await cluster.start({ script, env: { TURNWIRE_CRASH_AT: crashAt } })
    const b = await cluster.start({ script })
    const made = { agent: { name: 'helper' } }
    const { sessionId: id } = await post<{ sessionId: string }>(a.url, '/sessions', made)
    // This answer is lost with its connection.
    void say(a.url, id, 'go').catch(() => {})
    await ended(a.child)
    const questionOf = async (url: string): Promise<string | undefined> =>
      /question_(?!id)\w+/.exec(JSON.stringify(await stateOf(url, id)))?.[0]
    let asked: string | undefined
    await until(async () => {
      asked = await questionOf(b.url)
      return asked !== undefined
    })
    const c = await cluster.start({ script })
    b.child.kill('SIGKILL')
    await ended(b.child)
    await until(async () => (await stateOf(c.url, id).catch(() => undefined))?.status === 'waiting')
    assert.equal(await questionOf(c.url), asked, 'the question is the one that the dead node asked')
    const answer = { role: 'tool_answer', questionId: asked, action: 'accept', content: {} }
    const last = await post<Answer>(c.url, `/sessions/${id}/turns`, { messages: [answer] })
    assert.equal(last.stopReason, 'end_turn')
    assert.match(JSON.stringify(last.messages.at(-1)), /All done/)
    const rows = await cluster.query<{ kind: string; name: string; money: number; calls: string }>(
      'SELECT kind, name, sum(money) AS money, sum(calls) AS calls FROM $schema.spending GROUP BY 1, 2 ORDER BY 1, 2',
    )
    assert.deepEqual(
      rows.map(({ kind, name, money, calls }) => [
        kind === 'owner' ? kind : name,
        Number(money),
        Number(calls),
      ]),
      [
        ['helper', total, 2],
        ['writer', 1, 0],
        ['owner', total, 2],
      ],
    )
  })
