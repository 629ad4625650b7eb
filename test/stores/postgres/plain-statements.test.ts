// What the store asks of a database: plain statements only, so that poolers and engines that speak PostgreSQL's protocol can
// stand in. Everything that it sends is read on the way. And it can be sent over TLS.
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { chmodSync, chownSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { type PostgresOptions, postgresStore } from '../../../src/stores/postgres/index.ts'
import {
  batch,
  eventNumbers,
  events,
  newSession,
  rejects,
} from '../../../src/testing/contracts/store-samples.ts'
import { networkTo } from './proxy.ts'
import { account, databaseUrl, newSchema, own, serverIn, startServer, withClient } from './server.ts'

/** Calls every method of the store at least once, from an empty database on. */
async function callAll(options: PostgresOptions): Promise<void> {
  const store = postgresStore(options)
  const other = postgresStore(options)
  await store.join({ id: 'a', address: 'a.example:1', version: '1' }, 60_000)
  await other.join({ id: 'b', version: '1' }, 60_000)
  const request = { key: 'k', hash: 'h' }
  await store.create(newSession('s', { events: events(1, 1), status: 'running', request }))
  await store.create(newSession('t'))
  await store.append(
    batch('s', 2, 3, { summary: { settings: { tools: null, options: {}, clientTools: [] } } }),
  )
  await Promise.all([store.append(batch('s', 5, 1)), store.append(batch('t', 1, 1))])
  await store.claim('s')
  await store.putBlob('s', 'blob', 'body', 2)
  await store.addPiece('s', 'pieces', { epoch: 2, at: 0, bytes: new Uint8Array([1, 2]) })
  await store.addPiece('s', 'pieces', { epoch: 2, at: 2, bytes: new Uint8Array([3]), last: true })
  assert.deepEqual(await eventNumbers(store, 's'), [1, 2, 3, 4, 5])
  await store.row('s')
  await store.requested('ada', 'k')
  await store.list('ada', { limit: 1 })
  await store.list(null, { limit: 1, status: 'running' })
  await store.owners()
  await store.usage('ada')
  await store.unfinished()
  await store.blob('s', 'blob')
  await store.blobs('s')
  await store.blobRange('s', 'pieces', 1, 1)
  await store.renew()
  await store.nodes()
  await store.holder('s')
  await store.release('t', 1)
  await other.adopt('t', 1)
  await rejects(other.claim('s'), 'moved')
  await store.leave()
  await other.abandoned('', 10)
  await other.claim('s')
  await other.remove('s', 3)
  store.failure?.()
  await store.close()
  await other.close()
}

/** At the beginning of a statement. */
const settings =
  /^\s*(?:SET|RESET|DISCARD|LISTEN|UNLISTEN|NOTIFY|LOCK|DECLARE|COPY|CREATE\s+(?:TEMP|SEQUENCE|TRIGGER|EXTENSION))\b/i
/** Anywhere in one. */
const words =
  /pg_(?:try_)?advisory|set_config|nextval|currval|setval|\bserial\b|GENERATED\s+\w+\s+AS\s+IDENTITY|pg_notify|REFERENCES/i

test('no statement listens, locks by advice, sets anything for its connection or takes a number from a sequence', async () => {
  const url = await databaseUrl()
  const network = await networkTo(url)
  const schema = newSchema()
  let sent = ''
  network.onStatement = text => {
    sent += text
  }
  try {
    await callAll({ url: network.url, schema, connections: 3, prepare: false })
  } finally {
    await network.close()
  }
  // Texts end with a zero byte in the protocol.
  const texts = sent.split('\0').filter(text => /[a-z]{4}/i.test(text))
  assert.ok(
    texts.filter(text => /SELECT|INSERT|UPDATE|DELETE/.test(text)).length > 30,
    `${texts.length} texts`,
  )
  assert.deepEqual(
    texts.filter(text => settings.test(text.replace(/^[^\w\s]*/, '')) || words.test(text)),
    [],
  )
  for (const control of ['SET x = 1', 'LISTEN a', 'SELECT pg_advisory_lock(1)', "SELECT nextval('x')"])
    assert.ok(settings.test(control) || words.test(control), control)
  const found = await withClient(url, async sql => {
    const inSchema = `FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace WHERE n.nspname = '${schema}'`
    const sequences = await sql.unsafe(`SELECT relname ${inSchema} AND relkind = 'S'`)
    const triggers = await sql.unsafe(
      `SELECT tgname FROM pg_trigger WHERE tgrelid IN (SELECT c.oid ${inSchema})`,
    )
    const keys = await sql.unsafe(
      `SELECT conname FROM pg_constraint WHERE contype = 'f' AND conrelid IN (SELECT c.oid ${inSchema})`,
    )
    const tables = await sql.unsafe(`SELECT relname ${inSchema} AND relkind = 'r'`)
    await sql.unsafe(`DROP SCHEMA "${schema}" CASCADE`)
    return { tables: tables.length, others: [...sequences, ...triggers, ...keys] }
  })
  assert.ok(found.tables >= 9)
  assert.deepEqual(found.others, [])
})

test('the connection can be encrypted, and one that must be is refused otherwise', own, async t => {
  const server = await startServer()
  t.after(() => server.remove())
  const plain = postgresStore({ url: `${server.url}?sslmode=require`, patienceMs: 200 })
  await assert.rejects(plain.create(newSession('s')))
  await plain.close()
  await server.stop('fast')
  const [key, certificate] = [join(server.folder, 'server.key'), join(server.folder, 'server.crt')]
  const subject = ['-subj', '/CN=127.0.0.1', '-days', '2']
  const made = ['req', '-new', '-x509', '-nodes', '-newkey', 'rsa:2048', ...subject]
  execFileSync('openssl', [...made, '-keyout', key, '-out', certificate], { stdio: 'pipe' })
  const { uid, gid } = account()
  for (const file of [key, certificate]) if (uid !== undefined && gid !== undefined) chownSync(file, uid, gid)
  chmodSync(key, 0o600)
  const safe = await serverIn(server.folder, ['ssl=on'])
  await safe.start()
  t.after(() => safe.stop('immediate'))
  const address = `127.0.0.1:${safe.port}`
  for (const url of [safe.url, safe.url.replace(address, `127.0.0.1:1,${address}`)]) {
    const schema = newSchema()
    const store = postgresStore({ url: `${url}?sslmode=require`, schema, connections: 2 })
    await store.create(newSession('s'))
    await store.append(batch('s', 1, 2))
    assert.deepEqual(await eventNumbers(store, 's'), [1, 2])
    const rows = await withClient(safe.url, sql =>
      sql.unsafe<{ ssl: boolean }[]>(
        `SELECT ssl FROM pg_stat_ssl JOIN pg_stat_activity USING (pid) WHERE application_name = 'turnwire'`,
      ),
    )
    assert.ok(rows.length > 0)
    assert.deepEqual(new Set(rows.map(({ ssl }) => ssl)), new Set([true]))
    await store.close()
  }
  // Nobody vouches for its certificate.
  const strict = postgresStore({ url: `${safe.url}?sslmode=verify-full`, patienceMs: 200 })
  await assert.rejects(strict.create(newSession('s')))
  await strict.close()
})
