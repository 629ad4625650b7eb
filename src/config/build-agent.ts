// Makes the engine's agents from a configuration.

import type { Agent, Model, Tool } from '../engine/ports/index.ts'
import { TurnwireError } from '../language/errors.ts'
import { modelKey } from '../language/model-names.ts'
import { hostedApproval } from '../language/tools.ts'
import { pickPresent } from '../lib/json/present.ts'
import { describeSchema } from '../lib/schema/standard.ts'
import type { Log } from '../log.ts'
import { checkBudgets, checkLimits } from '../policy/index.ts'
import { codeTool, hostedApprovalTool, planTool } from '../tools/index.ts'
import type { KeptServers } from '../tools/mcp/index.ts'
import { agentGate, openRulesFile } from './agent-gate.ts'
import { agentSearch } from './agent-search.ts'
import type { AgentConfig, TurnwireConfig } from './config.ts'
import { readFlow } from './flow.ts'
import { agentServers } from './mcp-servers.ts'
import { namedModels } from './named-models.ts'
import type { RulesFile } from './rules-file.ts'

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
  const budgets = checkBudgets({ ...config.budgets, ...agent.budgets })
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
    limits: checkLimits({ ...config.limits, ...agent.limits }),
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
  return tools ? Object.defineProperty(built, 'tools', { get: tools, enumerable: true }) : built
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

function modelNamed(models: Readonly<Record<string, Model>>, name: string): Model {
  const key = modelKey(models, name)
  const model = key === undefined ? undefined : models[key]
  if (!model) throw new TurnwireError('unknown_model', `There is no model named "${name}".`)
  return model
}
