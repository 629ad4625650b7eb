// A session's log, and its history, read in pages, so that no reader holds all of it.
import {
  CompactedFold,
  type Engine,
  HistoryFold,
  type SessionCall,
  type SessionRef,
  type SessionSummary,
} from '../engine/index.ts'
import type { CallResult } from '../language/calls.ts'
import type { ResultPart } from '../language/content.ts'
import type { Event, Recorded } from '../language/events.ts'
import type { Entry } from '../language/history.ts'
import { loopTurn } from '../lib/async/loop-turns.ts'
import { roughSize } from '../lib/json/plain.ts'
import type { Held } from './http/index.ts'

const pageBytes = 1024 * 1024
/** For a reader that waits for its client between two pages. */
const smallPageBytes = 32 * 1024

/** Every event after number `after`, in order. */
export async function* readLog(
  engine: Pick<Engine, 'events'>,
  ref: SessionRef,
  after = 0,
  maxBytes = pageBytes,
): AsyncGenerator<Recorded, void, undefined> {
  let read = 0
  for (let last = after; ; ) {
    const page = await engine.events(ref, last, maxBytes)
    if (page.length === 0) return
    yield* page
    // Pages are parsed on the event loop: others are served between two.
    read += maxBytes
    if (read % pageBytes === 0) await loopTurn()
    last = page.at(-1)?.seq ?? last
  }
}

/** The log as it was after event number `last`. */
export function logUpTo(engine: Pick<Engine, 'events'>, last: number): Pick<Engine, 'events'> {
  return {
    events: async (ref, after = 0, maxBytes) => {
      if (after >= last) return []
      const page = await engine.events(ref, after, maxBytes)
      return (page.at(-1)?.seq ?? 0) > last ? page.filter(({ seq }) => seq <= last) : page
    },
  }
}

/** The calls of the last answer, and those that they made, as they stood before event number `first`. */
export async function callsBefore(
  engine: Pick<Engine, 'events'>,
  ref: SessionRef,
  first: number,
): Promise<readonly SessionCall[]> {
  const fold = new HistoryFold()
  for await (const { event } of readLog(logUpTo(engine, first - 1), ref)) fold.take({ event })
  return fold.state.batch
}

/** Memory of a reader of a history: about `readerBytes`, and `callBytes` more for each call of the last answer. */
const readerBytes = 128 * 1024
const callBytes = 512

/** The memory that is assumed before the history is known. */
export function newHeld(): Held {
  return { bytes: 4 * readerBytes }
}

/**
 * The entries of the history, then the results of the last calls that are there already. The results of one answer's calls
 * come one by one, each as an entry. `compaction`: the last one, of the summary, for the history as a model reads it. `held` is
 * kept up to date with the memory that this takes.
 */
export async function* readHistory(
  engine: Pick<Engine, 'events'>,
  ref: SessionRef,
  compaction?: SessionSummary['compaction'],
  held = newHeld(),
): AsyncGenerator<Entry, void, undefined> {
  const fold = compaction ? new CompactedFold(compaction) : new HistoryFold()
  const large = new LargeResults(engine, ref)
  /** Results of the last answer's calls that were given before all of them were settled. */
  let given = 0
  // No history shows that a call was allowed or started. The fold would only grow with it, for each of many readers.
  for await (const { seq, event } of readLog(engine, ref, 0, smallPageBytes)) {
    if (event.type === 'call.allowed' || event.type === 'call.started') continue
    const entries = fold.take({ seq, event: large.setAside(seq, event) })
    if (entries.length > 0) held.bytes = readerBytes + callBytes * fold.calls.length
    for (const entry of entries)
      if (entry.role === 'tool') {
        yield* large.oneByOne(entry.results.slice(given))
        given = 0
      } else yield entry
    const next = event.type === 'call.settled' ? fold.resultsFrom(given) : []
    given += next.length
    yield* large.oneByOne(next)
  }
  const results: CallResult[] = []
  for (const { part, outcome } of fold.calls.slice(given))
    if (outcome) results.push({ callId: part.id, name: part.name, outcome })
  yield* large.oneByOne(results)
}

/** A larger result is not kept until all calls of its answer are settled: it is read again when its turn comes. */
const largeResult = 4 * 1024

class LargeResults {
  readonly #engine: Pick<Engine, 'events'>
  readonly #ref: SessionRef
  /** The event whose parts this part stands for. */
  readonly #standIns = new WeakMap<ResultPart, number>()

  constructor(engine: Pick<Engine, 'events'>, ref: SessionRef) {
    this.#engine = engine
    this.#ref = ref
  }

  setAside(seq: number, event: Event): Event {
    if (event.type !== 'call.settled' || roughSize(event.outcome.parts) < largeResult) return event
    const standIn: ResultPart = { type: 'text', text: '' }
    this.#standIns.set(standIn, seq)
    return { ...event, outcome: { ...event.outcome, parts: [standIn] } }
  }

  async *oneByOne(results: readonly CallResult[]): AsyncGenerator<Entry, void, undefined> {
    for (const result of results) {
      const { outcome } = result
      const parts: ResultPart[] = []
      for (const part of outcome.parts) parts.push(...(await this.#partsFor(part)))
      yield { role: 'tool', results: [{ ...result, outcome: { ...outcome, parts } }] }
    }
  }

  async #partsFor(part: ResultPart): Promise<readonly ResultPart[]> {
    const seq = this.#standIns.get(part)
    if (seq === undefined) return [part]
    const [recorded] = await this.#engine.events(this.#ref, seq - 1, smallPageBytes)
    return recorded?.event.type === 'call.settled' ? recorded.event.outcome.parts : []
  }
}
