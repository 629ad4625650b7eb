// `serve` that starts again when the configuration, a file that it imports, or `.env` changes. Each start is a process of its own;
// sessions are in the data folder, so they go on.
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { stripVTControlCharacters } from 'node:util'
import { configNames, findConfig } from '../../config/load-config.ts'
import { type CliCommand, textValue, type Values } from '../command.ts'
import { FileChanges } from '../file-changes.ts'
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
    const changes = new FileChanges()
    for (const file of startFiles(values)) changes.watch(file)
    const signalled = untilSignalled().then(() => 'signal' as const)
    const shown = new ShownServer(values['no-open'] !== true && process.stdout.isTTY)
    for (;;) {
      changes.forget()
      const server = startServer(values, changes, shown)
      const ended = once(server, 'exit').then(([code]) => Number(code ?? 0))
      const changed = changes.next().then(name => ({ name }))
      let what = await Promise.race([signalled, changed, ended])
      // A mistake on the command line is in no file.
      if (what === usageMistake) return what
      if (typeof what === 'number') {
        process.stdout.write('It is started again when a file changes. Ctrl-C stops it.\n')
        what = await Promise.race([signalled, changed])
      }
      server.kill('SIGTERM')
      await ended
      if (what === 'signal') return 0
      process.stdout.write(`${what.name} has changed. Starting again.\n\n`)
    }
  },
}

const usageMistake = 2

/** What is watched before anything is loaded. */
function startFiles(values: Values): string[] {
  const file = findConfig(textValue(values, 'config'), process.cwd())
  if (file !== undefined) return [file, join(dirname(file), '.env')]
  return configNames.map(name => join(process.cwd(), name))
}

function startServer(values: Values, changes: FileChanges, shown: ShownServer): ChildProcess {
  const given = Object.keys(serve.options).flatMap(name => {
    const value = textValue(values, name)
    return value === undefined ? [] : [`--${name}`, value]
  })
  const program = fileURLToPath(new URL('../../../bin/turnwire.mjs', import.meta.url))
  const reporter = new URL(`../report-imports${import.meta.url.slice(-3)}`, import.meta.url).href
  const server = spawn(
    process.execPath,
    ['--import', reporter, program, 'serve', ...given, ...shown.samePort],
    {
      stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
      env: { ...process.env, ...(process.stdout.isTTY && { FORCE_COLOR: '1' }) },
      // Ctrl-C of a terminal goes to a whole group, and a second signal would end running tools.
      detached: process.platform !== 'win32',
    },
  )
  server.stdout?.setEncoding('utf8').on('data', (text: string) => shown.add(text))
  return server.on('message', file => {
    if (typeof file === 'string') changes.watch(file)
  })
}

/** Passes on what the server writes, and opens its address once. */
class ShownServer {
  readonly #wantsBrowser: boolean
  #seen = ''
  #url: string | undefined

  constructor(wantsBrowser: boolean) {
    this.#wantsBrowser = wantsBrowser
  }

  /** Pages that are open stay where they are, also if the first start took any free port. */
  get samePort(): string[] {
    return this.#url === undefined ? [] : ['--port', new URL(this.#url).port]
  }

  add(text: string): void {
    process.stdout.write(text)
    if (this.#url !== undefined) return
    this.#seen = `${this.#seen}${text}`.slice(-4_000)
    const [, url] = /listens on (http:\/\/\S+)\s/.exec(stripVTControlCharacters(this.#seen)) ?? []
    if (url === undefined) return
    this.#url = url
    if (this.#wantsBrowser) openBrowser(url)
  }
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
