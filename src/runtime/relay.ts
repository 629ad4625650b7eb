// Joins the relay with the server: its routes and sockets, the agent of the engine that stands for attached ones, and what
// those cost. The relay itself is loaded only when it is configured.
import type { PaymentRecord } from '../language/payments.ts'
import type { JsonObject } from '../lib/json.ts'
import type { PaymentDesk } from '../payments/index.ts'
import { defaultValidSeconds } from '../payments/offers.ts'
import type { RelayServer } from '../relay/server/index.ts'
import type { WireHost } from '../wires/host.ts'
import { buildAgents } from './build-agent.ts'
import type { Runtime } from './runtime.ts'
import type { UpgradeRoute } from './upgrades.ts'

export type OpenRelay = {
  server: RelayServer
  sockets: UpgradeRoute[]
  /** From here on it serves. `desk`: takes payments for its agents. */
  join(desk: PaymentDesk | undefined): RelayServer
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
    name: () => runtime.address ?? 'Turnwire',
    feeBps: payments?.terminal?.feeBps,
    ...(payments && { validSeconds: payments.validSeconds ?? defaultValidSeconds }),
  })
  const own = { name: attachedAgent, model: server.model(''), limits: { time: answerMs(settings) } }
  const [agent] = buildAgents({ agents: [own], ...(policy && { policy }) }, log)
  if (agent) runtime.addUnlisted({ ...agent, model: ({ model = '' }) => server.model(model) })
  runtime.priceSource ??= server.prices
  return {
    server,
    sockets: ['/', '/relay'].map(path => socketAt(path, server)),
    join(desk) {
      if (desk) server.earnings = agentId => earningsOf(desk, agentId)
      return server
    },
  }
}

/** Machines name no path, so they are at the root; /relay is for servers behind a proxy that has its own root. */
function socketAt(path: string, relay: RelayServer): UpgradeRoute {
  return { path, anonymous: true, open: ({ socket, request }) => relay.open(socket, request.socket) }
}

/** Payments that are looked at, newest first. */
const mostPayments = 10_000

/** What was paid for an agent's answers, less the fee; of what is still on its way only the number. */
async function earningsOf({ ledger, config }: PaymentDesk, agentId: string): Promise<JsonObject> {
  let looked = 0
  let amount = 0n
  const count = { settled: 0, pending: 0 }
  for await (const { record } of ledger.list(null)) {
    if (++looked > mostPayments) break
    if (record.provider !== agentId) continue
    if (record.state === 'settled') {
      count.settled += 1
      amount += earned(record)
    } else if (record.open) count.pending += 1
  }
  const { network, asset } = config
  return {
    network,
    asset: asset.address,
    amount: String(amount),
    payments: count.settled,
    pending: count.pending,
  }
}

function earned({ amount = '0', fee = '0' }: PaymentRecord): bigint {
  return BigInt(amount) - BigInt(fee)
}
