// Warns once, when a process starts, of tools that an agent's model will never be offered, or not as they were
// declared. Only tools that ask for something special are looked at, so that thousands of others cost nothing.
import type { Agent, Model } from '../engine/ports/index.ts'
import type { Log } from '../log.ts'
import { preparedFor } from '../models/index.ts'

export function warnOfTools(agents: readonly Agent[], log: Log): void {
  for (const agent of agents) {
    const model = agent.model({ tools: null, options: {}, clientTools: [] })
    const { length } = agent.tools
    if (!agent.search && model.mostTools !== undefined && length > model.mostTools)
      log('error', 'An agent has more tools than its model takes: the last ones are never offered.', {
        agent: agent.name,
        model: model.id,
        tools: length,
        taken: model.mostTools,
        missing: agent.tools
          .slice(model.mostTools)
          .map(({ name }) => name)
          .slice(0, 20),
      })
    for (const { name, warnings = [] } of agent.tools)
      for (const warning of warnings)
        log('warn', 'A tool may not be declared as it is meant.', { agent: agent.name, tool: name, warning })
    for (const warning of strictWarnings(agent, model))
      log('warn', 'A tool cannot be declared as it asks.', { agent: agent.name, model: model.id, warning })
  }
}

function strictWarnings(agent: Agent, model: Model): string[] {
  const tools = agent.tools.filter(({ input }) => input.form === 'json' && input.strict === true)
  if (tools.length === 0) return []
  const request = { session: '', history: [], tools, choice: 'auto', parallel: true, options: {} } as const
  return preparedFor(model, request)?.warnings.filter(warning => warning.includes('strict')) ?? []
}
