// Which sessions are kept in memory, and that a process never works with two copies of one.
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { tool } from '../../src/tools/index.ts'
import { begin, makeRig, owner, stopAll, until } from './rig.ts'

after(stopAll)

test('a session that is at work is never opened a second time, however many there are', async () => {
  const go = Promise.withResolvers<void>()
  const work = tool({
    name: 'work',
    description: 'Ends when the test lets it.',
    input: { type: 'object' },
    trust: 'trusted',
    run: async () => {
      await go.promise
      return 'done'
    },
  })
  const rig = makeRig({
    tools: [work],
    script: [{ calls: [{ name: 'work', input: {} }] }, { text: 'Done.' }],
  })
  // More than are kept, and none of them doing anything yet.
  const sessions = await Promise.all(Array.from({ length: 300 }, () => begin(rig)))
  const turns = sessions.map(session =>
    until(session, () => session.say({ parts: [{ type: 'text', text: 'go' }], door: 'test' })),
  )
  while (sessions.some(session => session.driver.callsRunning === 0)) await new Promise(setImmediate)
  for (const session of sessions)
    assert.ok((await rig.engine.open(owner, session.id)) === session, 'there are two copies')
  go.resolve()
  await Promise.all(turns)
  assert.deepEqual([...new Set(sessions.map(session => session.state.lastStop?.stop))], ['end'])
})
