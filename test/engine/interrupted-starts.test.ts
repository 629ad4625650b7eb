// What is interrupted, refused or taken over between the verdict and the outcome of a call, with a store that lingers: it
// runs once at the most, is settled once, and whoever waits or watches is told.
import assert from 'node:assert/strict'
import { after, describe, test } from 'node:test'
import type { FeedItem, FollowItem, Session, Store } from '../../src/engine/index.ts'
import { TurnwireError } from '../../src/language/errors.ts'
import { memoryStore } from '../../src/stores/memory.ts'
import { tool } from '../../src/tools/index.ts'
import {
  begin,
  clientTool,
  collect,
  eventsOf,
  makeRig,
  owner,
  say,
  stopAll,
  takeControl,
  typesOf,
  until,
} from './rig.ts'

after(stopAll)

const declared = { description: 'd', input: { type: 'object' } } as const
const go = { parts: [{ type: 'text' as const, text: 'go' }], wire: 'test' }
const calls = (...names: string[]) => ({ calls: names.map(name => ({ name, input: {} })) })

async function turns(): Promise<void> {
  for (let left = 3; left > 0; left -= 1) await new Promise(setImmediate)
}

/** It would keep things back for an hour: what is written was hurried. */
function lingering(over: Partial<Store> = {}): Store {
  return { ...memoryStore(), lingerMs: 3_600_000, ...over }
}

function held<T>(value: T) {
  const { promise, resolve } = Promise.withResolvers<T>()
  return { wait: promise, end: () => resolve(value) }
}

function trusted(name: string, run: () => unknown) {
  return tool({ ...declared, name, trust: 'trusted', run })
}

function watched(session: Session): FeedItem[] {
  const items: FeedItem[] = []
  session.feed.watch(item => void items.push(item))
  return items
}

describe('nothing is kept back that nothing follows', () => {
  test('the last call that runs ends while others wait for people: they are told so before they can answer', async () => {
    const slow = held('done')
    const rig = makeRig({
      store: lingering(),
      tools: [trusted('slow', () => slow.wait), tool({ ...declared, name: 'ask', run: () => 'asked' })],
      script: [calls('slow', 'ask', 'mine'), { text: 'Done.' }],
    })
    const session = await begin(rig, { clientTools: [clientTool('mine')] })
    const first = say(session, 'go')
    await turns()
    slow.end()
    const seen = await first
    assert.deepEqual(seen.at(-1), { type: 'status', status: 'waiting' })
    const [, ask, mine] = session.state.batch.map(({ part }) => part.id)
    const partly = await until(session, () =>
      session.respond({ results: [{ callId: mine!, parts: go.parts }], decisions: [] }),
    )
    assert.deepEqual(partly.at(-1), { type: 'status', status: 'waiting' })
    await until(session, () =>
      session.respond({ results: [], decisions: [{ callId: ask!, granted: true, by: owner }] }),
    )
    assert.equal(session.state.lastStop?.stop, 'end')
  })

  test('a result that comes after its turn was cancelled', async () => {
    const slow = held('done')
    const rig = makeRig({
      store: lingering(),
      tools: [trusted('slow', () => slow.wait)],
      script: [calls('slow')],
    })
    const session = await begin(rig)
    await session.say(go)
    await turns()
    await session.cancel()
    slow.end()
    await session.driver.returned()
    await turns()
    assert.equal((await typesOf(rig, session)).at(-1), 'call.late')
  })
})

test('whoever is told that a message is accepted finds it shown', async () => {
  for (const store of [memoryStore(), { ...memoryStore(), lingerMs: 1 }]) {
    const session = await begin(makeRig({ store, script: [{ hang: true }] }))
    const { first } = await session.say(go)
    assert.ok(session.feed.shown >= first)
  }
})

test('a request that is sent again while it lingers is written at once, and is one request', async () => {
  const rig = makeRig({ store: lingering(), script: [{ hang: true }] })
  const session = await begin(rig)
  const request = { key: 'k', hash: 'h' }
  const both = await Promise.all([session.say({ ...go, request }), session.say({ ...go, request })])
  assert.deepEqual(
    both.map(({ first, replayed }) => [first, replayed]),
    [
      [2, false],
      [2, true],
    ],
  )
  assert.deepEqual(await typesOf(rig, session), ['session.created', 'request.accepted', 'turn.started'])
})

test('whoever attaches while something lingers misses nothing, and sees nothing twice', async () => {
  const [first, second] = [held('1'), held('2')]
  const rig = makeRig({
    store: lingering(),
    tools: [trusted('first', () => first.wait), trusted('second', () => second.wait)],
    script: [calls('first', 'second'), { text: 'Done.' }],
  })
  const session = await begin(rig)
  const turn = say(session, 'go')
  await turns()
  first.end()
  await turns()
  assert.equal(session.clean, false)
  const items: FollowItem[] = []
  const over = new AbortController()
  const reading = collect(rig, session.id, items, over.signal)
  second.end()
  await turn
  while (items.at(-1)?.type !== 'ended') await new Promise(resolve => setImmediate(resolve))
  over.abort()
  await reading
  const shown = items.flatMap(item => (item.type === 'event' ? [item.event] : []))
  assert.deepEqual(shown, await eventsOf(rig, session))
})

describe('a session that is lost while a message lingers', () => {
  test('whoever sent it is told at once', async () => {
    const rig = makeRig({ store: lingering(), script: [{ hang: true }] })
    const session = await begin(rig)
    const refused = assert.rejects(session.say(go), { code: 'session_not_found' })
    session.lose(new TurnwireError('session_not_found', 'The session was dropped.'))
    await refused
  })

  test('so is whoever watches, if the store refuses it; nothing of it was shown', async () => {
    const inner = memoryStore()
    const full = Promise.reject(new TurnwireError('store_full', 'The disk is full.'))
    full.catch(() => {})
    const store: Store = { ...inner, lingerMs: 1, append: () => full }
    const session = await begin(makeRig({ store, script: [{ hang: true }] }))
    const items = watched(session)
    await assert.rejects(session.say(go), { code: 'store_full' })
    await session.driver.settle()
    await session.driver.returned()
    assert.deepEqual(
      items.map(({ type }) => type),
      ['closed'],
    )
  })
})

test('a store that throws when it is to keep the whole of a result: the session is lost, and nobody waits for it', async () => {
  for (const run of [() => 'x'.repeat(5000), async () => 'x'.repeat(5000)]) {
    const store: Store = {
      ...memoryStore(),
      putBlob() {
        throw new Error('closed')
      },
    }
    const big = tool({ ...declared, name: 'big', trust: 'trusted', outputLimit: 1000, run })
    const session = await begin(makeRig({ store, tools: [big], script: [calls('big')] }))
    await assert.rejects(say(session, 'go'), { message: 'closed' })
    await session.driver.settle()
    await session.driver.returned()
  }
})

test('a watcher that ends the session: the others see an unbroken beginning', async () => {
  const gone = new Error('enough')
  const append = Promise.withResolvers<void>()
  const store: Store = { ...memoryStore(), append: () => append.promise }
  const session = await begin(makeRig({ store, script: [{ hang: true }] }))
  const seen: (number | string)[] = []
  session.feed.watch(item => {
    seen.push(item.type === 'event' ? item.seq : item.type)
    if (item.type === 'event') session.lose(gone)
  })
  session.feed.watch(item => void seen.push(item.type === 'event' ? item.seq : item.type))
  const said = session.say(go)
  await turns()
  const granted = session.grant({ tool: 'a', toolHash: 'h', by: owner })
  await turns()
  append.resolve()
  await Promise.all([said, granted])
  await turns()
  assert.deepEqual(seen, [2, 'closed', 'closed'])
})

describe('policy takes its time over one call while another runs', () => {
  function rigWith(policy: Promise<boolean>, runs: string[], store = lingering()) {
    const noted = (name: string) => () => {
      runs.push(name)
      return name
    }
    return makeRig({
      store,
      gate: { rules: [{ tool: 'late', then: 'allow', when: () => policy }] },
      tools: [trusted('now', noted('now')), tool({ ...declared, name: 'late', run: noted('late') })],
      script: [calls('late', 'now'), { text: 'ok' }],
    })
  }

  const start = async (store = lingering()) => {
    const policy = held(true)
    const runs: string[] = []
    const rig = rigWith(policy.wait, runs, store)
    const session = await begin(rig)
    const turn = say(session, 'go')
    turn.catch(() => {})
    await turns()
    assert.deepEqual(runs, ['now'])
    return { rig, session, turn, policy, runs }
  }

  test('its results come in the order in which the model asked', async () => {
    const { session, turn, policy, runs } = await start()
    policy.end()
    await turn
    assert.deepEqual(runs, ['now', 'late'])
    const results = session.state.entries.flatMap(entry => (entry.role === 'tool' ? entry.results : []))
    assert.deepEqual(
      results.map(({ name, outcome }) => [name, outcome.kind]),
      [
        ['late', 'ok'],
        ['now', 'ok'],
      ],
    )
  })

  test('the turn is cancelled: the verdict changes nothing', async () => {
    const { rig, session, turn, policy, runs } = await start()
    await session.cancel()
    await turn
    const before = await typesOf(rig, session)
    policy.end()
    await turns()
    assert.deepEqual([await typesOf(rig, session), runs], [before, ['now']])
    assert.equal(before.filter(type => type === 'call.settled').length, 2)
  })

  test('someone takes over: what was allowed waits for the control', async () => {
    const { rig, session, turn, policy, runs } = await start()
    const taking = takeControl(rig, session.id, 'olga')
    await turns()
    policy.end()
    const control = await taking
    assert.deepEqual([control.look().do, runs], ['run', ['now']])
    await control.perform()
    await control.release()
    await turn
    assert.deepEqual(runs, ['now', 'late'])
  })

  test('the server stops: nothing is lost, and what was allowed runs when it is back', async () => {
    const store = lingering()
    const { rig, session, policy, runs } = await start(store)
    const stopped = rig.engine.stop(60_000)
    policy.end()
    await stopped
    assert.deepEqual((await typesOf(rig, session)).slice(-2), ['call.settled', 'call.allowed'])
    const next = rigWith(Promise.resolve(false), runs, store)
    const again = await next.engine.open(owner, session.id)
    await again.driver.settle()
    assert.deepEqual(runs, ['now', 'late'])
  })
})
