// The contract of tools for an MCP server over HTTP in the newest revision: answered at once, and as a task. The server is our own.
import { setTimeout as pause } from 'node:timers/promises'
import { scripted, startServer, Turnwire, tool } from '../../../src/index.ts'
import { type ToolScenario, toolContract } from '../../../src/testing/index.ts'
import { mcpServer } from '../../../src/tools/index.ts'

const input = { type: 'object' as const, properties: { city: { type: 'string' } }, required: ['city'] }
const sky = { type: 'object' as const, properties: { sky: { type: 'string' } }, required: ['sky'] }

function weather(scenario: ToolScenario) {
  return tool({
    name: 'weather',
    description: 'The weather of a city.',
    input,
    ...(scenario === 'answers' && { output: sky }),
    trust: 'trusted',
    outputLimit: 1_000_000,
    run: async (_, context) => {
      if (scenario === 'slow') await pause(600_000, undefined, { signal: context.signal })
      if (scenario === 'fails') throw new Error('no such city')
      if (scenario === 'huge') return 'cloud '.repeat(50_000)
      if (scenario === 'reports') {
        context.progress({ done: 1, total: 2 })
        await pause(50)
      }
      return { sky: 'blue' }
    },
  })
}

for (const [name, afterMs] of [
  ['a tool of an MCP server over HTTP', 60_000],
  ['a tool of an MCP server, as a task', 0],
] as const)
  toolContract(name, async scenario => {
    if (scenario === 'refuses') return { skip: 'An MCP server refuses an input by a failure.' }
    if (scenario === 'later') return { skip: 'An MCP server says nothing of later; a task is followed.' }
    if (scenario === 'wrong')
      return { skip: 'This server checks its results itself: contract.test.ts has one that does not.' }
    if (scenario === 'reports' && afterMs === 0) return { skip: 'The protocol has no progress for tasks.' }
    const turnwire = await Turnwire.open(
      {
        agents: [
          {
            name: 'city',
            model: scripted([]),
            tools: [weather(scenario)],
            serveMcp: { tools: true, tasks: { afterMs } },
          },
        ],
        data: 'memory',
      },
      { log: () => {} },
    )
    const served = await startServer(turnwire, { port: 0 })
    const server = await mcpServer({ name: 'city', url: `${served.url}/mcp/city` })
    const [made] = server.tools
    if (!made) throw new Error('The server offers no tool.')
    return {
      tool: made,
      input: { city: 'Rome' },
      ...(scenario === 'fails' && { says: 'no such city' }),
      ...(scenario === 'answers' && { says: 'blue' }),
      close: async () => {
        await server.close()
        await served.stop()
        await turnwire.close()
      },
    }
  })
