// A session's log, read in pages, so that no reader holds all of it.
import type { Engine, SessionRef } from '../engine/index.ts'
import type { Recorded } from '../language/events.ts'

const pageBytes = 1024 * 1024

/** Every event after number `after`, in order. */
export async function* readLog(
  engine: Pick<Engine, 'events'>,
  ref: SessionRef,
  after = 0,
): AsyncGenerator<Recorded, void, undefined> {
  for (let last = after; ; ) {
    const page = await engine.events(ref, last, pageBytes)
    if (page.length === 0) return
    yield* page
    last = page.at(-1)?.seq ?? last
  }
}
