// The relay of a server: agents on their owners' machines, behind the server's own wires. It is loaded only when the
// configuration has the setting `relay`.
import type { Hono } from 'hono'
import type { Model } from '../../engine/ports.ts'
import type { JsonObject } from '../../lib/json.ts'
import type { PriceSource } from '../../payments/price.ts'
import type { Principal, Relay, WireEnv, WireHost } from '../../wires/host.ts'
import type { Socket } from '../../wires/http/frame-queue.ts'
import { defaultMaxCost, type RelayConfig, relayDefaults } from '../config.ts'
import { type Hex, readAddress } from '../viem.ts'
import { type AcceptOptions, Attached } from './accept.ts'
import { Challenges } from './challenge.ts'
import { Dispatch } from './dispatch.ts'
import { relayTokens, type Tokens } from './jwt.ts'
import { relayModel, type Served } from './model.ts'
import { relayPrices } from './prices.ts'
import { Registry } from './registry.ts'
import { relayRoutes } from './routes.ts'
import { relayedTarget } from './target.ts'
import { type Connection, Unsigned } from './unsigned.ts'

export { attachedAgent } from './target.ts'

export type RelayOptions = {
  config: RelayConfig
  host: Pick<WireHost, 'log' | 'limits' | 'sign'>
  /** The agents of this server. */
  isLocal: (agent: string) => boolean
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
  readonly routes: Hono<WireEnv>
  /** What its agents cost. */
  readonly prices: PriceSource
  /** What an agent was paid, from whoever takes payments. Undefined: nobody does. */
  earnings: ((agentId: string) => Promise<JsonObject>) | undefined
  readonly #options: RelayOptions
  readonly #settings: typeof relayDefaults
  readonly #now: () => number
  readonly #startedAt: number
  readonly #tokens: Tokens
  readonly #registry: Registry
  readonly #dispatch: Dispatch
  readonly #accept: AcceptOptions
  readonly #sockets = new Set<Attached>()
  readonly #unsigned = new Unsigned()

  constructor(options: RelayOptions) {
    const { config, host } = options
    this.#options = options
    this.#settings = { ...relayDefaults, ...config }
    this.#now = options.now ?? Date.now
    this.#startedAt = this.#now()
    const { tokenHours, waiting, queueMs, answerBytes } = this.#settings
    const secret = Buffer.from(host.sign('the signing key of relay tokens'), 'base64url')
    this.#tokens = relayTokens(secret, tokenHours * 3_600_000)
    this.#registry = new Registry(this.#now, (options.validSeconds ?? 0) * 1_000)
    this.#dispatch = new Dispatch(this.#registry, { queueMs, mostWaiting: waiting })
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
    this.prices = relayPrices({ registry: this.#registry, maxCost, feeBps: options.feeBps })
    this.routes = relayRoutes({
      host,
      challenges: new Challenges(text => host.sign(text), options.name, this.#now),
      tokens: this.#tokens,
      registry: this.#registry,
      admits: wallet => this.#admits(wallet),
      now: this.#now,
      earnings: agentId => this.earnings?.(agentId) ?? Promise.resolve(undefined),
    })
  }

  /** Machines that are attached. */
  get machines(): number {
    return this.#registry.machines
  }

  /** `connection`: the one under the socket. */
  open(socket: Socket, connection?: Connection): void {
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

  /** Who signed in with a wallet, for the routes that take its token. */
  principalOf(token: string): Principal | undefined {
    const claims = this.#tokens.read(token, this.#now())
    if (!claims || !this.#admits(claims.wallet)) return undefined
    const { wallet } = claims
    return { owner: `wallet:${wallet}`, name: wallet, wallet }
  }

  target(...[body, routed, principal]: Parameters<Relay['target']>): ReturnType<Relay['target']> {
    const { isLocal } = this.#options
    return relayedTarget({ isLocal, isKnown: agentId => this.#isKnown(agentId) }, body, routed, principal)
  }

  /** The model of the agent `attachedAgent`, for the text that `target` gave in the place of its name. */
  model(asked: string): Model {
    const { attempts } = this.#settings
    const { onServed } = this.#options
    const options = { registry: this.#registry, dispatch: this.#dispatch, attempts, now: this.#now }
    return relayModel({ ...options, ...(onServed && { onServed }) }, asked)
  }

  /** After a start machines need a moment to come back: until then every wallet may have one. */
  #isKnown(agentId: string): boolean {
    if (this.#registry.get(agentId)) return true
    const isYoung = this.#now() - this.#startedAt < this.#settings.queueMs
    return isYoung && readAddress(agentId) !== undefined
  }

  #admits(wallet: Hex): boolean {
    const { owners } = this.#options.config
    return owners === '*' || owners.some(owner => readAddress(owner) === wallet)
  }
}
