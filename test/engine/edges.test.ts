// The narrow places: what happens when things go wrong beside the turn, at the same moment, or after a restart.
import assert from 'node:assert/strict'
import { after, describe, test } from 'node:test'
import { fold, type Session } from '../../src/engine/index.ts'
import { TurnwireError } from '../../src/language/errors.ts'
import type { Event } from '../../src/language/events.ts'
import { memoryStore } from '../../src/stores/memory.ts'
import { tool } from '../../src/tools/index.ts'
import {
  begin,
  clientTool,
  eventsOf,
  makeRig,
  owner,
  plainSettings,
  say,
  stopAll,
  takeControl,
  typesOf,
  until,
} from './rig.ts'

after(stopAll)

const anything = { type: 'object' } as const
const soon = (): Promise<void> => new Promise(resolve => setImmediate(resolve))
const hello = { parts: [{ type: 'text' as const, text: 'go' }], wire: 'test' }

async function waitFor(holds: () => boolean | Promise<boolean>): Promise<void> {
  for (let turn = 0; turn < 2000; turn += 1) {
    if (await holds()) return
    await soon()
  }
  assert.fail('it never came about')
}

describe('a tool that never returns', () => {
  const deaf = tool({
    name: 'deaf',
    description: 'd',
    input: anything,
    trust: 'trusted',
    run: () => new Promise(() => {}),
  })
  const quick = tool({ name: 'quick', description: 'd', input: anything, trust: 'trusted', run: () => 'ok' })

  test('does not hold up the next turn, nor a control, once its turn was cancelled', async () => {
    const script = [
      { calls: [{ name: 'deaf', input: {} }] },
      { calls: [{ name: 'quick', input: {} }] },
      { text: 'Done.' },
    ]
    const rig = makeRig({ tools: [deaf, quick], script })
    const session = await begin(rig)
    await until(session, async () => {
      await session.say(hello)
      await waitFor(() => session.driver.callsRunning === 1)
      await session.cancel()
    })
    await say(session, 'and now the quick one')
    assert.equal(session.state.lastStop?.stop, 'end')
    const control = await takeControl(rig, session.id, 'bo')
    assert.equal(control.look().do, 'rest')
  })
})

describe('an edit', () => {
  test('passes policy as the model\u2019s own arguments would', async () => {
    const runs: unknown[] = []
    const shell = tool({
      name: 'shell',
      description: 'd',
      input: anything,
      run: input => void runs.push(input),
    })
    const rig = makeRig({
      tools: [shell],
      gate: {
        rules: [
          {
            tool: 'shell',
            when: ({ input }) => JSON.stringify(input).includes('rm'),
            then: 'deny',
            reason: 'nothing is removed',
          },
        ],
      },
      script: [{ calls: [{ name: 'shell', input: { cmd: 'ls' } }] }, { text: 'ok' }],
    })
    const session = await begin(rig)
    await say(session, 'list')
    const callId = session.state.batch[0]!.part.id
    const before = session.state.seq
    const decision = { callId, granted: true, by: 'eve', edit: '{"cmd":"rm -rf"}' }
    await assert.rejects(session.respond({ results: [], decisions: [decision] }), { code: 'invalid_edit' })
    assert.equal(session.state.seq, before)
    assert.deepEqual(runs, [])
  })
})

describe('a control', () => {
  test('does one thing at a time', async () => {
    const rig = makeRig({
      script: [{ calls: [{ name: 'mine', input: {} }], stepDelayMs: 5 }, { text: 'ok' }],
    })
    const session = await begin(rig, { clientTools: [clientTool('mine')] })
    const control = await takeControl(rig, session.id, 'bo')
    await session.say(hello)
    const first = control.perform()
    await assert.rejects(control.perform(), { code: 'busy' })
    await assert.rejects(control.answerModel({ parts: [], stop: 'end' }), { code: 'busy' })
    await assert.rejects(control.release(), { code: 'busy' })
    await first
    assert.equal(session.state.batch.length, 1)
  })

  test('that went away with its process can be replaced, and what it left started is the next control\u2019s to repeat', async () => {
    const store = memoryStore()
    const runs: string[] = []
    const look = tool({
      name: 'look',
      description: 'd',
      input: anything,
      trust: 'trusted',
      readOnly: true,
      run: (_input, { idempotencyKey }) => {
        runs.push(idempotencyKey)
        return runs.length === 1 ? new Promise<string>(() => {}) : 'seen'
      },
    })
    const script = [{ calls: [{ name: 'look', input: {} }] }, { text: 'ok' }]
    const before = makeRig({ store, tools: [look], script })
    const session = await begin(before)
    const gone = await takeControl(before, session.id, 'bo')
    await session.say(hello)
    await gone.perform()
    await gone.perform()
    gone.perform().catch(() => {})
    await waitFor(() => runs.length === 1)
    const after = makeRig({ store, tools: [look], script })
    await after.engine.recover()
    assert.equal(runs.length, 1)
    await assert.rejects(takeControl(after, session.id, 'ann'), { code: 'controlled' })
    const control = await takeControl(after, session.id, 'ann', true)
    assert.equal(control.look().do, 'await')
    await control.perform()
    assert.deepEqual(runs, [runs[0], runs[0]])
    assert.equal(control.look().do, 'ask-model')
  })
})

describe('watchers', () => {
  test('one that throws is taken away, and the session goes on', async () => {
    const rig = makeRig({ script: [{ text: 'fine' }] })
    const session = await begin(rig)
    session.feed.watch(() => {
      throw new Error('a defect of the reader')
    })
    await say(session, 'hello')
    assert.equal(session.state.lastStop?.stop, 'end')
    assert.ok(rig.logs.some(line => line.includes('a defect of the reader')))
  })
})

describe('a store that fails for a while', () => {
  test('work that was under way is taken up again without anyone asking', async () => {
    const store = memoryStore()
    let failures = 0
    const shaky = {
      ...store,
      append(batch: Parameters<typeof store.append>[0]) {
        if (failures === 0 || !batch.events.some(event => event.type === 'model.answered'))
          return store.append(batch)
        failures -= 1
        return Promise.reject(new TurnwireError('store_full', 'no space'))
      },
    }
    const timers: (() => void)[] = []
    const world = {
      timer(ms: number, run: () => void) {
        if (ms >= 500 && ms <= 60_000) timers.push(run)
        return () => {}
      },
    }
    const rig = makeRig({ store: shaky, script: [{ text: 'there you are' }], world })
    const session = await begin(rig)
    failures = 1
    await session.say(hello)
    await waitFor(() => session.lost)
    assert.equal((await store.row(session.id))?.status, 'running')
    timers.at(-1)?.()
    await waitFor(async () => (await store.row(session.id))?.status === 'idle')
    assert.match(JSON.stringify(await eventsOf(rig, session)), /there you are/)
  })
})

describe('recovery', () => {
  test('a repeatable tool that takes the process down is not repeated for ever', async () => {
    const store = memoryStore()
    let runs = 0
    const killer = tool({
      name: 'killer',
      description: 'd',
      input: anything,
      trust: 'trusted',
      readOnly: true,
      run: () => {
        runs += 1
        return new Promise<string>(() => {})
      },
    })
    const script = [{ calls: [{ name: 'killer', input: {} }] }, { text: 'I see.' }]
    const first = makeRig({ store, tools: [killer], script })
    const session = await begin(first)
    await session.say(hello)
    await waitFor(() => runs === 1)
    for (let restart = 0; restart < 6; restart += 1) {
      await makeRig({ store, tools: [killer], script }).engine.recover()
      await soon()
    }
    await waitFor(async () => (await store.row(session.id))?.status === 'idle')
    assert.ok(runs <= 4, `it ran ${runs} times`)
    const state = fold(session.id, await store.read(session.id))
    assert.match(JSON.stringify(state.entries), /"kind":"unknown"/)
  })

  test('a session whose agent is gone can still be read, cancelled and deleted', async () => {
    const store = memoryStore()
    const before = makeRig({ store, script: [{ calls: [{ name: 'mine', input: {} }] }] })
    const session = await begin(before, { clientTools: [clientTool('mine')] })
    await say(session, 'go')
    const after = makeRig({ store, agent: { name: 'another' } })
    const again = await after.engine.open(owner, session.id)
    assert.equal(await again.cancel(), true)
    await until(again, () => again.say(hello))
    assert.equal(again.state.lastStop?.stop, 'error')
    await after.engine.remove(owner, session.id)
    await assert.rejects(after.engine.peek(owner, session.id), { code: 'session_not_found' })
  })

  test('a tool that was taken out of the configuration does not block other changes', async () => {
    const store = memoryStore()
    const made = tool({ name: 'old', description: 'd', input: anything, run: () => 'x' })
    const session = await begin(makeRig({ store, tools: [made] }), { tools: [{ name: 'old', trust: true }] })
    const again = await makeRig({ store }).engine.open(owner, session.id)
    await again.configure({ clientTools: [clientTool('mine')] })
    await assert.rejects(again.configure({ tools: [{ name: 'old', trust: true }] }), { code: 'unknown_tool' })
  })

  test('a log of a newer version is not misread', () => {
    const event = { v: 2, at: 0, type: 'turn.started', turn: 't', parts: [], wire: 'd' } as unknown as Event
    assert.throws(() => fold('s', [{ seq: 1, event }]), { code: 'store_newer' })
    const unknown = { v: 1, at: 0, type: 'session.renamed' } as unknown as Event
    assert.throws(() => fold('s', [{ seq: 1, event: unknown }]), { code: 'store_newer' })
  })
})

describe('stopping', () => {
  test('what was being opened when the stop came does no work', async () => {
    const store = memoryStore()
    const rig = makeRig({ store, script: [{ text: 'never' }] })
    const session = await begin(rig)
    const other = makeRig({ store, script: [{ text: 'never' }] })
    const opening = other.engine.open(owner, session.id)
    const stopped = other.engine.stop(0)
    await assert.rejects(
      opening.then((opened: Session) => opened.say(hello)),
      { code: 'stopping' },
    )
    await stopped
  })
})

describe('caps', () => {
  test('identical calls are counted also while policy thinks', async () => {
    let runs = 0
    const same = tool({ name: 'same', description: 'd', input: anything, run: () => String(++runs) })
    const limits = {
      steps: 9,
      calls: 99,
      identicalCalls: 2,
      time: 60_000,
      bytes: 1e9,
      sessionBytes: 1e12,
      tokens: 1e9,
      money: 1e9,
    }
    const rig = makeRig({
      tools: [same],
      agent: { limits },
      gate: { rules: [{ when: async () => true, then: 'allow' }] },
      script: [
        { calls: Array.from({ length: 6 }, () => ({ name: 'same', input: { n: 1 } })) },
        { text: 'ok' },
      ],
    })
    const session = await begin(rig)
    await say(session, 'go')
    assert.equal(runs, 2)
    assert.deepEqual(session.state.lastStop, { stop: 'limit', limit: 'identicalCalls' })
  })

  test('time is counted over the whole turn, waiting aside', async () => {
    let now = 0
    const world = { now: () => now }
    const limits = {
      steps: 9,
      calls: 9,
      identicalCalls: 9,
      time: 300,
      bytes: 1e9,
      sessionBytes: 1e12,
      tokens: 1e9,
      money: 1e9,
    }
    const asked: number[] = []
    const script = () => {
      now += 200
      return asked.push(now) < 3
        ? { calls: [{ name: 'mine', input: { n: asked.length } }] }
        : { text: 'done' }
    }
    const overdue = (ms: number, run: () => void) => {
      if (ms <= 0) queueMicrotask(run)
      return () => {}
    }
    const rig = makeRig({
      world: { ...world, timer: overdue },
      script,
      agent: { limits },
    })
    const session = await begin(rig, { clientTools: [clientTool('mine')] })
    await say(session, 'go')
    const answer = async () => {
      now += 100_000
      const callId = session.state.batch[0]!.part.id
      await until(session, () =>
        session.respond({ results: [{ callId, parts: [{ type: 'text', text: 'r' }] }], decisions: [] }),
      )
    }
    await answer()
    await answer()
    assert.deepEqual(session.state.lastStop, { stop: 'limit', limit: 'time' })
  })
})

describe('what is kept whole', () => {
  test('T-38 the whole of a refused second result does not replace the first', async () => {
    const rig = makeRig({
      gate: { clientOutputLimit: 300 },
      script: [{ calls: [{ name: 'mine', input: {} }] }, { text: 'ok' }],
    })
    const session = await begin(rig, { clientTools: [clientTool('mine')] })
    await say(session, 'go')
    const callId = session.state.batch[0]!.part.id
    const result = (letter: string) =>
      session.respond({
        results: [{ callId, parts: [{ type: 'text', text: letter.repeat(5000) }] }],
        decisions: [],
      })
    const both = await Promise.allSettled([result('A'), result('B')])
    assert.deepEqual(both.map(each => each.status).sort(), ['fulfilled', 'rejected'])
    await waitFor(() => session.status === 'idle')
    const entry = session.state.entries.find(each => each.role === 'tool')
    const { cut, parts } = entry!.results[0]!.outcome
    const letter = JSON.stringify(parts).includes('AAA') ? 'A' : 'B'
    assert.match(await rig.engine.blob(owner, session.id, cut!.blob), new RegExp(`${letter}{5000}`))
  })

  test('a seed whose results do not answer its calls is refused', async () => {
    const rig = makeRig()
    const outcome = {
      kind: 'ok' as const,
      parts: [{ type: 'text' as const, text: 'x' }],
      from: { source: 'client' as const },
    }
    const part = (id: string) => ({ type: 'call' as const, id, name: 'n', form: 'json' as const, text: '{}' })
    const seed = (results: string[]) =>
      rig.engine.create({
        owner,
        agent: 'helper',
        wire: 't',
        settings: plainSettings,
        seed: [
          { role: 'assistant', parts: [part('a'), part('b')] },
          { role: 'tool', results: results.map(callId => ({ callId, name: 'n', outcome })) },
        ],
      })
    await assert.rejects(seed(['a', 'a']), { code: 'bad_request' })
    await assert.rejects(seed([]), { code: 'bad_request' })
    assert.deepEqual(await typesOf(rig, await seed(['b', 'a'])), ['session.created'])
  })
})
