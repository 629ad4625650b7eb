// The engine of all nodes: a call about a session goes to the node that has it, over one hop. If that node is gone, the
// call waits for the end of its lease, and this node takes the session over. Durable data is read here.
import type {
  Engine,
  LookUpAnswer,
  LookUpQuery,
  OwnerUsage,
  SessionRef,
} from '../../engine/ports/boundary.ts'
import type { EngineHere } from '../../engine/ports/local.ts'
import { MovingEngine } from '../moving/moving-engine.ts'
import type { Search } from '../moving/place.ts'
import { mergedChanges } from './merged-changes.ts'
import type { Router } from './router.ts'

/** Calls and streams that need the node that has the session. The others read what is durable, or need no session. */
const routedNames: ReadonlySet<keyof Engine> = new Set([
  'follow',
  'attach',
  'command',
  'report',
  'remove',
  'summary',
  'history',
])

export type ClusterEngineParts = {
  local: EngineHere
  router: Router
  /** The engines of the other nodes that can be reached now. */
  others: () => Promise<RemoteNode[]>
}

export type RemoteNode = Pick<Engine, 'changes'> & {
  id: string
  running(owner: string, all: boolean): Promise<string[]>
}

export class ClusterEngine extends MovingEngine {
  readonly #parts: ClusterEngineParts

  constructor(parts: ClusterEngineParts) {
    super()
    this.#parts = parts
  }

  protected override locate(name: keyof Engine, about?: unknown): Search {
    const { router } = this.#parts
    if (!routedNames.has(name)) return router.here
    return router.search(name, about as SessionRef) // All of these are about a session.
  }

  /** Turns are counted on all nodes. One that does not answer counts as idle. */
  async #usage(query: Extract<LookUpQuery, { get: 'usage' }>): Promise<OwnerUsage> {
    const { local, others } = this.#parts
    const [own, nodes] = await Promise.all([local.lookUp(query), others()])
    const { owner, all = false } = query
    const elsewhere = await Promise.all(nodes.map(node => node.running(owner, all).catch(() => [])))
    return { ...own, running: [...new Set([...own.running, ...elsewhere.flat()])] }
  }

  override lookUp<Query extends LookUpQuery>(query: Query): Promise<LookUpAnswer<Query>> {
    if (query.get !== 'usage') return this.#parts.local.lookUp(query)
    return this.#usage(query) as Promise<LookUpAnswer<Query>> // The answer of this question.
  }

  override changes(signal?: AbortSignal): ReturnType<Engine['changes']> {
    const { local, others } = this.#parts
    return mergedChanges(local, others, signal)
  }
}
