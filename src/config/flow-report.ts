// What an agent's tools can do together: which bring text that outsiders wrote, which read what is private, which act. Where
// all three meet with nobody asked, a text can have data sent elsewhere. From the configuration and labels alone; tools of
// MCP servers are known once they are connected, and are not looked at here.
import type { Tool } from '../engine/ports/index.ts'
import type { AgentFlowReport, FlowMode } from '../language/flow.ts'
import { namesMatcher, type PolicyRule, resolveLabels } from '../policy/index.ts'
import type { AgentConfig, TurnwireConfig } from './config.ts'
import { readFlow } from './flow.ts'

const mostPaths = 20

type Known = { name: string; tool: Tool; isUnasked: boolean }

export function reportFlow(config: TurnwireConfig): AgentFlowReport[] {
  return config.agents.map(agent => reportAgent(agent, config))
}

function reportAgent(agent: AgentConfig, config: TurnwireConfig): AgentFlowReport {
  const known = collectTools(agent, config, new Set([agent.name]))
  const names = (tools: readonly Known[]): string[] => tools.map(({ name }) => name)
  const untrusted = known.filter(({ tool }) => tool.toAgent === undefined && !resolveLabels(tool).trusted)
  const secret = known.filter(({ tool }) => resolveLabels(tool).private || isUnlabelledRead(tool))
  const acting = known.filter(({ tool }) => resolveLabels(tool).acts)
  const unasked = acting.filter(({ isUnasked }) => isUnasked)
  const paths = findPaths(names(untrusted), names(secret), names(unasked))
  const report = {
    agent: agent.name,
    mode: readFlow(agent.flow)?.mode ?? (agent.flow === undefined ? 'off' : readMode(agent)),
    untrusted: names(untrusted),
    private: names(secret),
    acting: names(acting),
    unasked: names(unasked),
    unlabelled: names(known.filter(({ tool }) => tool.flow === undefined)),
    paths: paths.slice(0, mostPaths),
    pathCount: paths.length,
    servers: Object.keys(config.mcp ?? {}).filter(server => agent.mcpServers?.includes(server) ?? true),
  }
  return { ...report, ...(paths.length > 0 && { closedBy: closingRule(report) }) }
}

function readMode({ flow }: AgentConfig): FlowMode {
  if (typeof flow === 'string') return flow
  return flow?.mode ?? 'warrants'
}

/** What nobody labelled may be private. */
function isUnlabelledRead({ flow, readOnly }: Tool): boolean {
  return flow === undefined && readOnly
}

/** Its own tools, and those of agents that it has work for it or goes on as. */
function collectTools(agent: AgentConfig, config: TurnwireConfig, seen: Set<string>, prefix = ''): Known[] {
  const isGuarded = readFlow(agent.flow) !== undefined
  const rules = [...(agent.rules ?? []), ...(config.policy?.rules ?? [])]
  return (agent.tools ?? []).flatMap(tool => {
    const isUnasked = tool.trust !== 'deny' && mayRunUnasked(rules, tool, agent.name, isGuarded)
    const own: Known = { name: `${prefix}${tool.name}`, tool, isUnasked }
    const other = config.agents.find(({ name }) => name === tool.toAgent)
    if (!other || seen.has(other.name)) return [own]
    seen.add(other.name)
    return [own, ...collectTools(other, config, seen, `${other.name}/`)]
  })
}

/** Whether a call can run without a warrant and with nobody asked. A condition may hold, or not. */
function mayRunUnasked(rules: readonly PolicyRule[], tool: Tool, agent: string, isGuarded: boolean): boolean {
  for (const rule of rules) {
    // Without flow control every call counts as warranted.
    if (!fits(rule, tool, agent) || rule.warranted === isGuarded) continue
    const isAllowed = rule.then === 'allow' && (!isGuarded || rule.warranted === false)
    if (isAllowed) return true
    if (isAlways(rule)) return false
  }
  return !isGuarded && tool.trust === 'trusted'
}

function fits(
  { tool: names, agent: agents, kind, readOnly, destructive }: PolicyRule,
  tool: Tool,
  agent: string,
) {
  return (
    (names === undefined || namesMatcher(names)(tool.name)) &&
    (agents === undefined || namesMatcher(agents)(agent)) &&
    (kind === undefined || [kind].flat().includes(tool.kind)) &&
    (readOnly === undefined || readOnly === tool.readOnly) &&
    (destructive === undefined || destructive === tool.destructive)
  )
}

function isAlways({ when, rate, args, after, notAfter, then, owner }: PolicyRule): boolean {
  return !when && !rate && !args && !after && !notAfter && typeof then === 'string' && owner === undefined
}

function findPaths(untrusted: string[], secret: string[], acting: string[]): string[][] {
  const found = new Map<string, string[]>()
  for (const from of untrusted)
    for (const data of secret)
      for (const to of acting) {
        const path = [...new Set([from, data, to])]
        found.set(path.join(' '), path)
      }
  return [...found.values()]
}

/** How to close the paths of an agent, in the words of a configuration. */
function closingRule({ mode, unasked }: Pick<AgentFlowReport, 'mode' | 'unasked'>): string {
  const names = unasked.map(name => name.split('/').at(-1) ?? name)
  const tools = [...new Set(names)].map(name => `'${name}'`).join(', ')
  const own = unasked.some(name => !name.includes('/'))
  const flow =
    mode === 'off'
      ? "flow: 'warrants' for this agent"
      : own
        ? 'no rule with warranted: false that allows them'
        : "flow: 'warrants' for the agents that it uses"
  return `${flow}, or the rule { tool: [${tools}], then: 'ask' } before others`
}
