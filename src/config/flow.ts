// Flow control of an agent, from its configuration.
import type { Tool } from '../engine/ports/index.ts'
import type { FlowMode } from '../language/flow.ts'
import { type Check, group, kind, must, texts } from '../lib/checks/fields.ts'
import type { FlowOptions, FlowSettings } from '../policy/index.ts'
import type { AgentConfig, TurnwireConfig } from './config.ts'

const modes: readonly FlowMode[] = ['warrants', 'strict', 'off']

const isMode = (value: unknown): boolean => modes.some(mode => mode === value)
const words =
  'must be "warrants", "strict", "off", or an object such as { mode: "warrants", insiders: ["find_person"] }.'

const settings = group<FlowSettings>(
  {
    mode: must(isMode, 'must be "warrants", "strict" or "off".'),
    declare: kind('boolean'),
    insiders: texts(/^[\s\S]+$/, 'must be a list of names of tools.'),
  },
  words,
)

export const checkFlow: Check = (value, key, wrong) => {
  if (!isMode(value)) settings(value, key, wrong)
}

/** Undefined: it has none. */
export function readFlow(flow: AgentConfig['flow']): FlowSettings | undefined {
  const read = typeof flow === 'string' ? { mode: flow } : flow
  return read === undefined || read.mode === 'off' ? undefined : read
}

/** With the tools through which the conversation, or a task, would leave it. */
export function agentFlow(agent: AgentConfig, { agents }: TurnwireConfig): FlowOptions | undefined {
  const flow = readFlow(agent.flow)
  if (!flow) return undefined
  const guarded = new Set(
    agents.filter(other => isAsStrict(readFlow(other.flow), flow)).map(({ name }) => name),
  )
  const unguarded = (agent.tools ?? []).flatMap(({ name, toAgent }) =>
    toAgent === undefined || guarded.has(toAgent) ? [] : [name],
  )
  return { ...flow, unguarded, earlier: earlierTools(agent, agents) }
}

/** Their results may stand in a conversation that this agent goes on with. The log does not say which agent made a call. */
function earlierTools(agent: AgentConfig, agents: readonly AgentConfig[]): Map<string, Tool | 'disputed'> {
  const before = new Set<AgentConfig>([agent])
  for (const to of before)
    for (const from of agents) if (from.tools?.some(({ toAgent }) => toAgent === to.name)) before.add(from)
  const found = new Map<string, Tool | 'disputed'>()
  for (const { tools = [] } of before)
    for (const tool of tools) {
      const known = found.get(tool.name) ?? tool
      const isSame = known !== 'disputed' && sourceLabels(known) === sourceLabels(tool)
      found.set(tool.name, isSame ? known : 'disputed')
    }
  return found
}

/** What decides how far a result is trusted. */
function sourceLabels({ flow, readOnly }: Tool): string {
  const { output, outsiders, effect, record, creates, stated } = flow ?? {}
  return JSON.stringify([readOnly, output, outsiders, effect, record, creates, stated])
}

/** Every call that asks under `flow` asks under the other too. */
function isAsStrict(other: FlowSettings | undefined, flow: FlowSettings): boolean {
  if (!other || (flow.mode === 'strict' && other.mode !== 'strict')) return false
  return other.mode === 'strict' || !flow.declare || other.declare === true
}
