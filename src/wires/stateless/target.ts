// Finds what the `model` of a stateless request names: an agent, or a configured model, which answers as the first
// agent. Also says who made the blocks that only their maker can read: a client's history does not say so.
import type { AgentInfo, EngineDescription, ModelInfo, OnceRequest } from '../../engine/index.ts'
import type { Origin } from '../../language/content.ts'
import { isModelPattern, modelKey } from '../../language/model-names.ts'

export type ModelTarget = {
  /** As the client wrote it. */
  name: string
  agent: AgentInfo
  model: ModelInfo
  request: Pick<OnceRequest, 'agent' | 'model'>
}

export function findTarget({ agents, models }: EngineDescription, name: string): ModelTarget | undefined {
  const own = agents.find(agent => agent.name === name)
  if (own) return { name, agent: own, model: own.model, request: { agent: name } }
  const [agent] = agents
  const model = modelInfo({ models }, name)
  return agent && model && { name, agent, model, request: { agent: agent.name, model: name } }
}

/** The configured model that a name means, also by a pattern. */
export function modelInfo(
  { models }: Pick<EngineDescription, 'models'>,
  name: string,
): ModelInfo | undefined {
  const key = modelKey(models, name)
  return key === undefined ? undefined : models[key]
}

/** The names that a list of models shows, agents first. Patterns are not among them. */
export function targetNames({ agents, models }: EngineDescription): string[] {
  return [
    ...new Set([
      ...agents.map(agent => agent.name),
      ...Object.keys(models).filter(name => !isModelPattern(name)),
    ]),
  ]
}

/** The maker of this protocol's blocks in a client's history. Undefined: the model cannot be given them back. */
export function originFor({ model }: ModelTarget, protocol: string): Origin | undefined {
  return model.origin?.protocol === protocol ? model.origin : undefined
}
