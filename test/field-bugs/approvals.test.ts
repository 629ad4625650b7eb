// Bugs of approvals, interrupts and resumption that users of similar systems reported, and the right behaviour of each.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { FeedItem, Store } from '../../src/engine/index.ts'
import { memoryStore } from '../../src/stores/memory.ts'
import { begin, clientTool, eventsOf, owner, say, typesOf, until } from '../engine/rig.ts'
import { asking, counted, handed, resultOf, strictRig } from './strict.ts'

const words = (text: string) => [{ type: 'text' as const, text }]
const grant = (callId: string) => ({ callId, granted: true, by: owner })
const grants = (...ids: string[]) => ({ results: [], decisions: ids.map(grant) })
const gated = (n: number) => ({ name: 'gated', input: { n } })

test('two client calls of one answer each get their own result', async () => {
  const rig = strictRig([{ calls: [{ name: 'a' }, { name: 'b' }] }, { text: 'ok' }])
  const session = await begin(rig, { clientTools: [clientTool('a'), clientTool('b')] })
  await say(session, 'go')
  const [a = '', b = ''] = handed(session)
  const results = [
    { callId: b, parts: words('for b') },
    { callId: a, parts: words('for a') },
  ]
  await until(session, () => session.respond({ results, decisions: [] }))
  assert.equal(resultOf(rig.requests.at(-1), a)?.text, 'for a')
  assert.equal(resultOf(rig.requests.at(-1), b)?.text, 'for b')
})

test('every call of an answer that needs a person or the client is announced before the turn waits', async () => {
  const tools = [counted('gated').tool]
  const rig = strictRig([{ calls: [gated(1), gated(2), gated(3), { name: 'mine' }, gated(4)] }], { tools })
  const session = await begin(rig, { clientTools: [clientTool('mine')] })
  const items = await say(session, 'go')
  const announced = items.flatMap(item =>
    item.type === 'event' && 'callId' in item.event ? [item.event.type] : [],
  )
  assert.deepEqual(announced.sort(), [
    'approval.requested',
    'approval.requested',
    'approval.requested',
    'approval.requested',
    'call.handed',
  ])
  assert.equal(items.at(-1)?.type, 'status')
  assert.equal(new Set([...asking(session), ...handed(session)]).size, 5)
})

test('a pause for approval is not a failure that is retried', async () => {
  const tool = counted('gated', { idempotent: true, retries: 3 })
  const rig = strictRig([{ calls: [gated(1)] }, { text: 'ok' }], { tools: [tool.tool] })
  const session = await begin(rig)
  await say(session, 'go')
  assert.equal(tool.runs.length, 0)
  assert.ok(!(await typesOf(rig, session)).includes('call.started'))
  await until(session, () => session.respond(grants(...asking(session))))
  assert.deepEqual(
    tool.runs.map(run => run.attempt),
    [1],
  )
})

test('a turn that was resumed waits again when another call needs approval', async () => {
  const tool = counted('gated')
  const rig = strictRig([{ calls: [gated(1)] }, { calls: [gated(2)] }, { text: 'ok' }], {
    tools: [tool.tool],
  })
  const session = await begin(rig)
  await say(session, 'go')
  const first = asking(session)
  await until(session, () => session.respond(grants(...first)))
  assert.equal(session.status, 'waiting')
  const second = asking(session)
  assert.equal(second.length, 1)
  assert.notDeepEqual(second, first)
  await until(session, () => session.respond(grants(...second)))
  assert.equal(session.status, 'idle')
  assert.deepEqual(
    tool.runs.map(run => run.input),
    [{ n: 1 }, { n: 2 }],
  )
})

test('two waiting calls of the same tool both run, approved together or one by one', async () => {
  for (const together of [true, false]) {
    const tool = counted('gated')
    const rig = strictRig([{ calls: [gated(1), gated(1)] }, { text: 'ok' }], { tools: [tool.tool] })
    const session = await begin(rig)
    await say(session, 'go')
    const ids = asking(session)
    assert.equal(ids.length, 2)
    if (together) await until(session, () => session.respond(grants(...ids)))
    else for (const id of ids) await until(session, () => session.respond(grants(id)))
    assert.equal(tool.runs.length, 2)
    assert.equal(new Set(tool.runs.map(run => run.key)).size, 2)
    assert.equal(session.status, 'idle')
  }
})

test('an approval request is announced only once it is durable, so that it can be answered at once', async () => {
  const memory = memoryStore()
  const slow: Store = {
    ...memory,
    append: async batch => {
      await new Promise(resolve => setImmediate(resolve))
      await memory.append(batch)
    },
  }
  const tool = counted('gated')
  const input = { pad: 'x'.repeat(1_000_000) }
  const rig = strictRig([{ calls: [{ name: 'gated', input }] }, { text: 'ok' }], {
    store: slow,
    tools: [tool.tool],
  })
  const session = await begin(rig)
  const given = Promise.withResolvers<unknown>()
  const approve = async (item: FeedItem & { type: 'event' }): Promise<void> => {
    assert.deepEqual((await memory.read(session.id))[item.seq - 1]?.event, item.event)
    if (item.event.type === 'approval.requested')
      given.resolve(await session.respond(grants(item.event.callId)))
  }
  session.feed.watch(item => {
    if (item.type === 'event') approve(item).catch(given.reject)
  })
  await session.say({ parts: words('go'), wire: 'test' })
  await given.promise
  await session.driver.settle()
  assert.equal(tool.runs.length, 1)
})

test('false, 0, an empty string and null are valid results', async () => {
  const values = [false, 0, '', null]
  const tools = values.map((value, at) => counted(`t${at}`, { trust: 'trusted', run: () => value }).tool)
  const calls = [...tools.map(({ name }) => ({ name })), { name: 'mine' }]
  const rig = strictRig([{ calls }, { text: 'ok' }], { tools })
  const session = await begin(rig, { clientTools: [clientTool('mine')] })
  await say(session, 'go')
  const ids = session.state.batch.map(call => call.part.id)
  await until(session, () =>
    session.respond({ results: [{ callId: ids[4]!, parts: words('') }], decisions: [] }),
  )
  assert.equal(session.status, 'idle')
  const results = ids.map(id => resultOf(rig.requests.at(-1), id))
  assert.deepEqual(
    results.map(result => result?.kind),
    ['ok', 'ok', 'ok', 'ok', 'ok'],
  )
  assert.deepEqual([results[0]?.text, results[1]?.text], ['false', '0'])
  for (const result of results) assert.notEqual(result?.text, '')
})

test('an approved call is not asked about again', async () => {
  let asked = 0
  const when = (): boolean => {
    asked += 1
    return true
  }
  const tool = counted('gated', { trust: 'trusted' })
  const gate = { rules: [{ tool: 'gated', when, then: 'ask' as const }] }
  const rig = strictRig([{ calls: [gated(1)] }, { text: 'ok' }], { tools: [tool.tool], gate })
  const session = await begin(rig)
  await say(session, 'go')
  assert.equal(asked, 1)
  await until(session, () => session.respond(grants(...asking(session))))
  assert.equal(asked, 1)
  assert.equal(tool.runs.length, 1)
})

test('an approval is honoured by a process that only read the store', async () => {
  const store = memoryStore()
  const tool = counted('gated')
  const options = { store, tools: [tool.tool] }
  const steps = [{ calls: [gated(1)] }, { text: 'ok' }]
  const before = await begin(strictRig(steps, options))
  await say(before, 'go')
  const session = await strictRig(steps, options).engine.open(owner, before.id)
  await until(session, () => session.respond(grants(...asking(session))))
  assert.equal(session.status, 'idle')
  assert.equal(tool.runs.length, 1)
})

test('of two processes that opened one session only one can act', async () => {
  const store = memoryStore()
  const tool = counted('gated')
  const options = { store, tools: [tool.tool] }
  const steps = [{ calls: [gated(1)] }, { text: 'ok' }]
  const before = await begin(strictRig(steps, options))
  await say(before, 'go')
  const [callId = ''] = asking(before)
  const first = await strictRig(steps, options).engine.open(owner, before.id)
  const second = await strictRig(steps, options).engine.open(owner, before.id)
  assert.notEqual(first.state, second.state)
  await assert.rejects(first.respond(grants(callId)), { code: 'lease_lost' })
  assert.deepEqual(asking(second), [callId], 'the second process sees nothing of the failed decision')
  await until(second, () => second.respond(grants(callId)))
  assert.equal(tool.runs.length, 1)
})

test('an approved tool runs before the model is asked again', async () => {
  const order: string[] = []
  const tool = counted('gated', { run: () => void order.push('tool') })
  const rig = strictRig([{ calls: [gated(1)] }, { text: 'ok', expect: () => void order.push('model') }], {
    tools: [tool.tool],
  })
  const session = await begin(rig)
  await say(session, 'go')
  await until(session, () => session.respond(grants(...asking(session))))
  assert.deepEqual(order, ['tool', 'model'])
})

test('a message while an approval is open abandons that call: it is not asked for again, and the model sees the outcome', async () => {
  const tool = counted('gated')
  const rig = strictRig([{ calls: [gated(1)] }, { text: 'Never mind then.' }, { text: 'Yes?' }], {
    tools: [tool.tool],
  })
  const session = await begin(rig)
  await say(session, 'go')
  const [callId = ''] = asking(session)
  await say(session, 'what is the weather?')
  await say(session, 'hello?')
  assert.equal(resultOf(rig.requests.at(-1), callId)?.kind, 'abandoned')
  const asked = (await eventsOf(rig, session)).filter(event => event.type === 'approval.requested')
  assert.equal(asked.length, 1)
  await assert.rejects(session.respond(grants(callId)), { code: 'call_settled' })
  assert.equal(tool.runs.length, 0)
})

test('one denial leaves the other calls alone', async () => {
  const tool = counted('gated')
  const rig = strictRig([{ calls: [gated(1), gated(2), gated(3)] }, { text: 'ok' }], { tools: [tool.tool] })
  const session = await begin(rig)
  await say(session, 'go')
  const [a = '', b = '', c = ''] = asking(session)
  const denied = { callId: b, granted: false, by: owner, reason: 'not this one' }
  await until(session, () => session.respond({ results: [], decisions: [denied] }))
  assert.deepEqual(asking(session), [a, c])
  await until(session, () => session.respond(grants(a, c)))
  assert.deepEqual(
    tool.runs.map(run => run.input),
    [{ n: 1 }, { n: 3 }],
  )
  assert.equal(resultOf(rig.requests.at(-1), b)?.text, 'Tool call denied: not this one')
})
