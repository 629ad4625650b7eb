// Gets the configuration from the options of a command: the file that was named or found, else the demonstration.
import { existsSync, statSync } from 'node:fs'
import { join, relative } from 'node:path'
import type { TurnwireConfig } from '../config/config.ts'
import { findConfig, loadConfig } from '../config/load-config.ts'
import { defaultFolder, isPostgresUrl } from '../data/data-place.ts'
import { printable } from '../lib/text/index.ts'
import { type CommandOption, textValue, UsageError, type Values } from './command.ts'
import { loadEnvBeside } from './env-file.ts'

export const dataOption: CommandOption = {
  type: 'string',
  value: '<folder>',
  help: 'Where sessions, keys and secrets live. Default: $TURNWIRE_DATA, the config, $DATABASE_URL, else .turnwire',
}

export const agentOption: CommandOption = {
  type: 'string',
  short: 'a',
  value: '<name>',
  help: 'Which agent. Default: the first of the configuration',
}

export const configOption: CommandOption = {
  type: 'string',
  short: 'c',
  value: '<file>',
  help: 'The configuration. Default: turnwire.config.ts (or .mts, .js, .mjs) in this folder',
}

export type Setup = { config: TurnwireConfig; source: string; demo: boolean }

export async function setUp(values: Values, demo: { delayMs?: number } = {}): Promise<Setup> {
  const file = findConfigAndEnv(values)
  const data = givenData(values)
  if (file === undefined) {
    const { demoConfig } = await import('../demo/agent.ts')
    return {
      config: demoConfig({ ...demo, data: data ?? databaseUrl() ?? defaultFolder }),
      source: 'The demonstration',
      demo: true,
    }
  }
  const config = await loadConfig(file)
  return {
    config: { ...config, data: data ?? config.data ?? databaseUrl() ?? defaultFolder },
    source: relative(process.cwd(), file) || file,
    demo: false,
  }
}

function findConfigAndEnv(values: Values): string | undefined {
  const file = findConfig(textValue(values, 'config'), process.cwd())
  if (file !== undefined) loadEnvBeside(file)
  return file
}

function givenData(values: Values): string | undefined {
  return textValue(values, 'data') ?? (process.env['TURNWIRE_DATA'] || undefined)
}

/** Only if it names a PostgreSQL: other programs use the variable for other databases. */
function databaseUrl(): string | undefined {
  const url = process.env['DATABASE_URL']
  return url !== undefined && isPostgresUrl(url) ? url : undefined
}

/** Why, if DATABASE_URL is set and sessions are elsewhere. Other programs use it too, so it is no mistake; but it may be one. */
export function unusedDatabase(data: unknown): string | undefined {
  const url = process.env['DATABASE_URL'] ?? ''
  if (url === '' || (typeof data === 'string' && isPostgresUrl(data))) return undefined
  if (isPostgresUrl(url)) return '--data, TURNWIRE_DATA or the configuration names another place'
  return data === defaultFolder ? 'it does not begin with postgres://' : undefined
}

/** Where `serve` would keep sessions, for commands that start no agent: a folder, or the address of a database. */
export async function sessionData(values: Values): Promise<string> {
  const file = findConfigAndEnv(values)
  const given = givenData(values)
  if (given !== undefined) return given
  const { data = databaseUrl() ?? defaultFolder } = file === undefined ? {} : await loadConfig(file)
  if (typeof data === 'string' && data !== 'memory') return data
  throw new UsageError(
    `The configuration keeps sessions ${data === 'memory' ? 'in memory' : 'in a store of its own'}, so there is no data folder. Name one with --data <folder>.`,
  )
}

/** A database as people are told of it: without the password. */
export function databaseName(url: string): string {
  const [, hosts = '', name = ''] = /^[^:]+:\/\/(?:[^@/]*@)?([^/?]*)\/?([^?]*)/.exec(url) ?? []
  return `PostgreSQL at ${printable(hosts, 200)}${name === '' ? '' : `, database ${printable(name, 80)}`}`
}

/** The folder of keys, tokens and the vault's key. */
export async function dataFolder(values: Values): Promise<string> {
  const data = await sessionData(values)
  return isPostgresUrl(data) ? defaultFolder : data
}

/** A folder with sessions in it, or the address of a database. */
export async function sessionPlace(values: Values): Promise<string> {
  const place = await sessionData(values)
  if (isPostgresUrl(place) || existsSync(join(place, 'sessions.db'))) return place
  throw new UsageError(`There are no sessions in ${place}. Name the data folder with --data <folder>.`)
}

export function noSuchSession(id: string): UsageError {
  return new UsageError(
    `There is no session ${printable(id, 80)} here. See them with: turnwire sessions list`,
  )
}

/** False: it is the name of a session. Throws for a folder, and for what can only be a file and is not there. */
export function isFile(what: string): boolean {
  const found = statSync(what, { throwIfNoEntry: false })
  if (found?.isDirectory())
    throw new UsageError(`${printable(what, 200)} is a folder. Name a file or a session.`)
  if (!found && /[./\\]/.test(what)) throw new UsageError(`There is no file ${printable(what, 200)}.`)
  return found !== undefined
}
