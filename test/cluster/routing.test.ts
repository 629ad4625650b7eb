// Any node serves any session: commands, approvals, results, cancels, reads and live deltas cross to the node that has it.
import assert from 'node:assert/strict'
import { afterEach, test } from 'node:test'
import type { FollowItem, SessionRef } from '../../src/engine/index.ts'
import { tool } from '../../src/tools/index.ts'
import { owner } from '../engine/rig.ts'
import { collect, say } from '../runtime/rig.ts'
import { begin, holderOf, makeCluster, type NodeRigOptions, stopNodes, until } from './rig.ts'

afterEach(stopNodes)

const slow: NodeRigOptions['script'] = () => ({ text: 'one two three four five six', pace: 5 })

function textOf(items: readonly FollowItem[]): string {
  return items
    .flatMap(item => (item.type === 'delta' && item.delta.type === 'text' ? [item.delta.text] : []))
    .join('')
}

function eventsOf(items: readonly FollowItem[]): string[] {
  return items.flatMap(item => (item.type === 'event' ? [item.event.type] : []))
}

test('a session that was begun on one node takes messages and is followed on every other', async () => {
  const cluster = makeCluster()
  const [a, b, c] = [
    await cluster.start({ script: slow }),
    await cluster.start({ script: slow }),
    await cluster.start({ script: slow }),
  ]
  const ref = await begin(a)
  const { first } = await say(b.engine, ref, 'Hello')
  const seen = await Promise.all(
    [a, b, c].map(({ engine }) =>
      collect(engine.follow(ref, { from: first, until: 'stop', deltas: 'take-back' })),
    ),
  )
  for (const items of seen) {
    assert.equal(textOf(items), 'one two three four five six')
    assert.deepEqual(eventsOf(items), ['turn.started', 'model.answered', 'turn.ended'])
  }
  assert.equal(await holderOf(c.store, ref), a.node.id)
  for (const { engine } of [a, b, c]) {
    assert.equal((await engine.summary(ref)).status, 'idle')
    assert.equal((await engine.history(ref)).entries.length, 2)
    assert.equal((await engine.events(ref)).length, 4)
    assert.equal((await engine.list(owner, { limit: 5 })).rows.length, 1)
  }
})
