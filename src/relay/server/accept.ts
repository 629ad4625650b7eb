// A socket that an owner's machine opened: it must prove itself in its first frame, and is then a machine of its agent until
// it closes. Frames are read strictly. The server's own pings find out whether the other side still works, and tokens are
// replaced before they expire.
import type { Socket } from '../../lib/net/socket.ts'
import { type OwnerFrame, protocolVersion, readOwnerFrame, type ServerFrame } from '../frames.ts'
import type { Dispatch } from './dispatch.ts'
import type { Claims, Tokens } from './jwt.ts'
import { Machine, type MachineLimits } from './machine.ts'
import type { Registry, RelayAgent } from './registry.ts'

export type AcceptOptions = {
  registry: Registry
  dispatch: Dispatch
  tokens: Tokens
  /** Whether a wallet may attach. */
  admits: (claims: Claims) => boolean
  limits: MachineLimits & {
    frameBytes: number
    /** Until the first frame. */
    authMs: number
    pingMs: number
    /** Machines of one agent. */
    machines: number
    /** Machines of all agents. */
    attached: number
  }
  now: () => number
  log: (level: 'info' | 'warn', message: string, fields: Record<string, string | number>) => void
}

type AuthFrame = Extract<OwnerFrame, { type: 'auth' }>

/** Frames of unknown types that are let pass. */
const mostUnknown = 100
const policyViolation = 1008
/** The longest time that a timer takes. */
const longestTimerMs = 2 ** 31 - 1

export class Attached {
  readonly #options: AcceptOptions
  readonly #socket: Socket
  readonly #authTimer: NodeJS.Timeout
  #joined: { agent: RelayAgent; machine: Machine } | undefined
  readonly #onJoined: () => void
  #refused = false
  #unknown = 0
  #pinged: number | undefined
  #stopPings = (): void => {}
  #stopRefresh = (): void => {}

  constructor(socket: Socket, options: AcceptOptions, onJoined: () => void = () => {}) {
    this.#onJoined = onJoined
    this.#socket = socket
    this.#options = options
    const late = (): void => this.#refuse('Sign in with the first frame: {"type":"auth", …}.')
    this.#authTimer = setTimeout(late, options.limits.authMs)
    socket.on('message', (data, binary) => this.#take(binary ? undefined : data.toString()))
    socket.on('close', () => this.#leave())
  }

  /** The server restarts: the machine is to come back at once. */
  restart(): void {
    if (this.#joined) this.#joined.machine.close(1012, 'The server restarts.')
    else this.#socket.close(1012, 'The server restarts.')
  }

  #take(text: string | undefined): void {
    if (this.#refused) return
    const read =
      text === undefined
        ? ({ problem: 'malformed' } as const)
        : readOwnerFrame(text, this.#options.limits.frameBytes)
    if (!this.#joined) this.#signIn('frame' in read ? read.frame : undefined)
    else if (!this.#joined.machine.open) return
    else if ('frame' in read) this.#takeFrame(this.#joined, read.frame, text?.length ?? 0)
    else if (read.problem === 'malformed' || ++this.#unknown > mostUnknown)
      this.#break(this.#joined, 'A frame cannot be read.')
  }

  #takeFrame({ agent, machine }: { agent: RelayAgent; machine: Machine }, frame: OwnerFrame, chars: number) {
    if ('id' in frame) machine.take(frame, chars)
    else if (frame.type === 'pong') {
      if (frame.ts === this.#pinged) this.#pinged = undefined
    } else if (frame.type === 'price_update') {
      const { inputTokenPrice, outputTokenPrice } = frame
      this.#options.registry.reprice(agent, { inputTokenPrice, outputTokenPrice })
      machine.send({ type: 'price_update_ack', inputTokenPrice, outputTokenPrice })
    } else machine.break('It signed in twice.')
    if (!machine.open) this.#logBroken(agent)
  }

  #break({ agent, machine }: { agent: RelayAgent; machine: Machine }, reason: string): void {
    machine.break(reason)
    this.#logBroken(agent)
  }

  #logBroken({ agentId }: RelayAgent): void {
    this.#options.log('warn', 'An attached machine broke the protocol and was closed.', { agent: agentId })
  }

  // ---- signing in ----------------------------------------------------------------------------------------------

  #signIn(frame: OwnerFrame | undefined): void {
    const signedIn = this.#check(frame)
    if (typeof signedIn === 'string') this.#refuse(signedIn)
    else this.#join(signedIn.claims, signedIn.auth)
  }

  /** The reason, if it may not attach. */
  #check(auth: OwnerFrame | undefined): string | { claims: Claims; auth: AuthFrame } {
    const { tokens, registry, limits, admits, now } = this.#options
    if (auth?.type !== 'auth') return 'The first frame must be {"type":"auth","jwt":"…","protocol":2}.'
    const claims = tokens.read(auth.jwt, now())
    if (!claims) return 'The token is not one of this server, or has expired. Sign in again.'
    if (!admits(claims)) return 'This wallet may not attach agents here.'
    const machines = registry.get(claims.agentId)?.machines.size ?? 0
    if (registry.machines >= limits.attached)
      return `This relay has ${limits.attached} machines already. Try another, or later.`
    return machines >= limits.machines
      ? `This agent has ${limits.machines} machines already.`
      : { claims, auth }
  }

  #join(claims: Claims, auth: AuthFrame): void {
    const { registry, dispatch, limits, log } = this.#options
    clearTimeout(this.#authTimer)
    const machine = new Machine(this.#socket, limits)
    const agent = registry.add(claims.agentId, claims.wallet, machine)
    const { inputTokenPrice = '0', outputTokenPrice = '0', agentName, agentDescription } = auth
    registry.reprice(agent, { inputTokenPrice, outputTokenPrice })
    agent.name = agentName ?? agent.name
    agent.description = agentDescription ?? agent.description
    this.#joined = { agent, machine }
    this.#onJoined()
    machine.send({ type: 'auth_ok', pluginId: machine.id, protocol: protocolVersion })
    log('info', 'A machine is attached.', { agent: claims.agentId })
    this.#keepAlive(machine)
    this.#refreshLater(machine, claims)
    dispatch.look()
  }

  #refuse(message: string): void {
    this.#refused = true
    clearTimeout(this.#authTimer)
    const frame: ServerFrame = { type: 'auth_error', message }
    this.#socket.send(JSON.stringify(frame))
    this.#socket.close(policyViolation, 'Not signed in.')
  }

  #keepAlive(machine: Machine): void {
    const { pingMs } = this.#options.limits
    const timer = setInterval(() => {
      // The last ping was not answered: this machine cannot serve requests.
      if (this.#pinged !== undefined) {
        this.#socket.terminate()
        return
      }
      this.#pinged = this.#options.now()
      machine.send({ type: 'ping', ts: this.#pinged })
    }, pingMs).unref()
    this.#stopPings = () => clearInterval(timer)
  }

  /** Halfway to the end of a token its machine gets another, as long as the signature of its wallet is good for. */
  #refreshLater(machine: Machine, { wallet, signedAt, expiresAt }: Claims): void {
    const { tokens, now } = this.#options
    const next = (): void => {
      const { jwt, claims } = tokens.issue(wallet, now(), signedAt)
      if (claims.expiresAt <= expiresAt) {
        this.#endLater(machine, expiresAt)
        return
      }
      machine.send({ type: 'jwt_refresh', jwt })
      this.#refreshLater(machine, claims)
    }
    this.#after((expiresAt - now()) / 2, next)
  }

  /** A machine whose last token has expired signs in again. It first answers what it was asked. */
  #endLater(machine: Machine, expiresAt: number): void {
    const left = expiresAt - this.#options.now()
    if (left > 0) this.#after(left, () => this.#endLater(machine, expiresAt))
    else machine.retire(policyViolation, 'Sign in again with the wallet.')
  }

  #after(ms: number, run: () => void): void {
    const timer = setTimeout(run, Math.min(Math.max(0, ms), longestTimerMs)).unref()
    this.#stopRefresh = () => clearTimeout(timer)
  }

  #leave(): void {
    clearTimeout(this.#authTimer)
    this.#stopPings()
    this.#stopRefresh()
    if (!this.#joined) return
    const { agent, machine } = this.#joined
    this.#options.registry.remove(agent, machine)
    machine.gone()
    this.#options.log('info', 'A machine is gone.', { agent: agent.agentId })
  }
}
