// A server with budgets is killed at every point of a turn: what was spent is counted once, with what another agent spent for the
// turn, and the question of a budget that is spent can be answered after.
import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { fold } from '../../src/engine/index.ts'
import { crashPoints } from '../../src/engine/ports/index.ts'
import { sqliteStore } from '../../src/stores/sqlite/index.ts'
import { refusals } from '../faults/accepted.ts'
import { isLong } from '../faults/scale.ts'
import { openSpenders, total } from './budgets.ts'
import { begin, dies, newFolder, post, say } from './killed-server.ts'

const script = fileURLToPath(new URL('./budgets.ts', import.meta.url))
const points = isLong
  ? crashPoints
  : (['answer-recorded', 'outcome-recorded', 'question-recorded', 'answer-given', 'turn-ended'] as const)
const few = ['answer-recorded', 'question-recorded']
const mostTimes = isLong ? 9 : 3

/** Says something and accepts the question. Whether the server died meanwhile. */
async function talk(t: TestContext, folder: string, crashAt: string) {
  let id = ''
  const isDead = await dies(t, script, folder, crashAt, async url => {
    id = await begin(url)
    const asked = JSON.stringify(await say(url, id))
    const questionId = /question_(?!id)\w+/.exec(asked)?.[0] ?? assert.fail(asked)
    const accepted = { role: 'tool_answer', questionId, action: 'accept', content: {} }
    await post(url, `/sessions/${id}/turns`, { messages: [accepted] })
  })
  return { id, isDead }
}

/** How often a person was asked in this process. */
async function finish(folder: string, id: string): Promise<number> {
  const turnwire = await openSpenders(folder)
  try {
    const session = await turnwire.resume(id)
    for (let answers = 0; ; ) {
      const status = await session.status()
      if (status === 'idle') return answers
      if (status === 'waiting') {
        const question = /question_(?!id)\w+/.exec(JSON.stringify(await session.pending()))?.[0] ?? ''
        await session.answer({ answers: [{ question, action: 'accept', content: {} }] })
        answers += 1
      } else await sleep(5)
    }
  } finally {
    await turnwire.close()
  }
}

async function check(folder: string, id: string): Promise<void> {
  const store = sqliteStore({ file: join(folder, 'sessions.db') })
  try {
    const log = await store.read(id)
    const { entries, used, raised = {} } = fold(id, log)
    assert.deepEqual(refusals(entries), [])
    assert.match(JSON.stringify(entries.at(-1)), /All done/)
    assert.equal(used.cost, total)
    assert.equal(Object.keys(raised).length, 1)
    assert.equal(log.filter(({ event }) => event.type === 'budget.decided').length, 1)
    const [owner = ''] = await store.owners()
    const month = new Date().toISOString().slice(0, 7)
    const spent = await Promise.all(
      [{ owner }, { agent: 'helper' }, { agent: 'writer' }].map(of => store.spent!(of, month)),
    )
    assert.deepEqual(
      spent.map(({ money, tokens, calls }) => [money, tokens, calls]),
      [
        [total, 100 * total, 2],
        [total, 100 * total, 2],
        [1, 100, 0],
      ],
    )
  } finally {
    await store.close()
  }
}

for (const asks of ['session', 'agentDay', 'ownerMonth'] as const)
  for (const point of isLong || asks === 'session' ? points : few)
    test(`the budget ${asks} counts once after a kill at ${point}, and its question is answered`, async t => {
      let reached = 0
      for (let time = 1; time <= mostTimes; time += 1) {
        const folder = newFolder(t)
        writeFileSync(join(folder, 'asks'), asks)
        const { id, isDead } = await talk(t, folder, `${point}:${time}`)
        if (!isDead) break
        reached += 1
        const answers = await finish(folder, id)
        assert.ok(answers <= 1, `asked ${answers} times`)
        // The question was durable: the one that the killed process asked is the one that is answered.
        if (point === 'question-recorded') assert.equal(answers, 1)
        await check(folder, id)
      }
      if (!isLong) assert.ok(reached > 0, `${point} was never reached`)
    })
