// The entry of the command: finds the subcommand, reads its arguments, runs it, and prints what went wrong in one line.
// Each subcommand is loaded only when it is used.

import { ownVersion } from '../data/version.ts'
import { printable } from '../lib/text/index.ts'
import { nearest } from '../lib/text/nearest.ts'
import {
  type CliCommand,
  columns,
  commandHelp,
  hintsAsStarted,
  readArguments,
  self,
  UsageError,
} from './command.ts'

type Subcommand = readonly [summary: string, load: () => Promise<{ command: CliCommand }>]

/** A new command is a line here and a file in commands/. */
const subcommands: Readonly<Record<string, Subcommand>> = {
  serve: ['Serve the agents over HTTP.', () => import('./commands/serve.ts')],
  dev: ['Serve them, and start again when the configuration changes.', () => import('./commands/dev.ts')],
  check: [
    'Say what is wrong with the configuration, keys, servers and data, and what to do.',
    () => import('./commands/check.ts'),
  ],
  chat: ['Talk to an agent in the terminal.', () => import('./commands/chat.ts')],
  mcp: ['Serve an agent to MCP clients (Model Context Protocol).', () => import('./commands/mcp.ts')],
  acp: ['Serve an agent to an editor (Agent Client Protocol).', () => import('./commands/acp.ts')],
  attach: ['Serve a relay with an agent of this machine.', () => import('./commands/attach.ts')],
  init: ['Write a configuration file to start from.', () => import('./commands/init.ts')],
  keys: ['Make, list and remove the keys that clients need.', () => import('./commands/keys.ts')],
  sessions: ['Look at recorded sessions, or delete one.', () => import('./commands/sessions.ts')],
  payments: ['List what wallets have paid, or pay it back.', () => import('./commands/payments.ts')],
  webhooks: [
    'List webhooks and their messages, send one again, or print a secret.',
    () => import('./commands/webhooks.ts'),
  ],
  result: ['Give the result of a call that its tool left for later.', () => import('./commands/result.ts')],
  calls: ['List calls that may have happened, check or undo them.', () => import('./commands/calls.ts')],
  backup: ['Copy the data folder, also beside a running server.', () => import('./commands/backup.ts')],
  export: ['Write whole sessions to a file.', () => import('./commands/export.ts')],
  import: ['Take sessions from an exported file.', () => import('./commands/import.ts')],
  verify: [
    'Say whether a session, an export, a receipt or a sealed file is as it was recorded.',
    () => import('./commands/verify.ts'),
  ],
  receipts: ['Show the receipt of a call, or the keys that sign.', () => import('./commands/receipts.ts')],
  seal: ['Write a session to one file that checks itself.', () => import('./commands/seal.ts')],
  vacuum: ['Give the space of deleted sessions back.', () => import('./commands/vacuum.ts')],
  flow: [
    'Show where untrusted text, private data and acting tools meet.',
    () => import('./commands/flow.ts'),
  ],
  policy: ['Say why a call ran, asked or was refused; test rules.', () => import('./commands/policy.ts')],
  replay: [
    'Play a recorded session again, as it was or with one thing changed.',
    () => import('./commands/replay.ts'),
  ],
  eval: ['Play cases for an agent, and say which passed.', () => import('./commands/eval.ts')],
  conform: [
    'Say which clauses of its protocols a server holds, and which it breaks.',
    () => import('./commands/conform.ts'),
  ],
  prepare: [
    'Show the request that a session would send next, to any vendor.',
    () => import('./commands/prepare.ts'),
  ],
  doctor: ['Say why a vendor would refuse a history, and repair it.', () => import('./commands/doctor.ts')],
  prices: ['List what the vendors charge for their models.', () => import('./commands/prices.ts')],
  double: ['Run a strict stand-in for a model API, for tests.', () => import('./commands/double.ts')],
  completions: ['Print a completion script for a shell.', async () => ({ command: completions })],
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
      Object.values(subcommands).map(async ([summary, load]) => ({ summary, ...(await load()) })),
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
    return print(
      rest[0] === undefined || rest[0] === 'help' ? overview() : commandHelp(await findCommand(rest[0])),
    )
  const command = await findCommand(first)
  const { values, words } = readArguments(command, rest)
  if (values['help'] === true) return print(commandHelp(command))
  return command.run({ values, words })
}

/** A subcommand by its name. */
export async function findCommand(name: string): Promise<CliCommand> {
  const entry = Object.hasOwn(subcommands, name) ? subcommands[name] : undefined
  if (entry) return (await entry[1]()).command
  const near = nearest(name, [...Object.keys(subcommands), 'help'])
  const hint = near === undefined ? '' : ` Did you mean "turnwire ${near}"?`
  throw new UsageError(
    `There is no command "${printable(name, 80)}".${hint || ' See them all with: turnwire help'}`,
  )
}

function overview(): string {
  const rows = Object.entries(subcommands).map(([name, [summary]]): [string, string] => [name, summary])
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
  return printable(expected ? hintsAsStarted(error.message) : (error.stack ?? error.message), {
    multiline: true,
    maxChars: 20_000,
  })
}
