// The other nodes, as this one reaches them: one connection to each, made when it is first needed and shared by all
// calls and streams. A peer that stops answering is dropped, since a connection that was cut need not close.

import type { Log } from '../../engine/ports/local.ts'
import type { NodeInfo } from '../../engine/ports/node.ts'
import { wordsOf } from '../../language/errors.ts'
import { type Channel, connectEngine, type RemoteEngine } from '../socket/index.ts'
import { type ClusterSecret, connectToNode, OtherSecret, parseAddress } from './node-link.ts'

/** Raised when nodes of two versions could not understand each other. */
export const linkVersion = 3

/** The first message of a node to a node that connects. `vault`: proves which vault key it has. */
export type NodeHello = { id: string; link: number; version: string; vault: string }

/** A peer that was silent for this long is pinged, and dropped if it does not answer within the same time. */
const pingMs = 2_000

export type Peer = {
  id: string
  engine: RemoteEngine
  hello: NodeHello
  close(): void
  /** Closes at once, without a word. */
  cut(): void
}

/** The node cannot be reached, or another one answers at its address. */
export class Unreachable extends Error {}

export class Peers {
  readonly #secret: ClusterSecret | undefined
  readonly #connecting = new Map<string, Promise<Peer>>()
  readonly #log: Log
  readonly #vault: string
  readonly #strangers = new Map<string, string>()
  #closed = false

  /** `vault`: proves which vault key this node has. */
  constructor(secret: ClusterSecret | undefined, vault: string, log: Log) {
    this.#secret = secret
    this.#vault = vault
    this.#log = log
  }

  /** Nodes that have another secret or vault key, with the problem in words, by their ids. */
  get strangers(): ReadonlyMap<string, string> {
    return this.#strangers
  }

  /** Rejects with `Unreachable`. */
  to(node: NodeInfo): Promise<Peer> {
    const known = this.#connecting.get(node.id)
    if (known) return known
    const connecting = this.#connect(node)
    this.#connecting.set(node.id, connecting)
    connecting.catch(() => this.#forget(node.id, connecting))
    return connecting
  }

  /** Cuts the connection to this node at once: its answers can no longer be trusted. */
  dropNode(id: string): void {
    const connecting = this.#connecting.get(id)
    this.#connecting.delete(id)
    connecting?.then(
      peer => peer.cut(),
      () => {},
    )
  }

  /** Calls and streams of all connections are lost. */
  closeAll(): void {
    this.#closed = true
    this.drop()
  }

  /** The same, but later calls connect again. */
  drop(): void {
    for (const connecting of this.#connecting.values())
      connecting.then(
        peer => peer.close(),
        () => {},
      )
    this.#connecting.clear()
  }

  async #connect(node: NodeInfo): Promise<Peer> {
    if (this.#closed) throw new Unreachable('This node is stopping.')
    if (!this.#secret || node.address === undefined)
      throw new Unreachable(`Node ${node.id} has no address for other nodes.`)
    const peer = await meet(node.address, this.#secret).catch(error => {
      const isStranger = error instanceof Error && error.cause instanceof OtherSecret
      if (isStranger) this.#nameStranger(node, 'cluster secret', 'TURNWIRE_CLUSTER_SECRET')
      throw error
    })
    if (peer.hello.id !== node.id) {
      peer.close()
      throw new Unreachable(`Node ${peer.hello.id} answers at ${node.address}, not ${node.id}.`)
    }
    if (peer.hello.vault !== this.#vault) this.#nameStranger(node, 'vault key', 'TURNWIRE_VAULT_KEY')
    peer.gone.then(() => this.#connecting.delete(node.id)).catch(() => {})
    return peer
  }

  /** Nodes that could not reach each other at their start find out only now that their settings differ. */
  #nameStranger({ id, address }: NodeInfo, what: string, setting: string): void {
    if (this.#strangers.has(id)) return
    this.#strangers.set(id, `Node ${id} has another ${what}. Give all nodes the same ${setting}.`)
    const message = `Another node does not know the ${what} of this one. Give all nodes the same one.`
    this.#log('error', message, { node: id, address: address ?? '', setting })
  }

  #forget(id: string, connecting: Promise<Peer>): void {
    if (this.#connecting.get(id) === connecting) this.#connecting.delete(id)
  }
}

/** Connects to whatever node is at an address. Rejects with `Unreachable`. */
export async function meet(address: string, secret: ClusterSecret): Promise<Peer & { gone: Promise<void> }> {
  let channel: Channel
  try {
    channel = await connectToNode(parseAddress(address, 'The address of a node'), secret)
  } catch (error) {
    throw new Unreachable(`Nobody could be reached at ${address}: ${wordsOf(error)}`, { cause: error })
  }
  const engine = connectEngine(channel, { peer: 'node that has the session' })
  const stop = (): void => channel.cut()
  const late = setTimeout(stop, pingMs * 2)
  try {
    const hello = (await engine.ask('hello')) as NodeHello // A node answers with this, and knows the secret.
    if (hello.link !== linkVersion)
      throw new Error(
        `it runs Turnwire ${hello.version}, whose nodes speak another protocol. Use versions that are next to each other.`,
      )
    const stopPings = pingEvery(pingMs, () => engine.ask('hello'), stop)
    const gone = channel.closed.then(stopPings)
    return { id: hello.id, engine, hello, gone, close: () => channel.close(), cut: stop }
  } catch (error) {
    stop()
    throw new Unreachable(`The node at ${address} cannot be used: ${wordsOf(error)}`, { cause: error })
  } finally {
    clearTimeout(late)
  }
}

/** Gives a function that ends it. A peer that does not answer one ping before the next is due is gone. */
function pingEvery(ms: number, ping: () => Promise<unknown>, gone: () => void): () => void {
  let isAnswered = true
  const timer = setInterval(() => {
    if (!isAnswered) {
      gone()
      return
    }
    isAnswered = false
    ping().then(
      () => {
        isAnswered = true
      },
      () => {},
    )
  }, ms)
  timer.unref()
  return () => clearInterval(timer)
}
