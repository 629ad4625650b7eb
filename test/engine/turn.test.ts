// The turn, end to end, on the scripted model: given a script and tools, when someone speaks, then these events.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { type FeedItem, type FollowItem, fold, sessionStatus } from '../../src/engine/index.ts'
import type { JsonObject } from '../../src/lib/json/index.ts'
import { memoryStore } from '../../src/stores/memory.ts'
import { tool } from '../../src/tools/index.ts'
import {
  begin,
  clientTool,
  collect,
  eventsOf,
  makeRig,
  owner,
  plainSettings,
  say,
  takeControl,
  typesOf,
  until,
} from './rig.ts'

const anything = { type: 'object' } as const

function counter(name = 'count', over: Partial<Parameters<typeof tool>[0]> = {}) {
  const runs: unknown[] = []
  const made = tool({
    name,
    description: 'counts its runs',
    input: anything,
    trust: 'trusted',
    run: input => {
      runs.push(input)
      return `run ${runs.length}`
    },
    ...over,
  })
  return { tool: made, runs }
}

const call = (name: string, input: JsonObject = {}) => ({ name, input })
const shown = (items: FeedItem[]) => items.flatMap(item => (item.type === 'event' ? [item.event.type] : []))

describe('one turn', () => {
  test('a trusted call runs inline and the model goes on', async () => {
    const { tool: count, runs } = counter()
    const rig = makeRig({ tools: [count], script: [{ calls: [call('count', { n: 1 })] }, { text: 'Done.' }] })
    const session = await begin(rig)
    await say(session, 'count')
    assert.deepEqual(runs, [{ n: 1 }])
    assert.deepEqual(await typesOf(rig, session), [
      'session.created',
      'turn.started',
      'model.answered',
      'call.started',
      'call.settled',
      'model.answered',
      'turn.ended',
    ])
    assert.equal(session.status, 'idle')
  })

  test('a mixed batch: trusted runs at once, the others wait, all results continue in the order asked', async () => {
    const trusted = counter('trusted')
    const gated = counter('gated', { trust: 'ask' })
    const rig = makeRig({
      tools: [trusted.tool, gated.tool],
      script: [{ calls: [call('mine'), call('gated'), call('trusted')] }, { text: 'All done.' }],
    })
    const session = await begin(rig, { clientTools: [clientTool('mine')] })
    await say(session, 'all three')
    assert.equal(session.status, 'waiting')
    assert.equal(trusted.runs.length, 1)
    assert.equal(gated.runs.length, 0)
    const [mine, asked] = session.state.batch.map(each => each.part.id)
    await until(session, () =>
      session.respond({
        results: [{ callId: mine!, parts: [{ type: 'text', text: 'from the app' }] }],
        decisions: [{ callId: asked!, granted: true, by: owner }],
      }),
    )
    assert.equal(gated.runs.length, 1)
    const results = session.state.entries.find(entry => entry.role === 'tool')
    assert.deepEqual(
      results?.results.map(result => result.name),
      ['mine', 'gated', 'trusted'],
    )
    assert.equal(session.status, 'idle')
  })

  test('a partial submission is taken and the turn stops again for the rest', async () => {
    const rig = makeRig({ script: [{ calls: [call('a'), call('b')] }, { text: 'Thanks.' }] })
    const session = await begin(rig, { clientTools: [clientTool('a'), clientTool('b')] })
    await say(session, 'both')
    const [a, b] = session.state.batch.map(each => each.part.id)
    const items = await until(session, () =>
      session.respond({ results: [{ callId: a!, parts: [{ type: 'text', text: '1' }] }], decisions: [] }),
    )
    assert.deepEqual(shown(items), ['call.settled'])
    assert.equal(session.status, 'waiting')
    await until(session, () =>
      session.respond({ results: [{ callId: b!, parts: [{ type: 'text', text: '2' }] }], decisions: [] }),
    )
    assert.equal(session.status, 'idle')
  })

  test('an unknown call id is refused whole', async () => {
    const rig = makeRig({ script: [{ calls: [call('a')] }] })
    const session = await begin(rig, { clientTools: [clientTool('a')] })
    await say(session, 'go')
    const before = session.state.seq
    const [a] = session.state.batch.map(each => each.part.id)
    const parts = [{ type: 'text' as const, text: 'x' }]
    await assert.rejects(
      session.respond({
        results: [
          { callId: a!, parts },
          { callId: 'call_no', parts },
        ],
        decisions: [],
      }),
      { code: 'unknown_call' },
    )
    assert.equal(session.state.seq, before)
    await assert.rejects(
      session.respond({
        results: [
          { callId: a!, parts },
          { callId: a!, parts },
        ],
        decisions: [],
      }),
      { code: 'duplicate_call' },
    )
    assert.equal((await rig.store.read(session.id)).length, before)
  })

  test('a new message settles what awaited the client as abandoned', async () => {
    const rig = makeRig({ script: [{ calls: [call('a')] }, { text: 'New start.' }] })
    const session = await begin(rig, { clientTools: [clientTool('a')] })
    await say(session, 'go')
    await say(session, 'never mind')
    const entry = session.state.entries.find(each => each.role === 'tool')
    assert.equal(entry?.results[0]?.outcome.kind, 'abandoned')
    assert.equal(session.state.lastStop?.stop, 'end')
  })

  test('a message while a turn runs is refused', async () => {
    const rig = makeRig({ script: [{ text: 'slow', hang: true }] })
    const session = await begin(rig)
    await until(session, async () => {
      await session.say({ parts: [{ type: 'text', text: 'one' }], wire: 'test' })
      await assert.rejects(session.say({ parts: [{ type: 'text', text: 'two' }], wire: 'test' }), {
        code: 'busy',
      })
      await session.cancel()
    })
  })
})

describe('how a call can end', () => {
  async function outcomeOf(options: Parameters<typeof makeRig>[0], settings = {}) {
    const rig = makeRig(options)
    const session = await begin(rig, settings)
    await say(session, 'go')
    const entry = session.state.entries.find(each => each.role === 'tool')
    return entry?.results[0]?.outcome
  }
  const then = { text: 'ok' }

  test('error: what the tool threw, and the model goes on', async () => {
    const failing = tool({
      name: 'x',
      description: 'd',
      input: anything,
      trust: 'trusted',
      run: () => {
        throw new Error('no such file')
      },
    })
    const outcome = await outcomeOf({ tools: [failing], script: [{ calls: [call('x')] }, then] })
    assert.equal(outcome?.kind, 'error')
    assert.match(JSON.stringify(outcome?.parts), /no such file/)
  })

  test('invalid: arguments that do not fit, cut arguments, and T-08 a tool that was not offered', async () => {
    const { tool: strict, runs } = counter('x', {
      input: { type: 'object', properties: { n: { type: 'number' } }, required: ['n'] },
    })
    assert.equal(
      (await outcomeOf({ tools: [strict], script: [{ calls: [call('x', { n: 'two' })] }, then] }))?.kind,
      'invalid',
    )
    assert.equal(
      (
        await outcomeOf({
          tools: [strict],
          script: [{ calls: [{ name: 'x', text: '{"n": 1', cut: true }] }, then],
        })
      )?.kind,
      'invalid',
    )
    assert.equal(
      (await outcomeOf({ tools: [strict], script: [{ calls: [call('toString', { n: 1 })] }, then] }))?.kind,
      'invalid',
    )
    assert.deepEqual(runs, [])
  })

  test('denied by policy, and a tool that the operator denies is not even offered', async () => {
    const { tool: made, runs } = counter('x')
    const denied = await outcomeOf({
      tools: [made],
      gate: { rules: [{ tool: 'x', then: 'deny', reason: 'not today' }] },
      script: [{ calls: [call('x')] }, then],
    })
    assert.equal(denied?.kind, 'denied')
    assert.match(JSON.stringify(denied?.parts), /Tool call denied: not today/)
    const never = counter('y', { trust: 'deny' })
    assert.equal(
      (await outcomeOf({ tools: [never.tool], script: [{ calls: [call('y')] }, then] }))?.kind,
      'invalid',
    )
    assert.deepEqual([...runs, ...never.runs], [])
  })

  test('timeout: the signal aborts and the turn goes on', async () => {
    let aborted = false
    const slow = tool({
      name: 'x',
      description: 'd',
      input: anything,
      trust: 'trusted',
      timeoutMs: 10,
      run: (_input, { signal }) =>
        new Promise(() =>
          signal.addEventListener('abort', () => {
            aborted = true
          }),
        ),
    })
    assert.equal(
      (await outcomeOf({ tools: [slow], script: [{ calls: [call('x')] }, then] }))?.kind,
      'timeout',
    )
    assert.ok(aborted)
  })

  test('retries keep the idempotency key and are recorded', async () => {
    const keys: string[] = []
    const flaky = tool({
      name: 'x',
      description: 'd',
      input: anything,
      trust: 'trusted',
      readOnly: true,
      retries: 2,
      run: (_input, { idempotencyKey, attempt }) => {
        keys.push(idempotencyKey)
        if (attempt < 3) throw new Error('again')
        return 'at last'
      },
    })
    const rig = makeRig({ tools: [flaky], script: [{ calls: [call('x')] }, then] })
    const session = await begin(rig)
    await say(session, 'go')
    assert.equal(keys.length, 3)
    assert.equal(new Set(keys).size, 1)
    assert.equal((await typesOf(rig, session)).filter(type => type === 'call.started').length, 3)
  })
})

describe('approvals', () => {
  async function asking(script = [{ calls: [call('x', { n: 1 })] }, { text: 'ok' }]) {
    const gated = counter('x', { trust: 'ask' })
    const rig = makeRig({ tools: [gated.tool], script })
    const session = await begin(rig)
    await say(session, 'go')
    return { rig, session, runs: gated.runs, callId: session.state.batch[0]!.part.id }
  }

  test('the first decision wins; a second is refused', async () => {
    const { session, callId, runs } = await asking()
    const decide = (granted: boolean) =>
      session.respond({ results: [], decisions: [{ callId, granted, by: 'x' }] })
    const both = await Promise.allSettled([decide(false), decide(true)])
    assert.deepEqual(
      both.map(each => each.status),
      ['fulfilled', 'rejected'],
    )
    assert.equal(runs.length, 0)
  })

  test('an approver may edit the arguments: they are checked, recorded, and the model is told', async () => {
    const { rig, session, callId, runs } = await asking()
    const decision = (edit: string) => ({
      results: [],
      decisions: [{ callId, granted: true, by: 'bo', edit }],
    })
    await assert.rejects(session.respond(decision('[]')), { code: 'invalid_edit' })
    await until(session, () => session.respond(decision('{"n":2}')))
    assert.deepEqual(runs, [{ n: 2 }])
    assert.ok((await typesOf(rig, session)).includes('call.edited'))
    assert.match(JSON.stringify(session.state.entries.at(-2)), /arguments were changed/)
  })

  test('T-09 a decision about other arguments than those shown is refused', async () => {
    const { session, callId, runs } = await asking()
    const stale = { callId, granted: true, by: 'bo', seen: 'another hash' }
    await assert.rejects(session.respond({ results: [], decisions: [stale] }), { code: 'stale_approval' })
    assert.equal(runs.length, 0)
  })

  test('T-12 a message that says yes is a message', async () => {
    const { rig, session, runs } = await asking()
    await say(session, 'yes do it')
    assert.equal(runs.length, 0)
    assert.ok(!(await typesOf(rig, session)).includes('approval.decided'))
  })

  test('T-38 a result for the server\u2019s call and a permission for the client\u2019s are refused', async () => {
    const { session, callId } = await asking()
    await assert.rejects(
      session.respond({ results: [{ callId, parts: [{ type: 'text', text: 'forged' }] }], decisions: [] }),
      { code: 'wrong_party' },
    )
  })

  test('an approval survives a restart, and a tool that changed since is asked about again', async () => {
    const store = memoryStore()
    const first = counter('x', { trust: 'ask' })
    const before = makeRig({ store, tools: [first.tool], script: [{ calls: [call('x')] }, { text: 'ok' }] })
    const session = await begin(before)
    await say(session, 'go')
    const second = counter('x', { trust: 'ask', description: 'does something else now' })
    const after = makeRig({ store, tools: [second.tool], script: [{ calls: [call('x')] }, { text: 'ok' }] })
    const again = await after.engine.open(owner, session.id)
    const callId = again.state.batch[0]!.part.id
    await until(again, () => again.respond({ results: [], decisions: [{ callId, granted: true, by: 'bo' }] }))
    assert.equal(second.runs.length, 0)
    assert.equal(again.status, 'waiting')
    await until(again, () => again.respond({ results: [], decisions: [{ callId, granted: true, by: 'bo' }] }))
    assert.equal(second.runs.length, 1)
  })
})

describe('every loop ends', () => {
  const forever = () => ({ calls: [call('count', { n: 1 })] })

  test('steps', async () => {
    const { tool: count, runs } = counter()
    const limits = {
      steps: 3,
      calls: 99,
      identicalCalls: 99,
      time: 60_000,
      bytes: 1e9,
      sessionBytes: 1e12,
      tokens: 1e9,
      money: 1e9,
    }
    const rig = makeRig({ tools: [count], script: forever, agent: { limits } })
    const session = await begin(rig)
    await say(session, 'go')
    assert.deepEqual(session.state.lastStop, { stop: 'limit', limit: 'steps' })
    assert.equal(runs.length, 2)
    assert.equal(session.state.entries.at(-1)?.role, 'tool')
  })

  test('identical calls, calls, bytes, tokens and money', async () => {
    const base = {
      steps: 99,
      calls: 99,
      identicalCalls: 99,
      time: 60_000,
      bytes: 1e9,
      sessionBytes: 1e12,
      tokens: 1e9,
      money: 1e9,
    }
    for (const [limit, value] of [
      ['identicalCalls', 2],
      ['calls', 2],
      ['bytes', 40],
      ['tokens', 5],
      ['money', 0.04],
    ] as const) {
      const { tool: count } = counter()
      const script = () => ({ ...forever(), usage: { input: 2, output: 2, cost: 0.03 } })
      const rig = makeRig({ tools: [count], script, agent: { limits: { ...base, [limit]: value } } })
      const session = await begin(rig)
      await say(session, 'go')
      assert.deepEqual(session.state.lastStop, { stop: 'limit', limit })
    }
  })

  test('time: what runs is stopped, and the history can be continued', async () => {
    const hang = tool({
      name: 'count',
      description: 'd',
      input: anything,
      trust: 'trusted',
      run: () => new Promise(() => {}),
    })
    const limits = {
      steps: 9,
      calls: 9,
      identicalCalls: 9,
      time: 20,
      bytes: 1e9,
      sessionBytes: 1e12,
      tokens: 1e9,
      money: 1e9,
    }
    const rig = makeRig({ tools: [hang], script: forever, agent: { limits } })
    const session = await begin(rig)
    await say(session, 'go')
    assert.deepEqual(session.state.lastStop, { stop: 'limit', limit: 'time' })
    assert.equal(session.state.batch.length, 0)
  })
})

describe('cancellation', () => {
  test('while the model speaks: what it said is kept, nothing is left open', async () => {
    const rig = makeRig({ script: [{ text: 'one two three four', chunk: 4, delayMs: 5 }, { text: 'fine' }] })
    const session = await begin(rig)
    await until(session, async () => {
      await session.say({ parts: [{ type: 'text', text: 'go' }], wire: 'test' })
      await new Promise<void>(resolve =>
        session.feed.watch(item => item.type === 'delta' && item.delta.type === 'text' && resolve()),
      )
      assert.equal(await session.cancel(), true)
    })
    assert.equal(session.state.lastStop?.stop, 'cancelled')
    assert.equal(session.state.entries.at(-1)?.role, 'assistant')
    await say(session, 'go on')
    assert.equal(session.state.lastStop?.stop, 'end')
  })

  test('while a tool runs: it is told, its late result is kept apart', async () => {
    const gate = Promise.withResolvers<string>()
    const slow = tool({
      name: 'x',
      description: 'd',
      input: anything,
      trust: 'trusted',
      run: () => gate.promise,
    })
    const rig = makeRig({ tools: [slow], script: [{ calls: [call('x')] }, { text: 'ok' }] })
    const session = await begin(rig)
    await until(session, async () => {
      await session.say({ parts: [{ type: 'text', text: 'go' }], wire: 'test' })
      while (session.driver.callsRunning === 0) await new Promise(resolve => setImmediate(resolve))
      await session.cancel()
    })
    gate.resolve('too late')
    while (!(await typesOf(rig, session)).includes('call.late'))
      await new Promise(resolve => setImmediate(resolve))
    const events = await eventsOf(rig, session)
    assert.deepEqual(
      events.filter(event => event.type === 'call.settled').map(event => event.outcome.kind),
      ['cancelled'],
    )
    assert.equal(events.filter(event => event.type === 'call.late').length, 1)
  })

  test('with nothing running it does nothing', async () => {
    const rig = makeRig()
    const session = await begin(rig)
    assert.equal(await session.cancel(), false)
  })
})

describe('the log', () => {
  test('folding it gives the state that was kept step by step', async () => {
    const { tool: count } = counter()
    const rig = makeRig({
      tools: [count],
      script: [{ calls: [call('count')], text: 'Let me see.' }, { text: 'Done.' }],
    })
    const session = await begin(rig)
    await say(session, 'count')
    assert.deepEqual(fold(session.id, await rig.store.read(session.id)), session.state)
    assert.equal(sessionStatus(session.state), 'idle')
  })

  test('a store that refuses a write loses nothing: the session is read again', async () => {
    const store = memoryStore()
    let broken = false
    const failing = {
      ...store,
      append: (batch: Parameters<typeof store.append>[0]) =>
        broken ? Promise.reject(new Error('disk')) : store.append(batch),
    }
    const rig = makeRig({ store: failing, script: [{ text: 'one' }, { text: 'two' }] })
    const session = await begin(rig)
    await say(session, 'first')
    broken = true
    await assert.rejects(session.say({ parts: [{ type: 'text', text: 'lost' }], wire: 'test' }))
    broken = false
    const again = await rig.engine.open(owner, session.id)
    assert.notEqual(again, session)
    await say(again, 'second')
    assert.equal(again.state.entries.filter(entry => entry.role === 'user').length, 2)
  })

  test('an idempotency key gives the same request back, and refuses another', async () => {
    const rig = makeRig({ script: [{ text: 'one' }] })
    const session = await begin(rig)
    const request = { key: 'k', hash: 'h' }
    const parts = [{ type: 'text' as const, text: 'x' }]
    await until(session, () => session.say({ parts, wire: 'test', request }))
    const seq = session.state.seq
    const again = await session.say({ parts, wire: 'test', request })
    assert.deepEqual([again.first, again.replayed, again.count], [2, true, 0])
    await assert.rejects(session.say({ parts, wire: 'test', request: { key: 'k', hash: 'other' } }), {
      code: 'idempotency_conflict',
    })
    assert.equal(session.state.seq, seq)
  })

  test('whoever attaches late sees all events, then the step in flight, then what follows, and nothing twice', async () => {
    const rig = makeRig({ script: [{ text: 'abcdefghij', chunk: 1, delayMs: 3 }] })
    const session = await begin(rig)
    await until(session, async () => {
      await session.say({ parts: [{ type: 'text', text: 'go' }], wire: 'test' })
      await new Promise<void>(resolve =>
        session.feed.watch(
          item => item.type === 'delta' && item.delta.type === 'text' && item.delta.text === 'd' && resolve(),
        ),
      )
      const items: FollowItem[] = []
      const over = new AbortController()
      const reading = collect(rig, session.id, items, over.signal)
      await session.driver.settle()
      await session.flushed()
      while (items.at(-1)?.type !== 'ended') await new Promise(resolve => setImmediate(resolve))
      over.abort()
      await reading
      const seqs = items.flatMap(item => (item.type === 'event' ? [item.seq] : []))
      assert.deepEqual(seqs, [1, 2, 3, 4])
      const text = items
        .flatMap(item => (item.type === 'delta' && item.delta.type === 'text' ? [item.delta.text] : []))
        .join('')
      assert.equal(text, 'abcdefghij')
    })
  })

  test('a stranger is told that there is no such session', async () => {
    const rig = makeRig()
    const session = await begin(rig)
    await assert.rejects(rig.engine.open('eve', session.id), { code: 'session_not_found' })
    await assert.rejects(rig.engine.peek('eve', session.id), { code: 'session_not_found' })
    await assert.rejects(rig.engine.events('eve', session.id), { code: 'session_not_found' })
  })

  test('settings that the agent cannot honour are refused before anything is recorded', async () => {
    const { tool: count } = counter()
    const rig = makeRig({ tools: [count] })
    const create = (settings: object) =>
      rig.engine.create({
        owner,
        agent: 'helper',
        wire: 't',
        settings: { ...plainSettings, ...settings },
        seed: [],
      })
    await assert.rejects(create({ tools: [{ name: 'nope', trust: true }] }), { code: 'unknown_tool' })
    await assert.rejects(create({ clientTools: [clientTool('count')] }), { code: 'tool_name_conflict' })
    await assert.rejects(create({ options: { tone: 'dry' } }), { code: 'unknown_option' })
    assert.deepEqual((await rig.engine.list(owner, { limit: 10 })).rows, [])
  })
})

describe('by control', () => {
  test('look, do, replace, answer, and give the wheel back', async () => {
    const { tool: count, runs } = counter()
    const rig = makeRig({
      tools: [count],
      script: [{ calls: [call('count', { n: 1 }), call('count', { n: 2 })] }, { text: 'Done.' }],
    })
    const session = await begin(rig)
    const control = await takeControl(rig, session.id, 'bo')
    await session.say({ parts: [{ type: 'text', text: 'go' }], wire: 'test' })
    assert.equal(control.look().do, 'ask-model')
    await control.perform()
    const look = control.look()
    assert.equal(look.do, 'judge')
    const [first, second] = session.state.batch.map(each => each.part.id)
    await control.answerCall(first!, { parts: [{ type: 'text', text: 'by control' }] })
    await control.replaceArguments(second!, '{"n":3}')
    await control.perform()
    assert.equal(control.look().do, 'run')
    await control.perform()
    assert.deepEqual(runs, [{ n: 3 }])
    assert.equal(control.look().do, 'ask-model')
    await control.answerModel({ parts: [{ type: 'text', text: 'I say so.' }], stop: 'end' })
    assert.equal(control.look().do, 'end')
    await until(session, () => control.release())
    assert.equal(session.status, 'idle')
    assert.deepEqual(session.state.entries.at(-1), {
      role: 'assistant',
      parts: [{ type: 'text', text: 'I say so.' }],
    })
    await assert.rejects(control.perform(), { code: 'controlled' })
  })

  test('a running session can be taken over between two steps', async () => {
    const { tool: count, runs } = counter()
    const rig = makeRig({
      tools: [count],
      script: [{ calls: [call('count')], stepDelayMs: 10 }, { text: 'Done.' }],
    })
    const session = await begin(rig)
    await session.say({ parts: [{ type: 'text', text: 'go' }], wire: 'test' })
    const control = await takeControl(rig, session.id, 'bo')
    assert.equal(runs.length, 0)
    assert.equal(control.look().do, 'judge')
    await assert.rejects(takeControl(rig, session.id, 'eve'), { code: 'controlled' })
    await until(session, () => control.release())
    assert.equal(runs.length, 1)
  })
})
