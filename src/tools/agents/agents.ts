// Other agents as tools: `agentTool()` has an agent do a task in a session of its own, `handOverTool()` lets another agent go
// on with the conversation. The engine does both; here they are declared.
import type { Tool } from '../../engine/ports/index.ts'
import { TurnwireError } from '../../language/errors.ts'
import type { LimitName } from '../../language/events.ts'
import type { NamedTool } from '../functions/tool.ts'

export type AgentToolOptions = {
  /** The tool's name. Default: `ask_<agent>`. */
  name?: string
  title?: string
  /** The tasks that suit the agent. The model reads it to decide when to ask it. */
  description?: string
  /** The client's tools that the agent may use: those named, or all. Default: none. */
  clientTools?: true | readonly string[]
  /** The most that one task may use. It never gets more than the turn has left. */
  limits?: Partial<Record<LimitName, number>>
  /** Default `trusted`: what the agent does passes its own gate, call by call. */
  trust?: Tool['trust']
  /** Default false. */
  exposed?: boolean
}

export type HandOverOptions = Pick<AgentToolOptions, 'name' | 'title' | 'description' | 'trust' | 'exposed'>

/** The limits of the turn come first, and a suspended call takes no time. */
const timeoutMs = 24 * 60 * 60 * 1000

const base = {
  kind: 'other',
  readOnly: false,
  idempotent: false,
  destructive: false,
  side: 'server',
  retries: 0,
  outputLimit: 64 * 1024,
  resumable: true,
  // The other agent's calls pass its own gate. Its words may come from anywhere.
  flow: { effect: 'none', output: 'untrusted', args: { task: 'text', reason: 'text' } },
} as const

/** `agent`: the name of an agent of the configuration, or the agent itself. */
export function agentTool<Name extends string = `ask_${string}`>(
  agent: string | { name: string },
  options: AgentToolOptions & { name?: Name } = {},
): NamedTool<NoInfer<Name>> {
  const to = agentName(agent)
  const { title, trust = 'trusted', exposed = false } = options
  const name = options.name ?? (`ask_${toolName(to)}` as Name) // The default of the type has this form.
  const { clientTools, limits } = options
  return {
    ...base,
    name,
    toAgent: to,
    ...(title !== undefined && { title }),
    description:
      options.description ??
      `Has the agent "${to}" do a task and gives its answer. It reads nothing of this conversation: say all that it needs.`,
    input: {
      form: 'json',
      schema: {
        type: 'object',
        properties: { task: { type: 'string', minLength: 1, description: 'The whole task, in words.' } },
        required: ['task'],
        additionalProperties: false,
      },
    },
    trust,
    exposed,
    timeoutMs,
    run(input, context) {
      const { task } = input as { task: string } // It passed the gate.
      if (!context.nested) throw new Error('This engine runs no agents as tools.')
      const more = { ...(clientTools && { clientTools }), ...(limits && { limits }) }
      return context.nested.delegate({ agent: to, text: task, ...more }, context)
    },
  }
}

/** The model hands the conversation over: from the next step on the other agent answers, with its own tools and policy. */
export function handOverTool<Name extends string = `hand_over_to_${string}`>(
  agent: string | { name: string },
  options: HandOverOptions & { name?: Name } = {},
): NamedTool<NoInfer<Name>> {
  const to = agentName(agent)
  const { title, trust = 'trusted', exposed = false } = options
  const name = options.name ?? (`hand_over_to_${toolName(to)}` as Name) // As above.
  return {
    ...base,
    name,
    toAgent: to,
    ...(title !== undefined && { title }),
    description:
      options.description ??
      `Hands the conversation over to the agent "${to}", which reads all of it and answers from here on.`,
    input: {
      form: 'json',
      schema: {
        type: 'object',
        properties: { reason: { type: 'string', description: 'Why, in one sentence.' } },
        additionalProperties: false,
      },
    },
    callers: ['model'],
    // Its result is one sentence of ours.
    flow: { ...base.flow, output: 'trusted' },
    trust,
    exposed,
    timeoutMs: 60_000,
    run(_input, { nested }) {
      if (!nested) throw new Error('This engine has no other agents.')
      nested.handOver(to)
      return { parts: [{ type: 'text', text: `The agent "${to}" goes on from here.` }] }
    },
  }
}

function agentName(agent: string | { name: string }): string {
  const name = typeof agent === 'string' ? agent : agent?.name
  if (typeof name === 'string' && name !== '') return name
  throw new TurnwireError(
    'invalid_tool',
    'An agent as a tool needs the name of an agent, or the agent itself.',
  )
}

/** Vendors take letters, digits, `_` and `-`. */
function toolName(agent: string): string {
  return agent.replaceAll('.', '_')
}
