// Tools that clients of this node run for sessions, wherever those are. When a session moves they are attached again where it
// is; if its node died, here, so that the session goes on with the tools that it had.
import type { AttachedItem, AttachedTool, SessionRef } from '../../engine/index.ts'
import { TurnwireError } from '../../language/errors.ts'
import { isStopping } from '../socket/index.ts'
import type { Routed, Router } from './router.ts'

export class RoutedAttachments {
  readonly #router: Router
  /** How many there are, by session. */
  readonly #live = new Map<string, number>()

  constructor(router: Router) {
    this.#router = router
  }

  has(session: string): boolean {
    return this.#live.has(session)
  }

  async *attach(
    ref: SessionRef,
    tools: readonly AttachedTool[],
    stop: AbortSignal,
  ): AsyncGenerator<readonly AttachedItem[]> {
    this.#count(ref.session, 1)
    try {
      yield* this.#attach(ref, tools, stop)
    } finally {
      this.#count(ref.session, -1)
    }
  }

  async *#attach(
    ref: SessionRef,
    tools: readonly AttachedTool[],
    stop: AbortSignal,
  ): AsyncGenerator<readonly AttachedItem[]> {
    let search = this.#router.searchToRead(ref)
    for (let isKnown = false; !stop.aborted; ) {
      let routed: Routed | undefined
      let moved: unknown
      try {
        routed = await this.#router.find(search)
        for await (const batch of routed.engine.attach(ref, tools, stop)) {
          search = this.#router.searchToRead(ref)
          const isAttached = batch[0]?.type === 'attached'
          const items = isAttached && isKnown ? batch.slice(1) : batch
          isKnown ||= isAttached
          if (items.length > 0) yield items
        }
        // It was lost here, or is elsewhere now, unless it was deleted.
        if (stop.aborted || !(await this.#router.exists(ref))) return
        moved = new TurnwireError('moved', 'The session is elsewhere now.')
      } catch (error) {
        if (!isMoved(error)) throw error
        moved = error
        if (!routed?.peer && isStopping(error)) return
      }
      await this.#router.again(search, moved)
    }
  }

  #count(session: string, by: number): void {
    const count = (this.#live.get(session) ?? 0) + by
    if (count > 0) this.#live.set(session, count)
    else this.#live.delete(session)
  }
}

function isMoved(error: unknown): boolean {
  return error instanceof TurnwireError && ['moved', 'stopping', 'lease_lost'].includes(error.code)
}
