// Sends the items of one session to its watchers in one order: durable events with their numbers, deltas of the current
// step, and changes of status. An event is sent once it is durable, and later items wait for it. Readers outside the
// engine use `follow`, which adds the log.
import type { Phase } from '../../language/content.ts'
import type { Delta } from '../../language/events.ts'
import type { Report } from '../../language/report.ts'
import { soon } from '../../lib/async/promises.ts'
import type { FollowItem } from '../ports/boundary.ts'
import type { SessionStatus } from '../ports/index.ts'
import { isSamePart } from './step.ts'

type ShownItem = Extract<FollowItem, { type: 'event' | 'delta' }>

export type FeedItem =
  | ShownItem
  | { type: 'status'; status: SessionStatus }
  /** Nothing more comes from here: the session was lost or removed, or the server stops. */
  | { type: 'closed'; reason: unknown }
  /** The session rests and leaves memory. Later items come from the copy that is loaded next. */
  | { type: 'released' }

export type Watcher = (item: FeedItem) => void

/** Events that are not durable yet, and what came after them. Deltas are held bare: a burst may have very many. */
export type HeldItems = {
  items: (Extract<FeedItem, { type: 'event' | 'status' }> | Delta)[]
  durable: boolean
}

const outputTail = 64 * 1024
/** The last items are kept for readers who attach right after their command. */
const mostKept = 64

export class Feed {
  readonly #watchers = new Set<Watcher>()
  #held: HeldItems[] = []
  #releasing = false
  #delivering = false
  #recent: ShownItem[] = []
  #live: StepInFlight | undefined
  /** How many of the recent items are folded into it. */
  #folded = 0
  /** The number of the last event that was shown, and the last status. */
  shown: number
  shownStatus: SessionStatus

  readonly #report: (error: unknown) => void

  constructor(shown: number, status: SessionStatus, report: (error: unknown) => void) {
    this.shown = shown
    this.shownStatus = status
    this.#report = report
  }

  /** The step in flight. Folded only when someone attaches, or items are dropped: most steps are over before. */
  get live(): StepInFlight {
    this.#live ??= new StepInFlight()
    for (; this.#folded < this.#recent.length; this.#folded += 1) this.#live.take(this.#recent[this.#folded]!)
    return this.#live
  }

  get watched(): boolean {
    return this.#watchers.size > 0
  }

  watch(watcher: Watcher): () => void {
    this.#watchers.add(watcher)
    return () => this.#watchers.delete(watcher)
  }

  /** The items shown from this event on, with their deltas, if they are still in memory. */
  kept(seq: number): readonly ShownItem[] | undefined {
    const at = this.#recent.findIndex(item => item.type === 'event' && item.seq === seq)
    return at < 0 ? undefined : this.#recent.slice(at)
  }

  /** Holds events on their way to the store: they, and everything that comes after them, wait for `release`. */
  hold(): HeldItems {
    const held: HeldItems = { items: [], durable: false }
    this.#held.push(held)
    return held
  }

  /** Shows what was held, one microtask later: calls that waited for the write start first. */
  release(held: HeldItems): void {
    held.durable = true
    if (this.#releasing) return
    this.#releasing = true
    soon(() => this.#deliverDurable())
  }

  #deliverDurable(): void {
    this.#releasing = false
    // A watcher may close the feed, which delivers too: keep the order.
    if (this.#delivering) return
    this.#delivering = true
    while (this.#held[0]?.durable)
      for (const item of this.#held.shift()!.items)
        this.#deliver(item.type === 'event' || item.type === 'status' ? item : { type: 'delta', delta: item })
    this.#delivering = false
  }

  delta(delta: Delta): void {
    const last = this.#held.at(-1)
    if (!last) this.#deliver({ type: 'delta', delta })
    else if (delta.type === 'arguments') holdArguments(last.items, delta)
    else last.items.push(delta)
  }

  status(status: SessionStatus): void {
    const last = this.#held.at(-1)
    if (last) last.items.push({ type: 'status', status })
    else this.#deliver({ type: 'status', status })
  }

  close(reason: unknown): void {
    this.#deliverDurable()
    this.#held = []
    this.#deliver({ type: 'closed', reason })
    this.#watchers.clear()
  }

  /** Only for a session at rest, all of whose events were shown. */
  retire(): void {
    this.#deliver({ type: 'released' })
    this.#watchers.clear()
  }

  #deliver(item: FeedItem): void {
    if (item.type === 'status') this.shownStatus = item.status
    else if (item.type === 'event' || item.type === 'delta') {
      if (item.type === 'event') this.shown = item.seq
      this.#recent.push(item)
      if (this.#recent.length > mostKept) this.#dropOldest()
    }
    if (this.#watchers.size === 0) return
    for (const watcher of this.#watchers) {
      try {
        watcher(item)
      } catch (error) {
        // A defect of one watcher must not reach the others or the session.
        this.#watchers.delete(watcher)
        this.#report(error)
      }
    }
  }

  #dropOldest(): void {
    this.#live = this.live
    this.#recent = this.#recent.slice(mostKept / 2)
    this.#folded = this.#recent.length
  }
}

/** Pieces of arguments that wait for the same write are shown as one: nobody reads them piece by piece. */
function holdArguments(items: HeldItems['items'], delta: Extract<Delta, { type: 'arguments' }>): void {
  const last = items.at(-1)
  const { type, callId, text } = delta
  if (last?.type !== 'arguments' || last.callId !== callId) items.push(delta)
  else items[items.length - 1] = { type, callId, text: last.text + text }
}

type OutputDelta = Extract<Delta, { type: 'output' }>

/** The deltas shown since the last whole answer, folded: what a reader who attaches now has missed. */
export class StepInFlight {
  /** The number of the step that was asked and has not been answered. */
  #step: number | undefined
  #parts: (
    | { type: 'text' | 'thinking'; phase?: Phase; text: string }
    | { type: 'call'; opened: Delta; callId: string; text: string }
  )[] = []
  /** By call and terminal. */
  #outputs: Map<string, OutputDelta> | undefined
  #reports: Map<string, Report> | undefined

  take(item: ShownItem): void {
    if (item.type === 'event') {
      const { event } = item
      if (event.type === 'call.settled' && (this.#reports || this.#outputs)) this.#forget(event.callId)
      else if (event.type === 'model.answered' || event.type === 'turn.ended') {
        this.#step = undefined
        this.#parts = []
      }
      return
    }
    const { delta } = item
    switch (delta.type) {
      case 'step.started':
      case 'step.reset':
        this.#step = delta.step
        this.#parts = []
        break
      case 'text':
      case 'thinking': {
        const last = this.#parts.at(-1)
        const phase = delta.type === 'text' && delta.phase && { phase: delta.phase }
        if (last && last.type !== 'call' && isSamePart(last, delta)) last.text += delta.text
        else this.#parts.push({ type: delta.type, ...phase, text: delta.text })
        break
      }
      case 'call.opened':
        this.#parts.push({ type: 'call', opened: delta, callId: delta.callId, text: '' })
        break
      case 'arguments': {
        const last = this.#parts.at(-1)
        const call =
          last?.type === 'call' && last.callId === delta.callId
            ? last
            : this.#parts.find(part => part.type === 'call' && part.callId === delta.callId)
        if (call) call.text += delta.text
        break
      }
      case 'output': {
        this.#outputs ??= new Map()
        const key = `${delta.callId} ${delta.terminal ?? ''}`
        const text = (this.#outputs.get(key)?.text ?? '') + delta.text
        this.#outputs.set(key, {
          ...delta,
          text: text.length > outputTail ? text.slice(-outputTail) : text,
        })
        break
      }
      case 'report':
        this.#reports ??= new Map()
        this.#reports.set(delta.callId, { ...this.#reports.get(delta.callId), ...delta.report })
        break
      case 'progress':
      case 'block':
        break
    }
  }

  /** The fewest deltas that say the same. */
  snapshot(): Delta[] {
    const deltas: Delta[] = []
    if (this.#step !== undefined) deltas.push({ type: 'step.started', step: this.#step })
    for (const part of this.#parts) {
      const { text } = part
      if (part.type === 'call') {
        deltas.push(part.opened)
        if (text !== '') deltas.push({ type: 'arguments', callId: part.callId, text })
      } else if (part.phase) deltas.push({ type: 'text', text, phase: part.phase })
      else deltas.push({ type: part.type, text })
    }
    for (const [callId, report] of this.#reports ?? []) deltas.push({ type: 'report', callId, report })
    deltas.push(...(this.#outputs?.values() ?? []))
    return deltas
  }

  #forget(callId: string): void {
    this.#reports?.delete(callId)
    if (!this.#outputs) return
    for (const [key, output] of this.#outputs) if (output.callId === callId) this.#outputs.delete(key)
  }
}
