// Which requests of the Responses wire are for attached agents, and how they are put. A relayed request is decoded and
// encoded by the wire as any other that is not stored. It names one agent of the engine, which stands for all attached
// ones; a field of the request names its target.
import { exclusiveParameters, missingParameter, noSuchAgent } from '../../apis/openai/refusal.ts'
import type { Principal, RelayedTarget } from '../../callers/caller.ts'
import type { AgentInfo } from '../../engine/index.ts'
import { optional } from '../../lib/json/fields.ts'
import type { JsonObject } from '../../lib/json/index.ts'
import { checkRelayedBody, field, optionalText } from '../request.ts'
import type { RelayedTo } from './model.ts'
import type { Route } from './registry.ts'

/** The agent that stands for all attached ones. No configured agent can have this name, and no list shows it. */
export const attachedAgent = 'relay/attached'

/** Decides nothing: who may call what is up to policy on the client's side. */
const info: AgentInfo = {
  name: attachedAgent,
  version: '1.0.0',
  tools: [],
  options: [],
  choice: 'auto',
  parallel: true,
  clientTools: true,
  fullHistory: true,
  images: { http: false, data: true },
  model: { id: 'relay' },
}

export type TargetOptions = {
  /** The agents of this server: requests that name one are not for the relay. */
  isLocal: (agent: string) => boolean
  /** Whether a model name is that of one of this server's own agents or models, by name or by pattern. */
  isNamed: (model: string) => boolean
  /** The attached agent that answers to unknown model names. Undefined: there is none, or more than one. */
  only: () => Promise<string | undefined>
  /** Whether an agent with this id is or may soon be attached, or has answered this very request before. */
  isKnown: (agentId: string) => Promise<boolean>
}

const routings = ['cheapest', 'fastest'] as const

/** Undefined: the request is for an agent of this server. `routed`: the agent that the path names. */
export async function relayedTarget(
  options: TargetOptions,
  body: JsonObject,
  routed: string | undefined,
  { wallet }: Principal,
): Promise<RelayedTarget | undefined> {
  const { agent_id: _, routing: __, previous_response_id: ___, ...rest } = body
  const asking = optionalText(body, 'model')
  const isUnknown = asking !== undefined && wallet === undefined && !options.isNamed(asking)
  const given = routed ?? optionalText(body, 'agent_id')
  const isFree = given === undefined && body['routing'] === undefined
  const named = isFree && isUnknown ? await options.only() : given
  const routing = optional(body['routing'], 'routing', (value, path) => field.oneOf(value, path, routings))
  if (named !== undefined && routing !== undefined) exclusiveParameters('agent_id', 'routing')
  const isLocal = routing === undefined && (named === undefined || options.isLocal(named))
  if (wallet === undefined && isLocal) return undefined
  checkRelayedBody(body)
  const model = optionalText(body, 'model')
  if (model === undefined) throw missingParameter('model')
  const route = parseRoute(named, routing, wallet === undefined ? undefined : model)
  if (typeof route === 'object' && !(await options.isKnown(route.agentId))) throw noSuchAgent(route.agentId)
  const stream = optional(body['stream'], 'stream', field.flag) ?? false
  const to: RelayedTo = { route, model: wallet === undefined ? model : 'default', stream }
  return {
    agent: attachedAgent,
    to,
    body: { ...rest, store: false },
    offers: { about: { agents: [info], models: {} }, serverTools: new Set() },
    shown: model,
  }
}

/** `address`: the request's model names its target, because the caller signed in with a wallet. */
function parseRoute(
  named: string | undefined,
  routing: 'cheapest' | 'fastest' | undefined,
  address: string | undefined,
): Route {
  if (routing !== undefined) return routing
  const agentId = named ?? address
  return agentId === undefined || (named === undefined && agentId === 'auto')
    ? 'cheapest'
    : { agentId: agentId.toLowerCase() }
}
