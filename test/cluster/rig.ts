// Several nodes in one process over one memory, with real connections between them. Everything is real but the models, the
// machines, and that a node which dies is one that was cut off from the store and from the others.
import { setTimeout as pause } from 'node:timers/promises'
import type { Engine, LocalEngine, NodeStore, SessionRef } from '../../src/engine/index.ts'
import { TurnwireError } from '../../src/language/errors.ts'
import { ClusterNode, type ClusterSettings } from '../../src/runtime/cluster/cluster-node.ts'
import { sharedMemory } from '../../src/stores/memory.ts'
import { makeRig, owner, type RigOptions } from '../engine/rig.ts'

export const secret = 'a secret of the cluster, for tests only'

export type NodeRig = {
  node: ClusterNode
  engine: Engine
  local: LocalEngine
  store: NodeStore
  logs: string[]
  /** From here on the store refuses everything that this node asks for, as if the network were cut. */
  cutStore(): void
  healStore(): void
}

export type NodeRigOptions = RigOptions & {
  settings?: ClusterSettings
  graceMs?: number
  vaultProof?: string
}

const nodes = new Set<NodeRig>()

/** Stops every node that a test started. */
export async function stopNodes(): Promise<void> {
  await Promise.all([...nodes].map(({ node }) => node.stop().catch(() => {})))
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
      const store = cuttable(memory.open(), isCut)
      let local: LocalEngine | undefined
      const node = await ClusterNode.start({
        store,
        settings: { secret, leaseMs, ...options.settings },
        startEngine(given, summon) {
          const rig = makeRig({ ...options, store: given, summon })
          local = rig.local
          return rig.local
        },
        graceMs: options.graceMs ?? 2_000,
        vault: options.vaultProof ?? 'vault',
        log: (level, message, fields) =>
          void logs.push(`${level} ${message} ${JSON.stringify(fields ?? {})}`),
      })
      const rig: NodeRig = {
        node,
        engine: node.engine,
        local: local!,
        store,
        logs,
        cutStore: () => {
          isCut.store = true
        },
        healStore: () => {
          isCut.store = false
        },
      }
      nodes.add(rig)
      return rig
    },
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

/** Waits until something is so. The test fails by its own time limit if it never is. */
export async function until(isSo: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await isSo())) await pause(10)
}

/** Which of the nodes has the session. */
export async function holderOf(store: NodeStore, { session }: SessionRef): Promise<string | undefined> {
  return (await store.holder(session))?.node?.id
}
