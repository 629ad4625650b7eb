// Joins payments to the server: the facilitator, the desk, the engine that wires are given, and the routes. Loaded only when
// payments are configured. `priceSource` is where prices come from that the configuration does not know: see
// src/payments/price.ts.
import { randomUUID } from 'node:crypto'
import { type Context, Hono, type MiddlewareHandler } from 'hono'
import type { WorkLimits } from '../callers/work-limits.ts'
import type { AgentConfig } from '../config/config.ts'
import { TurnwireError } from '../language/errors.ts'
import { anyWallet, isWallet } from '../language/payments.ts'
import type { Runtime } from '../runtime.ts'
import type { Principal, WireEnv, WireHost } from '../wires/host.ts'
import { plainErrors, readJsonObject, sendJson } from '../wires/http/index.ts'
import { requireOperator } from '../wires/operator/index.ts'
import type { WireRequest } from '../wires/wire.ts'
import { killer } from '../world.ts'
import {
  ChainEvidence,
  chainIdOf,
  challengeFor,
  type Facilitator,
  LocalFacilitator,
  PaidRequest,
  PaymentDesk,
  type PaymentsConfig,
  type Price,
  type PriceSource,
  paymentCrashPoints,
  perToken,
  RemoteFacilitator,
  SignIn,
  toSmallest,
} from './index.ts'
import type { Workers } from './job.ts'
import { PaidEngine } from './paid-engine.ts'
import { operatorPayments, paymentsOf } from './report.ts'

export type Payments = {
  /** What wires are given: its engines are paid. */
  host: WireHost
  desk: PaymentDesk
  middleware: MiddlewareHandler<WireEnv>
  /** The caller of a request that has no key and may pay. */
  bareCaller(c: Context<WireEnv>): Principal | undefined
  /** Whose token of a wallet it is. */
  callerOf(token: string): Principal | undefined
  /** Mounted before keys are checked. */
  signInRoutes(): Hono<WireEnv>
  routes(): Hono<WireEnv>
  stop(): void
}

/** `isPayable`: whether a request begins a turn. Whoever has no key gets no further than those. */
export async function startPayments(
  runtime: Runtime,
  host: WireHost,
  limits: WorkLimits,
  config: PaymentsConfig,
  isPayable: (request: WireRequest) => boolean,
): Promise<Payments> {
  const desk = await openDesk(runtime, config, runtime.priceSource)
  const signIn = new SignIn({ ...host, now: Date.now })
  const { engine } = runtime
  const paid: WireHost = { ...host, engineFor: caller => new PaidEngine(engine, limits, caller, desk) }
  desk.start()
  return {
    host: paid,
    desk,
    middleware: attachPayment(runtime, isPayable),
    bareCaller: c =>
      isPayable(c.req) && isForSale(runtime.config.agents, c.req.path)
        ? { owner: anyWallet, name: anyWallet }
        : undefined,
    callerOf: token => {
      const owner = signIn.owner(token)
      return owner === undefined ? undefined : { owner, name: owner }
    },
    signInRoutes: () => signInRoutes(host, signIn),
    routes: () => reportRoutes(paid, desk),
    stop: () => desk.stop(),
  }
}

export async function openDesk(
  runtime: Pick<Runtime, 'engine' | 'payments' | 'log' | 'config'> & { nodes?: Runtime['nodes'] },
  config: PaymentsConfig,
  source?: PriceSource,
): Promise<PaymentDesk> {
  const { engine, payments: store, log } = runtime
  if (!store)
    throw new TurnwireError(
      'config_invalid',
      'Payments are configured, but the store of the configuration keeps none. Use a data folder, or PostgreSQL.',
    )
  const prices = new Map(runtime.config.agents.map(agent => [agent.name, priceOf(agent, config)]))
  return new PaymentDesk({
    engine,
    store,
    workers: workersOf(runtime),
    config,
    source,
    facilitator: await openFacilitator(config),
    priceOf: agent => prices.get(agent),
    now: Date.now,
    crashPoint: killer(paymentCrashPoints),
    log,
  })
}

/** The nodes of a cluster know which of them live. Any other process that worked on a payment is gone. */
function workersOf(runtime: { nodes?: Runtime['nodes'] }): Workers {
  const self = runtime.nodes?.()?.self ?? randomUUID()
  const isAlive = (worker: string): boolean => {
    const known = runtime.nodes?.()
    return known?.nodes.some(({ id, leftMs }) => id === worker && leftMs > known.ageMs) === true
  }
  return { self, isAlive }
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
            chainId: chainIdOf(network) ?? 0,
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
function priceOf({ price }: AgentConfig, { payTo, asset, terminal }: PaymentsConfig): Price | undefined {
  if (!price) return undefined
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

/** Over MCP a caller sees what an agent has before it calls. Who has no key sees it of agents with a price. */
function isForSale(agents: readonly AgentConfig[], path: string): boolean {
  const [isMcp, name] = /^\/mcp(?:\/([^/]+))?$/.exec(path) ?? []
  if (isMcp === undefined) return true
  const served = agents.filter(({ serveMcp }) => serveMcp)
  const meant = name === undefined ? served : served.filter(agent => encodeURIComponent(agent.name) === name)
  return meant.length === 1 && meant[0]?.price !== undefined
}

/** Every request may pay. */
function attachPayment(
  { config }: Runtime,
  isPayable: (request: WireRequest) => boolean,
): MiddlewareHandler<WireEnv> {
  return (c, next) => {
    const { outgoing } = c.env
    const { owner } = c.get('principal')
    const { method, path } = c.req
    const request = new PaidRequest({
      owner,
      payable: isPayable(c.req),
      method,
      path,
      url: `${config.server?.publicUrl ?? new URL(c.req.url).origin}${path}`,
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

function signInRoutes(host: WireHost, signIn: SignIn): Hono<WireEnv> {
  const app = new Hono<WireEnv>()
  app.onError(plainErrors(host))
  app.get('/v1/wallet/challenge', c => {
    const message = challengeFor(
      { ...host, now: Date.now },
      c.req.header('host') ?? '',
      c.req.query('address') ?? '',
    )
    return sendJson(c, { message })
  })
  app.post('/v1/wallet/sign-in', async c => {
    const body = await readJsonObject(c, { ...host.limits, bodyBytes: smallBody })
    const { message, signature } = body
    if (typeof message !== 'string' || typeof signature !== 'string')
      throw new TurnwireError(
        'bad_request',
        'Send {"message", "signature"}: the text, and what your wallet made of it.',
      )
    return sendJson(c, await signIn.token(message, signature))
  })
  return app
}

function reportRoutes(host: WireHost, desk: PaymentDesk): Hono<WireEnv> {
  const app = new Hono<WireEnv>()
  app.onError(plainErrors(host))
  app.get('/v1/usage', async c => {
    const { owner } = c.get('principal')
    if (!isWallet(owner))
      throw new TurnwireError(
        'bad_request',
        'This shows what a wallet has paid. Sign in with one: docs/guide/payments.md.',
      )
    return sendJson(c, await paymentsOf(desk.ledger, owner.slice(anyWallet.length), pageOf(c)))
  })
  app.get('/operator/payments', async c => {
    requireOperator(c)
    return sendJson(c, await operatorPayments(desk, pageOf(c)))
  })
  app.post('/operator/payments/:id/refund', async c => {
    requireOperator(c)
    const record = await desk.refund(c.req.param('id'), c.get('principal').name)
    return sendJson(c, { id: record.id, state: record.state, refund: record.refund ?? null })
  })
  app.post('/operator/payments/:id/resolve', async c => {
    requireOperator(c)
    const { transaction } = await readJsonObject(c, { ...host.limits, bodyBytes: smallBody })
    const { id, state } = await desk.resolve(c.req.param('id'), transaction)
    return sendJson(c, { id, state })
  })
  return app
}

function pageOf(c: Context<WireEnv>): number {
  const limit = Number(c.req.query('limit') ?? 100)
  if (Number.isInteger(limit) && limit >= 1 && limit <= 1000) return limit
  throw new TurnwireError('bad_request', '"limit" must be a whole number from 1 to 1,000.')
}
