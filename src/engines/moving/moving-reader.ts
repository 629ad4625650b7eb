// Joins the streams of one reader over all engines that it reads a session from: events come without gaps or repeats,
// and a model step that was cut off starts over as it would in one engine.
import type { FollowItem, FollowOptions } from '../../engine/ports/boundary.ts'
import { publicError, TurnwireError } from '../../language/errors.ts'
import type { Place } from './place.ts'
import { ResumedDeltas } from './resumed-deltas.ts'

export class MovingReader {
  readonly #given: FollowOptions
  readonly #deltas: ResumedDeltas
  /** The number of the next event to give. */
  from: number | undefined
  /** The number of the last event that the present engine gave. */
  #at = 0
  /** The stream cannot go on. */
  isOver = false
  /** Why the present engine gives nothing more. */
  moved: unknown

  constructor(options: FollowOptions) {
    this.#given = options
    this.from = options.from
    this.#deltas = new ResumedDeltas(options.deltas)
  }

  /** The request to the next engine. */
  begin(): FollowOptions {
    const { replay } = this.#given
    // A replay starts at the request's first event. `take` leaves out events that the reader has.
    const from = (replay ? this.#given.from : this.from) ?? 0
    this.#at = from - 1
    return { ...this.#given, from, deltas: this.#deltas.mode }
  }

  take(batch: readonly FollowItem[], place: Pick<Place, 'hasMoved'>): FollowItem[] {
    const items: FollowItem[] = []
    for (const item of batch) {
      if (item.type === 'lost') {
        const error = new TurnwireError(item.error.code, item.error.message)
        if (place.hasMoved(error)) {
          this.moved = error
          break
        }
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

  /** It reads from another engine from here on. */
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
      items.push(lostItem(error))
      return false
    }
  }
}

export function lostItem(error: unknown): FollowItem {
  const { code, message } = publicError(error)
  return { type: 'lost', error: { code, message } }
}
