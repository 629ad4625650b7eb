// What people do in mid-turn, on a node that does not have the session: messages that steer, wait and are withdrawn, one call
// that is stopped, a call that is looked up and undone, and a link that an approver opens there. Each has its effect once, on
// the node that has the session.
import assert from 'node:assert/strict'
import { afterEach, test } from 'node:test'
import type { Command, Engine, SessionRef } from '../../src/engine/index.ts'
import { joinText } from '../../src/language/content.ts'
import { Unanswered } from '../../src/lib/net/unanswered.ts'
import { runtimeOf } from '../../src/library/turnwire.ts'
import { tool } from '../../src/tools/index.ts'
import { makeLinkToken } from '../../src/wires/approval-link.ts'
import { say } from '../engines/rig.ts'
import { wireDrivers } from '../wires/all-wires.ts'
import { begin, holderOf, makeCluster, type NodeRigOptions, stopNodes, until } from './rig.ts'
import { wireNodes } from './wire-nodes.ts'

afterEach(stopNodes)

const declared = { description: 'For a test.', input: { type: 'object' }, trust: 'trusted' } as const

/** A tool that runs until the test lets it end, or its call is stopped. Each node has its own. */
function slowTool(stopped: string[]) {
  const begun = Promise.withResolvers<void>()
  const end = Promise.withResolvers<string>()
  const slow = tool({
    ...declared,
    name: 'slow',
    run: (_input, { signal }) => {
      begun.resolve()
      return new Promise<string>((resolve, reject) => {
        void end.promise.then(resolve)
        signal.addEventListener('abort', () => {
          stopped.push('slow')
          reject(new Error('stopped'))
        })
      })
    },
  })
  return { slow, begun: begun.promise, end: () => end.resolve('at last') }
}

const during = (engine: Engine, ref: SessionRef, text: string, how: 'steer' | 'queue') =>
  engine.command(ref, { do: 'say', wire: 'test', parts: [{ type: 'text', text }], during: how })

async function textsOf(engine: Engine, ref: SessionRef): Promise<string[]> {
  const { entries } = await engine.history(ref, { get: 'entries' })
  return entries.map(entry => {
    if (entry.role === 'system') return entry.text
    if (entry.role !== 'tool') return `${entry.role}: ${joinText(entry.parts)}`
    return entry.results.map(({ outcome }) => `${outcome.kind}: ${joinText(outcome.parts)}`).join()
  })
}

const isIdle = (engine: Engine, ref: SessionRef) => async (): Promise<boolean> =>
  (await engine.summary(ref)).status === 'idle'

test('messages that are said on another node wait, steer or are withdrawn, each once', async () => {
  const cluster = makeCluster()
  const { slow, begun, end } = slowTool([])
  const options: NodeRigOptions = {
    tools: [slow],
    script: [{ calls: [{ name: 'slow' }] }, { text: 'Blue.' }, { text: 'Tidy.' }],
  }
  const [a, b] = [await cluster.start(options), await cluster.start(options)]
  const ref = await begin(a)
  await say(b.engine, ref, 'Paint')
  await begun
  await during(b.engine, ref, 'In blue', 'steer')
  await during(b.engine, ref, 'Then tidy up', 'queue')
  const { message } = await during(b.engine, ref, 'Never mind', 'queue')
  assert.equal(message?.state, 'queued')
  const waiting = async (engine: Engine) =>
    (await engine.summary(ref)).messages?.map(({ during: how }) => how)
  assert.deepEqual(await waiting(b.engine), ['steer', 'queue', 'queue'])
  const withdraw: Command = { do: 'withdraw', message: message?.id ?? '', by: 'ana' }
  await b.engine.command(ref, withdraw)
  assert.deepEqual(await waiting(a.engine), ['steer', 'queue'])
  await assert.rejects(b.engine.command(ref, withdraw), { code: 'message_delivered' })
  end()
  await until(isIdle(b.engine, ref))
  assert.deepEqual(await textsOf(b.engine, ref), [
    'user: Paint',
    'assistant: ',
    'ok: at last',
    'user: In blue',
    'assistant: Blue.',
    'user: Then tidy up',
    'assistant: Tidy.',
  ])
  assert.equal(await holderOf(b.store, ref), a.node.id)
})

test('one call is stopped from another node: its signal aborts, and the turn goes on', async () => {
  const cluster = makeCluster()
  const stopped: string[] = []
  const { slow, begun } = slowTool(stopped)
  const options: NodeRigOptions = {
    tools: [slow],
    script: [{ calls: [{ name: 'slow' }] }, { text: 'Then without it.' }],
  }
  const [a, b] = [await cluster.start(options), await cluster.start(options)]
  const ref = await begin(a)
  await say(a.engine, ref, 'Go')
  await begun
  const [call] = (await b.engine.summary(ref)).calls
  const stop: Command = { do: 'cancel-call', callId: call?.part.id ?? '', by: 'olga', reason: 'too slow' }
  await b.engine.command(ref, stop)
  await until(isIdle(b.engine, ref))
  assert.deepEqual(stopped, ['slow'])
  const [, , result, answer] = await textsOf(b.engine, ref)
  assert.match(result ?? '', /^cancelled: .*too slow/)
  assert.equal(answer, 'assistant: Then without it.')
  await assert.rejects(b.engine.command(ref, stop), { code: 'call_settled' })
  assert.equal(await holderOf(b.store, ref), a.node.id)
})

test('a call is looked up and undone from another node, once each', async () => {
  const cluster = makeCluster()
  const done: string[] = []
  const pay = tool({
    ...declared,
    name: 'pay',
    run: () => {
      done.push('paid')
      throw new Unanswered('The connection was lost.')
    },
    reconcile: () => {
      done.push('asked')
      return done.filter(each => each === 'asked').length === 1 ? 'unknown' : { ran: 'receipt 7' }
    },
    undo: () => {
      done.push('undone')
      return 'refunded'
    },
  })
  const options: NodeRigOptions = {
    tools: [pay],
    script: [{ calls: [{ name: 'pay' }] }, { text: 'Perhaps.' }],
  }
  const [a, b] = [await cluster.start(options), await cluster.start(options)]
  const ref = await begin(a)
  await say(b.engine, ref, 'Pay')
  await until(isIdle(b.engine, ref))
  const [doubt] = (await b.engine.summary(ref)).doubts ?? []
  assert.equal(doubt?.tool, 'pay')
  const callId = doubt?.callId ?? ''
  assert.equal((await b.engine.command(ref, { do: 'reconcile', callId, by: 'olga' })).found, 'ran')
  await b.engine.command(ref, { do: 'undo', callId, by: 'olga', wire: 'test' })
  await until(isIdle(b.engine, ref))
  assert.deepEqual(done, ['paid', 'asked', 'asked', 'undone'])
  await assert.rejects(a.engine.command(ref, { do: 'undo', callId, by: 'olga', wire: 'test' }), {
    code: 'call_undone',
  })
  assert.equal(await holderOf(b.store, ref), a.node.id)
})

test('a link of an approver opens and decides on any node, and is used once on all of them', async t => {
  const script = [{ calls: [{ name: 'mail', input: { to: 'ana' } }] }, { text: 'Sent.' }]
  const { a, b, c, holder } = await wireNodes(t, { script })
  const [aap] = wireDrivers
  const { sessionId, asks = '' } = await aap!.start(a, 'Mail Ana.')
  const { store, sessions } = a
  const asked = (await store.read(sessionId)).find(({ event }) => event.type === 'approval.requested')
  assert.ok(asked?.event.type === 'approval.requested')
  const { argsHash, toolHash } = asked.event
  const facts = { session: sessionId, call: asks, seq: asked.seq, argsHash, toolHash, approver: 'grace' }
  // Every node has the same vault, so each can read what any of them has signed.
  const sign = (text: string): string => runtimeOf(a.turnwire).vault.sign(text)
  const token = makeLinkToken({ ...facts, roles: [], expiresAt: Date.now() + 60_000, id: 'link_1' }, sign)
  const page = await fetch(`${b.url}/approve/${token}`)
  assert.match(await page.text(), /grace/)
  assert.deepEqual(a.runs, [], 'to look decides nothing')
  const press = (url: string, decision: string) =>
    fetch(`${url}/approve/${token}`, { method: 'POST', body: new URLSearchParams({ decision }) })
  const pages = await Promise.all([press(b.url, 'allow'), press(c.url, 'allow')])
  for (const answer of pages) assert.match(await answer.text(), /You allowed this call/)
  assert.match(await (await press(c.url, 'reject')).text(), /You allowed this call/)
  const session = await sessions.open('alice', sessionId)
  await until(() => session.status === 'idle')
  assert.deepEqual([a.runs.length, b.runs, c.runs], [1, [], []])
  assert.equal(await holder(sessionId), 'a')
})
