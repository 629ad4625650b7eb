// Joins the relay with the server: its routes and sockets, and the agent of the engine that stands for attached ones. The
// relay itself is loaded only when it is configured.
import type { RelayServer } from '../relay/server/index.ts'
import type { WireHost } from '../wires/host.ts'
import { buildAgents } from './build-agent.ts'
import type { Runtime } from './runtime.ts'
import type { UpgradeRoute } from './upgrades.ts'

export type OpenRelay = { server: RelayServer; sockets: UpgradeRoute[] }

/** Undefined: none is configured. */
export async function openRelay(runtime: Runtime, host: WireHost): Promise<OpenRelay | undefined> {
  const { config, log } = runtime
  const { relay: settings, policy } = config
  if (!settings) return undefined
  const { RelayServer, attachedAgent, answerMs } = await import('../relay/server/index.ts')
  const relay = new RelayServer({
    config: settings,
    host,
    isLocal: name => config.agents.some(agent => agent.name === name),
    name: () => runtime.address ?? 'Turnwire',
  })
  const own = { name: attachedAgent, model: relay.model(''), limits: { time: answerMs(settings) } }
  const [agent] = buildAgents({ agents: [own], ...(policy && { policy }) }, log)
  if (agent) runtime.addUnlisted({ ...agent, model: ({ model = '' }) => relay.model(model) })
  return { server: relay, sockets: ['/', '/relay'].map(path => socketAt(path, relay)) }
}

/** Machines name no path, so they are at the root; /relay is for servers behind a proxy that has its own root. */
function socketAt(path: string, relay: RelayServer): UpgradeRoute {
  return { path, anonymous: true, open: ({ socket }) => relay.open(socket) }
}
