// The world of a replay: the clock stands where the recording stands, and new things get the ids that they had. Timers run
// only when the replay says so.
import type { World } from '../engine/index.ts'
import type { Event } from '../language/events.ts'
import { listCallParts, type Recording } from './recording.ts'

export class ReplayWorld implements World {
  #now: number
  readonly #ids = new Map<string, string[]>()
  readonly #timers = new Set<{ due: number; run: () => void }>()
  #made = 0

  constructor({ session, created, events }: Recording) {
    this.#now = created.at
    this.expect('sess', [session])
    for (const event of events) for (const [prefix, id] of idsIn(event)) this.#queue(prefix).push(id)
  }

  now(): number {
    return this.#now
  }

  elapsed(): number {
    return this.#now
  }

  id(prefix: string): string {
    this.#made += 1
    return this.#ids.get(prefix)?.shift() ?? `${prefix}_new${this.#made}`
  }

  timer(ms: number, run: () => void): () => void {
    const timer = { due: this.#now + ms, run }
    this.#timers.add(timer)
    return () => this.#timers.delete(timer)
  }

  /** The next things with this prefix get these ids. */
  expect(prefix: string, ids: readonly string[]): void {
    this.#queue(prefix).unshift(...ids)
  }

  moveTo(at: number): void {
    this.#now = Math.max(this.#now, at)
  }

  /** Runs the timers that are due, in their order. */
  fireDue(): void {
    const due = [...this.#timers].filter(timer => timer.due <= this.#now).sort((a, b) => a.due - b.due)
    for (const timer of due) if (this.#timers.delete(timer)) timer.run()
  }

  #queue(prefix: string): string[] {
    const known = this.#ids.get(prefix)
    if (known) return known
    const made: string[] = []
    this.#ids.set(prefix, made)
    return made
  }
}

/** Ids that the engine made, each with its prefix. Those of calls are expected when a model or a tool makes them. */
function idsIn(event: Event): [prefix: string, id: string][] {
  if (event.type === 'turn.started') return [['turn', event.turn]]
  if (event.type === 'message.queued') return [['msg', event.message]]
  if (event.type === 'grant.given') return [['grant', event.grant.id]]
  if (event.type === 'question.asked') return [['question', event.question]]
  // The loop makes its own calls, such as those about budgets, between two steps.
  if (event.type === 'call.nested') return event.parent.startsWith('turn') ? [['call', event.call.id]] : []
  return event.type === 'model.answered' && event.model.startsWith('caller:')
    ? listCallParts(event).map(({ id }) => ['call', id])
    : []
}
