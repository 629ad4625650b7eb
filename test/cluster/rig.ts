// Several nodes in one process over one memory, with real connections between them. Everything is real but the models, the
// machines, and that a node which dies is one that was cut off from the store and from the others.
import { setTimeout as pause } from 'node:timers/promises'
import { ownVersion } from '../../src/data/version.ts'
import type {
  AttachedTool,
  Engine,
  FollowItem,
  LocalEngine,
  NodeStore,
  SessionRef,
} from '../../src/engine/index.ts'
import { ClusterNode } from '../../src/engines/cluster/cluster-node.ts'
import { clusterSecret } from '../../src/engines/cluster/node-link.ts'
import { meet, type Peer } from '../../src/engines/cluster/peers.ts'
import type { ClusterSettings } from '../../src/engines/cluster/settings.ts'
import { TurnwireError } from '../../src/language/errors.ts'
import { sharedMemory } from '../../src/stores/memory.ts'
import { makeRig, owner, type RigOptions } from '../engine/rig.ts'

export const secret = 'a secret of the cluster, for tests only'

export type NodeRig = {
  node: ClusterNode
  engine: Engine
  local: LocalEngine
  store: NodeStore
  /** Of the node and of its engine. */
  readonly logs: readonly string[]
  /** From here on the store refuses everything that this node asks for, as if the network were cut. */
  cutStore(): void
  healStore(): void
  /** From here on answers of the store to these calls do not arrive until `release`: they are done, and nobody knows. */
  holdAnswers(...names: (keyof NodeStore)[]): HeldAnswers
  /** Its lease ends in the store, which it learns when it renews it. */
  endLease(): Promise<void>
  /** From here on it takes no connections of other nodes, and has lost those that it had. */
  deafen(): Promise<void>
}

export type HeldAnswers = { readonly count: number; release(): void }

export type NodeRigOptions = RigOptions & {
  settings?: ClusterSettings
  graceMs?: number
  vaultProof?: string
  patienceMs?: number
}

const nodes = new Set<NodeRig>()

/** Stops every node that a test started. */
export async function stopNodes(): Promise<void> {
  await Promise.all([...nodes].map(({ node }) => node.stop(100).catch(() => {})))
  nodes.clear()
}

export type Cluster = ReturnType<typeof makeCluster>

/** `leaseMs`: of all nodes. */
export function makeCluster(leaseMs = 60_000) {
  const memory = sharedMemory()
  return {
    store: (): NodeStore => memory.open(),
    async start(options: NodeRigOptions = {}): Promise<NodeRig> {
      const logs: string[] = []
      const isCut = { store: false }
      const answers = new Answers()
      const own = memory.open()
      const store = cuttable(answers.of(own), isCut)
      let local: LocalEngine | undefined
      let engineLogs: string[] = []
      const node = new ClusterNode({
        store,
        settings: { secret, leaseMs, ...options.settings },
        version: ownVersion(),
        startEngine(given, summon) {
          const rig = makeRig({ ...options, store: given, summon })
          local = rig.local
          engineLogs = rig.logs
          return rig.local
        },
        graceMs: options.graceMs ?? 2_000,
        vault: options.vaultProof ?? 'vault',
        ...(options.patienceMs !== undefined && { patienceMs: options.patienceMs }),
        log: (level, message, fields) =>
          void logs.push(`${level} ${message} ${JSON.stringify(fields ?? {})}`),
      })
      await node.join()
      const rig: NodeRig = {
        node,
        engine: node.engine,
        local: local!,
        store,
        get logs() {
          return [...logs, ...engineLogs]
        },
        cutStore: () => {
          isCut.store = true
        },
        healStore: () => {
          isCut.store = false
        },
        holdAnswers: (...names) => answers.hold(names),
        endLease: () => own.leave(),
        deafen: () => node.deafen(),
      }
      nodes.add(rig)
      return rig
    },
  }
}

/** Answers of a store that are held back, as by a link that is full or cut in one direction. */
class Answers {
  #held: { names: readonly string[]; count: number; released: Promise<void> } | undefined

  hold(names: readonly string[]): HeldAnswers {
    const { promise, resolve } = Promise.withResolvers<void>()
    const held = { names, count: 0, released: promise }
    this.#held = held
    return {
      get count() {
        return held.count
      },
      release: () => {
        this.#held = undefined
        resolve()
      },
    }
  }

  of(store: NodeStore): NodeStore {
    return new Proxy(store, {
      get: (target, name) => {
        const member: unknown = Reflect.get(target, name)
        if (typeof member !== 'function') return member
        return (...args: unknown[]): unknown => {
          const answer: unknown = Reflect.apply(member, target, args)
          const held = this.#held
          if (!held?.names.includes(String(name))) return answer
          held.count += 1
          return held.released.then(() => answer)
        }
      },
    })
  }
}

/** The same store, whose calls all fail while it is cut off. */
function cuttable(store: NodeStore, isCut: { store: boolean }): NodeStore {
  return new Proxy(store, {
    get(target, name) {
      const member: unknown = Reflect.get(target, name)
      if (typeof member !== 'function') return member
      return (...args: unknown[]) =>
        isCut.store
          ? Promise.reject(new TurnwireError('store_failed', 'The store cannot be reached.'))
          : Reflect.apply(member, target, args)
    },
  })
}

export async function begin({ engine }: Pick<NodeRig, 'engine'>): Promise<SessionRef> {
  const settings = { tools: null, options: {}, clientTools: [] }
  const { session } = await engine.create({ owner, agent: 'helper', wire: 'test', settings, seed: [] })
  return { owner, session }
}

/** Waits until something is so. */
export async function until(isSo: () => boolean | Promise<boolean>, patienceMs = 30_000): Promise<void> {
  const began = performance.now()
  while (!(await isSo())) {
    if (performance.now() - began > patienceMs) throw new Error(`It never was so: ${String(isSo)}`)
    await pause(10)
  }
}

/** Which of the nodes has the session. */
export async function holderOf(store: NodeStore, { session }: SessionRef): Promise<string | undefined> {
  return (await store.holder(session))?.node?.id
}

/** A connection to a node, as another one makes it. */
export function peerOf({ node }: NodeRig): Promise<Peer> {
  return meet(node.address ?? '', clusterSecret(secret))
}

export function textOf(items: readonly FollowItem[]): string {
  const deltas = items.flatMap(item => (item.type === 'delta' ? [item.delta] : []))
  // A step that starts over takes back what was shown of it.
  const from = deltas.findLastIndex(({ type }) => type === 'step.reset')
  return deltas
    .slice(from + 1)
    .flatMap(delta => (delta.type === 'text' ? [delta.text] : []))
    .join('')
}

export function eventsOf(items: readonly FollowItem[]): string[] {
  return items.flatMap(item =>
    item.type === 'event' && item.event.type !== 'session.created' ? [item.event.type] : [],
  )
}

export const lookTool: AttachedTool = {
  name: 'look',
  description: 'Looks.',
  input: { form: 'json', schema: { type: 'object' } },
  kind: 'read',
  readOnly: false,
  idempotent: false,
  destructive: false,
  side: 'server',
  exposed: false,
  trust: 'trusted',
  timeoutMs: 10_000,
  retries: 0,
  outputLimit: 1024,
}
