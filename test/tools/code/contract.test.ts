// Programs, agents and hand-overs pass the contract of tools. Where an engine would give nested calls, stand-ins do.
import type { NestedCalls, Tool } from '../../../src/engine/ports/index.ts'
import { untilAborted } from '../../../src/lib/async/abort.ts'
import { toolContract } from '../../../src/testing/contracts/tool.ts'
import { agentTool, codeTool, handOverTool } from '../../../src/tools/index.ts'

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
    case 'refuses':
      return { skip: 'every text is tried as a program; a mistake in it is a failure' }
    case 'huge':
      return { skip: 'a program that returns more than it may fails: hostile.test.ts' }
    case 'reports':
      return { skip: 'what a program logs is shown with its result' }
    default:
      return { skip: 'it promises no form of its result, which comes when its call ends' }
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
    case 'huge': {
      const text = 'a long answer '.repeat(100_000)
      const delegate: NestedCalls['delegate'] = () => Promise.resolve({ parts: [{ type: 'text', text }] })
      return { tool: withNested(agentTool('worker'), { delegate }), input }
    }
    case 'refuses':
      return { skip: 'every text is a task' }
    case 'reports':
      return { skip: 'what an agent does is shown in its own session: test/engine/agents.test.ts' }
    default:
      return { skip: 'it promises no form of its result; a session that waits suspends its call instead' }
  }
})

toolContract('a hand-over', scenario => {
  const input = { reason: 'It is about money.' }
  if (scenario === 'answers')
    return { tool: withNested(handOverTool('bank')), input, says: 'The agent "bank" goes on from here.' }
  if (scenario !== 'fails') return { skip: 'it only says which agent answers next' }
  const handOver: NestedCalls['handOver'] = () => {
    throw new Error('There is no agent named "bank".')
  }
  return { tool: withNested(handOverTool('bank'), { handOver }), input, says: 'no agent named' }
})
