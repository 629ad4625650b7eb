// The engine of all nodes: a call about a session goes to the node that has it, over one hop. When that node is gone, the
// call waits for the end of its lease and this node takes the session up. Reads of what is durable are answered here.
import type {
  Command,
  Engine,
  LocalEngine,
  LookUpAnswer,
  LookUpQuery,
  OwnerUsage,
  SessionRef,
} from '../../engine/index.ts'
import { TurnwireError } from '../../language/errors.ts'
import { stoppable } from '../../lib/async/stoppable.ts'
import { type CallName, callByName, ForwardingEngine, isStopping, readNames } from '../socket/index.ts'
import { mergedChanges } from './merged-changes.ts'
import { RoutedAttachments } from './routed-attach.ts'
import { routedFollow } from './routed-follow.ts'
import type { Routed, Router } from './router.ts'

/** Calls that need the node that has the session. The others read what is durable. */
const routedNames: ReadonlySet<CallName> = new Set(['command', 'report', 'remove', 'summary', 'history'])

export type ClusterEngineParts = {
  local: LocalEngine
  router: Router
  /** The engines of the other nodes that can be reached now. */
  others: () => Promise<RemoteNode[]>
}

export type RemoteNode = Pick<Engine, 'changes'> & {
  id: string
  running(owner: string, all: boolean): Promise<string[]>
}

export class ClusterEngine extends ForwardingEngine {
  readonly #parts: ClusterEngineParts
  readonly #attachments: RoutedAttachments

  constructor(parts: ClusterEngineParts) {
    super()
    this.#parts = parts
    this.#attachments = new RoutedAttachments(parts.router)
  }

  /** Whether a client of this node runs tools for the session. */
  hasAttached(session: string): boolean {
    return this.#attachments.has(session)
  }

  protected override forward<Name extends CallName>(
    name: Name,
    ...args: Parameters<Engine[Name]>
  ): ReturnType<Engine[Name]> {
    const { local, router } = this.#parts
    const ref = routedNames.has(name) ? (args[0] as SessionRef) : undefined // So they begin, all of them.
    // Each call gives a promise of its own type; which one is lost on the way through a variable name.
    if (!ref) return callByName(local, name, args) as ReturnType<Engine[Name]>
    if (router.isHere(ref) && isLocalOnly(name))
      return callByName(local, name, args) as ReturnType<Engine[Name]>
    return this.#routed(name, ref, args) as ReturnType<Engine[Name]>
  }

  async #routed(name: CallName, ref: SessionRef, args: unknown[]): Promise<unknown> {
    const search = this.#parts.router.search(ref)
    for (;;) {
      let routed: Routed | undefined
      try {
        routed = await this.#parts.router.find(search)
        return await callByName(routed.engine, name, args)
      } catch (error) {
        if (!mayAskAgain(error, routed, name, args)) throw error
        if (routed && !routed.peer && isStopping(error)) search.notHere = error
        await this.#parts.router.again(search, error)
      }
    }
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

  follow(...[ref, options, signal]: Parameters<Engine['follow']>): ReturnType<Engine['follow']> {
    return stoppable(stop => routedFollow(this.#parts.router, ref, options, stop), signal)
  }

  answerOnce(...args: Parameters<Engine['answerOnce']>): ReturnType<Engine['answerOnce']> {
    return this.#parts.local.answerOnce(...args)
  }

  attach(...[ref, tools, signal]: Parameters<Engine['attach']>): ReturnType<Engine['attach']> {
    return stoppable(stop => this.#attachments.attach(ref, tools, stop), signal)
  }

  changes(signal?: AbortSignal): ReturnType<Engine['changes']> {
    const { local, others } = this.#parts
    return mergedChanges(local, others, signal)
  }
}

/** A report that finds no run is for a run that is over. */
function isLocalOnly(name: CallName): boolean {
  return name === 'report'
}

function codeOf(error: unknown): string | undefined {
  return error instanceof TurnwireError ? error.code : undefined
}

/** After `moved` and `stopping` nothing was recorded. After a lost lease or node that is not known. */
function mayAskAgain(
  error: unknown,
  routed: Routed | undefined,
  name: CallName,
  args: readonly unknown[],
): boolean {
  const code = codeOf(error)
  if (!routed) return false
  if (code === 'moved' || code === 'stopping') return true
  const isRead = readNames.some(read => read === name)
  // Another node may be cut off from the store while this one is not.
  if (isRead && routed.peer && code?.startsWith('store_')) return true
  return code === 'lease_lost' && (isRead || hasKey(name, args))
}

/** A request with a key is recorded once, however often it is made. */
function hasKey(name: CallName, args: readonly unknown[]): boolean {
  if (name !== 'command') return false
  const command = args[1] as Command // The second argument of `command`.
  return 'request' in command && command.request !== undefined
}
