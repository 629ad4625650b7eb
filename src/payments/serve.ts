// Payments as the server has them: the facilitator, the desk, the engines that wires are given, and the routes. Loaded only when
// payments are configured. `source` gives prices that the configuration does not know: see price.ts.
import { randomUUID } from 'node:crypto'
import type { Context, Hono, MiddlewareHandler } from 'hono'
import type { Caller, Principal, RouteHost, WireEnv } from '../callers/caller.ts'
import type { WorkLimits } from '../callers/owner-limits.ts'
import type { Engine } from '../engine/index.ts'
import { TurnwireError } from '../language/errors.ts'
import { anyWallet, isWallet } from '../language/payments.ts'
import { perToken, toSmallest } from './amounts.ts'
import { ChainEvidence } from './chain-evidence.ts'
import type { PaymentsConfig, PriceConfig } from './config.ts'
import { type DeskOptions, PaymentDesk } from './desk.ts'
import type { Facilitator } from './facilitator.ts'
import type { Workers } from './job.ts'
import { LocalFacilitator } from './local-facilitator.ts'
import { findChainId } from './networks.ts'
import { PaidEngine } from './paid-engine.ts'
import { PaidRequest } from './paid-request.ts'
import type { PaymentStore } from './port.ts'
import type { Price, PriceSource } from './price.ts'
import { RemoteFacilitator } from './remote-facilitator.ts'
import { listPayments, operatorPayments } from './report.ts'
import { paymentCrashPoints } from './settlement.ts'
import { challengeFor, SignIn, type SignInPorts } from './sign-in.ts'

/** The members of an agent that payments use. */
type PricedAgent = { name: string; price?: PriceConfig; serveMcp?: object }

/** The nodes of a cluster, as they were seen `ageMs` ago. */
type Nodes = { self: string; nodes: readonly { id: string; leftMs: number }[]; ageMs: number }

export type PaymentsSetup = {
  engine: Engine
  /** Undefined: the store of the configuration keeps none. */
  store: PaymentStore | undefined
  agents: readonly PricedAgent[]
  config: PaymentsConfig
  source?: PriceSource | undefined
  /** Undefined: no other process works on the same payments. */
  nodes?: () => Nodes | undefined
  /** Kills the process at one of these points, in tests. */
  killer?: (points: typeof paymentCrashPoints) => DeskOptions['crashPoint']
  log: DeskOptions['log']
}

export type PaymentsServer = {
  limits: WorkLimits
  routes: RouteHost
  vault: Omit<SignInPorts, 'now'>
  /** The server's public address. Undefined: the address of each request. */
  publicUrl: string | undefined
  /** Whether a request begins a turn. A caller without a key gets no further than those. */
  isPayable: (request: { method: string; path: string; header(name: string): string | undefined }) => boolean
}

export type Payments = {
  engineFor: (caller: Caller) => Engine
  desk: PaymentDesk
  middleware: MiddlewareHandler<WireEnv>
  /** The caller of a request that has no key and may pay. */
  bareCaller(c: Context<WireEnv>): Principal | undefined
  /** The caller of a wallet's token. */
  callerOf(token: string): Principal | undefined
  /** Mounted before keys are checked. */
  signInRoutes(): Hono<WireEnv>
  routes(): Hono<WireEnv>
  stop(): void
}

export async function startPayments(setup: PaymentsSetup, server: PaymentsServer): Promise<Payments> {
  const desk = await openDesk(setup)
  const signIn = new SignIn({ ...server.vault, now: Date.now })
  const { engine, agents } = setup
  desk.start()
  return {
    engineFor: caller => new PaidEngine(engine, server.limits, caller, desk),
    desk,
    middleware: attachPayment(server),
    bareCaller: c =>
      server.isPayable(c.req) && isForSale(agents, c.req.path)
        ? { owner: anyWallet, name: anyWallet }
        : undefined,
    callerOf: token => {
      const owner = signIn.owner(token)
      return owner === undefined ? undefined : { owner, name: owner }
    },
    signInRoutes: () => signInRoutes(server, signIn),
    routes: () => reportRoutes(server.routes, desk),
    stop: () => desk.stop(),
  }
}

export async function openDesk(setup: PaymentsSetup): Promise<PaymentDesk> {
  const { engine, store, agents, config, source, killer, log } = setup
  if (!store)
    throw new TurnwireError(
      'config_invalid',
      'Payments are configured, but the store of the configuration keeps none. Use a data folder, or PostgreSQL.',
    )
  const prices = new Map(agents.map(({ name, price }) => [name, price && agentPrice(price, config)]))
  return new PaymentDesk({
    ...{ engine, store, config, source, log },
    workers: workersIn(setup.nodes),
    facilitator: await openFacilitator(config),
    priceOf: agent => prices.get(agent),
    now: Date.now,
    crashPoint: killer?.(paymentCrashPoints) ?? (() => {}),
  })
}

/** The nodes of a cluster know which of them live. Any other process that worked on a payment is gone. */
function workersIn(nodes: PaymentsSetup['nodes']): Workers {
  return {
    self: nodes?.()?.self ?? randomUUID(),
    isAlive: worker => {
      const known = nodes?.()
      return known?.nodes.some(({ id, leftMs }) => id === worker && leftMs > known.ageMs) === true
    },
  }
}

async function openFacilitator(config: PaymentsConfig): Promise<Facilitator> {
  const { facilitator, network, asset, terminal, settleMs = 60_000 } = config
  if ('url' in facilitator) {
    const { url, headers, rpcUrl, confirmations } = facilitator
    const evidence =
      rpcUrl === undefined
        ? undefined
        : await ChainEvidence.open({
            rpcUrl,
            chainId: findChainId(network) ?? 0,
            ...(confirmations !== undefined && { confirmations }),
          })
    const options = { url, network, settleMs, ...(headers && { headers }) }
    return new RemoteFacilitator({ ...options, ...(evidence && { evidence }) })
  }
  return LocalFacilitator.open({
    ...facilitator,
    ...{ network, asset, settleMs },
    ...(terminal && { terminal }),
  })
}

/** The configuration was checked, so every text is a number that fits. */
function agentPrice(price: PriceConfig, { payTo, asset, terminal }: PaymentsConfig): Price {
  const { decimals = 6 } = asset
  const smallest = (text: string): string => toSmallest(text, decimals) ?? '0'
  const token = (text: string): string => perToken(text, decimals) ?? '0'
  return {
    payTo: price.payTo ?? payTo,
    ...(price.request !== undefined && { perRequest: smallest(price.request) }),
    ...(price.input !== undefined && { inputToken: token(price.input) }),
    ...(price.output !== undefined && { outputToken: token(price.output) }),
    ...(price.cap !== undefined && { cap: smallest(price.cap) }),
    ...(terminal?.feeBps !== undefined && { feeBps: terminal.feeBps }),
  }
}

// ---- requests ------------------------------------------------------------------------------------------------

/** Over MCP a caller lists an agent's tools before it calls. Callers without a key may list agents with a price. */
function isForSale(agents: readonly PricedAgent[], path: string): boolean {
  const [isMcp, name] = /^\/mcp(?:\/([^/]+))?$/.exec(path) ?? []
  if (isMcp === undefined) return true
  const served = agents.filter(({ serveMcp }) => serveMcp)
  const meant = name === undefined ? served : served.filter(agent => encodeURIComponent(agent.name) === name)
  return meant.length === 1 && meant[0]?.price !== undefined
}

/** Every request may pay. */
function attachPayment({ isPayable, publicUrl }: PaymentsServer): MiddlewareHandler<WireEnv> {
  return (c, next) => {
    const { outgoing } = c.env
    const { method, path } = c.req
    const request = new PaidRequest({
      ...{ owner: c.get('principal').owner, payable: isPayable(c.req), method, path },
      url: `${publicUrl ?? new URL(c.req.url).origin}${path}`,
      header: name => c.req.header(name),
      setHeader: (name, value) => void (outgoing.headersSent || outgoing.setHeader(name, value)),
      isAnswering: () => outgoing.headersSent,
    })
    if (request.bare) c.set('principal', { owner: request.owner, name: request.owner })
    c.set('payment', request)
    return next()
  }
}

const smallBody = 8 * 1024

function signInRoutes({ routes, vault }: PaymentsServer, signIn: SignIn): Hono<WireEnv> {
  const app = routes.app()
  app.get('/v1/wallet/challenge', c => {
    const { host = '' } = c.req.header()
    return routes.send(c, {
      message: challengeFor({ ...vault, now: Date.now }, host, c.req.query('address') ?? ''),
    })
  })
  app.post('/v1/wallet/sign-in', async c => {
    const { message, signature } = await routes.readBody(c, smallBody)
    if (typeof message !== 'string' || typeof signature !== 'string')
      throw new TurnwireError(
        'bad_request',
        'Send {"message", "signature"}: the text, and what your wallet made of it.',
      )
    return routes.send(c, await signIn.token(message, signature))
  })
  return app
}

function reportRoutes(routes: RouteHost, desk: PaymentDesk): Hono<WireEnv> {
  const app = routes.app()
  app.get('/v1/usage', async c => {
    const { owner } = c.get('principal')
    if (!isWallet(owner))
      throw new TurnwireError(
        'bad_request',
        'This shows what a wallet has paid. Sign in with one: docs/guide/payments.md.',
      )
    return routes.send(c, await listPayments(desk.ledger, owner.slice(anyWallet.length), readPage(c)))
  })
  app.get('/operator/payments', async c => {
    routes.requireOperator(c)
    return routes.send(c, await operatorPayments(desk, readPage(c)))
  })
  app.post('/operator/payments/:id/refund', async c => {
    routes.requireOperator(c)
    const { id, state, refund = null } = await desk.refund(c.req.param('id'), c.get('principal').name)
    return routes.send(c, { id, state, refund })
  })
  app.post('/operator/payments/:id/resolve', async c => {
    routes.requireOperator(c)
    const { transaction } = await routes.readBody(c, smallBody)
    const { id, state } = await desk.resolve(c.req.param('id'), transaction)
    return routes.send(c, { id, state })
  })
  return app
}

function readPage(c: Context<WireEnv>): number {
  const limit = Number(c.req.query('limit') ?? 100)
  if (Number.isInteger(limit) && limit >= 1 && limit <= 1000) return limit
  throw new TurnwireError('bad_request', '"limit" must be a whole number from 1 to 1,000.')
}
