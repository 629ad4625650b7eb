// `serve` that starts again when the configuration, a file that it imports, or `.env` changes. Node watches the files; sessions are in the
// data folder, so they go on after each start.
import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { stripVTControlCharacters } from 'node:util'
import { findConfig } from '../../config/load-config.ts'
import { type CliCommand, textValue, type Values } from '../command.ts'
import { untilSignalled } from '../guard-process.ts'
import { command as serve } from './serve.ts'

export const command: CliCommand = {
  name: 'dev',
  usage: '[--config <file>] [--port <n>] [--host <name>] [--data <folder>] [--no-open]',
  about: `Serves the agents as "serve" does, and starts again when the configuration, a file that it imports, or .env changes.
Sessions go on. Opens the console in a browser, once, if this is a terminal.`,
  options: {
    ...serve.options,
    'no-open': { type: 'boolean', help: 'Open no browser' },
  },
  words: 0,
  async run({ values }) {
    const wantsBrowser = values['no-open'] !== true && process.stdout.isTTY
    const child = spawn(process.execPath, watching(values), {
      stdio: ['ignore', 'pipe', 'inherit'],
      env: { ...process.env, ...(process.stdout.isTTY && { FORCE_COLOR: '1' }) },
    })
    void untilSignalled().then(() => child.kill('SIGTERM'))
    let seen = ''
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      process.stdout.write(text)
      if (!wantsBrowser || seen === 'opened') return
      seen = `${seen}${text}`.slice(-4_000)
      const [, url] = /listens on (http:\/\/\S+)\s/.exec(stripVTControlCharacters(seen)) ?? []
      if (url === undefined) return
      seen = 'opened'
      openBrowser(url)
    })
    return new Promise((resolve, reject) => {
      child.once('error', reject)
      child.once('exit', (code, signal) => resolve(signal === null ? (code ?? 1) : 0))
    })
  },
}

/** Node's own arguments, then those of `serve`. */
function watching(values: Values): string[] {
  const file = findConfig(textValue(values, 'config'), process.cwd())
  const env = file === undefined ? undefined : join(dirname(file), '.env')
  const given = Object.keys(serve.options).flatMap(name => {
    const value = textValue(values, name)
    return value === undefined ? [] : [`--${name}`, value]
  })
  const program = fileURLToPath(new URL('../../../bin/turnwire.mjs', import.meta.url))
  return [
    '--watch',
    '--watch-preserve-output',
    // Named here so that Node watches it too.
    ...(env !== undefined && existsSync(env) ? [`--env-file=${env}`] : []),
    program,
    'serve',
    ...given,
  ]
}

const openers: Readonly<Record<string, readonly [string, ...string[]]>> = {
  darwin: ['open'],
  win32: ['cmd', '/c', 'start', ''],
}

/** A machine without a browser is no reason to stop: the address was printed. */
function openBrowser(url: string): void {
  const [program, ...args] = openers[process.platform] ?? ['xdg-open']
  spawn(program, [...args, url], { stdio: 'ignore', detached: true })
    .on('error', () => {})
    .unref()
}
