// Finds what the `model` of a stateless request names: an agent, or a configured model, which answers as the first
// agent. Also says who made the blocks that only their maker can read: a client's history does not say so.
import type { AgentInfo, EngineDescription, ModelInfo, OnceRequest } from '../../engine/index.ts'
import type { Origin } from '../../language/content.ts'
import { isModelPattern, modelKey } from '../../language/model-names.ts'
import type { ServedDescription } from '../host.ts'

export type ModelTarget = {
  /** As the client wrote it. */
  name: string
  agent: AgentInfo
  model: ModelInfo
  request: Pick<OnceRequest, 'agent' | 'model'>
}

/** The agents and models that a request may name. */
type Catalog = Pick<ServedDescription, 'agents' | 'models' | 'anyModel'>

export function findTarget({ agents, models }: Catalog, name: string): ModelTarget | undefined {
  const own = agents.find(agent => agent.name === name)
  if (own) return { name, agent: own, model: own.model, request: { agent: name } }
  const [agent] = agents
  const model = modelInfo({ models }, name)
  return agent && model && { name, agent, model, request: { agent: agent.name, model: name } }
}

/** The target of a request: with one agent and `anyModel` a name that is not known means the agent. */
export function targetFor(catalog: Catalog, name: string): ModelTarget | undefined {
  const { agents, anyModel } = catalog
  const found = findTarget(catalog, name)
  const [only] = agents
  if (found || !anyModel || !only || agents.length > 1) return found
  return { name, agent: only, model: only.model, request: { agent: only.name } }
}

const mostNamed = 20

/** Advice for a request with an unknown name: the names that are known. */
export function adviceFor(catalog: Catalog): string {
  const names = targetNames(catalog)
  const more = names.length > mostNamed ? `, and ${names.length - mostNamed} more` : ''
  const known =
    names.length === 0
      ? 'This server has no agent of its own. On a relay name an attached one with agent_id, or give routing.'
      : `Known here: ${names.slice(0, mostNamed).join(', ')}${more}.`
  const setting =
    catalog.agents.length === 1 && !catalog.anyModel
      ? ' With the setting server.anyModel: true its one agent answers to every name.'
      : ''
  return `${known}${setting}`
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
export function targetNames({ agents, models }: Catalog): string[] {
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
