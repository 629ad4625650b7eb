// What a stop says beyond its reason: why it failed, which limit it was, and what is asked of whoever is to grant a call.
import assert from 'node:assert/strict'
import test from 'node:test'
import { createGate, defaultLimits } from '../../../src/policy/index.ts'
import { cites } from '../../requirements/manifest.ts'
import { grant, latch, type Message, newSession, type Rig, rig, say, sseOf, turn } from './rig.ts'

type Stop = Record<string, unknown> & { messages?: Message[] }

const streams = ['none', 'message', 'delta']

async function stopOf(answer: Response, stream: string): Promise<Stop> {
  if (stream !== 'none') return (await sseOf(answer)).at(-1)?.data as Stop
  const { messages: _, ...stop } = (await answer.json()) as Stop
  return stop
}

const stopped = async (at: Rig, stream: string, body: Record<string, unknown> = {}): Promise<Stop> =>
  stopOf(await turn(at, await newSession(at, body), say('go', stream)), stream)

test(cites('AAP-STOP-10', 'an error says what went wrong, a limit which one it was'), async t => {
  const fail = { code: 'model_timeout', message: 'The model took too long.' } as const
  const failing = await rig(t, { script: () => ({ fail }) })
  const capped = await rig(t, {
    script: () => ({ calls: [{ name: 'search', input: { q: 'again' } }] }),
    agent: { limits: { ...defaultLimits, identicalCalls: 2 } },
  })
  for (const stream of streams) {
    assert.deepEqual(await stopped(failing, stream), {
      stopReason: 'error',
      error: 'The model took too long.',
      code: 'model_timeout',
    })
    assert.deepEqual(await stopped(capped, stream, { agent: { tools: [{ name: 'search', trust: true }] } }), {
      stopReason: 'max_tokens',
      limit: 'identicalCalls',
    })
  }
})

test(cites('AAP-STOP-10', 'a plain stop says nothing more than its reason'), async t => {
  const at = await rig(t, { script: [{ text: 'hello' }] })
  for (const stream of streams) assert.deepEqual(await stopped(at, stream), { stopReason: 'end_turn' })
})

test(cites('AAP-STOP-11', 'a server that stops says so; the turn continues at the next start'), async t => {
  for (const stream of streams) {
    const begun = latch()
    const at = await rig(t, {
      script: () => {
        begun.open()
        return { text: 'half', hang: true }
      },
    })
    const id = await newSession(at)
    const answer = turn(at, id, say('go', stream))
    await begun.wait()
    await at.engine.stop(0)
    assert.deepEqual(await stopOf(await answer, stream), {
      stopReason: 'error',
      error: 'Turnwire is stopping. Work under way continues after the restart.',
      code: 'stopping',
    })
    const again = await at.restart({ script: [{ text: 'whole' }] })
    await again.engine.recover()
    const ref = { owner: 'alice', session: id }
    for await (const batch of again.host
      .engineFor(ref)
      .follow(ref, { from: 1, until: 'never', deltas: 'none' }))
      if (batch.some(item => item.type === 'ended')) break
    const { entries } = await again.engine.peek('alice', id)
    assert.deepEqual(entries.at(-1), { role: 'assistant', parts: [{ type: 'text', text: 'whole' }] })
  }
})

test(cites('AAP-CALL-31', 'a permission request carries its reason and its deadline'), async t => {
  const gate = createGate({
    rules: [
      { tool: 'mail', then: 'ask', reason: 'Mails cannot be taken back.', expiresInMs: 60_000 },
      { tool: 'search', then: 'ask' },
    ],
  })
  const script = [
    {
      calls: [
        { name: 'mail', input: { to: 'ana' } },
        { name: 'search', input: { q: 'x' } },
      ],
    },
    { text: 'done' },
  ]
  const at = await rig(t, { script, agent: { gate }, now: () => 1000 })
  const tools = [{ name: 'mail', trust: true }, { name: 'search' }]
  for (const stream of streams) {
    const id = await newSession(at, { agent: { tools } })
    const { asks, ...stop } = await stopOf(await turn(at, id, say('go', stream)), stream)
    const history = (await at.engine.peek('alice', id)).batch.map(call => call.part.id)
    assert.deepEqual(stop, { stopReason: 'tool_use' })
    assert.deepEqual(asks, [
      { toolCallId: history[0], reason: 'Mails cannot be taken back.', expiresAt: 61_000 },
    ])
    const rest = await stopOf(await turn(at, id, { stream, messages: [grant(history[0]!)] }), stream)
    assert.deepEqual(rest, { stopReason: 'tool_use' })
  }
})
