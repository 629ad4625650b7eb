// Makes the engine's agents from a configuration.

import type { Agent, Tool } from '../engine/ports/index.ts'
import { hostedApproval } from '../language/tools.ts'
import { pickPresent } from '../lib/json/present.ts'
import { describeSchema } from '../lib/schema/standard.ts'
import type { Log } from '../log.ts'
import { checkBudgets, checkLimits, checkTurnBudget } from '../policy/index.ts'
import { codeTool, hostedApprovalTool, planTool } from '../tools/index.ts'
import type { KeptServers } from '../tools/mcp/index.ts'
import { agentGate, openRulesFile } from './agent-gate.ts'
import { agentSearch } from './agent-search.ts'
import type { AgentConfig, TurnwireConfig } from './config.ts'
import { readFlow } from './flow.ts'
import { agentServers } from './mcp-servers.ts'
import { modelNamed, namedModels } from './named-models.ts'
import type { RulesFile } from './rules-file.ts'

/** An agent as an owner has it is made anew when more owners than this use it. */
const mostOwners = 10_000
/** Of one turn. */
const CALLS_AT_ONCE = 16

/** `mcp`: the servers whose tools agents have. Without them agents have their own tools only. */
export function buildAgents(
  config: TurnwireConfig,
  log: Log,
  mcp?: KeptServers,
  file = openRulesFile(config, log),
): Agent[] {
  return config.agents.map(agent => buildAgent(agent, config, log, mcp, file))
}

function buildAgent(
  agent: AgentConfig,
  config: TurnwireConfig,
  log: Log,
  mcp: KeptServers | undefined,
  file: RulesFile | undefined,
): Agent {
  const { policy: { redact = [] } = {} } = config
  const models = namedModels(config)
  const own = typeof agent.model === 'string' ? modelNamed(models, agent.model) : agent.model
  const mayAsk = [own, ...Object.values(models)].some(model => model.asksApproval)
  const code = agent.code === true ? {} : agent.code || undefined
  const search = agentSearch(agent, log)
  const fixed = fixedTools(agent, mayAsk, search?.tool)
  const servers = mcp ? agentServers(config, agent.name) : []
  const changing = mcp && servers.length > 0 ? joined(fixed, () => mcp.tools(servers)) : undefined
  const tools = search ? search.following(changing ?? (() => fixed)) : changing
  const limits = checkLimits({ ...config.limits, ...agent.limits })
  const budgets = checkBudgets({ ...config.budgets, ...agent.budgets })
  if (budgets) checkTurnBudget(budgets, limits)
  const built: Agent = {
    name: agent.name,
    version: agent.version ?? '1.0.0',
    ...pickPresent(agent, ['title', 'description', 'system', 'maxTokens', 'compaction']),
    ...(agent.answer && {
      format: { type: 'schema' as const, schema: describeSchema(agent.answer).json, strict: true },
    }),
    tools: fixed,
    ...(code?.only && { callersOf: readCallers(code.only) }),
    ...(search && { search: search.rule }),
    options: agent.options ?? [],
    gate: agentGate(agent, config, log, file),
    limits,
    ...(budgets && { budgets }),
    choice: agent.choice ?? 'auto',
    parallel: agent.parallel ?? true,
    callsAtOnce: agent.callsAtOnce ?? CALLS_AT_ONCE,
    clientTools: agent.clientTools ?? true,
    ...(agent.agentGrants && { agentGrants: true }),
    fullHistory: redact.length === 0,
    images: { http: agent.images?.http ?? true, data: agent.images?.data ?? true },
    model: settings => (settings.model === undefined ? own : modelNamed(models, settings.model)),
  }
  if (tools) Object.defineProperty(built, 'tools', { get: tools, enumerable: true })
  if (!mcp?.differByOwner(servers)) return built
  const follow = (list: () => readonly Tool[]): (() => readonly Tool[]) =>
    search ? search.following(list) : list
  return byOwner(built, {
    tools: owner => follow(beside(changing ?? (() => fixed), () => mcp.ownerTools(servers, owner))),
    ready: owner => mcp.ready(servers, owner),
  })
}

/** An agent of which each owner has other tools. The one that is given shows the tools of nobody in particular. */
function byOwner(
  built: Agent,
  owners: {
    tools: (owner: string | undefined) => () => readonly Tool[]
    ready: (owner: string) => Promise<unknown> | undefined
  },
): Agent {
  const kept = new Map<string, Agent>()
  const make = (owner: string): Agent =>
    Object.defineProperty({ ...built, ready: () => owners.ready(owner) }, 'tools', {
      get: owners.tools(owner),
      enumerable: true,
    })
  Object.defineProperty(built, 'tools', { get: owners.tools(undefined), enumerable: true })
  return Object.assign(built, {
    forOwner(owner: string): Agent {
      const known = kept.get(owner) ?? make(owner)
      // The one that was used last stands at the end.
      kept.delete(owner)
      kept.set(owner, known)
      if (kept.size > mostOwners) kept.delete(kept.keys().next().value ?? '')
      return known
    },
  })
}

/** All but those of MCP servers. `mayAsk`: a vendor may ask before it runs a tool of its own. */
function fixedTools(
  { tools = [], code, flow }: AgentConfig,
  mayAsk: boolean,
  search: Tool | undefined,
): Tool[] {
  const plan = readFlow(flow)?.declare ? [planTool()] : []
  const programs = code ? [codeTool(code === true ? {} : code)] : []
  return [
    ...tools,
    ...programs,
    ...plan,
    ...(mayAsk ? [hostedApprovalTool()] : []),
    ...(search ? [search] : []),
  ]
}

/** Tools that programs alone may call. Those that run programs, and those that answer a vendor, are for the model. */
function readCallers(only: true | readonly string[]): NonNullable<Agent['callersOf']> {
  const names = only === true ? undefined : new Set(only)
  const isMeant = ({ name, callers, finds }: Tool): boolean =>
    names ? names.has(name) : name !== hostedApproval && callers === undefined && !finds
  return tool => (isMeant(tool) ? ['code'] : undefined)
}

/** One list of both, made anew only when the second is another. */
function joined(fixed: readonly Tool[], kept: () => readonly Tool[]): () => readonly Tool[] {
  let last: { kept: readonly Tool[]; all: readonly Tool[] } | undefined
  return () => {
    const now = kept()
    if (last?.kept !== now) last = { kept: now, all: [...fixed, ...now] }
    return last.all
  }
}

/** The first list and then the others, made anew only when one of them is another. */
function beside(
  first: () => readonly Tool[],
  others: () => readonly (readonly Tool[])[],
): () => readonly Tool[] {
  let last: { lists: readonly (readonly Tool[])[]; all: readonly Tool[] } | undefined
  return () => {
    const lists = [first(), ...others()]
    if (!last || lists.some((list, index) => list !== last?.lists[index])) last = { lists, all: lists.flat() }
    return last.all
  }
}
