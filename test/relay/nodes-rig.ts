// Nodes with a relay on one PostgreSQL, in this process or in one of their own.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import type { TestContext } from 'node:test'
import { fileURLToPath } from 'node:url'
import type { TurnwireConfig } from '../../src/config/config.ts'
import type { JsonObject } from '../../src/lib/json/index.ts'
import type { RelayConfig } from '../../src/relay/config.ts'
import { postgresStore } from '../../src/stores/postgres/index.ts'
import { databaseUrl, newSchema, own, withClient } from '../stores/postgres/server.ts'
import { type RelayRig, relay } from './rig.ts'

export const options = { skip: own.skip, timeout: 60_000 }
export const secret = 'a secret of the cluster, for tests only'

export type Database = { url: string; schema: string }

export async function database(t: TestContext): Promise<Database> {
  const url = await databaseUrl()
  const schema = newSchema()
  t.after(() => withClient(url, sql => sql.unsafe(`DROP SCHEMA IF EXISTS "${schema}" CASCADE`)))
  return { url, schema }
}

export function node(
  t: TestContext,
  { url, schema }: Database,
  settings: Partial<RelayConfig> = {},
  config: Partial<TurnwireConfig> = {},
): Promise<RelayRig> {
  const data = postgresStore({ url, schema, connections: 4 })
  const server = { cluster: { secret, leaseMs: 3_000 }, ...config.server }
  return relay(t, settings, { ...config, data, server })
}

export type NodeOptions = {
  relay?: Partial<RelayConfig>
  payments?: TurnwireConfig['payments']
  keys?: NonNullable<TurnwireConfig['server']>['keys']
  /** The point at which it kills itself. */
  crashAt?: string
}

/** A node that can be killed. */
export async function nodeProcess(t: TestContext, given: Database, { crashAt, ...config }: NodeOptions = {}) {
  const file = fileURLToPath(new URL('node-process.ts', import.meta.url))
  const { TURNWIRE_CRASH_AT: _, ...rest } = process.env
  const env = crashAt === undefined ? rest : { ...rest, TURNWIRE_CRASH_AT: crashAt }
  const child = spawn(process.execPath, [file, JSON.stringify({ ...given, secret, config })], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env,
  })
  const ended = once(child, 'exit') as Promise<[number | null, NodeJS.Signals | null]>
  const end = async (signal: NodeJS.Signals): Promise<number | null> => {
    child.kill(signal)
    const [code] = await ended
    return code
  }
  t.after(() => end('SIGKILL'))
  const [url] = (await Promise.race([once(createInterface(child.stdout), 'line'), ended])) as [unknown]
  if (typeof url !== 'string') throw new Error('The node ended before it was served.')
  return { url, ended, kill: () => end('SIGKILL'), stop: () => end('SIGTERM') }
}

export type Provider = { agentId: string; available: boolean; pricing: JsonObject; stats: JsonObject }

export async function providers(url: string): Promise<Provider[]> {
  const answer = await fetch(`${url}/v1/providers`)
  return ((await answer.json()) as { providers: Provider[] }).providers
}
