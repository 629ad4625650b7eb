// Keys: shown once, kept as a hash, asked of everyone as soon as there is one.
import assert from 'node:assert/strict'
import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { AapClient } from '../../src/client/index.ts'
import { sha256 } from '../../src/lib/json/hash.ts'
import { folder, serve, turnwire } from './rig.ts'

test('keys are created, listed, used and revoked', async t => {
  const cwd = folder(t)
  const keys = (...args: string[]) => turnwire(['keys', ...args], { cwd })
  assert.match(keys().stdout, /^There are no keys in \.turnwire/)
  const added = keys('add', 'ana')
  assert.equal(added.code, 0)
  const key = /^tw_[\w-]{32}$/m.exec(added.stdout)?.[0] ?? assert.fail(added.stdout)
  assert.match(added.stdout, /nobody is answered without a key.*\n.*keys add <name> --operator/)
  const bob = /^tw_\S+$/m.exec(keys('add', 'bob').stdout)?.[0] ?? ''
  assert.notEqual(bob, key)
  assert.match(keys('add', 'ana').stderr, /There is a key named "ana"/)

  const file = join(cwd, '.turnwire/keys.json')
  const kept = readFileSync(file, 'utf8')
  assert.ok(!kept.includes(key) && kept.includes(sha256(key)))
  assert.equal(statSync(file).mode & 0o777, 0o600)
  assert.match(keys('list').stdout, /^ana {2}sha256 \S{12}…\nbob {2}sha256 \S{12}…\n$/)

  const { url, stdout, stderr, child, exit } = await serve(t, { cwd })
  assert.match(stdout(), /access {4}with a key/)
  assert.match(stdout(), /-H 'Authorization: Bearer <key>'/)
  for (const apiKey of [undefined, 'tw_wrong', `${key}x`])
    await assert.rejects(new AapClient({ baseUrl: url, ...(apiKey && { apiKey }) }).getMeta(), {
      status: 401,
    })
  const google = /^\{"error":\{"code":401,"message":"A valid key.*"status":"UNAUTHENTICATED"\}\}$/
  const shapes: [string, RegExp, Record<string, string>?][] = [
    ['/meta', /^\{"error":"A valid key.*","code":"unauthorized"\}$/],
    ['/v1/models', /^\{"error":\{"message":"A valid key.*"code":"invalid_api_key"\}\}$/],
    ['/v1/messages', /^\{"type":"error","error":\{"type":"authentication_error","message":"A valid key/],
    ['/v1beta/models', google],
    ['/v1/models', google, { 'x-goog-api-key': 'tw_wrong' }],
  ]
  for (const [path, shape, headers = {}] of shapes)
    assert.match(await (await fetch(url + path, { headers })).text(), shape)
  const listed = await fetch(`${url}/v1/models`, { headers: { 'x-goog-api-key': key } })
  assert.match(await listed.text(), /^\{"models":\[\{"name":"models\/helper"/)
  const ana = new AapClient({ baseUrl: url, apiKey: key })
  const id = await ana.createSession({ agent: { name: 'helper' } })
  // Another key is another owner.
  await assert.rejects(new AapClient({ baseUrl: url, apiKey: bob }).getSession(id), { status: 404 })
  assert.ok(!stderr().includes(key) && !stdout().includes(key))
  child.kill('SIGTERM')
  await exit

  assert.match(turnwire(['sessions', 'list'], { cwd }).stdout, new RegExp(`${id}.* ana, `))
  assert.match(keys('remove', 'ana').stdout, /^The key "ana" is removed, and is refused from now on\./)
  const again = await serve(t, { cwd })
  await assert.rejects(new AapClient({ baseUrl: again.url, apiKey: key }).getMeta(), { status: 401 })
  assert.match(keys('remove', 'bob').stdout, /It was the last/)
})

test('keys that are made and removed beside a running server count at once', async t => {
  const cwd = folder(t)
  const keys = (...args: string[]) => turnwire(['keys', ...args], { cwd }).stdout
  writeFileSync(
    join(cwd, 'turnwire.config.mts'),
    `import { defineConfig, rehearsal } from 'turnwire'
export default defineConfig({ agents: [{ name: 'a', model: rehearsal() }], server: { log: 'debug' } })\n`,
  )
  const { url, stderr } = await serve(t, { cwd })
  const status = async (key?: string) =>
    (
      await fetch(`${url}/meta?token=secret`, {
        headers: key === undefined ? {} : { authorization: `Bearer ${key}` },
      })
    ).status
  assert.equal(await status(), 200)
  const key = /^tw_\S+$/m.exec(keys('add', 'ana'))?.[0] ?? ''
  assert.deepEqual([await status(), await status(key)], [401, 200])
  assert.match(keys('remove', 'ana'), /a running server answers nobody/)
  assert.deepEqual([await status(), await status(key)], [401, 401])
  const next = /^tw_\S+$/m.exec(keys('add', 'ben'))?.[0] ?? ''
  assert.deepEqual([await status(key), await status(next)], [401, 200])
  // At the level debug every request is a line of the log, without its query and its key.
  const lines = stderr()
    .split('\n')
    .filter(line => line.includes('"Request."'))
  assert.match(lines.join('\n'), /"method":"GET","path":"\/meta","status":200,"ms":\d+,"owner":"ana"/)
  assert.match(lines.join('\n'), /"path":"\/meta","status":401/)
  assert.ok(!stderr().includes('secret') && !stderr().includes(next))
})

test('a file that cannot be written or read is one line of error', t => {
  const cwd = folder(t)
  writeFileSync(join(cwd, 'file'), '')
  const { code, stderr } = turnwire(['keys', 'add', 'ana', '--data', 'file'], { cwd })
  assert.equal(code, 1)
  assert.match(stderr, /^file\/keys\.json cannot be written: .*EEXIST.*\n$/)
  mkdirSync(join(cwd, 'data/keys.json'), { recursive: true })
  assert.match(
    turnwire(['keys', '--data', 'data'], { cwd }).stderr,
    /^data\/keys\.json cannot be read: .*EISDIR/,
  )
  const env = { TURNWIRE_VAULT_KEY: 'short', PORT: '0' }
  assert.equal(
    turnwire(['serve', '--data', 'other'], { cwd, env }).stderr,
    'The key in TURNWIRE_VAULT_KEY is too short: it needs at least 32 characters.\n',
  )
})

test('keys and sessions use the data folder of the configuration', t => {
  const cwd = folder(t)
  const config = (data: string): void =>
    writeFileSync(
      join(cwd, 'turnwire.config.mts'),
      `import { rehearsal } from 'turnwire'\nexport default { agents: [{ name: 'a', model: rehearsal() }], data: '${data}' }\n`,
    )
  config('kept')
  assert.match(turnwire(['keys', 'add', 'ana'], { cwd }).stdout, /kept\/keys\.json/)
  assert.ok(existsSync(join(cwd, 'kept/keys.json')) && !existsSync(join(cwd, '.turnwire')))
  assert.match(turnwire(['sessions'], { cwd }).stderr, /^There are no sessions in kept\./)
  assert.match(turnwire(['keys', '--data', 'other'], { cwd }).stdout, /^There are no keys in other/)
  config('memory')
  const { code, stderr } = turnwire(['keys', 'add', 'bob'], { cwd })
  assert.equal(code, 2)
  assert.match(stderr, /keeps sessions in memory, so there is no data folder/)
})

test('a key of the environment is made by `keys hash`, kept nowhere, and counts; an operator among them', async t => {
  const cwd = folder(t)
  const hashed = (args: string[], input = '') => turnwire(['keys', 'hash', ...args], { cwd, input }).stdout
  const made = hashed(['ana'])
  const [, ana = ''] = /^(tw_\S+)$/m.exec(made) ?? []
  const [, first = ''] = /^TURNWIRE_KEYS=(ana=\S+)$/m.exec(made) ?? []
  const given = 'a-key-that-somebody-has'
  const [, second = ''] =
    /^TURNWIRE_KEYS=(ops=\S+:operator)\n$/.exec(hashed(['ops', '--operator'], given)) ?? []
  assert.equal(existsSync(join(cwd, '.turnwire')), false)
  writeFileSync(join(cwd, 'more'), second)
  const { url } = await serve(t, { cwd, env: { TURNWIRE_KEYS: first, TURNWIRE_KEYS_FILE: 'more' } })
  const status = async (path: string, key?: string) =>
    (await fetch(url + path, key === undefined ? {} : { headers: { authorization: `Bearer ${key}` } })).status
  assert.deepEqual(
    [await status('/meta'), await status('/meta', ana), await status('/meta', given)],
    [401, 200, 200],
  )
  assert.deepEqual([await status('/metrics', ana), await status('/metrics', given)], [403, 200])
  assert.match(turnwire(['keys', 'hash', 'a'], { cwd, input: 'short' }).stderr, /shorter than 16/)
})

test('with sessions in PostgreSQL `keys add` says that only servers of this machine know the key', t => {
  const cwd = folder(t)
  const { stdout, code } = turnwire(['keys', 'add', 'ana'], {
    cwd,
    env: { DATABASE_URL: 'postgres://ana:secret@127.0.0.1:1/none' },
  })
  assert.equal(code, 0)
  assert.match(stdout, /keys are not: this one counts for servers that run here/)
  assert.doesNotMatch(stdout, /counts at once|secret/)
})
