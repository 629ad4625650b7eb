// Agents and models as plain data, for readers outside the engine.
import type { AgentInfo, ModelInfo } from './boundary.ts'
import type { Agent, Model, Tool } from './ports.ts'

export function describeAgent(agent: Agent, modelName?: string): AgentInfo {
  const {
    gate: _gate,
    limits: _limits,
    compaction: _compaction,
    hosted: _hosted,
    model,
    tools,
    ...rest
  } = agent
  const own = modelInfo(model({ tools: null, options: {}, clientTools: [] }))
  return structuredClone({
    ...rest,
    options: [...agent.options],
    tools: tools.map(describeTool),
    model: modelName === undefined ? own : { ...own, name: modelName },
  })
}

function describeTool(tool: Tool): AgentInfo['tools'][number] {
  const { run: _run, timeoutMs: _timeout, retries: _retries, outputLimit: _limit, ...declaration } = tool
  return declaration
}

export function modelInfo({ id, origin, contextTokens }: Model): ModelInfo {
  return { id, ...(origin && { origin }), ...(contextTokens !== undefined && { contextTokens }) }
}
