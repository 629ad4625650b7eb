// Sessions that a crash left unfinished and that cannot be continued: a start never dies of one, and says which it left
// alone.
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import type { Event } from '../../src/language/events.ts'
import { sqliteStore } from '../../src/stores/sqlite/index.ts'
import { turnwire } from '../cli/rig.ts'
import { type Attacked, attacked, attackFolder, type Lifetime, script, until } from './attack-rig.ts'

const waits = script({ calls: [{ name: 'wait', input: { ms: 600_000 } }] })

/** A session whose server was killed while a call ran. */
async function unfinished(t: Lifetime, folder: string): Promise<string> {
  const server = await attacked(t, { folder })
  const session = await server.session()
  server.turn(session, waits).catch(() => {})
  await until(async () => {
    const { text } = await server.send({ path: `/sessions/${session}` })
    return text.includes('running') || (await logOf(folder, session)).some(type => type === 'call.started')
  })
  assert.equal(await server.stop('SIGKILL'), 'SIGKILL')
  return session
}

const storeIn = (folder: string) => sqliteStore({ file: join(folder, 'sessions.db') })

async function logOf(folder: string, session: string): Promise<string[]> {
  const store = storeIn(folder)
  const log = await store.read(session)
  await store.close()
  return log.map(({ event }) => event.type)
}

/** Adds late results, which change nothing but the size of the session. */
async function grow(folder: string, session: string, megabytes: number): Promise<void> {
  const store = storeIn(folder)
  const { epoch, row } = (await store.claim(session))!
  const late: Event = {
    v: 1,
    at: row.updatedAt,
    type: 'call.late',
    callId: 'none',
    outcome: {
      kind: 'ok',
      parts: [{ type: 'text', text: 'z'.repeat(1_000_000) }],
      from: { source: 'runtime' },
    },
  }
  for (let seq = row.head + 1; seq <= row.head + megabytes; seq += 10)
    await store.append({ session, epoch, seq, events: Array(10).fill(late), status: 'running' })
  await store.close()
}

async function servesOthers(server: Attacked, session: string): Promise<void> {
  const other = await server.session()
  assert.equal((await server.turn(other, 'Hello.')).status, 200)
  assert.equal((await server.send({ path: `/sessions/${session}` })).status, 200, 'it can be read')
  const { stdout, stderr } = turnwire(['sessions', '--data', server.folder], { cwd: server.folder })
  const line = stdout.split('\n').find(each => each.includes(session))
  assert.match(line ?? stderr, /left alone/)
  assert.equal(stdout.split('\n').filter(each => each.includes('left alone')).length, 1)
}

test('an unfinished session of 250 MB does not end a server with a small heap', async t => {
  const folder = attackFolder(t)
  const session = await unfinished(t, folder)
  await grow(folder, session, 250)
  const server = await attacked(t, { folder, flags: ['--max-old-space-size=128'] })
  await until(() => server.log.includes('A session is left alone.'))
  assert.match(server.log, /more than this server has memory for/)
  await servesOthers(server, session)
  assert.equal((await server.send({ method: 'DELETE', path: `/sessions/${session}` })).status, 204)
  assert.equal(await server.stop(), 0)
})

test('a session that ended the process three times is left alone, and can be cancelled', async t => {
  const folder = attackFolder(t)
  const session = await unfinished(t, folder)
  const store = storeIn(folder)
  // Each counts as a start that ended before the session recorded anything.
  for (let start = 0; start < 3; start += 1) await store.claim(session, true)
  await store.close()
  const server = await attacked(t, { folder })
  await until(() => server.log.includes('A session is left alone.'))
  assert.match(server.log, /The server ended 3 times while it continued this session/)
  await servesOthers(server, session)
  const turn = await server.turn(session, 'Go on.')
  assert.match(turn.text, /recovery_failed/)
  assert.equal((await server.send({ path: `/sessions/${session}/cancel`, body: {} })).status, 204)
  assert.equal((await server.turn(session, 'Go on.')).status, 200)
})

test('a session that has reached its size takes nothing more, and can be read and deleted', async t => {
  const server = await attacked(t, { config: { limits: { sessionBytes: 1_000_000 } } })
  const session = await server.session()
  const gives = script(
    ...Array.from({ length: 9 }, () => ({ calls: [{ name: 'give', input: { bytes: 300_000 } }] })),
  )
  const full = await server.turn(session, gives)
  assert.equal(full.status, 200)
  assert.match(full.text, /"limit":"sessionBytes"/)
  assert.ok(full.text.length < 1_500_000, `${full.text.length} characters`)
  const more = await server.turn(session, 'hello')
  assert.equal(more.status, 413, more.text)
  assert.match(more.text, /limit of 1000000 bytes/)
  assert.equal((await server.send({ path: `/sessions/${session}/history?type=full` })).status, 200)
  const other = await server.session()
  assert.equal((await server.turn(other, 'hello')).status, 200)
  assert.equal((await server.send({ method: 'DELETE', path: `/sessions/${session}` })).status, 204)
})
