// The server on PostgreSQL, as people start it: an address in the environment and nothing else. What it does while the
// database is away.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { type OwnServer, own, startServer } from '../stores/postgres/server.ts'
import { folder, serve, turnwire } from './rig.ts'

async function withDatabase(work: (database: OwnServer) => Promise<void>): Promise<void> {
  const database = await startServer()
  try {
    await work(database)
  } finally {
    await database.remove()
  }
}

type Answer = { status: number; text: string }

async function ask(url: string, path: string, body?: unknown): Promise<Answer> {
  const init = { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }
  const response = await fetch(`${url}${path}`, body === undefined ? {} : init)
  return { status: response.status, text: await response.text() }
}

const weather = {
  agent: { name: 'helper', tools: [{ name: 'get_weather', trust: true }] },
  messages: [{ role: 'user', content: 'What is the weather in Paris?' }],
}

test('with DATABASE_URL, sessions are in PostgreSQL, and survive the server', own, t =>
  withDatabase(async ({ url: databaseUrl }) => {
    const options = { cwd: folder(t), env: { DATABASE_URL: databaseUrl } }
    const first = await serve(t, options)
    assert.match(first.stdout(), /sessions\s+in PostgreSQL at 127\.0\.0\.1:\d+, database postgres/)
    assert.doesNotMatch(first.stdout() + first.stderr(), /turnwire:turnwire@/)
    const { text: made } = await ask(first.url, '/sessions', { agent: weather.agent })
    const { sessionId } = JSON.parse(made) as { sessionId: string }
    const { messages } = weather
    const { status, text } = await ask(first.url, `/sessions/${sessionId}/turns`, { messages })
    assert.equal(status, 200, text)
    first.child.kill('SIGTERM')
    await first.exit

    const listed = turnwire(['sessions', 'list', '--json'], options)
    assert.equal(listed.code, 0, listed.stderr)
    const row = JSON.parse(listed.stdout) as { id: string; opening: string; status: string }
    assert.deepEqual([row.opening, row.status], ['What is the weather in Paris?', 'idle'])
    const shown = turnwire(['sessions', 'show', row.id], options)
    assert.match(shown.stdout, /get_weather/)
    const backup = turnwire(['backup', 'copy'], options)
    assert.deepEqual([backup.code, /PostgreSQL/.test(backup.stderr)], [2, true], backup.stderr)
    assert.equal(turnwire(['keys', 'add', 'app'], options).code, 0)

    const again = await serve(t, options)
    assert.equal((await ask(again.url, `/sessions/${row.id}`)).status, 401)
    again.child.kill('SIGTERM')
    await again.exit
  }),
)

test('a database that is not there ends the start with the reason', own, t => {
  const done = turnwire(['serve', '--port', '0'], {
    cwd: folder(t),
    env: { DATABASE_URL: 'postgres://u:secret-word@127.0.0.1:1/x' },
  })
  assert.notEqual(done.code, 0)
  assert.match(done.stderr, /database cannot be reached/)
  assert.doesNotMatch(done.stderr + done.stdout, /secret-word/)
})

test('while the database is away the server says so, and works again once it is back', own, t =>
  withDatabase(async database => {
    const { url } = await serve(t, { cwd: folder(t), env: { DATABASE_URL: database.url } })
    const created = await ask(url, '/sessions', { agent: { name: 'helper' } })
    const { sessionId } = JSON.parse(created.text) as { sessionId: string }
    const turn = { messages: [{ role: 'user', content: 'Hello' }] }
    assert.equal((await ask(url, `/sessions/${sessionId}/turns`, turn)).status, 200)

    await database.stop('immediate')
    const refused = await ask(url, `/sessions/${sessionId}/turns`, turn)
    assert.equal(refused.status, 503, refused.text)
    assert.match(refused.text, /store_failed/)
    const health = await ask(url, '/health')
    assert.deepEqual([health.status, /store_failed/.test(health.text)], [503, true])
    assert.equal((await ask(url, `/sessions/${sessionId}`)).status, 503)

    await database.start()
    while ((await ask(url, '/health')).status !== 200) await pause(50)
    const after = await ask(url, `/sessions/${sessionId}/turns`, turn)
    assert.equal(after.status, 200, after.text)
  }),
)
