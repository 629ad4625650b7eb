// Serves one agent's tools to an MCP client over standard input and output. The client is the user's own program, so
// everything that the agent exposes is served, and policy decides about each call as on every wire.
import { serveMcpOverPipe } from '../../server/mcp.ts'
import { type CliCommand, knownAction, textValue } from '../command.ts'
import { servePipe } from '../serve-pipe.ts'
import { agentOption, configOption, dataOption } from '../setup.ts'

export const command: CliCommand = {
  name: 'mcp',
  usage:
    '[list | login <server> | logout <server>] [--owner <name>] [--agent <name>] [--config <file>] [--data <folder>]',
  about: `Serves an agent over the Model Context Protocol, on standard input and output: its tools, and the agent itself as
one more. MCP clients start this command themselves: docs/protocols/mcp.md has the lines. Calls that need an approval are
put to the client's user, or wait for one on another wire.

The other way round, for the MCP servers that the agents use: "list" shows how each one is, "login" gets a token for one
that wants it, "logout" deletes the token; with --owner, those of one owner at a server that has an account for each.`,
  options: {
    agent: agentOption,
    owner: {
      type: 'string',
      value: '<name>',
      help: 'login and logout: the owner whose account it is, where each owner has one.',
    },
    config: configOption,
    data: dataOption,
  },
  words: 2,
  async run({ values, words: [action, server] }) {
    if (action !== undefined) {
      const { serverActions } = await import('./mcp-servers.ts')
      return knownAction('mcp', serverActions, action)(values, server)
    }
    return servePipe(values, async (runtime, pipe) => {
      const served = await serveMcpOverPipe(runtime, textValue(values, 'agent'), pipe)
      const ended = new Promise(resolve => pipe.input.once('end', resolve))
      return { ended, close: () => served.close() }
    })
  },
}
