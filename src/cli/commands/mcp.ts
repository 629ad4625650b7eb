// Serves one agent's tools to an MCP client over standard input and output. The client is the user's own program, so
// everything that the agent exposes is served, and policy decides about each call as on every wire.
import { createLog } from '../../runtime/log.ts'
import { serveMcpOverPipe } from '../../runtime/mcp.ts'
import { Runtime } from '../../runtime/runtime.ts'
import { type CliCommand, textValue } from '../command.ts'
import { takeStandardOutput, untilSignalled } from '../protocol-output.ts'
import { agentOption, configOption, dataOption, setUp } from '../setup.ts'

export const mcp: CliCommand = {
  name: 'mcp',
  usage: '[--agent <name>] [--config <file>] [--data <folder>]',
  about: `Serves an agent over the Model Context Protocol, on standard input and output: its tools, and the agent itself as
one more. MCP clients start this command themselves: docs/protocols/mcp.md has the lines. Calls that need an approval are
put to the client's user, or wait for one on another wire.`,
  options: {
    agent: agentOption,
    config: configOption,
    data: dataOption,
  },
  words: 0,
  async run({ values }) {
    const output = takeStandardOutput()
    const setup = await setUp(values)
    const log = createLog({ level: setup.config.server?.log ?? 'warn' })
    const runtime = await Runtime.open(setup.config, { log, source: setup.source, recover: false })
    try {
      const pipe = { input: process.stdin, output }
      const served = await serveMcpOverPipe(runtime, textValue(values, 'agent'), pipe)
      const inputEnded = new Promise<void>(resolve => process.stdin.once('end', () => resolve()))
      await Promise.race([inputEnded, untilSignalled()])
      await served.close()
    } finally {
      await runtime.close()
    }
    process.stdin.destroy()
    return 0
  },
}
