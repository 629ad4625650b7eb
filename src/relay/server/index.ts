// The relay of a server: agents on their owners' machines, behind the server's own wires. It is loaded only when the
// configuration has the setting `relay`.
import type { Hono } from 'hono'
import type { Principal, Relay, RequestPayment, RouteHost, WireEnv } from '../../callers/caller.ts'
import { type Hex, readWalletAddress } from '../../callers/wallet.ts'
import type { EnginePorts, Model } from '../../engine/index.ts'
import { walletOwner } from '../../language/payments.ts'
import type { Socket } from '../../lib/net/socket.ts'
import type { PriceSource } from '../../payments/price.ts'
import { defaultMaxCost, type RelayConfig, relayDefaults } from '../config.ts'
import { type AcceptOptions, Attached } from './accept.ts'
import { Challenges } from './challenge.ts'
import { Dispatch } from './dispatch.ts'
import { totalCounts } from './elsewhere.ts'
import { relayTokens, type Tokens } from './jwt.ts'
import { type RelayModelOptions, relayModel, type Served } from './model.ts'
import { relayPrices } from './prices.ts'
import { Registry } from './registry.ts'
import { type Earnings, type RelayRoutes, relayOperatorRoutes, relayRoutes } from './routes.ts'
import { relayedTarget } from './target.ts'
import { Unsigned, type UnsignedConnection } from './unsigned.ts'

export { attachedAgent } from './target.ts'

export type RelayOptions = {
  config: RelayConfig
  host: {
    log: EnginePorts['log']
    limits: { bodyBytes: number; unsentBytes: number }
    /** The same text always gets the same signature, which only this installation can make. */
    sign(text: string): string
  }
  /** The agents of this server. */
  isLocal: (agent: string) => boolean
  /** Whether a name is that of one of the server's own agents or models. */
  isNamed: (model: string) => boolean
  /** A model name that is not known means the attached agent, if there is one. */
  anyModel: boolean
  /** The share of each payment that Sixerr's terminal keeps, in ten-thousandths. */
  feeBps?: number | undefined
  /** How long a payment may be signed for a price that was shown. */
  validSeconds?: number | undefined
  /** The name of this server, for those who sign in to it. */
  name: () => string
  now?: () => number
  onServed?: (served: Served) => void
}

/** How long a whole answer may take. */
export function answerMs({ answerMs: given = relayDefaults.answerMs }: RelayConfig): number {
  return given
}

const authMs = 10_000
/** Machines of one agent. */
const mostMachines = 64
/** Of all agents. */
const mostAttached = 10_000

export class RelayServer implements Relay {
  /** The prices of its agents. */
  readonly prices: PriceSource
  /** The earnings of agents, from the payment desk. Undefined: payments are not configured. */
  earnings: Earnings | undefined
  /** Whether a request carries a payment that was taken before: it gets the first answer again. */
  isPaidFor: ((payment: RequestPayment) => Promise<boolean>) | undefined
  /** Asks the other nodes for their attached agents, and adds these to the registry. Undefined: there are no other nodes. */
  look: (() => Promise<void>) | undefined
  /** How machines are asked. Also for the other nodes. */
  readonly asking: RelayModelOptions
  readonly #options: RelayOptions
  readonly #settings: typeof relayDefaults
  readonly #now: () => number
  readonly #startedAt: number
  readonly #tokens: Tokens
  readonly #registry: Registry
  readonly #dispatch: Dispatch
  readonly #accept: AcceptOptions
  readonly #served: Omit<RelayRoutes, 'routes'>
  readonly #sockets = new Set<Attached>()
  readonly #unsigned = new Unsigned()

  constructor(options: RelayOptions) {
    const { config, host } = options
    this.#options = options
    this.#settings = { ...relayDefaults, ...config }
    this.#now = options.now ?? Date.now
    this.#startedAt = this.#now()
    const { tokenHours, signInHours, waiting, queueMs, answerBytes } = this.#settings
    const secret = Buffer.from(host.sign('the signing key of relay tokens'), 'base64url')
    this.#tokens = relayTokens(secret, {
      tokenMs: tokenHours * 3_600_000,
      signInMs: signInHours * 3_600_000,
    })
    this.#registry = new Registry(this.#now, (options.validSeconds ?? 0) * 1_000)
    this.#dispatch = new Dispatch(this.#registry, { queueMs, mostWaiting: waiting })
    const { attempts } = this.#settings
    this.asking = {
      ...{ registry: this.#registry, dispatch: this.#dispatch, attempts, now: this.#now },
      ...(options.onServed && { onServed: options.onServed }),
    }
    const { bodyBytes } = host.limits
    const own = {
      frameBytes: bodyBytes,
      authMs,
      machines: mostMachines,
      attached: mostAttached,
      unsentBytes: host.limits.unsentBytes,
    }
    this.#accept = {
      registry: this.#registry,
      dispatch: this.#dispatch,
      tokens: this.#tokens,
      admits: ({ wallet }) => this.#admits(wallet),
      limits: { ...this.#settings, ...own, answerChars: answerBytes },
      now: this.#now,
      log: host.log,
    }
    const maxCost = config.maxCost ?? defaultMaxCost
    const prices = relayPrices({ registry: this.#registry, maxCost, feeBps: options.feeBps })
    this.prices = {
      prices: async asked => {
        if (this.#registry.all().length === 0) await this.look?.()
        return prices.prices(asked)
      },
    }
    this.#served = {
      challenges: new Challenges(text => host.sign(text), options.name, this.#now),
      tokens: this.#tokens,
      registry: this.#registry,
      admits: wallet => this.#admits(wallet),
      now: this.#now,
      look: async () => this.look?.(),
      earnings: () => this.earnings,
    }
  }

  /** Mounted before the check of keys. */
  routes(routes: RouteHost): Hono<WireEnv> {
    return relayRoutes({ ...this.#served, routes })
  }

  /** For operators: mounted behind the check of keys. */
  operatorRoutes(routes: RouteHost): Hono<WireEnv> {
    return relayOperatorRoutes({ ...this.#served, routes })
  }

  /** Machines that are attached. */
  get machines(): number {
    return this.#registry.machines
  }

  /** `connection`: the one under the socket. */
  open(socket: Socket, connection?: UnsignedConnection): void {
    const known = this.#unsigned.add(socket, connection)
    const attached = new Attached(socket, this.#accept, known)
    this.#sockets.add(attached)
    socket.on('close', () => {
      known()
      this.#sockets.delete(attached)
    })
  }

  /** Machines come back at once, to this server or another. */
  close(): void {
    for (const attached of this.#sockets) attached.restart()
  }

  /** The wallet that signed in with this token, for the routes that take one. */
  findPrincipal(token: string): Principal | undefined {
    const claims = this.#tokens.read(token, this.#now())
    if (!claims || !this.#admits(claims.wallet)) return undefined
    const { wallet } = claims
    return { owner: walletOwner(wallet), name: wallet, wallet }
  }

  target(...[body, routed, caller]: Parameters<Relay['target']>): ReturnType<Relay['target']> {
    const { isLocal, isNamed } = this.#options
    const options = {
      ...{ isLocal, isNamed },
      only: () => this.#only(),
      isKnown: (agentId: string) => this.#isKnown(agentId, caller.payment),
    }
    return relayedTarget(options, body, routed, caller)
  }

  /** The only agent that is attached, where it answers to every model name. */
  async #only(): Promise<string | undefined> {
    if (!this.#options.anyModel) return undefined
    await this.look?.()
    const attached = this.#registry.all().filter(agent => totalCounts(agent).machines > 0)
    return attached.length === 1 ? attached[0]?.agentId : undefined
  }

  /** The model of the agent `attachedAgent`. */
  model(): Model {
    return relayModel(this.asking)
  }

  /** After a start machines need a moment to come back: until then every wallet may have one. */
  async #isKnown(agentId: string, payment: RequestPayment | undefined): Promise<boolean> {
    if (!this.#registry.get(agentId)) await this.look?.()
    if (this.#registry.get(agentId)) return true
    const isYoung = this.#now() - this.#startedAt < this.#settings.queueMs
    if (isYoung && readWalletAddress(agentId) !== undefined) return true
    return payment !== undefined && ((await this.isPaidFor?.(payment)) ?? false)
  }

  #admits(wallet: Hex): boolean {
    const { owners } = this.#options.config
    return owners === '*' || owners.some(owner => readWalletAddress(owner) === wallet)
  }
}
