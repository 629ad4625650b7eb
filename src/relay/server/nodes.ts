// The relays of all nodes as one: each node asks the others every second which agents are attached there, and sends them the
// requests for their machines. A request makes one hop. Nothing of it is stored, and nodes agree on nothing.
import type { ModelDelta } from '../../engine/index.ts'
import type { ClusterNode } from '../../engines/cluster/cluster-node.ts'
import type { RemoteEngine } from '../../engines/socket/index.ts'
import { Batches } from '../../lib/async/batches.ts'
import {
  attachedHere,
  type Forwarded,
  type ListedAgent,
  OtherNodes,
  type RelayNode,
  type RemoteResult,
} from './elsewhere.ts'
import type { RelayServer } from './index.ts'
import { answerHere, type RelayModelOptions } from './model.ts'

const listName = 'relayAgents'
const answerName = 'relayAnswer'

/** How often the others are asked. */
const askMs = 1_000
/** A node that has not answered by then has no machines. */
const patienceMs = 2_000
/** How long a request waits for news of the other nodes. */
const waitMs = 500
/** News that are younger need not be asked for again. */
const freshMs = 200

type AnswerItem = { delta: ModelDelta } | { result: RemoteResult }

export class RelayNodes {
  readonly #options: RelayModelOptions
  readonly #others: OtherNodes
  readonly #node: ClusterNode
  readonly #timer: NodeJS.Timeout
  readonly #asking = new Map<string, Promise<void>>()
  #known = new Set<string>()
  #round: Promise<void> | undefined
  #askedAt = -Infinity
  #closed = false

  constructor(relay: RelayServer, node: ClusterNode) {
    this.#options = relay.asking
    this.#others = new OtherNodes(relay.asking.registry)
    this.#node = node
    node.streams[listName] = () => this.#list()
    node.streams[answerName] = ([forwarded], signal) => this.#answer(forwarded, signal)
    relay.look = () => this.look()
    this.#timer = setInterval(() => void this.#ask(), askMs).unref()
    void this.#ask()
  }

  close(): void {
    this.#closed = true
    clearInterval(this.#timer)
  }

  /** Until the others have said what is attached there, but not for long. */
  async look(): Promise<void> {
    let timer: NodeJS.Timeout | undefined
    const late = new Promise<void>(resolve => {
      timer = setTimeout(resolve, waitMs)
    })
    await Promise.race([this.#ask(), late])
    clearTimeout(timer)
  }

  // ---- asking the others -------------------------------------------------------------------------------------

  #ask(): Promise<void> {
    if (this.#closed || performance.now() - this.#askedAt < freshMs) return this.#round ?? Promise.resolve()
    this.#askedAt = performance.now()
    // The store cannot be reached: what is known of the nodes holds until it can.
    this.#round = this.#askAll().catch(() => {})
    return this.#round
  }

  async #askAll(): Promise<void> {
    const others = await this.#node.others()
    const living = new Set(others.map(({ id }) => id))
    for (const id of this.#known) if (!living.has(id)) this.#others.lose(id)
    this.#known = living
    await Promise.all(
      others.map(({ id, reach }) => {
        // One that is slow is not asked twice, and holds up nobody.
        const asking = this.#asking.get(id) ?? this.#askOne(id, reach).finally(() => this.#asking.delete(id))
        this.#asking.set(id, asking)
        return asking
      }),
    )
  }

  async #askOne(id: string, reach: () => Promise<{ engine: RemoteEngine }>): Promise<void> {
    try {
      const { engine } = await reach()
      const items = engine.open<ListedAgent[]>(listName, [], AbortSignal.timeout(patienceMs))
      for await (const [listed] of items) {
        if (!listed || !this.#known.has(id)) return
        this.#others.hear(farNode(id, engine), listed)
        this.#options.dispatch.look()
        return
      }
    } catch {
      // It is gone, or has no relay.
    }
    this.#others.lose(id)
  }

  // ---- for the others ----------------------------------------------------------------------------------------

  async *#list(): AsyncGenerator<readonly ListedAgent[][]> {
    // A node that stops gets no further requests.
    yield [this.#node.failure()?.code === 'stopping' ? [] : attachedHere(this.#options.registry)]
  }

  #answer(forwarded: unknown, signal: AbortSignal): AsyncIterable<readonly AnswerItem[]> {
    const items = new Batches<AnswerItem>()
    // Only `farNode` asks for this.
    answerHere(this.#options, forwarded as Forwarded, delta => items.push({ delta }), signal)
      .then(result => {
        items.push({ result })
        items.end()
      })
      .catch((error: unknown) => items.fail(error))
    return items
  }
}

function farNode(id: string, engine: RemoteEngine): RelayNode {
  return {
    id,
    async answer(forwarded, watch, signal) {
      let shown = false
      try {
        for await (const batch of engine.open<AnswerItem>(answerName, [forwarded], signal))
          for (const item of batch) {
            if ('result' in item) return item.result
            signal.throwIfAborted()
            shown = true
            watch(item.delta)
          }
      } catch {
        // The node went away, or its machine was not free in time. Either way the machine is out of reach.
      }
      signal.throwIfAborted()
      return { ending: { end: 'gone' }, shown }
    },
  }
}
