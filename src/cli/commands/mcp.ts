// Serves one agent's tools to an MCP client over standard input and output. The client is the user's own program, so
// everything that the agent exposes is served, and policy decides about each call as on every wire.

import { serverDefaults } from '../../config/config.ts'
import { printable } from '../../lib/text/index.ts'
import { createLog } from '../../log.ts'
import { Runtime } from '../../runtime.ts'
import { serveMcpOverPipe } from '../../server/mcp.ts'
import { type CliCommand, textValue, UsageError, type Values } from '../command.ts'
import { guardProcess } from '../guard-process.ts'
import { takeStandardOutput, untilSignalled } from '../protocol-output.ts'
import { agentOption, configOption, dataOption, setUp } from '../setup.ts'

export const mcp: CliCommand = {
  name: 'mcp',
  usage: '[list | login <server> | logout <server>] [--agent <name>] [--config <file>] [--data <folder>]',
  about: `Serves an agent over the Model Context Protocol, on standard input and output: its tools, and the agent itself as
one more. MCP clients start this command themselves: docs/protocols/mcp.md has the lines. Calls that need an approval are
put to the client's user, or wait for one on another wire.

The other way round, for the MCP servers that the agents use: "list" shows how each one is, "login" gets a token for one
that wants it, "logout" deletes the token.`,
  options: {
    agent: agentOption,
    config: configOption,
    data: dataOption,
  },
  words: 2,
  async run({ values, words: [action, server] }) {
    if (action !== undefined) return manage(action, values, server)
    const output = takeStandardOutput()
    const setup = await setUp(values)
    const log = createLog({ level: setup.config.server?.log ?? 'warn' })
    const guard = guardProcess(log, setup.config.server?.graceMs ?? serverDefaults.graceMs)
    const runtime = await Runtime.open(setup.config, { log, source: setup.source, recover: false })
    try {
      const pipe = { input: process.stdin, output }
      const served = await serveMcpOverPipe(runtime, textValue(values, 'agent'), pipe)
      const inputEnded = new Promise<void>(resolve => process.stdin.once('end', () => resolve()))
      await Promise.race([inputEnded, untilSignalled(), guard.faulted])
      await served.close()
    } finally {
      await runtime.close()
    }
    process.stdin.destroy()
    return guard.status
  },
}

async function manage(action: string, values: Values, server: string | undefined): Promise<number> {
  const { list, login, logout } = await import('./mcp-servers.ts')
  if (action === 'list') return list(values)
  if (action === 'login') return login(values, server)
  if (action === 'logout') return logout(values, server)
  throw new UsageError(`turnwire mcp knows list, login and logout, not "${printable(action, 80)}".`)
}
