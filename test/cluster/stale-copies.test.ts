// A node that loses its lease while a session is on its way into its memory keeps no copy of it: under its next lease it
// answers as the node does that has the session now.
import assert from 'node:assert/strict'
import { afterEach, describe, test } from 'node:test'
import type { NodeStore, SessionRef } from '../../src/engine/index.ts'
import { tool } from '../../src/tools/index.ts'
import { owner } from '../engine/rig.ts'
import { collect, say } from '../engines/rig.ts'
import {
  begin,
  holderOf,
  lookTool,
  makeCluster,
  type NodeRig,
  type NodeRigOptions,
  stopNodes,
  until,
} from './rig.ts'

afterEach(stopNodes)

function asking(sent: string[]): NodeRigOptions {
  const run = (): string => {
    sent.push('mail')
    return 'ok'
  }
  return {
    gate: { rules: [{ tool: 'send', then: 'ask' }] },
    script: ({ history }) =>
      history.at(-1)?.role === 'user' ? { calls: [{ name: 'send', input: {} }] } : { text: 'sent' },
    tools: [tool({ name: 'send', description: 'Sends.', input: { type: 'object' }, run })],
  }
}

type Opening = {
  name: string
  /** The answer that does not arrive in time. */
  held: keyof NodeStore
  open: (node: NodeRig, ref: SessionRef, signal: AbortSignal) => Promise<unknown>
}

const revoke = { do: 'revoke', grantId: 'none', by: 'ana' } as const
const command: Opening['open'] = ({ engine }, ref) => engine.command(ref, revoke)
const attach: Opening['open'] = async ({ engine }, ref, signal) => {
  for await (const _ of engine.attach(ref, [lookTool], signal));
}

const openings: Opening[] = [
  { name: 'a command that looks the session up', held: 'row', open: command },
  { name: 'a command that claims the session', held: 'claim', open: command },
  { name: 'a command that reads the session', held: 'read', open: command },
  { name: 'tools that are attached', held: 'claim', open: attach },
  {
    name: 'a call that a client claims',
    held: 'claim',
    open: ({ engine }, ref) => engine.command(ref, { do: 'claim', callId: 'none', by: 'ana', forMs: 1000 }),
  },
]

/** The node loses its lease in the store, sees it, and has another one. */
async function loseLease(node: NodeRig): Promise<void> {
  const before = node.node.id
  await node.endLease()
  await until(() => node.node.id !== before && node.node.failure() === undefined)
}

/** Everything that a client of the node sees is what the other one says, and an approval there is taken. */
async function checkAlike(node: NodeRig, other: NodeRig, ref: SessionRef): Promise<void> {
  assert.equal(node.local.sessions.inMemory(ref), undefined)
  assert.equal(await holderOf(other.store, ref), other.node.id)
  const [here, there] = [await node.engine.summary(ref), await other.engine.summary(ref)]
  assert.deepEqual([here.seq, here.status, here.calls], [there.seq, there.status, there.calls])
  const [call] = here.calls
  assert.equal(call?.stage, 'asking')
  const decisions = [{ callId: call.part.id, granted: true, by: 'ana' }]
  await node.engine.command(ref, { do: 'respond', results: [], decisions })
  await collect(node.engine.follow(ref, { from: 1, until: 'turn', deltas: 'none' }))
}

const leaseMs = 3_000

describe('a lease that ends keeps no copy of a session that is being opened:', () => {
  for (const { name, held, open } of openings)
    test(name, { timeout: 60_000 }, async t => {
      const sent: string[] = []
      const over = new AbortController()
      t.after(() => over.abort())
      const cluster = makeCluster(leaseMs)
      const [a, b, c] = [
        await cluster.start(asking(sent)),
        await cluster.start(asking(sent)),
        await cluster.start(asking(sent)),
      ]
      const ref = await begin(c)
      await c.node.stop(0)
      const answers = a.holdAnswers(held)
      const opening = open(a, ref, over.signal).catch(() => {})
      await until(() => answers.count > 0)
      await loseLease(a)
      await say(b.engine, ref, 'Send it')
      await collect(b.engine.follow(ref, { from: 1, until: 'stop', deltas: 'none' }))
      answers.release()
      if (open !== attach) await opening
      await checkAlike(a, b, ref)
      assert.deepEqual(sent, ['mail'])
    })
})

test('a lease that ends keeps no copy of a session that is being made', { timeout: 60_000 }, async () => {
  const sent: string[] = []
  const cluster = makeCluster(leaseMs)
  const [a, b] = [await cluster.start(asking(sent)), await cluster.start(asking(sent))]
  const answers = a.holdAnswers('create')
  const making = begin(a)
  await until(() => answers.count > 0)
  await loseLease(a)
  const { rows } = await b.engine.list(owner, { limit: 1 })
  const ref = { owner, session: rows[0]!.id }
  await say(b.engine, ref, 'Send it')
  await collect(b.engine.follow(ref, { from: 1, until: 'stop', deltas: 'none' }))
  answers.release()
  assert.deepEqual(await making, ref, 'it was made, so the client is told its id')
  await checkAlike(a, b, ref)
  assert.deepEqual(sent, ['mail'])
})

test('so does the take-over of a session', { timeout: 60_000 }, async () => {
  const sent: string[] = []
  const cluster = makeCluster(leaseMs)
  const [a, c] = [await cluster.start(asking(sent)), await cluster.start({ script: () => ({ hang: true }) })]
  const ref = await begin(c)
  await say(c.engine, ref, 'Send it')
  const answers = a.holdAnswers('read')
  await c.node.stop(0)
  await until(() => answers.count > 0)
  const b = await cluster.start(asking(sent))
  await loseLease(a)
  await collect(b.engine.follow(ref, { from: 1, until: 'stop', deltas: 'none' }))
  answers.release()
  await checkAlike(a, b, ref)
  assert.deepEqual(sent, ['mail'])
})
