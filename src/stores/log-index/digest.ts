// What the index keeps of a log: the words of its events, and counts of its turns, model steps and calls by the hour. A log
// is read once, in pages; `DigestState` is what has to be known of the events before a page.
import type { OutcomeKind } from '../../language/calls.ts'
import { type Event, isFailure, type Recorded, type Usage } from '../../language/events.ts'
import { searchText } from '../../language/search-text.ts'
import { searchWords } from '../../lib/text/search-words.ts'
import { timeBucket } from './times.ts'

export const hourMs = 3_600_000

/** `name`: the model of a step, the tool of a call. `bucket`: how long it took. -1: that is not known. */
export type ActivityKey = {
  hour: number
  kind: 'turn' | 'step' | 'call'
  agent: string
  name: string
  outcome: string
  bucket: number
}
export type ActivityCounts = { n: number; input: number; output: number; cost: number; unpriced: number }
export type ActivityRow = ActivityKey & ActivityCounts

/** `waits`: someone else has to do something. */
type OpenCall = { tool: string; waits: boolean; at?: number }
export type DigestState = {
  agent: string
  /** The model that answered last. */
  model: string
  /** When the last event was recorded. */
  last: number
  turn?: { at: number; waited: number }
  open: Record<string, OpenCall>
}

export type Digest = { words: { seq: number; words: string }[]; activity: ActivityRow[]; state: DigestState }

export function newDigestState(agent: string): DigestState {
  return { agent, model: '', last: 0, open: {} }
}

/** The state is changed in place. */
export function digestLog(state: DigestState, events: readonly Recorded[]): Digest {
  const fold = new DigestFold(state)
  const words: Digest['words'] = []
  for (const { seq, event } of events) {
    fold.take(event)
    const text = searchText(event)
    const found = text === undefined ? '' : searchWords(text)
    if (found !== '') words.push({ seq, words: found })
  }
  return { words, activity: [...fold.rows.values()], state }
}

class DigestFold {
  readonly #state: DigestState
  readonly rows = new Map<string, ActivityRow>()

  constructor(state: DigestState) {
    this.#state = state
  }

  take(event: Event): void {
    const state = this.#state
    const calls = Object.values(state.open)
    // The turn does nothing while all that is open waits for someone else.
    if (state.turn && calls.length > 0 && calls.every(({ waits }) => waits))
      state.turn.waited += Math.max(0, event.at - state.last)
    this.#count(event)
    this.#follow(event)
    state.last = event.at
  }

  #count(event: Event): void {
    const state = this.#state
    switch (event.type) {
      case 'model.answered':
        state.model = event.model
        this.#add(event.at, 'step', event.model, 'ok', event.at - state.last, event.usage ?? noUsage)
        this.#failed(event.at, event.retries?.length ?? 0)
        return
      case 'model.sampled':
      case 'history.compacted':
        if (event.model !== undefined)
          this.#add(event.at, 'step', event.model, 'ok', undefined, event.usage ?? noUsage)
        return
      case 'call.settled': {
        const { tool, at } = state.open[event.callId] ?? {}
        if (tool !== undefined)
          this.#add(event.at, 'call', tool, event.outcome.kind satisfies OutcomeKind, at && event.at - at)
        return
      }
      case 'turn.ended': {
        const { turn } = state
        // A turn that ends by an error while no call is open ends in a request to the model.
        const inStep = event.stop === 'error' && Object.keys(state.open).length === 0
        this.#failed(event.at, (event.retries?.length ?? 0) + (inStep ? 1 : 0))
        const outcome = isFailure(event.stop) ? 'failed' : 'ok'
        this.#add(event.at, 'turn', '', outcome, turn && event.at - turn.at - turn.waited)
      }
    }
  }

  #follow(event: Event): void {
    const state = this.#state
    switch (event.type) {
      case 'session.created':
      case 'agent.changed':
        state.agent = event.agent
        return
      case 'turn.started':
        state.turn = { at: event.at, waited: 0 }
        return
      case 'turn.ended':
        delete state.turn
        state.open = {}
        return
      case 'model.answered':
        for (const part of event.parts)
          if (part.type === 'call') state.open[part.id] = { tool: part.name, waits: false }
        return
      case 'call.nested':
        state.open[event.call.id] = { tool: event.call.name, waits: false }
        return
      case 'call.settled':
        delete state.open[event.callId]
        return
    }
    if ('callId' in event) this.#followCall(event.type, event.callId, event.at)
  }

  #followCall(type: Event['type'], callId: string, at: number): void {
    const call = this.#state.open[callId]
    if (!call) return
    const waits = waiting[type]
    if (waits !== undefined) call.waits = waits
    if (type === 'call.started' || type === 'call.handed') call.at ??= at
  }

  /** Requests to a model that failed. How long they took is in the step that succeeded. */
  #failed(at: number, count: number): void {
    if (count > 0) this.#add(at, 'step', this.#state.model, 'failed', undefined, undefined, count)
  }

  #add(
    at: number,
    kind: ActivityKey['kind'],
    name: string,
    outcome: string,
    ms?: number,
    usage?: Pick<Usage, 'input' | 'output' | 'cost'>,
    n = 1,
  ): void {
    const hour = Math.floor(at / hourMs) * hourMs
    const key: ActivityKey = { hour, kind, agent: this.#state.agent, name, outcome, bucket: timeBucket(ms) }
    const id = JSON.stringify(Object.values(key))
    const row = this.rows.get(id) ?? { ...key, n: 0, input: 0, output: 0, cost: 0, unpriced: 0 }
    row.n += n
    if (usage) {
      row.input += usage.input
      row.output += usage.output
      row.cost += usage.cost ?? 0
      row.unpriced += usage.cost === undefined ? 1 : 0
    }
    this.rows.set(id, row)
  }
}

/** A vendor that reports no usage: no price is known either. */
const noUsage = { input: 0, output: 0 }

/** Whether a call waits for someone else after this event. Others change nothing. */
const waiting: Partial<Record<Event['type'], boolean>> = {
  'approval.requested': true,
  'approval.decided': false,
  'approval.expired': false,
  'call.handed': true,
  'call.postponed': true,
  'call.suspended': true,
  'call.started': false,
  'question.asked': true,
  'question.answered': false,
  'question.expired': false,
  'question.withdrawn': false,
}
