// One node of a cluster, put together: its lease, its listener for other nodes, its engine, the routing in front of it,
// and the taking over of sessions. The engine itself knows nothing of nodes.
import { randomBytes } from 'node:crypto'
import type { Store } from '../../engine/ports/index.ts'
import type { EngineHere, Log } from '../../engine/ports/local.ts'
import type { NodeStore, SeenNode } from '../../engine/ports/node.ts'
import { TurnwireError } from '../../language/errors.ts'
import { type Channel, type ExtraStreams, serveEngine } from '../socket/index.ts'
import { ClusterEngine, type RemoteNode } from './cluster-engine.ts'
import { fencedStore } from './fenced-store.ts'
import { HandOver, type Taker } from './hand-over.ts'
import { prove, proveAddress, untilAlone } from './join-cluster.ts'
import { NodeLease } from './node-lease.ts'
import {
  type ClusterSecret,
  clusterSecret,
  formatAddress,
  listenForNodes,
  type NodeListener,
  parseAddress,
} from './node-link.ts'
import { linkVersion, meet, type NodeHello, type Peer, Peers } from './peers.ts'
import { Router } from './router.ts'
import { servedToNodes } from './serve-nodes.ts'
import { type ClusterSettings, defaultLeaseMs } from './settings.ts'
import { TakeOver } from './take-over.ts'

export type ClusterNodeOptions = {
  store: NodeStore
  settings: ClusterSettings
  /** Of this program, for people. */
  version: string
  /** `summon`: another node gives a session up to this one. */
  startEngine(store: Store, summon: (session: string) => Promise<void>): EngineHere
  /** How long running tools may take to finish when the node stops. */
  graceMs: number
  /** The same text for the same vault key. */
  vault: string
  /** How long calls wait for a node that cannot be reached. Default: its lease, and two seconds. */
  patienceMs?: number
  log: Log
}

const loopback = '127.0.0.1'
/** How long what is known of the other nodes is good for. */
const seenForMs = 500
/** How long a request waits for each of the others when all of them are asked. */
const answerWithinMs = 300

export class ClusterNode {
  readonly engine: ClusterEngine
  readonly local: EngineHere
  /** Streams for other nodes beside those of the engine. */
  readonly streams: { -readonly [Name in keyof ExtraStreams]: ExtraStreams[Name] } = {}
  readonly #options: ClusterNodeOptions
  readonly #secret: ClusterSecret | undefined
  readonly #lease: NodeLease
  readonly #peers: Peers
  readonly #router: Router
  readonly #takeOver: TakeOver
  #listener: NodeListener | undefined
  #address: string | undefined
  #nodes: readonly SeenNode[] = []
  #seenAt = -Infinity
  #stopping = false
  /** The other nodes that this one has reached, or has found to be strangers. */
  readonly #met = new Set<string>()
  /** The nodes that lived when this one joined under its present id. */
  #elders: { of: string; ids: ReadonlySet<string> } = { of: '', ids: new Set() }
  /** Said to other nodes before the lease has begun. */
  readonly #firstId = newId()

  constructor(options: ClusterNodeOptions) {
    const { store, settings, log } = options
    const { secret, leaseMs = defaultLeaseMs } = settings
    this.#options = options
    this.#secret = secret === undefined || secret === '' ? undefined : clusterSecret(secret)
    this.#peers = new Peers(this.#secret, options.vault, log)
    let ids = 0
    this.#lease = new NodeLease({
      store,
      leaseMs,
      newId: () => (ids++ === 0 ? this.#firstId : newId()),
      address: () => this.#address,
      version: options.version,
      canWork: () => this.#canWork(),
      onLost: reason => this.#lose(reason),
      onJoined: () => void this.#takeOver.sweep(),
      onSeen: nodes => this.#see(nodes),
      log,
    })
    this.local = options.startEngine(
      fencedStore(store, () => this.#lease.check()),
      session => this.#summon(session),
    )
    const parts = { local: this.local, store, lease: this.#lease, peers: this.#peers }
    this.#router = new Router({ ...parts, patienceMs: options.patienceMs ?? leaseMs + 2_000 })
    this.engine = new ClusterEngine({
      local: this.local,
      router: this.#router,
      others: () => this.#others(),
    })
    this.#takeOver = new TakeOver({
      store,
      self: () => this.#lease.id,
      recover: ids => this.local.recoverThese(ids),
      isAwaited: session => this.engine.attachments.has(session),
      log,
    })
  }

  /** Until then it does nothing. Rejects with `config_invalid` if it cannot work with the nodes that are there. */
  async join(): Promise<void> {
    try {
      await this.#join()
    } catch (error) {
      await this.#listener?.close()
      throw error
    }
  }

  /** The id of this node. It changes when the node has to join again. */
  get id(): string {
    return this.#lease.id
  }

  get address(): string | undefined {
    return this.#address
  }

  /** All nodes as they were last seen. Nothing is asked of the store, so it is known while the store is away. */
  known(): { nodes: readonly SeenNode[]; ageMs: number } {
    return { nodes: this.#nodes, ageMs: performance.now() - this.#seenAt }
  }

  /** Why this node should be given no requests now. */
  failure(): TurnwireError | undefined {
    if (this.#stopping) return new TurnwireError('stopping', 'This node is stopping.')
    const [stranger] = this.#strangers().filter(({ isElder }) => isElder)
    return this.#lease.failure ?? (stranger && new TurnwireError('config_invalid', stranger.problem))
  }

  /** Problems of later nodes that have another secret or vault key. Those nodes take no requests. */
  warnings(): string[] {
    return this.#strangers().flatMap(({ isElder, problem }) => (isElder ? [] : [problem]))
  }

  /** For tests: it takes no connections of other nodes any more. */
  async deafen(): Promise<void> {
    await this.#listener?.close()
  }

  /** Continues the sessions that nobody has. Gives how many. */
  recover(): Promise<number> {
    return this.#takeOver.sweep()
  }

  /**
   * Sessions are handed over as soon as no tool runs in them; then the lease ends. `graceMs`: how long running tools may
   * take to finish.
   */
  async stop(graceMs: number): Promise<void> {
    this.#stopping = true
    this.#takeOver.stop()
    const others = this.#takers()
    const handOver = new HandOver(this.#options.store, others, this.#options.log)
    await this.local.stop(graceMs, session => handOver.give(session))
    await handOver.done()
    await this.#lease.end().catch(() => {
      // The store cannot be written: the lease ends by itself.
    })
    await Promise.all((await others).map(each => each.tellLeft().catch(() => {})))
    this.#router.close()
    this.#peers.closeAll()
    await this.#listener?.close()
  }

  // ---- joining -----------------------------------------------------------------------------------------------

  async #join(): Promise<void> {
    const { store, log, vault } = this.#options
    if (this.#secret) {
      await this.#listen(this.#secret)
      const self = { id: this.#firstId, address: this.#address ?? '', secret: this.#secret, vault }
      await proveAddress(store, self, log)
    } else await untilAlone(store, log)
    await this.#lease.begin()
  }

  async #listen(secret: ClusterSecret): Promise<void> {
    const { address, listen } = this.#options.settings
    const told =
      address === undefined ? { host: loopback, port: 0 } : parseAddress(address, 'The address of the node')
    const isLocal = told.host === loopback || told.host === 'localhost' || told.host === '::1'
    const where =
      listen === undefined
        ? { host: isLocal ? told.host : '::', port: told.port }
        : parseAddress(listen, 'The listening address of the node')
    this.#listener = await listenForNodes(where, secret, channel => this.#welcome(channel, secret))
    this.#address = formatAddress({
      host: told.host,
      port: told.port === 0 ? this.#listener.port : told.port,
    })
  }

  #welcome(channel: Channel, secret: ClusterSecret): void {
    channel.keepAlive(false)
    const { store, graceMs } = this.#options
    const served = servedToNodes({
      local: this.local,
      store,
      lease: this.#lease,
      isStopping: () => this.#stopping,
    })
    serveEngine(
      channel,
      this.local,
      {
        hello: () => this.#hello(),
        prove: (address, id) => {
          this.#lease.meetOther()
          return prove(secret, address, id)
        },
        running: (owner, all) => this.local.running(String(owner), all === true),
        takeOver: ids => this.#take(ids),
        left: () => void this.#takeOver.sweep(),
        giveUp: (session, epoch) => served.giveUp(String(session), Number(epoch), graceMs),
      },
      served.admit,
      this.streams,
    )
  }

  #hello(): NodeHello {
    const { vault } = this.#options
    return { id: this.#lease.id || this.#firstId, link: linkVersion, version: this.#options.version, vault }
  }

  /** Sessions that a stopping node offers. */
  #take(ids: unknown): void {
    if (!Array.isArray(ids) || this.#stopping) return
    const wanted = ids.map(String).filter(id => !this.engine.attachments.has(id))
    void this.local.recoverThese(wanted).catch(() => {})
  }

  // ---- the lease ---------------------------------------------------------------------------------------------

  /** A node that takes no connections of others is deaf: it must not keep its sessions. */
  async #canWork(): Promise<void> {
    if (!this.#secret || !this.#listener) return
    const host = this.#options.settings.listen === undefined ? loopback : undefined
    const own = host === undefined ? (this.#options.settings.listen ?? '') : `${host}:${this.#listener.port}`
    const self = await meet(own, this.#secret)
    self.close()
    if (self.hello.id !== this.#lease.id) throw new Error(`Node ${self.hello.id} answers at ${own}.`)
  }

  #lose(reason: TurnwireError): void {
    this.#router.clear()
    this.#peers.drop()
    this.local.loseAll(reason)
  }

  #see(nodes: readonly SeenNode[]): void {
    this.#nodes = nodes
    this.#seenAt = performance.now()
    const self = this.#lease.id
    if (this.#elders.of !== self) this.#elders = { of: self, ids: new Set(livingOthers(nodes, self)) }
    for (const { id, leftMs } of nodes) if (leftMs <= 0) this.#peers.dropNode(id)
    this.#meetNew(nodes)
    if (!this.#stopping) this.#takeOver.seen(nodes)
  }

  /** So that a node with another secret is known before a request needs it. One that cannot be reached is tried again. */
  #meetNew(nodes: readonly SeenNode[]): void {
    for (const node of nodes) {
      if (node.leftMs <= 0 || node.id === this.#lease.id || this.#met.has(node.id)) continue
      this.#met.add(node.id)
      this.#peers.to(node).catch(() => {
        if (!this.#peers.strangers.has(node.id)) this.#met.delete(node.id)
      })
    }
  }

  /** Nodes that cannot work with this one. The one that came later steps back, as it would have done at its start. */
  #strangers(): { isElder: boolean; problem: string }[] {
    return livingOthers(this.#nodes, this.#lease.id).flatMap(id => {
      const problem = this.#peers.strangers.get(id)
      return problem === undefined ? [] : [{ isElder: this.#elders.ids.has(id), problem }]
    })
  }

  // ---- other nodes -------------------------------------------------------------------------------------------

  /** The other nodes that live. `reach` rejects with `Unreachable`, which may take some seconds. */
  async others(seenMs = seenForMs): Promise<{ id: string; reach: () => Promise<Peer> }[]> {
    const living = await this.#living(seenMs)
    return living.map(node => ({ id: node.id, reach: () => this.#peers.to(node) }))
  }

  /** `seenMs`: how long what is known of them is good for. */
  async #living(seenMs: number): Promise<SeenNode[]> {
    if (performance.now() - this.#seenAt >= seenMs) this.#see(await this.#options.store.nodes())
    return this.#nodes.filter(({ id, leftMs }) => id !== this.#lease.id && leftMs > 0)
  }

  async #reached(seenMs = seenForMs): Promise<Peer[]> {
    const living = await this.#living(seenMs)
    const peers = await Promise.all(living.map(node => this.#peers.to(node).catch(() => undefined)))
    return peers.filter(peer => peer !== undefined)
  }

  /** Requests wait for it, so a node that does not answer at once is left out. */
  async #others(): Promise<RemoteNode[]> {
    const living = await this.#living(seenForMs)
    const peers = await Promise.all(
      living.map(node => withinMs(answerWithinMs, this.#peers.to(node)).catch(() => undefined)),
    )
    return peers
      .filter(peer => peer !== undefined)
      .map(({ id, engine }) => ({
        id,
        changes: signal => engine.changes(signal),
        running: async (owner, all) => {
          const running = await withinMs(answerWithinMs, engine.ask('running', owner, all))
          return running as string[] // As `#welcome` answers.
        },
      }))
  }

  async #takers(): Promise<(Taker & { tellLeft(): Promise<void> })[]> {
    return (await this.#reached(0).catch(() => [])).map(({ engine }) => ({
      takeOver: async ids => void (await engine.ask('takeOver', ids)),
      tellLeft: async () => void (await engine.ask('left')),
    }))
  }

  async #summon(session: string): Promise<void> {
    const holder = await this.#options.store.holder(session)
    const node = holder?.node
    if (!node || node.id === this.#lease.id || node.leftMs <= 0) return
    const peer = await this.#peers.to(node)
    await peer.engine.ask('giveUp', session, holder.epoch)
  }
}

function livingOthers(nodes: readonly SeenNode[], self: string): string[] {
  return nodes.flatMap(({ id, leftMs }) => (id === self || leftMs <= 0 ? [] : [id]))
}

async function withinMs<Result>(ms: number, work: Promise<Result>): Promise<Result> {
  const late = Promise.withResolvers<never>()
  const timer = setTimeout(() => late.reject(new Error('It did not answer in time.')), ms)
  timer.unref()
  try {
    return await Promise.race([work, late.promise])
  } finally {
    clearTimeout(timer)
  }
}

function newId(): string {
  return `node_${randomBytes(9).toString('base64url')}`
}
