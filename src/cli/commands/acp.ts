// Serves one agent to an editor over standard input and output.
import { acpHost, serveAcpOverPipe } from '../../server/acp.ts'
import { type CliCommand, textValue } from '../command.ts'
import { servePipe } from '../serve-pipe.ts'
import { agentOption, configOption, dataOption } from '../setup.ts'

export const command: CliCommand = {
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
  run({ values }) {
    const agent = textValue(values, 'agent')
    return servePipe(values, async (runtime, pipe) => {
      const host = await acpHost(runtime, agent === undefined ? {} : { agent })
      return { ended: serveAcpOverPipe(host, pipe, { draft2: values['draft-2'] === true }) }
    })
  },
}
