// A session that begins with a message is written with what comes of it, and is not there at all if that fails.
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import type { CreateSession, Engine, Store } from '../../src/engine/index.ts'
import { TurnwireError } from '../../src/language/errors.ts'
import { memoryStore } from '../../src/stores/memory.ts'
import { sqliteStore } from '../../src/stores/sqlite/index.ts'
import { tool } from '../../src/tools/index.ts'
import { collect } from '../engines/rig.ts'
import { makeRig, owner, stopAll } from './rig.ts'

after(stopAll)

const ping = tool({
  name: 'ping',
  description: 'Pings.',
  input: { type: 'object' },
  trust: 'trusted',
  run: () => 'pong',
})
const script = [{ calls: [{ name: 'ping', input: {} }] }, { text: 'Done.' }]
const settings = { tools: null, options: {}, clientTools: [] }
const say: NonNullable<CreateSession['say']> = {
  do: 'say',
  wire: 'test',
  parts: [{ type: 'text', text: 'go' }],
}
const create: CreateSession = { owner, agent: 'helper', wire: 'test', settings, seed: [], say }
/** Deferred events are written when the loop rests, however slow this machine is. */
const world = { timer: () => () => {} }

function spoken(engine: Engine, session: string, from: number) {
  return collect(engine.follow({ owner, session }, { from, until: 'turn', deltas: 'none' }))
}

test('its turn with one call is two commits, with the session in the first', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'turnwire-begun-'))
  const commits: number[] = []
  const group = { onCommit: (writes: number) => void commits.push(writes) }
  const store = sqliteStore({ file: join(folder, 'a.db'), group, commitsIn: 'main' })
  const { local } = makeRig({ store, world, tools: [ping], script })
  const { session, existing, accepted } = await local.create(create)
  assert.deepEqual([existing, accepted?.first, accepted?.count], [false, 2, 1])
  await spoken(local, session, 1)
  assert.deepEqual(commits, [2, 1])
  const types = (await store.read(session)).map(({ event }) => event.type)
  assert.deepEqual(types.slice(0, 3), ['session.created', 'turn.started', 'model.answered'])
  assert.equal(types.at(-1), 'turn.ended')
  await stopAll()
  await store.close()
  rmSync(folder, { recursive: true })
})

test('it is there once the message is durable, and not before', async () => {
  const inner = memoryStore()
  const written = Promise.withResolvers<void>()
  const store: Store = { ...inner, append: batch => written.promise.then(() => inner.append(batch)) }
  const { local } = makeRig({ store, script: [{ text: 'Done.' }] })
  let isThere = false
  const making = local.create(create).then(made => {
    isThere = true
    return made
  })
  await new Promise(setImmediate)
  assert.equal(isThere, false)
  written.resolve()
  const { session } = await making
  assert.equal((await local.summary({ owner, session })).entries >= 1, true)
})

test('nothing of it is left when the store refuses it', async () => {
  const refused = new TurnwireError('store_failed', 'No.')
  const inner = memoryStore()
  const fails = () => Promise.reject(refused)
  const { local } = makeRig({ store: { ...inner, create: fails, append: fails }, script, tools: [ping] })
  await assert.rejects(local.create(create), { code: 'store_failed' })
  assert.deepEqual(local.running(owner, false), [])
  assert.deepEqual((await inner.list(owner, { limit: 10 })).rows, [])
})

test('nothing of it is left when the message is refused', async () => {
  const { local, store } = makeRig({ script })
  const schema = { $ref: '#/nowhere' }
  const ask = { format: { type: 'schema', name: 'x', schema } } as const
  const refused = { ...say, ask }
  await assert.rejects(local.create({ ...create, say: refused }), { code: 'bad_request' })
  assert.deepEqual((await store.list(owner, { limit: 10 })).rows, [])
})

test('a request key makes one session with one message', async () => {
  const { local } = makeRig({ script: [{ text: 'Done.' }, { text: 'Twice.' }] })
  const request = { key: 'k', hash: 'h' }
  const first = await local.create({ ...create, request })
  await spoken(local, first.session, 1)
  const second = await local.create({ ...create, request })
  assert.deepEqual(second, { session: first.session, existing: true })
  assert.equal((await local.summary({ owner, session: first.session })).entries, 2)
})
