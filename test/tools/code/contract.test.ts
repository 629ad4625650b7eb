// Programs and agents pass the contract of tools, played without an engine: the nested calls are stand-ins.
import type { NestedCalls, Tool } from '../../../src/engine/ports.ts'
import { untilAborted } from '../../../src/lib/abort.ts'
import { toolContract } from '../../../src/testing/contracts/tool.ts'
import { agentTool, codeTool } from '../../../src/tools/index.ts'

/** The tool with nested calls that an engine would give it. */
function withNested(tool: Tool, over: Partial<NestedCalls> = {}): Tool {
  const nested: NestedCalls = {
    tools: [],
    since: 0,
    isWaiting: false,
    call: () => new Promise(() => {}),
    onWaiting() {},
    delegate: () => Promise.resolve({ parts: [{ type: 'text', text: 'the agent says 42' }] }),
    handOver() {},
    ...over,
  }
  return { ...tool, run: (input, context) => tool.run(input, { ...context, signal: context.signal, nested }) }
}

toolContract('programs', scenario => {
  const program = (code: string, says?: string) => ({
    tool: withNested(codeTool({ limits: { timeMs: 60_000 } })),
    input: { code },
    ...(says !== undefined && { says }),
  })
  switch (scenario) {
    case 'answers':
      return program('return 6 * 7', '42')
    case 'fails':
      return program(`throw new Error('no luck')`, 'no luck')
    case 'slow':
      return program('for (;;);')
    default:
      return { skip: 'a program refuses nothing by itself, and shows its logs with its result' }
  }
})

toolContract('an agent', scenario => {
  const input = { task: 'What is it?' }
  switch (scenario) {
    case 'answers':
      return { tool: withNested(agentTool('worker')), input, says: '42' }
    case 'fails': {
      const delegate: NestedCalls['delegate'] = () =>
        Promise.resolve({ parts: [{ type: 'text', text: 'The agent did not finish.' }], failed: true })
      return { tool: withNested(agentTool('worker'), { delegate }), input, says: 'did not finish' }
    }
    case 'slow': {
      const delegate: NestedCalls['delegate'] = (_task, { signal }) =>
        untilAborted(new Promise(() => {}), signal)
      return { tool: withNested(agentTool('worker'), { delegate }), input }
    }
    default:
      return { skip: 'what an agent refuses and shows is in its own session' }
  }
})
