// What a program gets of a turn: items while it runs, and a reply when it stops. Everything is a copy, so that a program
// can change it without reaching the session. Pure.
import type { PlainError, SessionCall } from '../engine/index.ts'
import type { CallPart, Outcome } from '../language/calls.ts'
import { textOf } from '../language/content.ts'
import type { Event, LimitName, TurnStop } from '../language/events.ts'
import type { FormSchema } from '../language/questions.ts'
import type { Report } from '../language/report.ts'
import { type Json, parseBounded } from '../lib/json/index.ts'

/**
 * A call that waits. `needs`: a decision, the result of one of the program's own tools, or the answer to a question that the
 * tool asks while it runs.
 */
export type PendingCall = {
  callId: string
  tool: string
  input: Json
  reason?: string
  /** What the call would do to files, if its tool says so. */
  preview?: Report
  /** Of the arguments. */
  hash: string
} & ({ needs: 'permission' | 'result' } | { needs: 'answer'; question: PendingQuestion })

/** What a running call asks: to fill in the form `schema`, or to open `url`. */
export type PendingQuestion = {
  id: string
  message: string
  schema?: FormSchema
  url?: string
  expiresAt?: number
}

export type Reply =
  /** The turn is over. `error` goes with the stop `error`, `limit` with the stop `limit`. */
  | { status: 'done'; text: string; stop: TurnStop; limit?: LimitName; error?: PlainError }
  /** The turn goes on once these calls are answered. */
  | { status: 'waiting'; text: string; pending: PendingCall[] }

/** The model wants a tool, or the call `parent` made this call. `input` is text where it is no JSON. */
export type CalledItem = { type: 'call'; callId: string; tool: string; input: Json; parent?: string }

export type TurnItem =
  /** A piece of the model's answer. Pieces add up to the answer. */
  | { type: 'text'; text: string }
  | { type: 'thinking'; text: string }
  | CalledItem
  /** A call waits, as of now; other calls may still run. */
  | ({ type: 'pending' } & PendingCall)
  | { type: 'progress'; callId: string; message?: string; done?: number; total?: number }
  /** What a tool shows while it runs. */
  | { type: 'output'; callId: string; text: string; terminal?: string }
  /** Which files a call works on, what it changes and what it runs. Each member replaces what was reported before. */
  | { type: 'report'; callId: string; report: Report }
  | { type: 'result'; callId: string; tool: string; outcome: Outcome }
  /** The last item. */
  | { type: 'end'; reply: Reply }

/** Why a person is asked, and what they are shown. */
type Asked = { reason?: string; preview?: Report }

type Needs = { needs: 'permission' | 'result' } | { needs: 'answer'; question: PendingQuestion }
type Known = { part: CallPart; text: string }

/** Makes items of events, and remembers what the reply needs. */
export class TurnReader {
  readonly #calls = new Map<string, Known>()
  /** The model's last words. */
  text: string
  ended: Extract<Event, { type: 'turn.ended' }> | undefined

  /** `calls`: those of an answer that came before the first event. */
  constructor(calls: readonly SessionCall[], text = '') {
    this.text = text
    for (const { part, text } of calls) this.#calls.set(part.id, { part, text })
  }

  take(event: Event): TurnItem[] {
    switch (event.type) {
      case 'model.answered':
        this.text = textOf(event.parts) || this.text
        return event.parts.flatMap(part => (part.type === 'call' ? [this.#called(part)] : []))
      case 'call.nested':
        return [{ ...this.#called(event.call), parent: event.parent }]
      case 'call.edited': {
        const call = this.#calls.get(event.callId)
        if (call) call.text = event.text
        return []
      }
      case 'approval.requested':
        this.#askedAgain(event)
        return this.#pending(event.callId, { needs: 'permission' }, event.argsHash, event)
      case 'call.handed':
        return this.#pending(event.callId, { needs: 'result' }, event.argsHash)
      case 'question.asked': {
        const question = questionOf({ ...event, id: event.question })
        return this.#pending(event.callId, { needs: 'answer', question }, '')
      }
      case 'call.settled': {
        const { callId, outcome } = event
        const tool = this.#calls.get(callId)?.part.name ?? ''
        return [{ type: 'result', callId, tool, outcome: structuredClone(outcome) }]
      }
      case 'turn.started':
        this.ended = undefined
        return []
      case 'turn.ended':
        this.ended = event
        return []
      default:
        return []
    }
  }

  #called(part: CallPart): CalledItem {
    this.#calls.set(part.id, { part, text: part.text })
    return { type: 'call', callId: part.id, tool: part.name, input: inputOf(part.form, part.text) }
  }

  /** The arguments may have been changed when the call was allowed. */
  #askedAgain({ callId, again }: Extract<Event, { type: 'approval.requested' }>): void {
    const call = this.#calls.get(callId)
    if (call && again) call.text = again.text
  }

  #pending(callId: string, needs: Needs, hash: string, asked: Asked = {}): TurnItem[] {
    const call = this.#calls.get(callId)
    if (!call) return []
    return [{ type: 'pending', ...pendingCall(call, needs, hash, asked) }]
  }
}

export function pendingOf(calls: readonly SessionCall[]): PendingCall[] {
  return calls.flatMap(call => {
    const hash = call.argsHash ?? ''
    if (call.stage === 'asking') return [pendingCall(call, { needs: 'permission' }, hash, call)]
    if (call.stage === 'handed') return [pendingCall(call, { needs: 'result' }, hash, call)]
    if (call.stage !== 'started') return []
    const open = call.questions?.filter(({ closed }) => !closed) ?? []
    return open.map(asked => {
      const question = questionOf(asked)
      return pendingCall(call, { needs: 'answer', question }, hash, {})
    })
  })
}

function questionOf({ id, message, schema, url, expiresAt }: PendingQuestion): PendingQuestion {
  return {
    id,
    message,
    ...(schema && { schema: structuredClone(schema) }),
    ...(url !== undefined && { url }),
    ...(expiresAt !== undefined && { expiresAt }),
  }
}

function pendingCall(
  { part, text }: Known,
  needs: Needs,
  hash: string,
  { reason, preview }: Asked,
): PendingCall {
  return {
    callId: part.id,
    tool: part.name,
    input: inputOf(part.form, text),
    ...needs,
    ...(reason !== undefined && { reason }),
    ...(preview && { preview: structuredClone(preview) }),
    hash,
  }
}

function inputOf(form: CallPart['form'], text: string): Json {
  if (form === 'text') return text
  if (text.trim() === '') return {}
  return parseBounded(text) ?? text
}
