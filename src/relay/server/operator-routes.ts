// The attached agents for the operator of the relay: their public data, and their earnings.
import type { Context, Hono } from 'hono'
import type { RouteHost, WireEnv } from '../../callers/caller.ts'
import type { Registry } from './registry.ts'
import { describe, type Earnings, pageIn } from './routes.ts'

export type OperatorRoutes = {
  routes: RouteHost
  registry: Registry
  /** Asks the other nodes for their attached agents. */
  look: () => Promise<void>
  /** Undefined: nothing is paid for here. */
  earnings: () => Earnings | undefined
}

export function relayOperatorRoutes(relay: OperatorRoutes): Hono<WireEnv> {
  const app = relay.routes.app()
  app.get('/operator/relay', c => listAgents(c, relay))
  return app
}

async function listAgents(c: Context<WireEnv>, relay: OperatorRoutes): Promise<Response> {
  const { routes, registry, look, earnings } = relay
  routes.requireOperator(c)
  await look()
  const { agents, next } = pageIn(c, registry)
  const earned = await earnings()?.all()
  const shown = agents.map(agent => ({
    ...describe(registry, agent),
    ...(earned && { earned: earned.get(agent.agentId) ?? [] }),
  }))
  return routes.send(c, { agents: shown, ...(next !== undefined && { next }) })
}
