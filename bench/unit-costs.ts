// What one turn and one session cost a node and its database: CPU, commits, bytes, connections.
// These are the numbers that docs/operations/capacity.md reckons with (bench/unit-costs.json). A turn here is a message, a
// call of a tool of the server, and two answers of a model that does not think.
import { readdirSync, readFileSync } from 'node:fs'
import { Agent } from 'node:http'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import type postgres from 'postgres'
import { type OwnServer, startServer, withClient } from '../test/stores/postgres/server.ts'
import type { Result } from './harness.ts'
import { post, type Served, startTurnwire } from './served.ts'

/** Everything that has been spent so far, by the node and by the database. */
type Spent = {
  nodeCpu: number
  databaseCpu: number
  commits: number
  appends: number
  wal: number
  bytes: number
}

const clients = 64
const turns = 40
const words = { messages: [{ role: 'user', content: 'What is two and three?' }] }
const TICK_US = 10_000

/** CPU of the database's processes, also of those that have ended. */
function cpuOfDatabase({ folder }: OwnServer): number {
  const main = Number(readFileSync(join(folder, 'postmaster.pid'), 'utf8').split('\n')[0])
  let ticks = 0
  for (const pid of readdirSync('/proc').filter(name => /^\d+$/.test(name))) {
    let fields: string[]
    try {
      fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? []
    } catch {
      // It ended meanwhile.
      continue
    }
    const [user, system, endedUser, endedSystem] = fields.slice(11, 15).map(Number) as [
      number,
      number,
      number,
      number,
    ]
    if (Number(pid) === main) ticks += user + system + endedUser + endedSystem
    else if (Number(fields[1]) === main) ticks += user + system
  }
  return ticks * TICK_US
}

class Meter {
  readonly #node: Served
  readonly #database: OwnServer
  readonly #sql: postgres.Sql

  constructor(node: Served, database: OwnServer, sql: postgres.Sql) {
    this.#node = node
    this.#database = database
    this.#sql = sql
  }

  async #spent(): Promise<Spent> {
    // Connections that are idle tell what they did after ten seconds.
    await pause(10_500)
    const sql = this.#sql
    const nodeCpu = await this.#node.ask('cpu')
    const databaseCpu = cpuOfDatabase(this.#database)
    const [row] = await sql<{ commits: string; wal: string; bytes: string; appends: string }[]>`
      SELECT (SELECT xact_commit FROM pg_stat_database WHERE datname = current_database()) AS commits,
        pg_current_wal_lsn() - '0/0'::pg_lsn AS wal,
        (SELECT sum(pg_total_relation_size(oid)) FROM pg_class
          WHERE relkind = 'r' AND relnamespace = 'turnwire'::regnamespace) AS bytes,
        (SELECT n_tup_upd FROM pg_stat_all_tables WHERE schemaname = 'turnwire' AND relname = 'sessions') AS appends`
    const number = (text: string | undefined): number => Number(text)
    return {
      nodeCpu,
      databaseCpu,
      commits: number(row?.commits),
      appends: number(row?.appends),
      wal: number(row?.wal),
      bytes: number(row?.bytes),
    }
  }

  /** What `work` costs, for each of its `units`. */
  async each(units: number, work: () => Promise<unknown>): Promise<Spent> {
    const before = await this.#spent()
    await work()
    const after = await this.#spent()
    const cost = (name: keyof Spent): number => (after[name] - before[name]) / units
    return {
      nodeCpu: cost('nodeCpu'),
      databaseCpu: cost('databaseCpu'),
      commits: cost('commits'),
      appends: cost('appends'),
      wal: cost('wal'),
      bytes: cost('bytes'),
    }
  }

  async connections(): Promise<number> {
    const [row] = await this.#sql<{ count: string }[]>`
      SELECT count(*) AS count FROM pg_stat_activity WHERE application_name = 'turnwire'`
    return Number(row?.count)
  }
}

/** Of a node alone on its database. */
export async function unitCosts(): Promise<Result> {
  const database = await startServer()
  const node = await startTurnwire('bench.config.ts', database.url)
  const agent = new Agent({ keepAlive: true, maxSockets: clients })
  const send = (path: string, body: unknown): Promise<string> => post({ agent, port: node.port, path, body })
  const create = async (): Promise<string> =>
    JSON.parse(await send('/sessions', { agent: { name: 'bench' } })).sessionId
  const takeTurns = async (ids: readonly string[], count: number): Promise<void> => {
    await Promise.all(
      ids.map(async id => {
        for (let turn = 0; turn < count; turn += 1) await send(`/sessions/${id}/turns`, words)
      }),
    )
  }
  const many = (): Promise<string[]> => Promise.all(Array.from({ length: clients }, create))
  const medians = await withClient(database.url, async sql => {
    const meter = new Meter(node, database, sql)
    const { rss } = await node.ask('memory')
    await takeTurns(await many(), turns)
    const idle = await meter.each(10, () => pause(10_000))
    const sessions = clients * 10
    const session = await meter.each(sessions, async () => {
      for (let count = 0; count < sessions; count += clients) await many()
    })
    const ids = await many()
    const turn = await meter.each(clients * turns, () => takeTurns(ids, turns))
    const [alone = ''] = ids
    const single = await meter.each(200, () => takeTurns([alone], 200))
    return {
      'turn: CPU of the node, µs': turn.nodeCpu,
      'turn: CPU of the database, µs': turn.databaseCpu,
      'turn: appends': turn.appends,
      [`turn: commits, ${clients} sessions at once`]: turn.commits,
      'turn: commits, one session alone': single.commits,
      'turn: bytes of write-ahead log': turn.wal,
      'turn: bytes stored': turn.bytes,
      'session: CPU of the node, µs': session.nodeCpu,
      'session: CPU of the database, µs': session.databaseCpu,
      'session: bytes stored': session.bytes,
      'node: commits a second when nothing happens': idle.commits,
      'node: connections': await meter.connections(),
      'node: memory before the first request, KiB': rss / 1_024,
    }
  })
  agent.destroy()
  await node.stop()
  await database.remove()
  return { trial: 'what a turn and a session cost on PostgreSQL', unit: '', medians, bars: [] }
}
