// Sessions as a file: exported beside a running server, imported into another data folder beside its server; and the space
// of deleted sessions given back.
import assert from 'node:assert/strict'
import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { AapClient } from '../../src/client/index.ts'
import { folder, serve, turnwire } from './rig.ts'

test('sessions of one server are exported, imported beside another, and served there', async t => {
  const cwd = folder(t)
  const { url } = await serve(t, { cwd })
  const client = new AapClient({ baseUrl: url })
  const sessionIds: string[] = []
  for (const text of ['What is the weather in Oslo?', 'What is the weather in Rome?']) {
    const sessionId = await client.createSession({
      agent: { name: 'helper', tools: [{ name: 'get_weather', trust: true }] },
    })
    await client.runTurn({ sessionId, text })
    sessionIds.push(sessionId)
  }
  const [first = '', second = ''] = sessionIds

  const all = turnwire(['export', 'all.jsonl'], { cwd })
  assert.deepEqual([all.code, all.stdout], [0, '2 sessions are exported to all.jsonl.\n'], all.stderr)
  assert.equal(statSync(join(cwd, 'all.jsonl')).mode & 0o777, 0o600)
  const one = turnwire(['export', 'one.jsonl', '--session', first], { cwd })
  assert.deepEqual([one.code, one.stdout], [0, '1 session is exported to one.jsonl.\n'], one.stderr)
  const none = turnwire(['export', 'none.jsonl', '--session', 'sess_none'], { cwd })
  assert.deepEqual(
    [none.code, none.stderr, existsSync(join(cwd, 'none.jsonl'))],
    [2, 'There is no session sess_none here. See them with: turnwire sessions list\n', false],
  )
  const twice = turnwire(['export', 'one.jsonl'], { cwd })
  assert.deepEqual([twice.code, twice.stderr], [2, 'one.jsonl is there already. Name another file.\n'])

  const other = await serve(t, { cwd, args: ['--data', 'other'] })
  const there = new AapClient({ baseUrl: other.url })
  const imported = (file: string) => turnwire(['import', file, '--data', 'other'], { cwd })
  assert.equal(imported('one.jsonl').stdout, '1 imported into other, 0 there already.\n')
  assert.deepEqual(await there.getHistory(first), await client.getHistory(first))
  assert.equal(imported('all.jsonl').stdout, '1 imported into other, 1 there already.\n')
  assert.deepEqual(await there.getHistory(second), await client.getHistory(second))
  const turn = await there.runTurn({ sessionId: second, text: 'Thank you.' })
  assert.equal(turn.stopReason, 'end_turn')

  const text = readFileSync(join(cwd, 'all.jsonl'), 'utf8')
  writeFileSync(join(cwd, 'bad.jsonl'), text.replace('Oslo', 'Bergen'))
  const bad = turnwire(['import', 'bad.jsonl', '--data', 'third'], { cwd })
  assert.equal(bad.code, 1)
  assert.match(
    bad.stderr,
    /^bad\.jsonl cannot be imported: line \d+: the session was changed after it was exported/,
  )
  assert.deepEqual(
    [turnwire(['import'], { cwd }).stderr, turnwire(['import', 'none.jsonl'], { cwd }).stderr],
    ['Say what: turnwire import <file>\n', 'There is no file none.jsonl.\n'],
  )
})

test('vacuum gives the space of deleted sessions back, once no server uses the folder', async t => {
  const cwd = folder(t)
  const server = await serve(t, { cwd })
  const client = new AapClient({ baseUrl: server.url })
  const kept = await client.createSession({ agent: { name: 'helper' } })
  await client.runTurn({ sessionId: kept, text: 'Hello.' })
  const deleted: string[] = []
  for (let count = 0; count < 5; count += 1) {
    const sessionId = await client.createSession({ agent: { name: 'helper' } })
    await client.runTurn({ sessionId, text: 'x'.repeat(200_000) })
    deleted.push(sessionId)
  }
  for (const sessionId of deleted) await client.deleteSession(sessionId)
  const refused = turnwire(['vacuum'], { cwd })
  assert.deepEqual(
    [refused.code, refused.stderr],
    [1, 'A process uses the data folder .turnwire. Stop it first.\n'],
  )
  server.child.kill('SIGTERM')
  await server.exit
  const file = join(cwd, '.turnwire/sessions.db')
  const before = statSync(file).size
  const done = turnwire(['vacuum'], { cwd })
  assert.match(done.stdout, /^\.turnwire has \d+ KiB of sessions, and had [\d,]+\.\n$/, done.stderr)
  const after = statSync(file).size
  assert.ok(after < before / 3, `${after} of ${before} bytes are left`)
  assert.match(turnwire(['sessions', 'show', kept], { cwd }).stdout, /Hello\./)
})
