// P12: the store on PostgreSQL against the barest micro-batches, and turns of the whole server against a bare one that
// writes the same rows to the same database.
import { Agent } from 'node:http'
import postgres from 'postgres'
import type { Event } from '../src/language/events.ts'
import { postgresStore } from '../src/stores/postgres/index.ts'
import { startServer } from '../test/stores/postgres/server.ts'
import { type Result, runTrial, type Trial } from './harness.ts'
import { type AppendOne, appending, names } from './load.ts'
import { cpuOf, here, post, start, startTurnwire } from './served.ts'

type Row = [
  session: string,
  seq: number,
  count: number,
  bytes: number,
  status: string,
  at: number,
  body: string,
]

/**
 * One connection, one statement under way: what waits meanwhile goes together. It writes the columns that a session's row
 * must have for lists, and a row of events, only where the head is the expected one. There are no facts, no summaries, no
 * large events, no order of calls and no failures.
 */
async function bareMicroBatches(url: string): Promise<{ append: AppendOne; close(): Promise<void> }> {
  const sql = postgres(url, { max: 1, onnotice: () => {} })
  await sql.unsafe(`CREATE TABLE heads (session text PRIMARY KEY, epoch bigint, head bigint, bytes bigint, status text,
    updated_at bigint) WITH (fillfactor = 75)`)
  await sql.unsafe(
    'CREATE TABLE log (session text, seq bigint, epoch bigint, body text, PRIMARY KEY (session, seq))',
  )
  await sql`INSERT INTO heads SELECT n, 1, 0, 0, 'idle', 0 FROM unnest(${names}::text[]) AS n`
  let waiting: { row: Row; done: () => void }[] = []
  let busy = false
  const flush = async (): Promise<void> => {
    const group = waiting
    waiting = []
    const column = (index: number) => group.map(({ row }) => row[index]!)
    await sql`
      WITH moved AS (
        UPDATE heads SET head = heads.head + g.count, bytes = heads.bytes + g.bytes, status = g.status, updated_at = g.at
        FROM unnest(${column(0)}::text[], ${column(1)}::bigint[], ${column(2)}::bigint[], ${column(3)}::bigint[],
          ${column(4)}::text[], ${column(5)}::bigint[], ${column(6)}::text[])
          AS g (session, seq, count, bytes, status, at, body)
        WHERE heads.session = g.session AND heads.epoch = 1 AND heads.head = g.seq - 1
        RETURNING heads.session, g.seq, heads.epoch, g.body
      )
      INSERT INTO log SELECT * FROM moved`
    for (const { done } of group) done()
    if (waiting.length > 0) setImmediate(() => void flush())
    else busy = false
  }
  return {
    append: (session: number, seq: number, events: Event[]) =>
      new Promise(done => {
        const body = JSON.stringify(events)
        waiting.push({ row: [names[session]!, seq, events.length, body.length, 'running', 1, body], done })
        if (busy) return
        busy = true
        setImmediate(() => void flush())
      }),
    close: () => sql.end(),
  }
}

/** P12: appends of 256 sessions at once. */
export async function appendsOnPostgres(): Promise<Trial> {
  const server = await startServer()
  const bare = await bareMicroBatches(server.url)
  const store = postgresStore({ url: server.url })
  for (const id of names)
    await store.create({ row: { id, owner: 'o', agent: 'a', status: 'idle', createdAt: 1 }, events: [] })
  const ours: AppendOne = (session, seq, events) =>
    store.append({ session: names[session]!, epoch: 1, seq, events, status: 'running' })
  return {
    name: `appends of ${names.length} sessions at once, PostgreSQL (wall)`,
    measure: 'wall',
    units: names.length * 20,
    rounds: 11,
    warmUps: 2,
    variants: [
      { name: 'bare micro-batches, one connection', run: appending(bare.append, 1) },
      { name: "turnwire's store", run: appending(ours, 1) },
    ],
    bars: [
      { id: 'P12', ours: "turnwire's store", floor: 'bare micro-batches, one connection', most: 1 / 0.9 },
    ],
    async close() {
      await Promise.all([bare.close(), store.close()])
      await server.remove()
    },
  }
}

/** The events of the only turn so far, row by row: one for each append. */
async function rowsOfTurn(url: string): Promise<unknown[]> {
  const sql = postgres(url, { max: 1, onnotice: () => {} })
  const rows = await sql<{ body: string }[]>`
    SELECT body FROM turnwire.events WHERE first_seq > 1 ORDER BY first_seq`
  await sql.end()
  return rows.map(({ body }) => JSON.parse(body) as unknown)
}

/**
 * P12: turns of one node on PostgreSQL, with 64 clients: their wall time, and the CPU of the server alone. On a machine with
 * few cores the clients and the database take the larger part of the wall time, on a busy one other programs.
 */
export async function turnsOnPostgres(): Promise<Result[]> {
  const clients = 64
  const turns = 20
  const turn = { messages: [{ role: 'user', content: 'What is two and three?' }] }
  const server = await startServer()
  const ours = await startTurnwire('bench.config.ts', server.url)
  const agent = new Agent({ keepAlive: true, maxSockets: clients })
  const paths = await Promise.all(
    Array.from({ length: clients }, async () => {
      const body = { agent: { name: 'bench' } }
      const created = await post({ agent, port: ours.port, path: '/sessions', body })
      return `/sessions/${JSON.parse(created).sessionId}/turns`
    }),
  )
  await post({ agent, port: ours.port, path: paths[0] ?? '/', body: turn })
  const rows = JSON.stringify(await rowsOfTurn(server.url))
  const bare = await start([here('fixtures/bare-postgres.ts'), server.url, rows])
  const load = (port: number, pathOf: (client: number) => string) => () =>
    Promise.all(
      paths.map(async (_, client) => {
        for (let index = 0; index < turns; index += 1)
          await post({ agent, port, path: pathOf(client), body: turn })
      }),
    )
  const [floor, name] = ['bare server', 'turnwire (AAP)']
  const ofBare = load(bare.port, client => `/${client}`)
  const ofOurs = load(ours.port, client => paths[client] ?? '/')
  const trial = { units: clients * turns, warmUps: 15 }
  const wall = await runTrial({
    ...trial,
    name: `turns over HTTP, ${clients} clients, PostgreSQL (wall per turn)`,
    measure: 'wall',
    variants: [
      { name: floor, run: ofBare },
      { name, run: ofOurs },
    ],
    bars: [{ id: 'P12, turns', ours: name, floor, most: 2 }],
  })
  const cpu = await runTrial({
    ...trial,
    name: `turns over HTTP, ${clients} clients, PostgreSQL (CPU of the server per turn)`,
    measure: 'told',
    variants: [cpuOf(floor, bare, ofBare), cpuOf(name, ours, ofOurs)],
    bars: [],
  })
  agent.destroy()
  await Promise.all([ours.stop(), bare.stop()])
  await server.remove()
  return [wall, cpu]
}
