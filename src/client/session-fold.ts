// Folds a session's log into items for an application: text as it streams, calls as they change, progress, the end. It
// also knows the open calls and questions, so that a turn can be answered. It does no I/O.
import type { CallPart, OutcomeKind } from '../language/calls.ts'
import type { ResultPart } from '../language/content.ts'
import type { Delta, Event } from '../language/events.ts'
import { type JsonObject, parseObject } from '../lib/json/index.ts'
import type { SessionState, ToolQuestion } from './types.ts'
import type { Watched } from './watch.ts'

export type SessionCall = {
  id: string
  name: string
  input: JsonObject
  /** proposed, waiting for a client or a person, running, settled. */
  state: 'proposed' | 'waiting' | 'running' | 'settled'
  /** `client`: it waits for the application to run it. `server`: it waits for a person's decision. */
  side?: 'client' | 'server'
  /** Why it needs a permission, and until when one can be given. */
  reason?: string
  expiresAt?: number
  outcome?: OutcomeKind
  output?: string
}

export type SessionItem =
  | { type: 'text'; text: string }
  | { type: 'thinking'; text: string }
  /** Discard the text of this answer so far: the model starts over. */
  | { type: 'reset' }
  | { type: 'call'; call: SessionCall }
  | { type: 'arguments'; callId: string; text: string }
  | { type: 'progress'; callId: string; message?: string; done?: number; total?: number }
  | { type: 'output'; callId: string; text: string }
  | { type: 'question'; question: ToolQuestion }

type Ended = {
  type: 'done'
  stop: string
  text: string
  error?: { code: string; message: string }
  limit?: string
}

export class SessionFold {
  readonly #calls = new Map<string, SessionCall>()
  readonly #questions = new Map<string, ToolQuestion>()
  /** Calls that go on once their own calls are answered, or once a result comes that nobody here can give. */
  readonly #resting = new Set<string>()
  /** The call that made it, by call. */
  readonly #parents = new Map<string, string>()
  /** By call: how often someone was asked for it. */
  readonly #asked = new Map<string, number>()
  /** Something was sent whose first event has not come yet. */
  #awaitsStart = false
  #running = false
  #text = ''
  /** The text of the current step that was given as deltas. */
  #shown = ''
  ended: Ended | undefined

  begin({ status, pending, running, questions }: SessionState): void {
    this.#running = status === 'running' && running.length === 0
    for (const id of running) {
      this.#calls.set(id, { id, name: '', input: {}, state: 'running' })
      if (status === 'waiting') this.#resting.add(id)
    }
    for (const { toolCallId, name, input, side, reason, expiresAt } of pending)
      this.#calls.set(toolCallId, {
        id: toolCallId,
        name,
        input,
        side,
        state: 'waiting',
        ...(reason !== undefined && { reason }),
        ...(expiresAt !== undefined && { expiresAt }),
      })
    for (const question of questions) this.#questions.set(question.questionId, question)
  }

  sent(): void {
    this.#awaitsStart = true
  }

  /** Nothing of the turn is running: it waits for answers. */
  get waits(): boolean {
    if (this.#awaitsStart || this.#running) return false
    const calls = [...this.#calls.values()]
    const asking = new Set([...this.#questions.values()].map(({ toolCallId }) => toolCallId))
    if (asking.size === 0 && !calls.some(({ state }) => state === 'waiting')) return false
    return calls.every(
      ({ state, id }) =>
        state === 'settled' || state === 'waiting' || asking.has(id) || this.#resting.has(id),
    )
  }

  open(): SessionCall[] {
    return [...this.#calls.values()].filter(({ state }) => state === 'waiting')
  }

  questions(): ToolQuestion[] {
    return [...this.#questions.values()]
  }

  timesAsked(id: string): number {
    return this.#asked.get(id) ?? 0
  }

  isOpen(id: string): boolean {
    return this.#calls.get(id)?.state === 'waiting' || this.#questions.has(id)
  }

  take(watched: Watched): SessionItem[] {
    return 'delta' in watched ? this.#delta(watched.delta) : this.#event(watched.event)
  }

  #delta(delta: Delta): SessionItem[] {
    switch (delta.type) {
      case 'text':
        this.#shown += delta.text
        return [{ type: 'text', text: delta.text }]
      case 'thinking':
        return [{ type: 'thinking', text: delta.text }]
      case 'step.started':
        this.#running = true
        this.#shown = ''
        return []
      case 'step.reset':
        this.#shown = ''
        return [{ type: 'reset' }]
      case 'call.opened':
        return this.#set({ id: delta.callId, name: delta.name, input: {}, state: 'proposed' })
      case 'arguments':
        return [{ type: 'arguments', callId: delta.callId, text: delta.text }]
      case 'progress':
      case 'output':
        return [delta]
      default:
        return []
    }
  }

  #event(event: Event): SessionItem[] {
    this.#awaitsStart = false
    switch (event.type) {
      case 'turn.started':
        this.#running = true
        this.ended = undefined
        return []
      case 'model.answered':
        return this.#answered(event)
      case 'call.nested':
        this.#parents.set(event.call.id, event.parent)
        return this.#set(proposed(event.call))
      case 'call.suspended':
        this.#suspend(event)
        return []
      case 'call.postponed':
        this.#resting.add(event.callId)
        return []
      case 'call.handed':
        this.#asked.set(event.callId, this.timesAsked(event.callId) + 1)
        return this.#change(event.callId, { state: 'waiting', side: 'client' })
      case 'approval.requested': {
        this.#asked.set(event.callId, this.timesAsked(event.callId) + 1)
        const { reason, expiresAt } = event
        return this.#change(event.callId, {
          state: 'waiting',
          side: 'server',
          ...(reason !== undefined && { reason }),
          ...(expiresAt !== undefined && { expiresAt }),
        })
      }
      case 'call.edited':
        return this.#change(event.callId, { input: parseInput(event.text) })
      case 'approval.decided':
        return event.granted ? this.#change(event.callId, { state: 'running' }) : []
      case 'call.allowed':
      case 'call.started':
        this.#resting.delete(event.callId)
        return this.#change(event.callId, { state: 'running' })
      case 'call.settled':
        // The parent waited for this call, and runs again now.
        this.#resting.delete(this.#parents.get(event.callId) ?? '')
        return this.#change(event.callId, {
          state: 'settled',
          outcome: event.outcome.kind,
          output: joinResultText(event.outcome.parts),
        })
      case 'turn.ended':
        this.ended = {
          type: 'done',
          stop: event.stop,
          text: this.#text,
          ...(event.error && { error: event.error }),
          ...(event.limit !== undefined && { limit: event.limit }),
        }
        return []
      default:
        return this.#question(event)
    }
  }

  /** If one of its calls was settled while it stopped, it runs again at once. */
  #suspend({ callId, seen }: Extract<Event, { type: 'call.suspended' }>): void {
    let settled = 0
    for (const [id, parent] of this.#parents)
      if (parent === callId && this.#calls.get(id)?.state === 'settled') settled += 1
    if (settled <= seen) this.#resting.add(callId)
  }

  #question(event: Event): SessionItem[] {
    switch (event.type) {
      case 'question.asked': {
        const { question: questionId, callId: toolCallId, message, schema, url, expiresAt } = event
        const question: ToolQuestion = {
          questionId,
          toolCallId,
          message,
          ...(schema && { schema }),
          ...(url !== undefined && { url }),
          ...(expiresAt !== undefined && { expiresAt }),
        }
        this.#questions.set(questionId, question)
        return [{ type: 'question', question }]
      }
      case 'question.answered':
      case 'question.expired':
      case 'question.withdrawn':
        this.#questions.delete(event.question)
        return []
      default:
        return []
    }
  }

  #answered({ parts }: Extract<Event, { type: 'model.answered' }>): SessionItem[] {
    const calls = parts.filter((part): part is CallPart => part.type === 'call')
    this.#running = calls.length === 0
    this.#text = parts.flatMap(part => (part.type === 'text' ? [part.text] : [])).join('')
    return [...this.#unshown(), ...calls.flatMap(part => this.#set(proposed(part)))]
  }

  /** Text of the answer that did not come as deltas: they are live only, and a connection may open late or break. */
  #unshown(): SessionItem[] {
    const [shown, whole] = [this.#shown, this.#text]
    this.#shown = ''
    if (whole === shown) return []
    if (whole.startsWith(shown)) return [{ type: 'text', text: whole.slice(shown.length) }]
    return [{ type: 'reset' }, { type: 'text', text: whole }]
  }

  #set(call: SessionCall): SessionItem[] {
    this.#calls.set(call.id, call)
    return [{ type: 'call', call }]
  }

  #change(id: string, change: Partial<SessionCall>): SessionItem[] {
    const call = this.#calls.get(id)
    return call ? this.#set({ ...call, ...change }) : []
  }
}

function proposed({ id, name, text }: CallPart): SessionCall {
  return { id, name, input: parseInput(text), state: 'proposed' }
}

/** Arguments that are no object are the text of a tool that takes text. */
function parseInput(text: string): JsonObject {
  return parseObject(text) ?? { input: text }
}

function joinResultText(parts: readonly ResultPart[]): string {
  return parts.flatMap(part => (part.type === 'text' ? [part.text] : [])).join('\n')
}
