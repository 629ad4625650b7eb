// Sessions of several nodes on one PostgreSQL are exported, imported, deleted, kept for a time and backed up while the nodes work,
// as those of one process are.
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { AapClient } from '../../src/client/index.ts'
import { retainOnce } from '../../src/data/retention.ts'
import { scripted, startServer, Turnwire } from '../../src/index.ts'
import { runtimeOf } from '../../src/library/turnwire.ts'
import { postgresStore } from '../../src/stores/postgres/index.ts'
import { turnwire as command, folder } from '../cli/rig.ts'
import { databaseUrl, withClient } from '../stores/postgres/server.ts'
import { secret, until } from './rig.ts'

let databases = 0

/** A database of the test's own: commands use the schema that everyone has. */
async function newDatabase(t: TestContext): Promise<string> {
  const server = await databaseUrl()
  const name = `keeping_${process.pid}_${++databases}`
  await withClient(server, sql => sql.unsafe(`CREATE DATABASE ${name}`))
  t.after(() => withClient(server, sql => sql.unsafe(`DROP DATABASE ${name} WITH (FORCE)`)))
  const url = new URL(server)
  url.pathname = `/${name}`
  return url.href
}

type KeepingNode = { turnwire: Turnwire; client: AapClient; url: string; logs: string[] }

async function node(t: TestContext, url: string): Promise<KeepingNode> {
  const logs: string[] = []
  const turnwire = await Turnwire.open(
    {
      data: postgresStore({ url, connections: 3 }),
      agents: [
        {
          name: 'helper',
          model: scripted(({ history }) =>
            JSON.stringify(history.at(-1)).includes('hang') ? { hang: true } : { text: 'Well.' },
          ),
        },
      ],
      // Commands run while this process waits for them.
      server: { graceMs: 1, cluster: { secret, leaseMs: 120_000 } },
    },
    { log: (level, message) => void logs.push(`${level} ${message}`) },
  )
  const server = await startServer(turnwire, { port: 0 })
  t.after(() => server.stop())
  return { turnwire, client: new AapClient({ baseUrl: server.url, retries: 0 }), url: server.url, logs }
}

async function talk({ client }: KeepingNode, text: string): Promise<string> {
  const sessionId = await client.createSession({ agent: { name: 'helper' } })
  await client.runTurn({ sessionId, text })
  return sessionId
}

async function isGone({ url }: KeepingNode, id: string): Promise<boolean> {
  return (await fetch(`${url}/sessions/${id}/state`)).status === 404
}

const tables = ['sessions', 'events', 'summaries', 'blobs', 'blobs_in_pieces', 'pieces', 'requests']

async function rowsOf(url: string): Promise<Record<string, number>> {
  return withClient(url, async sql => {
    const counts: Record<string, number> = {}
    for (const table of tables) {
      const [row] = await sql.unsafe(`SELECT count(*)::int AS count FROM turnwire.${table}`)
      counts[table] = Number(row?.['count'])
    }
    return counts
  })
}

test('sessions of two nodes are exported while they work, and imported where two others work', async t => {
  const [from, to] = [await newDatabase(t), await newDatabase(t)]
  const [a, b] = [await node(t, from), await node(t, from)]
  const ids = [await talk(a, 'One.'), await talk(b, 'Two.')]
  const cwd = folder(t)
  const exported = command(['export', 'all.jsonl'], { cwd, env: { DATABASE_URL: from } })
  assert.equal(exported.stdout, '2 sessions are exported to all.jsonl.\n', exported.stderr)
  const [c, d] = [await node(t, to), await node(t, to)]
  const own = await talk(c, 'Three.')
  const imported = command(['import', 'all.jsonl'], { cwd, env: { DATABASE_URL: to } })
  assert.match(
    imported.stdout,
    /^2 imported into PostgreSQL at [\w.:]+, database keeping_\w+, 0 there/,
    imported.stderr,
  )
  const vacuumed = command(['vacuum'], { cwd, env: { DATABASE_URL: to } })
  assert.match(vacuumed.stderr, /^PostgreSQL does this by itself/)
  assert.equal(existsSync(join(cwd, '.turnwire/sessions.db')), false)
  for (const id of ids) {
    assert.deepEqual(await d.client.getHistory(id), await a.client.getHistory(id))
    const turn = await d.client.runTurn({ sessionId: id, text: 'Go on.' })
    assert.equal(turn.stopReason, 'end_turn')
    // It is one node's now, and the other passes requests on.
    assert.equal((await c.client.runTurn({ sessionId: id, text: 'And on.' })).stopReason, 'end_turn')
  }
  assert.equal((await d.client.runTurn({ sessionId: own, text: 'Hello.' })).stopReason, 'end_turn')
  // Those that were exported go on where they were.
  assert.equal((await b.client.runTurn({ sessionId: ids[0]!, text: 'Hello.' })).stopReason, 'end_turn')
})

test('a session is deleted from a node that does not have it, with all of its rows', async t => {
  const url = await newDatabase(t)
  const [a, b] = [await node(t, url), await node(t, url)]
  const id = await talk(a, 'One.')
  const hanging = await a.client.createSession({ agent: { name: 'helper' } })
  void a.client.runTurn({ sessionId: hanging, text: 'hang' }).catch(() => {})
  await until(async () => (await b.client.getHistory(hanging)).length > 0)
  for (const each of [id, hanging]) await b.client.deleteSession(each)
  for (const each of [id, hanging])
    assert.deepEqual([await isGone(a, each), await isGone(b, each)], [true, true])
  assert.deepEqual(new Set(Object.values(await rowsOf(url))), new Set([0]))
})

test('old sessions are deleted once, whichever node has them; one at work stays', async t => {
  const url = await newDatabase(t)
  const nodes = [await node(t, url), await node(t, url)]
  const [a, b] = nodes as [KeepingNode, KeepingNode]
  const old = [await talk(a, 'One.'), await talk(b, 'Two.'), await talk(a, 'Three.')]
  const working = await b.client.createSession({ agent: { name: 'helper' } })
  void b.client.runTurn({ sessionId: working, text: 'hang' }).catch(() => {})
  await until(async () => (await a.client.getHistory(working)).length > 0)
  const day = 24 * 60 * 60_000
  const walks = nodes.map(async ({ turnwire, logs }) => {
    const local = await runtimeOf(turnwire).local()
    return retainOnce({
      store: local!.sessions.ports.store,
      remove: ref => local!.remove(ref),
      rules: new Map([['helper', { days: 1 }]]),
      now: () => Date.now() + 2 * day,
      pause: async () => {},
      log: (level, message) => void logs.push(`${level} ${message}`),
    })
  })
  const deleted = await Promise.all(walks)
  assert.equal(deleted[0]! + deleted[1]!, old.length)
  for (const id of old) assert.ok(await isGone(a, id))
  assert.equal(await isGone(a, working), false)
  // That a session is another node's is no trouble of this one.
  for (const { logs } of nodes)
    assert.deepEqual(
      logs.filter(line => line.includes('could not be deleted')),
      [],
    )
})

/** Why the dump of this database cannot be tried here. */
async function noDump(url: string): Promise<string | undefined> {
  const { stdout, error } = spawnSync('pg_dump', ['--version'], { encoding: 'utf8' })
  if (error) return 'there is no pg_dump'
  const own = Number(/\d+/.exec(stdout)?.[0])
  const server = await withClient(
    url,
    async sql =>
      Number(await sql`SHOW server_version_num`.then(([row]) => row?.['server_version_num'])) / 10_000,
  )
  return own < Math.floor(server)
    ? `pg_dump ${own} is older than the server ${Math.floor(server)}; set DATABASE_URL to an older one`
    : undefined
}

test('a dump that PostgreSQL makes while nodes work is a backup', async t => {
  const url = await newDatabase(t)
  const reason = await noDump(url)
  if (reason) return t.skip(reason)
  const [a, b] = [await node(t, url), await node(t, url)]
  const ids = [await talk(a, 'One.'), await talk(b, 'Two.')]
  const hanging = await a.client.createSession({ agent: { name: 'helper' } })
  void a.client.runTurn({ sessionId: hanging, text: 'hang' }).catch(() => {})
  await until(async () => (await b.client.getHistory(hanging)).length > 0)
  const file = join(folder(t), 'dump.sql')
  const dumped = spawnSync('pg_dump', ['--schema=turnwire', `--file=${file}`, url], { encoding: 'utf8' })
  assert.equal(dumped.status, 0, dumped.stderr)
  const copy = await newDatabase(t)
  const restored = spawnSync('psql', ['--quiet', '-v', 'ON_ERROR_STOP=1', '-f', file, copy], {
    encoding: 'utf8',
  })
  assert.equal(restored.status, 0, restored.stderr)
  // The nodes of the original are named in it. Their leases end, as if they had died.
  await withClient(copy, sql => sql.unsafe('UPDATE turnwire.nodes SET lease_until = clock_timestamp()'))
  const c = await node(t, copy)
  for (const id of ids) {
    assert.deepEqual(await c.client.getHistory(id), await a.client.getHistory(id))
    assert.equal((await c.client.runTurn({ sessionId: id, text: 'Go on.' })).stopReason, 'end_turn')
  }
  await until(async () => {
    const { status } = (await (await fetch(`${c.url}/sessions/${hanging}/state`)).json()) as {
      status: string
    }
    return status === 'running'
  })
})
