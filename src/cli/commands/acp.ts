// Serves one agent to an editor over standard input and output. Standard output carries the protocol and nothing else:
// whatever any code of this process prints goes to standard error.
import { Console } from 'node:console'
import { Writable } from 'node:stream'
import { acpHost, serveAcpOverPipe } from '../../runtime/acp.ts'
import { createLog } from '../../runtime/log.ts'
import { Turnwire } from '../../runtime/turnwire.ts'
import { type Command, textValue } from '../command.ts'
import { configOption, dataOption, setUp } from '../setup.ts'

export const acp: Command = {
  name: 'acp',
  usage: '[--agent <name>] [--config <file>] [--data <folder>] [--draft-2]',
  about: `Serves an agent to an editor over the Agent Client Protocol, on standard input and output. Editors start this
command themselves: docs/protocols/acp.md has the lines for Zed, JetBrains and Neovim. Sessions live in the same data
folder as the server's, so that one begun here can be continued there.`,
  options: {
    agent: {
      type: 'string',
      short: 'a',
      value: '<name>',
      help: 'Which agent. Default: the first of the configuration',
    },
    config: configOption,
    data: dataOption,
    'draft-2': { type: 'boolean', help: 'Also speak the draft of version 2 to clients that ask for it.' },
  },
  words: 0,
  async run({ values }) {
    const output = takeStandardOutput()
    const setup = await setUp(values)
    const log = createLog({ level: setup.config.server?.log ?? 'warn' })
    // A server may be at work in the same folder: what it has under way is left to it.
    const turnwire = await Turnwire.open(setup.config, { log, source: setup.source, takeUp: false })
    try {
      const agent = textValue(values, 'agent')
      const host = acpHost(turnwire, agent === undefined ? {} : { agent })
      const served = serveAcpOverPipe(
        host,
        { input: process.stdin, output },
        { draft2: values['draft-2'] === true },
      )
      await Promise.race([served, untilSignalled()])
    } finally {
      await turnwire.close()
    }
    process.stdin.destroy()
    return 0
  },
}

/** The one way to standard output from here on; everything else that writes to it is sent to standard error. */
function takeStandardOutput(): Writable {
  const { stdout, stderr } = process
  const write = stdout.write.bind(stdout)
  const output = new Writable({
    write: (chunk: Buffer, _encoding, done) => void write(chunk, error => done(error)),
  })
  stdout.on('error', error => output.destroy(error))
  // A client that is gone is noticed by its closed input; writing to it is no failure of ours.
  output.on('error', () => {})
  stdout.write = stderr.write.bind(stderr)
  globalThis.console = new Console({ stdout: stderr, stderr })
  return output
}

function untilSignalled(): Promise<void> {
  return new Promise(resolve => {
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(signal, () => resolve())
  })
}
