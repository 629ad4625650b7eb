// Whom a stateless request is for. Its `model` is the name of an agent, or of a configured model, which then answers
// as the first agent. Also who signs what a model makes: blocks that only their maker can read go back to it alone, and
// a caller's history does not say who made them.
import type { Agent, Model } from '../../engine/index.ts'
import type { Origin } from '../../language/content.ts'
import type { Settings } from '../../language/events.ts'
import type { WireHost } from '../host.ts'

export type Target = {
  /** As the caller wrote it. */
  name: string
  agent: Agent
  model: Model
  /** Goes into the settings: which configured model is meant, when it is not the agent's own. */
  settings: Pick<Settings, 'model'>
}

const plain: Settings = { tools: null, options: {}, clientTools: [] }

type Directory = Pick<WireHost, 'ephemeral' | 'agents' | 'models'>

/** Undefined when there is neither an agent nor a model of this name. */
export function findTarget({ ephemeral, agents, models }: Directory, name: string): Target | undefined {
  const own = ephemeral.ports.agent(name)
  if (own) return { name, agent: own, model: own.model(plain), settings: {} }
  const [first] = agents
  const agent = first && models.includes(name) ? ephemeral.ports.agent(first.name) : undefined
  return agent && { name, agent, model: agent.model({ ...plain, model: name }), settings: { model: name } }
}

/** Every name that a request may give, agents first. */
export function targetNames({ agents, models }: Pick<Directory, 'agents' | 'models'>): string[] {
  return [...new Set([...agents.map(agent => agent.name), ...models])]
}

/** Who made the blocks of this protocol in a caller's history, as far as they can go back to this model. */
export function originFor({ origin }: Model, protocol: string): Origin | undefined {
  return origin?.protocol === protocol ? origin : undefined
}
