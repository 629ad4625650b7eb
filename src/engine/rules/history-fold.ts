// The entries of a history, made from its log one event at a time. Entries are given away as soon as they are whole and
// not kept, so that a history of any length can be read in pages.
import type { CallResult } from '../../language/calls.ts'
import type { Event, Recorded } from '../../language/events.ts'
import type { Entry } from '../../language/history.ts'
import { evolve, toCallResult } from './evolve.ts'
import { type CallState, emptyState, type SessionState } from './state.ts'

/**
 * The last compaction of a log: its event, and how many entries before it a model still reads, newest. They follow the
 * entries of the event.
 */
export type LastCompaction = { seq: number; kept: number }

/** The state of a session but for its history, and what a summary tells of the history. */
export class HistoryFold {
  readonly state: SessionState
  /** How many entries there were. */
  entries = 0
  lastRole: Entry['role'] | undefined
  compaction: LastCompaction | undefined
  #viewLength = 0

  constructor(id = '') {
    this.state = emptyState(id)
  }

  /** The calls of the last answer, until all of them are settled. Not those that calls made: no history shows them. */
  get calls(): readonly CallState[] {
    return this.state.batch.filter(call => call.parent === undefined)
  }

  /** Results of these calls, in the order asked, from number `from` up to the first call that is not settled. */
  resultsFrom(from: number): CallResult[] {
    const results: CallResult[] = []
    for (const call of this.calls.slice(from)) {
      if (!call.outcome) break
      results.push(toCallResult(call))
    }
    return results
  }

  /** The entries that this event makes whole. */
  take({ event }: { event: Event }): Entry[] {
    const { state } = this
    evolve(state, event)
    if (event.type === 'history.compacted') {
      const kept = this.#viewLength - event.replaces
      this.compaction = { seq: state.seq, kept }
      this.#viewLength = event.entries.length + kept
    }
    const made = state.entries
    state.entries = []
    state.view = state.entries
    this.entries += made.length
    this.#viewLength += made.length
    this.lastRole = made.at(-1)?.role ?? this.lastRole
    return made
  }
}

/** The entries as a model reads them: before the last compaction only those that it kept are remembered. */
export class CompactedFold {
  readonly #fold = new HistoryFold()
  readonly #last: LastCompaction
  #tail: Entry[] = []
  #seq = 0
  #length = 0

  constructor(last: LastCompaction) {
    this.#last = last
  }

  get calls(): readonly CallState[] {
    return this.#fold.calls
  }

  /** As those of HistoryFold. Before the last compaction there are none. */
  resultsFrom(from: number): CallResult[] {
    return this.#seq > this.#last.seq ? this.#fold.resultsFrom(from) : []
  }

  take({ seq, event }: Recorded): Entry[] {
    this.#seq = seq
    const made = this.#fold.take({ event })
    if (seq > this.#last.seq) return made
    const kept = event.type === 'history.compacted' ? this.#length - event.replaces : this.#length
    if (event.type === 'history.compacted')
      this.#tail = [...event.entries, ...(kept > 0 ? this.#tail.slice(-kept) : [])]
    if (seq === this.#last.seq) return this.#tail
    this.#length = event.type === 'history.compacted' ? kept + event.entries.length : kept + made.length
    this.#tail.push(...made)
    const most = this.#last.kept
    if (this.#tail.length > most) this.#tail = most > 0 ? this.#tail.slice(-most) : []
    return []
  }
}
