// Serves one agent to an editor over standard input and output. Standard output carries the protocol and nothing else:
// everything that code of this process prints goes to standard error.

import { serverDefaults } from '../../config/config.ts'
import { createLog } from '../../log.ts'
import { Runtime } from '../../runtime.ts'
import { acpHost, serveAcpOverPipe } from '../../server/acp.ts'
import { type CliCommand, textValue } from '../command.ts'
import { guardProcess } from '../guard-process.ts'
import { takeStandardOutput, untilSignalled } from '../protocol-output.ts'
import { agentOption, configOption, dataOption, setUp } from '../setup.ts'

export const acp: CliCommand = {
  name: 'acp',
  usage: '[--agent <name>] [--config <file>] [--data <folder>] [--draft-2]',
  about: `Serves an agent to an editor over the Agent Client Protocol, on standard input and output. Editors start this
command themselves: docs/protocols/acp.md has the lines for Zed, JetBrains and Neovim. Sessions live in the same data
folder as the server's, so that one begun here can be continued there.`,
  options: {
    agent: agentOption,
    config: configOption,
    data: dataOption,
    'draft-2': { type: 'boolean', help: 'Also speak the draft of version 2 to clients that ask for it.' },
  },
  words: 0,
  async run({ values }) {
    const output = takeStandardOutput()
    const setup = await setUp(values)
    const log = createLog({ level: setup.config.server?.log ?? 'warn' })
    const guard = guardProcess(log, setup.config.server?.graceMs ?? serverDefaults.graceMs)
    // Unfinished sessions are for a server to resume: their agents may need its environment.
    const runtime = await Runtime.open(setup.config, { log, source: setup.source, recover: false })
    try {
      const agent = textValue(values, 'agent')
      const host = await acpHost(runtime, agent === undefined ? {} : { agent })
      const served = serveAcpOverPipe(
        host,
        { input: process.stdin, output },
        { draft2: values['draft-2'] === true },
      )
      await Promise.race([served, untilSignalled(), guard.faulted])
    } finally {
      await runtime.close()
    }
    process.stdin.destroy()
    return guard.status
  },
}
