// Runs in a network of its own (networks.ts): three nodes and a database on networks that are cut and mended while turns are at
// work. Cuts swallow packets: no connection is closed by them. Prints a line for each thing that was shown.
import assert from 'node:assert/strict'
import { appendFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { startServer, withClient } from '../stores/postgres/server.ts'
import {
  addressOf,
  alone,
  cutFromClients,
  cutFromDatabase,
  cutNodes,
  databaseHost,
  plugIn,
} from './networks.ts'
import {
  begin,
  headers,
  historyOf,
  insist,
  type NodeProcess,
  processes,
  say,
  stateOf,
  until,
  watch,
} from './processes.ts'

/** Long enough that a busy machine lets a node stop itself in time. */
const leaseMs = 4_000
const ends: (() => Promise<void>)[] = []

const server = await startServer(['listen_addresses=*'])
appendFileSync(join(server.folder, 'pg_hba.conf'), '\nhost all all 10.77.0.0/16 trust\n')
await withClient(server.url, sql => sql`SELECT pg_reload_conf()`)
const database = server.url.replace('127.0.0.1', databaseHost)
const cluster = await processes({ after: over => void ends.unshift(over) }, leaseMs, database)

function startNode(number: number): Promise<NodeProcess> {
  const address = addressOf(number)
  return cluster.start({
    host: address,
    wrap: alone,
    env: { TURNWIRE_NODE_ADDRESS: `${address}:4118` },
    spawned: child => plugIn(child, number),
  })
}

const shown = (what: string): void => void process.stdout.write(`shown: ${what}\n`)

const isHealthy = async ({ url }: NodeProcess): Promise<boolean> => (await fetch(`${url}/health`)).ok

type Holder = { id: string; epoch: number; node: string }
/** The sessions, with the node that has each and its epoch. */
const holders = async (): Promise<Map<string, Holder>> =>
  new Map(
    (await cluster.query<Holder>('SELECT id, epoch::int, node FROM $schema.sessions')).map(each => [
      each.id,
      each,
    ]),
  )

type Logged = { session: string; first_seq: string; epoch: string; body: string }
const logs = (): Promise<Logged[]> =>
  cluster.query<Logged>('SELECT session, first_seq, epoch, body FROM $schema.events ORDER BY 1, 2')

/** One writer after the other: no row of an older epoch comes after one of a newer. */
function checkEpochs(rows: readonly Logged[]): void {
  const last = new Map<string, number>()
  for (const { session, epoch } of rows) {
    assert.ok(Number(epoch) >= (last.get(session) ?? 0), `an older epoch writes after ${last.get(session)}`)
    last.set(session, Number(epoch))
  }
}

/** When the node said that it stops itself, by the time of day that it shares with the database. */
const stoppedAt = ({ log }: NodeProcess): number =>
  Date.parse(/"time":"([^"]+)"[^\n]*This node lost its lease/.exec(log())?.[1] ?? '')

/** A node is cut off from the database, with a tool and with answers under way. */
async function fromDatabase(a: NodeProcess, b: NodeProcess, c: NodeProcess): Promise<void> {
  const paying = await begin(a.url)
  const slow = await Promise.all(Array.from({ length: 6 }, () => begin(a.url)))
  const [{ node: old }] = [(await holders()).get(paying)!]
  // These answers are lost: the node stops itself.
  for (const id of slow) void say(a.url, id, 'A slow one').catch(() => {})
  void say(a.url, paying, 'Please pay').catch(() => {})
  await until(() => cluster.effects().length === 1)
  await until(async () => (await stateOf(a.url, slow[5]!)).status === 'running')
  const mend = cutFromDatabase(1)
  await until(async () => !(await isHealthy(a)))
  await until(async () =>
    (await Promise.all([...slow, paying].map(id => stateOf(b.url, id)))).every(
      each => each.status === 'idle',
    ),
  )
  const [lease] = await cluster.query<{ until: string }>(
    `SELECT (extract(epoch FROM lease_until) * 1000)::text AS until FROM $schema.nodes WHERE id = '${old}'`,
  )
  assert.ok(
    stoppedAt(a) < Number(lease?.until),
    `it stopped at ${stoppedAt(a)}, its lease ended at ${lease?.until}`,
  )
  shown('a node that is cut off from the database stops itself before its lease ends')

  const after = await holders()
  for (const id of [...slow, paying]) {
    assert.notEqual(after.get(id)?.node, old)
    assert.equal(after.get(id)?.epoch, 2)
  }
  assert.equal(cluster.effects().length, 1)
  assert.match(JSON.stringify(await historyOf(c.url, paying)), /not known whether it took effect/)
  shown('its sessions are taken over by the others, and no effect is repeated')

  const before = await logs()
  cluster.release()
  await until(() => a.log().includes('It was discarded.'))
  // What it had sent arrives now: the kernel sends it again once the network is mended.
  mend()
  await until(() => isHealthy(a))
  assert.deepEqual([...(await logs())], [...before])
  checkEpochs(before)
  for (const id of slow)
    assert.deepEqual(
      (await historyOf(a.url, id)).map(({ role }) => role),
      ['user', 'assistant'],
    )
  assert.equal(cluster.effects().length, 1)
  const nodes = await cluster.query<{ id: string }>(
    'SELECT id FROM $schema.nodes WHERE lease_until > clock_timestamp()',
  )
  assert.equal(nodes.length, 3)
  assert.ok(!nodes.some(({ id }) => id === old))
  assert.equal((await say(a.url, paying, 'Hello')).stopReason, 'end_turn')
  assert.equal((await say(a.url, await begin(a.url), 'Hello')).stopReason, 'end_turn')
  shown('its late writes are refused, and it works again, as another node, once the network is mended')
}

/** Two nodes cannot reach each other; both reach the database. */
async function betweenNodes(b: NodeProcess, c: NodeProcess): Promise<void> {
  const id = await begin(b.url)
  const numbers: number[] = []
  const ending = new AbortController()
  const watching = (async () => {
    while (!ending.signal.aborted)
      try {
        for await (const event of watch(c.url, id, String(numbers.at(-1) ?? 0), ending.signal))
          numbers.push(Number(event.id))
      } catch {
        // It was cut: asked on with the last id.
      }
  })()
  await until(() => numbers.length === 1)
  const before = (await holders()).get(id)
  const mend = cutNodes(2, 3)
  // Nobody may have it but its holder, whose lease lasts: the request waits, and is refused in the end.
  const asked = performance.now()
  const refused = await say(c.url, id, 'Hello', 'one').then(
    () => 'answered',
    (error: Error) => error.message,
  )
  const refusedAfter = performance.now() - asked
  assert.match(refused, /^503 .*"(?:moved|lease_lost)"/)
  // Those of its holder do not wait for the node that cannot be reached.
  const began = performance.now()
  for (let turn = 0; turn < 3; turn++) {
    assert.equal((await say(b.url, id, 'Meanwhile')).stopReason, 'end_turn')
    await pause(1_000)
  }
  const waited = performance.now() - began - 3_000
  assert.ok(waited < refusedAfter, `three turns took ${waited} ms, one that is refused ${refusedAfter} ms`)
  assert.ok((await isHealthy(b)) && (await isHealthy(c)))
  mend()
  assert.equal((await insist(() => say(c.url, id, 'Hello', 'one'))).stopReason, 'end_turn')
  assert.deepEqual((await holders()).get(id), before)
  assert.equal((await historyOf(c.url, id)).filter(({ role }) => role === 'user').length, 4)
  const [row] = await cluster.query<{ head: number }>(
    `SELECT head::int FROM $schema.sessions WHERE id = '${id}'`,
  )
  await until(() => numbers.length >= row!.head)
  assert.equal(numbers.length, row!.head)
  assert.deepEqual(
    numbers,
    numbers.map((_, index) => index + 1),
  )
  ending.abort()
  await watching
  shown('nodes that cannot reach each other keep their sessions; requests and streams go on once they can')
}

/** A client loses the node that it speaks to, and goes on at another. */
async function fromClients(a: NodeProcess, b: NodeProcess): Promise<void> {
  const id = await begin(a.url)
  const ending = new AbortController()
  const numbers: number[] = []
  const watching = (async () => {
    for await (const event of watch(a.url, id, '0', ending.signal)) numbers.push(Number(event.id))
  })().catch(() => {})
  const before = cluster.effects().length
  cluster.hold()
  void say(a.url, id, 'Please pay', 'pay').catch(() => {})
  await until(() => cluster.effects().length > before && numbers.length >= 4)
  const mend = cutFromClients(1)
  // Its turn ends without it.
  cluster.release()
  await until(async () => (await stateOf(b.url, id)).status === 'idle')
  ending.abort()
  await watching
  const seen = numbers.length
  for await (const event of watch(b.url, id, String(numbers.at(-1)))) {
    numbers.push(Number(event.id))
    if (event.type === 'turn.ended') break
  }
  assert.deepEqual(
    numbers,
    numbers.map((_, index) => index + 1),
  )
  assert.ok(seen < numbers.length)
  const again = await say(b.url, id, 'Please pay', 'pay')
  assert.equal(again.stopReason, 'end_turn')
  assert.equal(cluster.effects().length, before + 1)
  mend()
  assert.equal((await fetch(`${a.url}/health`, { headers })).status, 200)
  shown('a client that lost its node goes on at another, with exactly what it has not seen')
}

try {
  const nodes = [await startNode(1), await startNode(2), await startNode(3)] as const
  const [a, b, c] = nodes
  await fromDatabase(a, b, c)
  await betweenNodes(b, c)
  await fromClients(a, b)
} finally {
  for (const end of ends) await end()
  await server.remove()
}
