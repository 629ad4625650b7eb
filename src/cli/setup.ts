// Gets the configuration from the options of a command: the file that was named or found, else the demonstration.
import { existsSync } from 'node:fs'
import { join, relative } from 'node:path'
import { printable } from '../lib/text.ts'
import type { TurnwireConfig } from '../runtime/config.ts'
import { findConfig, loadConfig } from '../runtime/load-config.ts'
import { type Option, textValue, UsageError, type Values } from './command.ts'

export const dataOption: Option = {
  type: 'string',
  value: '<folder>',
  help: 'Where sessions, keys and secrets live. Default: $TURNWIRE_DATA, the config, else .turnwire',
}

export const agentOption: Option = {
  type: 'string',
  short: 'a',
  value: '<name>',
  help: 'Which agent. Default: the first of the configuration',
}

export const configOption: Option = {
  type: 'string',
  short: 'c',
  value: '<file>',
  help: 'The configuration. Default: turnwire.config.ts (or .mts, .js, .mjs) in this folder',
}

export type Setup = { config: TurnwireConfig; source: string; demo: boolean }

export async function setUp(values: Values, demo: { delayMs?: number } = {}): Promise<Setup> {
  const data = givenData(values)
  const file = findConfig(textValue(values, 'config'), process.cwd())
  if (file === undefined) {
    const { demoConfig } = await import('../runtime/demo-agent.ts')
    return {
      config: demoConfig({ ...demo, data: data ?? '.turnwire' }),
      source: 'The demonstration',
      demo: true,
    }
  }
  const config = await loadConfig(file)
  return {
    config: data === undefined ? config : { ...config, data },
    source: relative(process.cwd(), file) || file,
    demo: false,
  }
}

function givenData(values: Values): string | undefined {
  return textValue(values, 'data') ?? (process.env['TURNWIRE_DATA'] || undefined)
}

/** The data folder that `serve` would use, for commands that start no agent. */
export async function dataFolder(values: Values): Promise<string> {
  const given = givenData(values)
  if (given !== undefined) return given
  const file = findConfig(textValue(values, 'config'), process.cwd())
  const { data = '.turnwire' } = file === undefined ? {} : await loadConfig(file)
  if (typeof data === 'string' && data !== 'memory') return data
  throw new UsageError(
    `The configuration keeps sessions ${data === 'memory' ? 'in memory' : 'in a store of its own'}, so there is no data folder. Name one with --data <folder>.`,
  )
}

/** The same, with sessions in it. */
export async function sessionFolder(values: Values): Promise<string> {
  const folder = await dataFolder(values)
  if (existsSync(join(folder, 'sessions.db'))) return folder
  throw new UsageError(`There are no sessions in ${folder}. Name the data folder with --data <folder>.`)
}

export function noSuchSession(id: string): UsageError {
  return new UsageError(
    `There is no session ${printable(id, 80)} here. See them with: turnwire sessions list`,
  )
}
