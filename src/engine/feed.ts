// What watchers of a session see: durable events with their numbers, the deltas of the step in flight, and changes
// of status, in one order. An event is shown only once it is durable, and all that follows it waits behind it.
import type { Delta, Recorded } from '../language/events.ts'
import { soon } from '../lib/soon.ts'
import type { SessionStatus } from './ports.ts'

export type FeedItem =
  | ({ type: 'event' } & Recorded)
  | { type: 'delta'; delta: Delta }
  | { type: 'status'; status: SessionStatus }
  /** Nothing more will come from here: the session was lost, removed or handed on, or the server stops. */
  | { type: 'closed'; reason: unknown }

export type Watcher = (item: FeedItem) => void

/** Events that are not durable yet, and what came after them. Deltas by themselves: a burst may have a great many. */
export type Held = { items: (Extract<FeedItem, { type: 'event' | 'status' }> | Delta)[]; durable: boolean }

const outputTail = 64 * 1024

export class Feed {
  readonly #watchers = new Set<Watcher>()
  #held: Held[] = []
  #releasing = false
  #delivering = false
  readonly live = new StepInFlight()
  /** The number of the last event that watchers have seen, and the status that they were told. */
  shown: number
  shownStatus: SessionStatus

  readonly #report: (error: unknown) => void

  constructor(shown: number, status: SessionStatus, report: (error: unknown) => void) {
    this.shown = shown
    this.shownStatus = status
    this.#report = report
  }

  get watched(): boolean {
    return this.#watchers.size > 0
  }

  watch(watcher: Watcher): () => void {
    this.#watchers.add(watcher)
    return () => this.#watchers.delete(watcher)
  }

  /** Opens a place for events on their way to the store: they, and all that comes after, wait for its release. */
  hold(): Held {
    const held: Held = { items: [], durable: false }
    this.#held.push(held)
    return held
  }

  /** Shown in a moment: calls that waited for it to be durable are started first, and whoever asked is answered after. */
  release(held: Held): void {
    held.durable = true
    if (this.#releasing) return
    this.#releasing = true
    soon(() => this.#deliverDurable())
  }

  #deliverDurable(): void {
    this.#releasing = false
    // A watcher may close it: nothing may then be shown before what is being shown.
    if (this.#delivering) return
    this.#delivering = true
    while (this.#held[0]?.durable)
      for (const item of this.#held.shift()!.items)
        this.#deliver(item.type === 'event' || item.type === 'status' ? item : { type: 'delta', delta: item })
    this.#delivering = false
  }

  delta(delta: Delta): void {
    const last = this.#held.at(-1)
    if (last) last.items.push(delta)
    else this.#deliver({ type: 'delta', delta })
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

  #deliver(item: FeedItem): void {
    this.live.take(item)
    if (item.type === 'event') this.shown = item.seq
    else if (item.type === 'status') this.shownStatus = item.status
    for (const watcher of this.#watchers) {
      try {
        watcher(item)
      } catch (error) {
        // One reader's defect is nobody else's: least of all the session's.
        this.#watchers.delete(watcher)
        this.#report(error)
      }
    }
  }
}

/** The deltas shown since the last whole answer, folded: what someone who attaches now has missed. */
export class StepInFlight {
  #step = 0
  #parts: (
    | { type: 'text' | 'thinking'; texts: string[] }
    | { type: 'call'; opened: Delta; callId: string; texts: string[] }
  )[] = []
  #outputs: Map<string, string> | undefined

  take(item: FeedItem): void {
    if (item.type === 'delta') this.#takeDelta(item.delta)
    else if (item.type === 'event' && item.event.type === 'model.answered') this.#parts = []
    else if (item.type === 'event' && item.event.type === 'call.settled')
      this.#outputs?.delete(item.event.callId)
    else if (item.type === 'event' && item.event.type === 'turn.ended') this.#parts = []
  }

  #takeDelta(delta: Delta): void {
    switch (delta.type) {
      case 'step.started':
      case 'step.reset':
        this.#step = delta.step
        this.#parts = []
        break
      case 'text':
      case 'thinking': {
        const last = this.#parts.at(-1)
        if (last?.type === delta.type) last.texts.push(delta.text)
        else this.#parts.push({ type: delta.type, texts: [delta.text] })
        break
      }
      case 'call.opened':
        this.#parts.push({ type: 'call', opened: delta, callId: delta.callId, texts: [] })
        break
      case 'arguments': {
        const last = this.#parts.at(-1)
        const call =
          last?.type === 'call' && last.callId === delta.callId
            ? last
            : this.#parts.find(part => part.type === 'call' && part.callId === delta.callId)
        call?.texts.push(delta.text)
        break
      }
      case 'output': {
        this.#outputs ??= new Map()
        const text = (this.#outputs.get(delta.callId) ?? '') + delta.text
        this.#outputs.set(delta.callId, text.length > outputTail ? text.slice(-outputTail) : text)
        break
      }
      case 'progress':
      case 'block':
        break
    }
  }

  /** As few deltas as say the same. */
  snapshot(): Delta[] {
    const deltas: Delta[] = []
    if (this.#parts.length > 0) deltas.push({ type: 'step.started', step: this.#step })
    for (const part of this.#parts) {
      const text = part.texts.join('')
      if (part.type !== 'call') deltas.push({ type: part.type, text })
      else {
        deltas.push(part.opened)
        if (text !== '') deltas.push({ type: 'arguments', callId: part.callId, text })
      }
    }
    for (const [callId, text] of this.#outputs ?? []) deltas.push({ type: 'output', callId, text })
    return deltas
  }
}
