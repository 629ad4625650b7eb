// The entry of the command: finds the subcommand, reads its arguments, runs it, and prints what went wrong in one line.
// Each subcommand is loaded only when it is used.

import { ownVersion } from '../data/version.ts'
import { printable } from '../lib/text/index.ts'
import { nearest } from '../lib/text/nearest.ts'
import { type CliCommand, columns, commandHelp, readArguments, self, UsageError } from './command.ts'

type Subcommand = { summary: string; load(): Promise<CliCommand> }

/** A new command is a line here and a file in commands/. */
const subcommands: Readonly<Record<string, Subcommand>> = {
  serve: {
    summary: 'Serve the agents over HTTP.',
    load: async () => (await import('./commands/serve.ts')).serve,
  },
  chat: {
    summary: 'Talk to an agent in the terminal.',
    load: async () => (await import('./commands/chat.ts')).chat,
  },
  mcp: {
    summary: 'Serve an agent to MCP clients (Model Context Protocol).',
    load: async () => (await import('./commands/mcp.ts')).mcp,
  },
  acp: {
    summary: 'Serve an agent to an editor (Agent Client Protocol).',
    load: async () => (await import('./commands/acp.ts')).acp,
  },
  attach: {
    summary: 'Serve a relay with an agent of this machine.',
    load: async () => (await import('./commands/attach.ts')).attach,
  },
  init: {
    summary: 'Write a configuration file to start from.',
    load: async () => (await import('./commands/init.ts')).init,
  },
  keys: {
    summary: 'Make, list and remove the keys that clients need.',
    load: async () => (await import('./commands/keys.ts')).keys,
  },
  sessions: {
    summary: 'Look at recorded sessions, or delete one.',
    load: async () => (await import('./commands/sessions.ts')).sessions,
  },
  payments: {
    summary: 'List what wallets have paid, or pay it back.',
    load: async () => (await import('./commands/payments.ts')).payments,
  },
  result: {
    summary: 'Give the result of a call that its tool left for later.',
    load: async () => (await import('./commands/result.ts')).result,
  },
  backup: {
    summary: 'Copy the data folder, also beside a running server.',
    load: async () => (await import('./commands/backup.ts')).backup,
  },
  export: {
    summary: 'Write whole sessions to a file.',
    load: async () => (await import('./commands/export.ts')).exportCommand,
  },
  import: {
    summary: 'Take sessions from an exported file.',
    load: async () => (await import('./commands/import.ts')).importCommand,
  },
  vacuum: {
    summary: 'Give the space of deleted sessions back.',
    load: async () => (await import('./commands/vacuum.ts')).vacuumCommand,
  },
  prepare: {
    summary: 'Show the request that a session would send next, to any vendor.',
    load: async () => (await import('./commands/prepare.ts')).prepareCommand,
  },
  doctor: {
    summary: 'Say why a vendor would refuse a history, and repair it.',
    load: async () => (await import('./commands/doctor.ts')).doctor,
  },
  double: {
    summary: 'Run a strict stand-in for a model API, for tests.',
    load: async () => (await import('./commands/double.ts')).double,
  },
  completions: {
    summary: 'Print a completion script for a shell.',
    load: () => Promise.resolve(completions),
  },
}

const completions: CliCommand = {
  name: 'completions',
  usage: 'bash | zsh | fish',
  about: `Prints a script that completes commands and options in a shell. Its first line says where to put it.`,
  options: {},
  words: 1,
  async run({ words: [shell] }) {
    const { completionScript, shells } = await import('./completions.ts')
    const known = shells.find(each => each === shell)
    if (known === undefined)
      throw new UsageError(`Say for which shell: turnwire completions ${shells.join(' | ')}`)
    const commands = await Promise.all(
      Object.values(subcommands).map(async each => ({ command: await each.load(), summary: each.summary })),
    )
    return print(completionScript(known, commands))
  },
}

export async function main(argv: readonly string[]): Promise<number> {
  // The reader of our output is gone, as in `turnwire sessions events <id> | head`.
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'EPIPE') process.exit(0)
    process.stderr.write(`The output could not be written: ${printable(error.message, 500)}\n`)
    process.exit(1)
  })
  // A log that nobody reads any more is no reason to stop.
  process.stderr.on('error', () => {})
  try {
    return await dispatch(argv)
  } catch (error) {
    process.stderr.write(`${errorText(error)}\n`)
    return error instanceof UsageError ? 2 : 1
  }
}

async function dispatch(argv: readonly string[]): Promise<number> {
  const [first = 'help', ...rest] = argv
  if (first === '--version' || first === '-v') return print(`${ownVersion()}\n`)
  if (first === '--help' || first === '-h') return print(overview())
  if (first === 'help')
    return print(rest[0] === undefined || rest[0] === 'help' ? overview() : commandHelp(await find(rest[0])))
  const command = await find(first)
  const { values, words } = readArguments(command, rest)
  if (values['help'] === true) return print(commandHelp(command))
  return command.run({ values, words })
}

function find(name: string): Promise<CliCommand> {
  const entry = Object.hasOwn(subcommands, name) ? subcommands[name] : undefined
  if (entry) return entry.load()
  const near = nearest(name, [...Object.keys(subcommands), 'help'])
  const hint = near === undefined ? '' : ` Did you mean "turnwire ${near}"?`
  throw new UsageError(
    `There is no command "${printable(name, 80)}".${hint || ' See them all with: turnwire help'}`,
  )
}

function overview(): string {
  const rows = Object.entries(subcommands).map(([name, { summary }]): [string, string] => [name, summary])
  return `Turnwire runs the tool calls of language models: checked, authorised, recorded.

turnwire <command> [options]

Commands
${columns([...rows, ['help <command>', 'Show what a command does and takes.']])}
Start with: ${self} chat   (a demonstration that needs no key)
`
}

function print(text: string): number {
  process.stdout.write(text)
  return 0
}

/** An expected error is its message. A defect has its stack too. */
function errorText(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  const expected = error instanceof UsageError || error.name === 'TurnwireError' || error.name === 'AapError'
  return printable(expected ? error.message : (error.stack ?? error.message), {
    multiline: true,
    maxChars: 20_000,
  })
}
