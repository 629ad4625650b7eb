// Only its owner can use a data folder: modes of the folder and of every file in it, also where both were there before,
// and what another user can do to it.
import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { chmodSync, mkdirSync, readdirSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { attacked, attackFolder } from './attack-rig.ts'

const modes = process.platform === 'win32' ? 'this platform has no file modes' : false
const root = modes || (process.getuid?.() === 0 ? false : 'only root can act as another user')
const NOBODY = 65_534

const modeOf = (path: string): string => (statSync(path).mode & 0o7777).toString(8)

test('a folder and files that others could read are closed to them', { skip: modes }, async t => {
  const folder = join(attackFolder(t), 'data')
  mkdirSync(folder)
  chmodSync(folder, 0o777)
  for (const name of ['writer.lock', 'sessions.db', 'keys.json']) {
    writeFileSync(join(folder, name), name === 'keys.json' ? '[]' : '')
    chmodSync(join(folder, name), 0o666)
  }
  const server = await attacked(t, { folder })
  await server.session()
  assert.equal(modeOf(folder), '700')
  const names = readdirSync(folder)
  for (const name of ['writer.lock', 'sessions.db', 'sessions.db-wal', 'sessions.db-shm', 'engine.sock'])
    assert.ok(names.includes(name), `${name} is not there`)
  for (const name of names) assert.equal(modeOf(join(folder, name)), '600', name)
})

test('a new folder and every file in it are for its owner alone, from the beginning', {
  skip: modes,
}, async t => {
  const folder = join(attackFolder(t), 'data')
  const server = await attacked(t, { folder })
  await server.session()
  assert.equal(modeOf(folder), '700')
  const names = readdirSync(folder)
  assert.ok(names.includes('writer.lock') && names.includes('sessions.db'))
  for (const name of names) assert.equal(modeOf(join(folder, name)), '600', name)
})

test('a folder that all users share is refused', { skip: modes }, async t => {
  const folder = attackFolder(t)
  chmodSync(folder, 0o1777)
  await assert.rejects(
    attacked(t, { folder }),
    /is shared by all users \(mode 1777\)\. Name a folder inside it\./,
  )
})

test("another user's folder is refused with the reason", { skip: root }, t => {
  const folder = join(attackFolder(t), 'data')
  mkdirSync(folder)
  chmodSync(join(folder, '..'), 0o755)
  chmodSync(folder, 0o777)
  const program = `
    const { makePrivateFolder } = await import(${JSON.stringify(join(import.meta.dirname, '../../src/data/private-folder.ts'))})
    process.setuid(${NOBODY})
    try { makePrivateFolder(${JSON.stringify(folder)}) } catch (error) { console.log(error.code, error.message) }`
  const { stdout, stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', program], {
    encoding: 'utf8',
  })
  assert.match(
    stdout,
    /^config_invalid The data folder .* can be used by others \(mode 777\), and this cannot/,
    stderr,
  )
})

/** Opens a lock file and takes a shared lock on it, as a reader of the database would. */
const lockReader = `
  const { DatabaseSync } = require('node:sqlite')
  process.setuid(${NOBODY})
  try {
    const lock = new DatabaseSync(process.argv[1], { readOnly: true })
    lock.exec('BEGIN')
    lock.prepare('SELECT count(*) FROM sqlite_schema').all()
    console.log('locked')
  } catch (error) {
    console.log('refused', error.message)
  }
  setInterval(() => {}, 1000)`

test("another user's lock does not keep a server from starting", { skip: root }, async t => {
  const folder = join(attackFolder(t), 'data')
  chmodSync(join(folder, '..'), 0o755)
  const first = await attacked(t, { folder })
  const session = await first.session()
  await first.stop()
  const other = spawn(process.execPath, ['-e', lockReader, join(folder, 'writer.lock')], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  t.after(() => other.kill('SIGKILL'))
  const said = await new Promise<string>(resolve => {
    other.stdout.setEncoding('utf8').once('data', resolve)
  })
  assert.match(said, /^refused/)
  const second = await attacked(t, { folder })
  assert.equal((await second.turn(session, 'hello')).status, 200)
})
