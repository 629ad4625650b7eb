// A full disk: the write fails with `store_full` and leaves nothing, reads go on, and writes succeed again once there is
// space. Tested with the store's own size limit, and on a small mounted disk where that is possible.
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Store } from '../../src/engine/ports/index.ts'
import { TurnwireError } from '../../src/language/errors.ts'
import { sqliteStore } from '../../src/stores/sqlite/index.ts'
import { batch, events, newSession, rejects, sampleEvent } from '../../src/testing/contracts/store-samples.ts'
import { makeFolder } from './folder.ts'

const KILOBYTE = 'x'.repeat(1_000)

/** Appends until one fails. Gives the last acknowledged number and the error code. */
async function fill(store: Store, session: string): Promise<{ head: number; code: string }> {
  for (let seq = 1; seq < 100_000; seq++) {
    try {
      await store.append(batch(session, seq, 1, { events: [sampleEvent(`${seq} ${KILOBYTE}`)] }))
    } catch (error) {
      assert.ok(error instanceof TurnwireError)
      return { head: seq - 1, code: error.code }
    }
  }
  throw new Error('it never filled')
}

async function checkHead(store: Store, session: string, head: number): Promise<void> {
  assert.equal((await store.row(session))?.head, head)
  const recorded = await store.read(session)
  assert.deepEqual([recorded.length, recorded.at(-1)?.seq], [head, head])
}

test('at its size limit the store is full, and removing a session makes room', async () => {
  const folder = makeFolder()
  const store = sqliteStore({ file: folder.path('sessions.db'), maxBytes: 400_000 })
  await store.create(newSession('old', { events: [sampleEvent(KILOBYTE.repeat(100))] }))
  await store.create(newSession('s'))
  const { head, code } = await fill(store, 's')
  assert.equal(code, 'store_full')
  assert.ok(head > 50, `only ${head} fitted`)
  await checkHead(store, 's', head)

  const large = sampleEvent(KILOBYTE.repeat(50))
  await Promise.all([
    rejects(
      store.append(batch('s', head + 1, 1, { events: [sampleEvent('a'), large, sampleEvent('z')] })),
      'store_full',
    ),
    rejects(store.append(batch('s', head + 4, 1)), 'store_full'),
    rejects(store.putBlob('old', 'b', KILOBYTE.repeat(50)), 'store_full'),
  ])
  await checkHead(store, 's', head)
  assert.equal(await store.blob('old', 'b'), undefined)

  assert.equal(await store.remove('old'), true)
  await store.append(batch('s', head + 1, 1, { events: [large] }))
  await checkHead(store, 's', head + 1)
  await store.close()
  folder.remove()
})

test('a full store fails steadily, although small writes fit, until it has room', async () => {
  const folder = makeFolder()
  const told: string[] = []
  const store = sqliteStore({
    file: folder.path('sessions.db'),
    maxBytes: 400_000,
    group: { onFailure: ({ code }) => told.push(code), onRecovery: () => told.push('works') },
  })
  await store.create(newSession('old', { events: [sampleEvent(KILOBYTE.repeat(100))] }))
  await store.create(newSession('s'))
  const { head } = await fill(store, 's')
  let epoch = 1
  for (let check = 0; check < 5; check++) {
    assert.equal(store.failure?.()?.code, 'store_full', `check ${check}`)
    epoch = (await store.claim('s'))!.epoch
  }
  assert.deepEqual(told, ['store_full'])
  assert.equal(await store.remove('old'), true)
  // Nobody writes: asking for its health finds it.
  while (store.failure?.()) await nextTurn()
  assert.deepEqual(told, ['store_full', 'works'])
  await store.append(batch('s', head + 1, 1, { epoch, events: [sampleEvent(KILOBYTE.repeat(50))] }))
  await store.close()
  folder.remove()
})

test('a size limit below the empty database is reported when it is opened', () => {
  const folder = makeFolder()
  const file = folder.path('sessions.db')
  assert.throws(() => sqliteStore({ file, maxBytes: 10_000 }), { code: 'store_full' })
  folder.remove()
})

test('a full disk', async t => {
  const folder = makeFolder()
  const disk = folder.path('disk')
  mkdirSync(disk)
  const mounted = spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=4m', 'tmpfs', disk])
  if (mounted.status !== 0) {
    folder.remove()
    return t.skip('a small disk cannot be mounted here: it takes root and a kernel that allows it')
  }
  try {
    const ballast = join(disk, 'ballast')
    writeFileSync(ballast, Buffer.alloc(1_500_000))
    const store = sqliteStore({ file: join(disk, 'sessions.db') })
    await store.create(newSession('s'))
    const { head, code } = await fill(store, 's')
    assert.equal(code, 'store_full')
    await checkHead(store, 's', head)
    await rejects(store.append(batch('s', head + 1, 2000)), 'store_full')
    await checkHead(store, 's', head)
    rmSync(ballast)
    await store.append(batch('s', head + 1, 3, { events: events(head + 1, 3) }))
    await checkHead(store, 's', head + 3)
    await store.close()
  } finally {
    spawnSync('umount', [disk])
    folder.remove()
  }
})
