// Checks before a node takes its first session: which other nodes there are, whether they have the same secret and
// vault key, and whether they reach this node at its address.
import { setTimeout as pause } from 'node:timers/promises'
import type { Log } from '../../engine/ports/local.ts'
import type { NodeStore, SeenNode } from '../../engine/ports/node.ts'
import { hasCode, TurnwireError, wordsOf } from '../../language/errors.ts'
import { type ClusterSecret, OtherSecret } from './node-link.ts'
import { meet, type NodeHello } from './peers.ts'

/** How often the nodes are looked at while their leases are waited for. */
const lookMs = 250

/**
 * Without a secret a node works alone. Waits for the leases of nodes that died. Rejects with `config_invalid` if one of them
 * lives.
 */
export async function untilAlone(store: NodeStore, log: Log): Promise<void> {
  let before: Map<string, number> | undefined
  let since = performance.now()
  for (;;) {
    const living = (await store.nodes()).filter(({ leftMs }) => leftMs > 0)
    if (living.length === 0) return
    const passed = performance.now() - since
    // A dead node's lease runs down with time. This one was renewed.
    const renewed = living.find(({ id, leftMs }) => leftMs > (before?.get(id) ?? Infinity) - passed + lookMs)
    if (renewed) throw noSecret(renewed)
    if (!before)
      log('info', 'Another node used this database a moment ago. Waiting until its lease has ended.', {
        node: living[0]?.id ?? '',
        ms: Math.round(Math.max(...living.map(({ leftMs }) => leftMs))),
      })
    since = performance.now()
    before = new Map(living.map(({ id, leftMs }) => [id, leftMs]))
    await pause(lookMs)
  }
}

function noSecret({ id }: SeenNode): TurnwireError {
  return new TurnwireError(
    'config_invalid',
    `Another node (${id}) works on this database. To run several, give all of them the same secret of at least 32 characters: TURNWIRE_CLUSTER_SECRET, or server.cluster.secret.`,
  )
}

export type JoiningNode = { id: string; address: string; secret: ClusterSecret; vault: string }

/**
 * Asks one of the other nodes to connect to this one. Rejects with `config_invalid` if it cannot. Where no other node
 * answers there is nobody to ask.
 */
export async function proveAddress(store: NodeStore, self: JoiningNode, log: Log): Promise<void> {
  const living = (await store.nodes()).filter(({ leftMs, id }) => leftMs > 0 && id !== self.id)
  const unreached: string[] = []
  for (const node of living) {
    if (node.address === undefined) throw noAddress(node)
    try {
      const peer = await meet(node.address, self.secret)
      try {
        checkVault(peer.hello, self)
        const problem = (await peer.engine.ask('prove', self.address, self.id)) as string | null // See `prove` below.
        if (problem !== null) throw notReached(node, self, problem)
        return
      } finally {
        peer.close()
      }
    } catch (error) {
      if (hasCode(error, 'config_invalid')) throw error
      if (error instanceof Error && error.cause instanceof OtherSecret) throw otherSecret(node)
      unreached.push(`${node.id} at ${node.address}: ${wordsOf(error)}`)
    }
  }
  if (unreached.length > 0)
    log('warn', 'No other node could be reached, so this one could not prove its address.', { unreached })
}

/** Answers a node that starts: null, or why it was not found at the address that it gave. */
export async function prove(secret: ClusterSecret, address: unknown, id: unknown): Promise<string | null> {
  if (typeof address !== 'string' || typeof id !== 'string') return 'it sent no address'
  try {
    const peer = await meet(address, secret)
    peer.close()
    return peer.hello.id === id ? null : `node ${peer.hello.id} answers there`
  } catch (error) {
    return wordsOf(error)
  }
}

/** Nodes with different vault keys could not open each other's secrets. */
function checkVault({ id, vault }: NodeHello, self: JoiningNode): void {
  if (vault === self.vault) return
  throw new TurnwireError(
    'config_invalid',
    `Node ${id} seals secrets with another key. Give all nodes the same TURNWIRE_VAULT_KEY.`,
  )
}

function noAddress({ id }: SeenNode): TurnwireError {
  return new TurnwireError(
    'config_invalid',
    `Node ${id} works on this database alone: it has no TURNWIRE_CLUSTER_SECRET. Start it again with the secret of this one.`,
  )
}

function otherSecret({ id, address }: SeenNode): TurnwireError {
  return new TurnwireError(
    'config_invalid',
    `Node ${id} at ${address} does not know the cluster secret of this one. Give all nodes the same TURNWIRE_CLUSTER_SECRET.`,
  )
}

function notReached(node: SeenNode, self: JoiningNode, problem: string): TurnwireError {
  return new TurnwireError(
    'config_invalid',
    `Node ${node.id} cannot reach this one at ${self.address}: ${problem}. Set TURNWIRE_NODE_ADDRESS to a host:port that the other nodes reach.`,
  )
}
