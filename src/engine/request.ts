// What a model is asked next, from a session as it stands: the agent's own words and limits, and over them what the
// session's settings say. It asks nobody.
import type { Agent, ModelRequest } from './ports.ts'
import type { SessionState } from './state.ts'

/** `offered`: the tools, and the options with their secrets opened. */
export function requestOf(
  agent: Agent,
  state: SessionState,
  offered: Pick<ModelRequest, 'tools' | 'options'>,
): ModelRequest {
  const ask = state.turn?.ask ?? {}
  const system = joinText(agent.system, ask.system)
  // The caller may ask for less than the operator allows, never for more.
  const maxTokens = least(ask.maxTokens, agent.maxTokens)
  const request: ModelRequest = {
    session: state.id,
    history: state.view,
    tools: offered.tools,
    choice: ask.choice ?? agent.choice,
    parallel: ask.parallel ?? agent.parallel,
    options: offered.options,
  }
  if (system !== undefined) request.system = system
  if (maxTokens !== undefined) request.maxTokens = maxTokens
  if (agent.hosted === false || ask.clientOnly) request.hosted = false
  if (ask.body) request.body = ask.body
  return request
}

function least(first: number | undefined, second: number | undefined): number | undefined {
  return first === undefined || second === undefined ? (first ?? second) : Math.min(first, second)
}

function joinText(first: string | undefined, second: string | undefined): string | undefined {
  if (!first || !second) return first || second || undefined
  return `${first}\n\n${second}`
}
