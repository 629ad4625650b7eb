// Follows a session wherever it is. When it moves to another node, the reader goes on there: events without gaps or repeats,
// and a model step that was cut off starts over as it would on one node.
import type { FollowItem, FollowOptions, SessionRef } from '../../engine/index.ts'
import { publicError, TurnwireError } from '../../language/errors.ts'
import { ResumedDeltas } from '../moving/resumed-deltas.ts'
import { isStopping } from '../socket/index.ts'
import type { Routed, Router } from './router.ts'

/** Codes with which a stream ends because its session is elsewhere, or its node is gone. */
const movedCodes: ReadonlySet<string> = new Set(['moved', 'stopping', 'lease_lost'])

export async function* routedFollow(
  router: Router,
  ref: SessionRef,
  options: FollowOptions,
  stop: AbortSignal,
): AsyncGenerator<readonly FollowItem[]> {
  const reader = new RoutedReader(options)
  let search = router.searchToRead(ref)
  while (!stop.aborted) {
    let routed: Routed | undefined
    let moved: unknown
    try {
      routed = await router.find(search)
      // A reader that is moved must know where it was, also before the first event.
      reader.from ??= (await routed.engine.summary(ref)).seq + 1
      for await (const batch of routed.engine.follow(ref, reader.begin(), stop)) {
        const items = reader.take(batch, routed.peer !== undefined)
        if (items.length > 0) {
          yield items
          search = router.searchToRead(ref)
        }
        if (reader.isOver) return
        if (reader.moved) break
      }
      moved = reader.moved
    } catch (error) {
      if (!(error instanceof TurnwireError && isMoved(error.code, routed?.peer !== undefined))) throw error
      moved = error
    }
    if (moved === undefined || stop.aborted) return
    try {
      if (!routed?.peer && isStopping(moved)) search.notHere = moved
      await router.again(search, moved)
      const items = reader.goOn()
      if (items.length > 0) yield items
    } catch (error) {
      yield [lost(error)]
      return
    }
  }
}

/** What one reader was given, over all nodes that it reads from. */
class RoutedReader {
  readonly #given: FollowOptions
  readonly #deltas: ResumedDeltas
  /** The number of the next event to give. */
  from: number | undefined
  /** The number of the last event that the present node gave. */
  #at = 0
  /** The stream cannot go on. */
  isOver = false
  /** Why the present node gives nothing more. */
  moved: TurnwireError | undefined

  constructor(options: FollowOptions) {
    this.#given = options
    this.from = options.from
    this.#deltas = new ResumedDeltas(options.deltas)
  }

  /** What the next node is asked for. */
  begin(): FollowOptions {
    const { replay } = this.#given
    // A replay is counted from the request's first event: what was given is given again, and left out here.
    const from = (replay ? this.#given.from : this.from) ?? 0
    this.#at = from - 1
    return { ...this.#given, from, deltas: this.#deltas.mode }
  }

  /** `isRemote`: another node gave it. */
  take(batch: readonly FollowItem[], isRemote: boolean): FollowItem[] {
    const items: FollowItem[] = []
    for (const item of batch) {
      if (item.type === 'lost' && isMoved(item.error.code, isRemote)) {
        this.moved = new TurnwireError(item.error.code, item.error.message)
        break
      }
      if (item.type === 'event') this.#at = item.seq
      if (this.#isRepeated(item)) continue
      if (item.type === 'event') this.from = item.seq + 1
      if (this.#show(item, items)) continue
      this.isOver = true
      break
    }
    return items
  }

  /** The reader has this event, or has the event that the item led to. */
  #isRepeated(item: FollowItem): boolean {
    const { from = 0 } = this
    if (item.type === 'event') return item.seq < from
    return item.type === 'delta' && this.#at < from - 1
  }

  /** It reads from another node from here on. */
  goOn(): FollowItem[] {
    this.moved = undefined
    const items: FollowItem[] = []
    this.#deltas.moved(item => items.push(item))
    return items
  }

  /** False: the mode cannot show what the model did, and the stream ends. */
  #show(item: FollowItem, items: FollowItem[]): boolean {
    try {
      this.#deltas.take(item, given => items.push(given))
      return true
    } catch (error) {
      items.push(lost(error))
      return false
    }
  }
}

function lost(error: unknown): FollowItem {
  const { code, message } = publicError(error)
  return { type: 'lost', error: { code, message } }
}

/** Another node may be cut off from the store while this one is not. */
function isMoved(code: string, isRemote: boolean): boolean {
  return movedCodes.has(code) || (isRemote && code.startsWith('store_'))
}
