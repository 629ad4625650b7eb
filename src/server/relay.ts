// Joins the relay with the server: its routes and sockets, the engine's agent that stands for all attached agents, and
// their prices. The relay itself is loaded only when it is configured.

import { buildAgents } from '../config/build-agent.ts'
import { modelKey } from '../language/model-names.ts'
import type { PaymentDesk } from '../payments/index.ts'
import { PaidRequest } from '../payments/paid-request.ts'
import { defaultValidSeconds } from '../payments/terms.ts'
import { RelayEarnings } from '../relay/server/earnings.ts'
import type { RelayServer } from '../relay/server/index.ts'
import type { Runtime } from '../runtime.ts'
import type { WireHost } from '../wires/host.ts'
import type { UpgradeRoute } from '../wires/wire.ts'

export type OpenRelay = {
  server: RelayServer
  sockets: UpgradeRoute[]
  /** From here on it serves. `desk`: takes payments for its agents. */
  join(desk: PaymentDesk | undefined): RelayServer
  close(): void
}

/** Undefined: none is configured. */
export async function openRelay(
  runtime: Runtime,
  limits: WireHost['limits'],
): Promise<OpenRelay | undefined> {
  const { config, log } = runtime
  const { relay: settings, policy, payments } = config
  if (!settings) return undefined
  const { RelayServer, attachedAgent, answerMs } = await import('../relay/server/index.ts')
  const server = new RelayServer({
    config: settings,
    host: { log, limits, sign: text => runtime.vault.sign(text) },
    isLocal: name => config.agents.some(agent => agent.name === name),
    isNamed: name =>
      config.agents.some(agent => agent.name === name) || modelKey(config.models ?? {}, name) !== undefined,
    // An agent of its own comes first.
    anyModel: config.agents.length === 0 && (config.server?.anyModel ?? true),
    name: () => runtime.address ?? 'Turnwire',
    feeBps: payments?.terminal?.feeBps,
    ...(payments && { validSeconds: payments.validSeconds ?? defaultValidSeconds }),
  })
  const own = { name: attachedAgent, model: server.model(), limits: { time: answerMs(settings) } }
  const [agent] = buildAgents({ agents: [own], ...(policy && { policy }) }, log)
  if (agent) runtime.addUnlisted(agent)
  runtime.priceSource ??= server.prices
  const { node } = runtime
  // A node without an address works alone.
  const leaveNodes = node?.address === undefined ? undefined : await joinNodes(server, node)
  return {
    server,
    sockets: ['/', '/relay'].map(path => socketAt(path, server)),
    join(desk) {
      if (desk) {
        server.earnings = new RelayEarnings(desk)
        server.isPaidFor = async payment => payment instanceof PaidRequest && desk.isTaken(payment)
      }
      return server
    },
    close() {
      leaveNodes?.()
      server.close()
    },
  }
}

/** Machines that are attached to other nodes are reached too. */
async function joinNodes(server: RelayServer, node: NonNullable<Runtime['node']>): Promise<() => void> {
  const { RelayNodes } = await import('../relay/server/nodes.ts')
  const nodes = new RelayNodes(server, node)
  return () => nodes.close()
}

/** Machines name no path, so they are at the root; /relay is for servers behind a proxy that has its own root. */
function socketAt(path: string, relay: RelayServer): UpgradeRoute {
  return { path, anonymous: true, open: ({ socket, request }) => relay.open(socket, request.socket) }
}
