// The engine's boundary over a channel: everything crosses as a clone, readers set the pace, and a lost channel is told.
import assert from 'node:assert/strict'
import { Duplex, duplexPair, Transform } from 'node:stream'
import { after, describe, type TestContext, test } from 'node:test'
import type { AttachedItem, Engine, FollowItem } from '../../src/engine/index.ts'
import { connectEngine, serveEngine, streamChannel } from '../../src/engines/socket/index.ts'
import { batchesAhead } from '../../src/engines/socket/protocol.ts'
import { TurnwireError } from '../../src/language/errors.ts'
import { tool } from '../../src/tools/index.ts'
import { makeRig, owner, type RigOptions, stopAll } from '../engine/rig.ts'
import { begin, collect, say } from './rig.ts'

after(stopAll)

type Link = { engine: Engine; local: Engine; cut: () => void }

function link(t: TestContext, local: Engine, through: (stream: Duplex) => Duplex = stream => stream): Link {
  const [here, there] = duplexPair()
  serveEngine(streamChannel(there), local)
  t.after(() => here.destroy())
  return { engine: connectEngine(streamChannel(through(here))), local, cut: () => here.destroy() }
}

function linked(t: TestContext, options: RigOptions): Link {
  return link(t, makeRig(options).local)
}

/** An engine of which only what a test uses is there. */
function partial(engine: Partial<Engine>): Engine {
  return engine as Engine // Nothing else of it is called.
}

describe('calls', () => {
  test('give what the engine gives', async t => {
    const { engine, local } = linked(t, { script: [{ text: 'Hello' }] })
    const ref = await begin(engine)
    const { first } = await say(engine, ref, 'Hi')
    const follow = { from: first, until: 'stop', deltas: 'take-back' } as const
    assert.deepEqual(await collect(engine.follow(ref, follow)), await collect(local.follow(ref, follow)))
    assert.deepEqual(await engine.describe(), await local.describe())
    assert.deepEqual(await engine.summary(ref, ['k']), await local.summary(ref, ['k']))
    assert.deepEqual(
      await engine.history(ref, { get: 'entries' }),
      await local.history(ref, { get: 'entries' }),
    )
    assert.deepEqual(
      await engine.history(ref, { get: 'entries', upTo: 2 }),
      await local.history(ref, { get: 'entries', upTo: 2 }),
    )
    assert.deepEqual(await engine.events(ref, 1), await local.events(ref, 1))
    assert.deepEqual(
      await engine.history(ref, { get: 'request', text: 'Next' }),
      await local.history(ref, { get: 'request', text: 'Next' }),
    )
    assert.deepEqual(await engine.list(owner, { limit: 5 }), await local.list(owner, { limit: 5 }))
    assert.equal(await engine.lookUp({ get: 'owner', session: ref.session }), owner)
    assert.equal(await engine.lookUp({ get: 'session', owner, key: 'none' }), undefined)
    await engine.command(ref, { do: 'keep', name: 'mark', text: 'x' })
    assert.equal(await engine.blob(ref, { get: 'text', name: 'mark' }), 'x')
    await engine.remove(ref)
    await assert.rejects(engine.summary(ref), { name: 'TurnwireError', code: 'session_not_found' })
  })

  test('refuse a context that another process could not use, with its place, and record nothing', async t => {
    const { engine, local } = linked(t, { script: [{ text: 'Hello' }] })
    const ref = await begin(engine)
    class Database {
      rows = 1
    }
    const sayWith = (app: object) =>
      engine.command(ref, { do: 'say', wire: 'test', parts: [{ type: 'text', text: 'Hi' }], app })
    const refused = (app: object, message: RegExp) =>
      assert.rejects(sayWith(app), { name: 'TurnwireError', code: 'bad_request', message })
    await refused(
      { db: () => 1 },
      /^context\.db is a function and cannot be given to the process that has the data/,
    )
    await refused(
      { pools: [{ db: new Database() }] },
      /^context\.pools\.0\.db is an object of the class Database/,
    )
    assert.equal((await local.summary(ref)).status, 'idle')
    const circle: Record<string, unknown> = {
      since: new Date(0),
      ids: new Set([1]),
      bytes: new Uint8Array(2),
    }
    circle['self'] = circle
    await sayWith(circle)
    assert.equal(
      (await collect(local.follow(ref, { from: 1, until: 'stop', deltas: 'none' }))).length > 0,
      true,
    )
  })

  test('pass members that are undefined, half characters and large texts', async t => {
    const given: unknown[] = []
    const local = partial({
      remove: (...args) => {
        given.push(...args)
        return Promise.resolve()
      },
      list: () => Promise.resolve({ rows: [], next: 'é\ud800'.repeat(3_000_000) }),
    })
    const { engine } = link(t, local, inPieces)
    const ref = { owner: '\udfff', session: 'x'.repeat(9_000_000), more: undefined }
    await engine.remove(ref)
    assert.deepEqual(given, [ref])
    assert.ok(Object.hasOwn(given[0] as object, 'more'))
    assert.equal((await engine.list(owner, { limit: 1 })).next, 'é\ud800'.repeat(3_000_000))
  })

  test('that fail in the engine reject with the code and the message; a defect is internal', async t => {
    const local = partial({
      describe: () => Promise.reject(new TypeError('no such thing')),
      answerOnce: () => {
        throw new TurnwireError('unknown_agent', 'There is no such agent.')
      },
    })
    const { engine } = link(t, local)
    await assert.rejects(engine.describe(), {
      name: 'TurnwireError',
      code: 'internal',
      message: 'no such thing',
    })
    const once = engine.answerOnce({ owner, agent: 'x', clientTools: [], history: [], deltas: 'none' })
    await assert.rejects(collect(once), { code: 'unknown_agent', message: 'There is no such agent.' })
  })
})

/** Cuts what is read into pieces that no frame expects. */
function inPieces(stream: Duplex): Duplex {
  const cut = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      for (let at = 0; at < chunk.length; at += 65_521) this.push(chunk.subarray(at, at + 65_521))
      done()
    },
  })
  return Duplex.from({ readable: stream.pipe(cut), writable: stream })
}

describe('streams', () => {
  /** Gives batches without end, and says how many were taken and whether the reader left. */
  function endless() {
    const seen = { taken: 0, left: false }
    async function* items(): AsyncGenerator<FollowItem[]> {
      try {
        for (;;) {
          seen.taken += 1
          yield [{ type: 'running' }]
        }
      } finally {
        seen.left = true
      }
    }
    return { seen, engine: partial({ follow: items }) }
  }

  const options = { until: 'never', deltas: 'none' } as const
  const ref = { owner, session: 's' }

  test('are read at the pace of the reader', async t => {
    const { seen, engine: local } = endless()
    const { engine } = link(t, local)
    const items = engine.follow(ref, options)[Symbol.asyncIterator]()
    for (let read = 1; read <= 5; read++) await items.next()
    await new Promise(resolve => setTimeout(resolve, 50))
    assert.ok(seen.taken <= 5 + batchesAhead, `${seen.taken} were taken for 5 that were read`)
    await items.return?.()
  })

  test('end when the reader leaves its loop, and when its signal aborts', async t => {
    for (const leave of ['loop', 'signal']) {
      const { seen, engine: local } = endless()
      const { engine } = link(t, local)
      const stop = new AbortController()
      for await (const _batch of engine.follow(ref, options, stop.signal)) {
        if (leave === 'loop') break
        stop.abort()
      }
      while (!seen.left) await new Promise(resolve => setImmediate(resolve))
    }
  })

  test('a reader whose signal aborts before it begins gets nothing', async t => {
    const { seen, engine: local } = endless()
    const { engine } = link(t, local)
    assert.deepEqual(await collect(engine.follow(ref, options, AbortSignal.abort())), [])
    assert.equal(seen.taken, 0)
  })

  test('tools of this side run for a session of the other', async t => {
    const script = [{ calls: [{ name: 'read', input: { path: 'a' } }] }, { text: 'Done.' }]
    const { engine } = linked(t, { script })
    const session = await begin(engine)
    const read = tool({
      name: 'read',
      description: 'Reads.',
      input: { type: 'object' },
      trust: 'trusted',
      run: () => '',
    })
    const declared = { ...read, run: undefined }
    const stop = new AbortController()
    const runs: AttachedItem[] = []
    const offered = Promise.withResolvers<void>()
    const attached = (async () => {
      for await (const batch of engine.attach(session, [declared], stop.signal))
        for (const item of batch) {
          runs.push(item)
          if (item.type === 'attached') offered.resolve()
          if (item.type !== 'run') continue
          const output = { parts: [{ type: 'text' as const, text: 'A file.' }] }
          await engine.report(session, { run: item.run, output })
        }
    })()
    await offered.promise
    const { first } = await say(engine, session, 'Go')
    const items = await collect(engine.follow(session, { from: first, until: 'turn', deltas: 'none' }))
    stop.abort()
    await attached
    assert.deepEqual(
      runs.map(item => item.type),
      ['attached', 'run'],
    )
    assert.match(JSON.stringify(items), /A file\./)
  })
})

test('a lost channel rejects calls, tells followers and ends attachments', async t => {
  const forever = async function* (): AsyncGenerator<never> {
    await new Promise(() => {})
    yield undefined as never // Never reached.
  }
  const local = partial({
    describe: () => new Promise(() => {}),
    follow: forever,
    attach: forever,
    answerOnce: forever,
  })
  const { engine, cut } = link(t, local)
  const lost = { name: 'TurnwireError', code: 'lease_lost', message: /went away/ }
  const ref = { owner, session: 's' }
  const call = assert.rejects(engine.describe(), lost)
  const followed = collect(engine.follow(ref, { until: 'never', deltas: 'none' }))
  const attached = collect(engine.attach(ref, []))
  const once = assert.rejects(
    collect(engine.answerOnce({ owner, agent: 'x', clientTools: [], history: [], deltas: 'none' })),
    lost,
  )
  await new Promise(resolve => setImmediate(resolve))
  cut()
  await call
  await once
  const [item, ...more] = await followed
  assert.ok(item?.type === 'lost' && item.error.code === 'lease_lost')
  assert.deepEqual(more, [])
  assert.deepEqual(await attached, [])
  await assert.rejects(engine.describe(), lost, 'and what is asked later')
})
