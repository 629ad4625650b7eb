// Where a turn's events come from: live, from the moment that the session took the request, or from the log, for a
// request that was taken before (and then live, if it is not over yet). Either way nothing is missed or shown twice.
import {
  evolve,
  type FeedItem,
  fold,
  type OpenSessions,
  type Session,
  segment,
  statusOf,
} from '../../engine/index.ts'
import type { Recorded } from '../../language/events.ts'
import type { TurnView } from './turn-view.ts'

export type TurnSource = {
  /** Feeds the view until the turn is over or waits; `pace` is awaited where there is time to wait. */
  run(view: TurnView, pace: () => Promise<void>): Promise<void>
  /** Nobody looks any more. The turn itself goes on. */
  stop(): void
}

/** Watches from before the request is made, so that its first event cannot slip by. */
export class LiveTurn {
  readonly #unwatch: () => void
  #early: FeedItem[] | undefined = []
  #take: (item: FeedItem) => void = () => {}
  #done: () => void = () => {}

  constructor(session: Session) {
    this.#unwatch = session.feed.watch(item => (this.#early ? this.#early.push(item) : this.#take(item)))
  }

  stop(): void {
    this.#unwatch()
    this.#take = () => {}
    this.#done()
  }

  /** `first`: the number of the request's first event. */
  from(first: number): TurnSource {
    return { run: view => this.#run(first, view), stop: () => this.stop() }
  }

  #run(first: number, view: TurnView): Promise<void> {
    return new Promise(resolve => {
      this.#done = resolve
      this.#take = item => {
        if (item.type === 'closed') view.fail(item.reason)
        else if (item.type !== 'status') {
          view.take(item)
          return
        } else if (item.status === 'running') return
        else view.finish()
        this.stop()
      }
      const early = this.#early ?? []
      this.#early = undefined
      const at = early.findIndex(
        item => item.type === 'closed' || (item.type === 'event' && item.seq >= first),
      )
      for (const item of at < 0 ? [] : early.slice(at)) this.#take(item)
    })
  }
}

export async function replayTurn(
  engine: OpenSessions,
  owner: string,
  id: string,
  first: number,
): Promise<TurnSource> {
  const log = await engine.events(owner, id)
  let stopped = false
  let stop = (): void => {
    stopped = true
  }
  return {
    stop: () => stop(),
    async run(view, pace) {
      const { events, over } = segment(id, log, first)
      for (const recorded of events) {
        if (stopped) return
        view.take({ type: 'event', ...recorded })
        await pace()
      }
      if (over) view.finish()
      else if (!stopped) await follow(engine, owner, id, log, view, end => (stop = end))
    },
  }
}

/** Goes on live where the log ends. */
async function follow(
  engine: OpenSessions,
  owner: string,
  id: string,
  log: readonly Recorded[],
  view: TurnView,
  onStop: (stop: () => void) => void,
): Promise<void> {
  const state = fold(id, log)
  const { promise, resolve } = Promise.withResolvers<void>()
  let over = false
  const end = (): void => {
    over = true
    resolve()
  }
  onStop(end)
  const unwatch = await engine.watch(owner, id, state.seq, item => {
    if (over || item.type === 'status') return
    if (item.type === 'closed') {
      view.fail(item.reason)
      end()
      return
    }
    if (item.type === 'event') evolve(state, item.event)
    view.take(item)
    if (item.type !== 'event' || statusOf(state) === 'running') return
    view.finish()
    end()
  })
  try {
    await promise
  } finally {
    unwatch()
  }
}
