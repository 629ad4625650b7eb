// What a bad disk does to a server: slow and failing syncs, no space, no permission to write, files that are taken away.
// It always answers, says what is wrong, loses nothing that it acknowledged, and works again once the disk does.
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { copyFileSync, renameSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { type Attacked, attacked, attackFolder, until } from './attack-rig.ts'
import { broken, type Faults, faultyDisk, full, readOnly } from './faulty-disk.ts'

type Failure = { code?: string; error?: string }

async function healthOf(server: Attacked): Promise<{ status: number; code: string | undefined }> {
  const { status, text } = await server.send({ path: '/health' })
  const { store } = JSON.parse(text) as { store?: Failure }
  return { status, code: store?.code }
}

/** The texts that users have said in a session. */
async function saidIn(server: Attacked, session: string): Promise<string[]> {
  const { status, text } = await server.send({ path: `/sessions/${session}/history?type=full` })
  assert.equal(status, 200, text)
  return [...text.matchAll(/"said (\d+)"/g)].map(([, number]) => `said ${number}`)
}

/** A client that follows the session is shown what was said. */
async function follows(server: Attacked, session: string, words: string): Promise<void> {
  const { status, body } = await fetch(`${server.url}/sessions/${session}/events`)
  assert.equal(status, 200)
  let text = ''
  for await (const chunk of body ?? []) {
    text += Buffer.from(chunk).toString()
    if (text.includes(words)) return
  }
  assert.fail(`The stream ended: ${text}`)
}

/** A turn is refused with this code, in the answer, in the log and in /health. */
async function refuses(server: Attacked, session: string, status: number, code: string): Promise<void> {
  const answer = await server.turn(session, 'never said')
  assert.equal(answer.status, status, answer.text)
  assert.match(answer.text, new RegExp(code))
  assert.deepEqual(await healthOf(server), { status: 503, code })
  await until(() => server.log.includes('The store cannot be written.'))
}

async function works(server: Attacked, session: string, words: string): Promise<void> {
  await until(async () => (await healthOf(server)).status === 200)
  const answer = await server.turn(session, words)
  assert.equal(answer.status, 200, answer.text)
}

/** How many health checks are answered, one after the other, while the work goes on. */
async function checksDuring(server: Attacked, work: Promise<unknown>): Promise<number> {
  let over = false
  let checks = 0
  const end = work.finally(() => {
    over = true
  })
  while (!over) {
    await server.send({ path: '/health' })
    if (!over) checks += 1
  }
  await end
  return checks
}

test('while syncs take two seconds, the server goes on answering', async t => {
  const disk = faultyDisk(t)
  if (!disk) return
  const server = await attacked(t, { env: disk.env })
  const session = await server.session()
  disk.set({ syncMs: 2000 })
  // The first slow sync may be met on the main thread. From then on syncs are made elsewhere.
  await server.turn(session, 'said 1')
  for (const words of ['said 2', 'said 3']) {
    const before = disk.syncs()
    const checks = await checksDuring(server, server.turn(session, words))
    const syncs = disk.syncs() - before
    assert.ok(syncs >= 1, 'nothing was synced')
    // If syncs held the event loop, no more than one check would be answered for each.
    assert.ok(checks >= 3 * syncs, `${checks} checks during ${syncs} syncs`)
  }
  disk.set({})
  assert.deepEqual(await saidIn(server, session), ['said 1', 'said 2', 'said 3'])
})

test('while another program holds the database, the server goes on answering', async t => {
  const server = await attacked(t)
  const session = await server.session()
  const other = new DatabaseSync(join(server.folder, 'sessions.db'))
  other.exec('BEGIN IMMEDIATE')
  // The writer waits 2 s for the lock, as it would for a slow disk.
  const turn = server.turn(session, 'never said')
  const checks = await checksDuring(server, turn)
  other.exec('ROLLBACK')
  other.close()
  const { status, text } = await turn
  assert.equal(status, 503, text)
  assert.match(text, /store_locked/)
  // If it held the event loop, one check would be answered before it and one after it.
  assert.ok(checks >= 4, `only ${checks} checks were answered`)
  await works(server, session, 'said 1')
  assert.deepEqual(await saidIn(server, session), ['said 1'])
})

test('sessions that work at the same time share the syncs of a slow disk', async t => {
  const disk = faultyDisk(t)
  if (!disk) return
  const server = await attacked(t, { env: disk.env })
  const sessions = await Promise.all(Array.from({ length: 32 }, () => server.session()))
  disk.set({ syncMs: 100 })
  const before = disk.syncs()
  const answers = await Promise.all(sessions.map(session => server.turn(session, 'said 1')))
  const syncs = disk.syncs() - before
  disk.set({})
  for (const { status, text } of answers) assert.equal(status, 200, text)
  assert.ok(syncs <= 16, `32 turns took ${syncs} syncs`)
})

const faults: [name: string, faults: Faults, status: number, code: string][] = [
  ['syncs fail', broken, 503, 'store_failed'],
  ['the disk is full', full, 507, 'store_full'],
  ['the disk is read-only', readOnly, 503, 'store_failed'],
]

for (const [name, fault, status, code] of faults)
  test(`${name}: turns are refused, reading goes on, and nothing refused is recorded`, async t => {
    const disk = faultyDisk(t)
    if (!disk) return
    const folder = attackFolder(t)
    const before = await attacked(t, { env: disk.env, folder })
    const resting = await before.session()
    assert.equal((await before.turn(resting, 'said 0')).status, 200)
    assert.equal(await before.stop(), 0)
    const server = await attacked(t, { env: disk.env, folder })
    const session = await server.session()
    assert.equal((await server.turn(session, 'said 1')).status, 200)
    disk.set(fault)
    await refuses(server, session, status, code)
    await refuses(server, session, status, code)
    assert.deepEqual(await saidIn(server, session), ['said 1'])
    assert.equal((await server.send({ path: `/sessions/${session}` })).status, 200)
    assert.match((await server.send({ path: '/sessions' })).text, new RegExp(session))
    await follows(server, session, 'said 1')
    // It is not in memory, and following does not need it there.
    await follows(server, resting, 'said 0')
    disk.set({})
    await works(server, session, 'said 2')
    assert.deepEqual(await saidIn(server, session), ['said 1', 'said 2'])
    await until(() => server.log.includes('The store can be written again.'))
    assert.equal(await server.stop(), 0)
    const again = await attacked(t, { folder: server.folder })
    assert.deepEqual(await saidIn(again, session), ['said 1', 'said 2'])
  })

const canLimit =
  spawnSync('prlimit', ['--version']).status === 0 ? false : 'prlimit (util-linux) is not installed'

test('files may not grow: turns are refused, reading goes on, and writing goes on once they may', {
  skip: canLimit,
}, async t => {
  const server = await attacked(t)
  const session = await server.session()
  assert.equal((await server.turn(session, 'said 1')).status, 200)
  const limit = (bytes: string) => {
    const { status, stderr } = spawnSync('prlimit', [`--pid=${server.child.pid}`, `--fsize=${bytes}:`])
    assert.equal(status, 0, String(stderr))
  }
  limit(String(statSync(join(server.folder, 'sessions.db-wal')).size))
  await refuses(server, session, 503, 'store_failed')
  assert.deepEqual(await saidIn(server, session), ['said 1'])
  limit('unlimited')
  await works(server, session, 'said 2')
  assert.deepEqual(await saidIn(server, session), ['said 1', 'said 2'])
})

/** A commit relies on a check of the file's place in the last 10 ms. */
const untilCheckedAnew = (): Promise<void> => new Promise(resolve => setTimeout(resolve, 50))

test('the data folder is moved away: turns are refused until it is back', async t => {
  const folder = join(attackFolder(t), 'data')
  const server = await attacked(t, { folder })
  const session = await server.session()
  assert.equal((await server.turn(session, 'said 1')).status, 200)
  await untilCheckedAnew()
  renameSync(folder, `${folder}.away`)
  assert.deepEqual(await healthOf(server), { status: 503, code: 'store_failed' })
  await refuses(server, session, 503, 'store_failed')
  assert.match(server.log, /sessions\.db was removed while it was in use/)
  renameSync(`${folder}.away`, folder)
  await works(server, session, 'said 2')
  assert.deepEqual(await saidIn(server, session), ['said 1', 'said 2'])
})

const losses: [name: string, lose: (folder: string) => void][] = [
  ['the data folder is removed', folder => rmSync(folder, { recursive: true })],
  ['the database is removed', folder => rmSync(join(folder, 'sessions.db'))],
  ['the write-ahead log is removed', folder => rmSync(join(folder, 'sessions.db-wal'))],
  [
    'the database is replaced by a copy',
    folder => {
      const file = join(folder, 'sessions.db')
      copyFileSync(file, `${file}.copy`)
      renameSync(`${file}.copy`, file)
    },
  ],
]

for (const [name, lose] of losses)
  test(`${name}: every turn is refused from then on`, async t => {
    const folder = join(attackFolder(t), 'data')
    const server = await attacked(t, { folder })
    const session = await server.session()
    await untilCheckedAnew()
    lose(folder)
    await refuses(server, session, 503, 'store_failed')
    const created = await server.send({ path: '/sessions', body: { agent: { name: 'helper' } } })
    assert.equal(created.status, 503, created.text)
    await refuses(server, session, 503, 'store_failed')
  })
