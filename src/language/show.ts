// Translates log events for clients. A fold: events of a session in, at most one `Shown` item out for each event. It
// tracks the calls of the last answer, everything that waits for a person or the application, and the status of the
// session. Wires, the library, the client and pages map its items; none of them reads the types of events itself.
// Deltas are shown as they are. It reads no clock. A model does not read its items: a model reads the history.
import type { Restriction } from './approvers.ts'
import type { CallPart, Outcome } from './calls.ts'
import type { InputPart } from './content.ts'
import type { ErrorCode } from './errors.ts'
import type {
  Allowed,
  ApprovalDecided,
  ApprovalRefused,
  ApprovalRequested,
  ApprovalRestricted,
  ApprovalVoted,
  CallDelegated,
  CallEdited,
  CallReconciled,
  CallSettled,
  CallStarted,
  CallUsed,
  Event,
  MessageDelivered,
  MessageQueued,
  MessageWithdrawn,
  ModelAnswered,
  QuestionAnswered,
  QuestionAsked,
  TurnEnded,
  TurnStarted,
  WaitMode,
} from './events.ts'
import type { FlowFact } from './flow.ts'
import type { Report } from './report.ts'

/** An event's content, without its place among the types of events. */
type Content<Recorded> = Omit<Recorded, 'type' | 'v'>

/**
 * requested: nobody has looked at it. waiting: someone outside has to act, see `waitsFor`. allowed: it may run. running. resting:
 * it ran, and goes on when its own calls are settled, or when its result comes. settled: it has its outcome.
 */
export type ShownState = 'requested' | 'waiting' | 'allowed' | 'running' | 'resting' | 'settled'

/**
 * Of a waiting call: a person decides about it, the application gives its result, or a person answers its question. Of a resting
 * one: calls of its own, or a result that comes later.
 */
export type WaitsFor = 'permission' | 'result' | 'answer' | 'calls' | 'later'

/** The same object for as long as the call is known. The fold changes it. */
export type ShownCall = {
  /** As the model asked for it. */
  part: CallPart
  /** The arguments that count: the model's, or those that a person put in their place. */
  text: string
  /** The call that made it. Absent: the model did. */
  parent?: string
  /** It runs in another session, where it is remembered too. */
  elsewhere: boolean
  state: ShownState
  waitsFor?: WaitsFor | undefined
}

export type ShownTurn = Content<TurnStarted>
export type ShownAnswer = Content<ModelAnswered>
export type ShownEnd = Content<TurnEnded>
export type ShownPermission = Pick<
  ApprovalRequested,
  'argsHash' | 'toolHash' | 'rule' | 'reason' | 'expiresAt' | 'preview' | 'flow' | 'again'
> &
  Restriction
export type ShownQuestion = Pick<QuestionAsked, 'message' | 'schema' | 'url' | 'expiresAt'> & { id: string }

/** `call` is undefined for a call that was made before the first event that was taken. */
type About = { callId: string; call: ShownCall | undefined }

/** Something that waits for someone outside, until `waits` of the fold does not have it any more. */
export type ShownWait = About & { type: 'waits' } & (
    | { for: 'result'; argsHash: string; toolHash: string }
    | { for: 'permission'; asked: ShownPermission }
    | { for: 'answer'; question: ShownQuestion }
  )

export type Shown =
  /** With what the user said. */
  | { type: 'turn'; turn: ShownTurn }
  | { type: 'answer'; answer: ShownAnswer; calls: readonly ShownCall[] }
  /** A call made this call. */
  | { type: 'call'; callId: string; call: ShownCall }
  | ShownWait
  /** The time for a permission is over: it can only be refused. */
  | (About & { type: 'expired' })
  /** A person said yes, and more people have to: `asked` has all votes. */
  | (About & { type: 'voted'; by: string; at: number; asked: ShownPermission | undefined })
  /** Someone who may not decide tried to. */
  | (About & { type: 'refused'; attempt: Content<ApprovalRefused> })
  | (About & { type: 'decided'; decision: Content<ApprovalDecided> })
  /** The call no longer waits for the answer to a question. */
  | (About & { type: 'closed'; question: string; answer: ShownClose })
  /** A person changed the arguments. */
  | (About & { type: 'edited'; edit: Content<CallEdited> })
  | (About & { type: 'allowed'; allowed: Allowed })
  /** `allowed`: with this event too. */
  | (About & { type: 'started'; attempt: number; allowed?: Allowed })
  | (About & { type: 'rests'; for: 'calls' | 'later' })
  | (About & { type: 'delegated'; to: Content<CallDelegated> })
  | (About & { type: 'used'; used: Content<CallUsed> })
  | (About & { type: 'result'; outcome: Outcome; limit?: CallSettled['limit'] })
  /** A call that may have taken effect was checked after it was settled. */
  | (About & { type: 'reconciled'; reconciled: Content<CallReconciled> })
  /** A further result of a call that has its result. */
  | (About & { type: 'late'; outcome: Outcome })
  | ShownMessage
  | { type: 'end'; end: ShownEnd }

/**
 * A message that was said while a turn was under way. queued: it waits, see `during`. delivered: with `parts`, it joins the turn
 * here; without, the turn that is shown next starts with it. withdrawn: it was taken back.
 */
export type ShownMessage = { type: 'message'; message: string; at: number } & (
  | { state: 'queued'; during: WaitMode; parts: InputPart[]; wire: string }
  | { state: 'delivered'; turn: string; parts?: InputPart[] }
  | { state: 'withdrawn'; by: string; reason?: string }
)
export type QueuedMessage = Extract<ShownMessage, { state: 'queued' }>

/** How a question was closed. */
export type ShownClose = Pick<QuestionAnswered, 'action' | 'by'> | { action: 'expired' | 'withdrawn' }

/** A call as the engine's summary of a session has it. */
export type KnownCall = Restriction & {
  part: CallPart
  text: string
  stage: keyof typeof stages
  parent?: string
  argsHash?: string
  toolHash?: string
  rule?: string
  reason?: string
  expiresAt?: number
  preview?: Report
  flow?: FlowFact[]
  questions?: readonly (ShownQuestion & { closed?: string })[]
}

const stages = {
  proposed: ['requested'],
  handed: ['waiting', 'result'],
  asking: ['waiting', 'permission'],
  approved: ['allowed'],
  started: ['running'],
  suspended: ['resting', 'calls'],
  postponed: ['resting', 'later'],
  settled: ['settled'],
} as const

export class ShownFold {
  /** The calls of the last answer, and those that they made. */
  readonly calls = new Map<string, ShownCall>()
  /** In the order in which they came up; an answer to a question by the question's id, all else by the call's. */
  readonly waits = new Map<string, ShownWait>()
  /** The messages that wait, by id, in the order in which they were said. */
  readonly messages = new Map<string, QueuedMessage>()
  #inTurn = false

  /** `calls`: of the answer before the first event that is taken. */
  constructor(calls: readonly KnownCall[] = []) {
    for (const call of calls) this.#know(call)
  }

  /** `waiting`: in a turn, and nothing of it runs until someone outside acts or a result comes that was postponed. */
  get status(): 'idle' | 'running' | 'waiting' {
    if (!this.#inTurn) return 'idle'
    let open = 0
    for (const { state } of this.calls.values()) {
      if (state === 'settled') continue
      if (state !== 'waiting' && state !== 'resting') return 'running'
      open += 1
    }
    return open > 0 ? 'waiting' : 'running'
  }

  /** Undefined: a client is shown nothing of it. */
  take(event: Event): Shown | undefined {
    switch (event.type) {
      case 'turn.started':
        this.#inTurn = true
        return { type: 'turn', turn: event }
      case 'model.answered':
        return this.#answered(event)
      case 'turn.ended':
        this.#inTurn = false
        return { type: 'end', end: event }
      case 'call.nested': {
        const call = newCall(event.call, event.parent, event.mirrors !== undefined)
        this.calls.set(event.call.id, call)
        return { type: 'call', callId: event.call.id, call }
      }
      case 'call.settled':
        return this.#settled(event)
      case 'call.started':
        return this.#started(event)
      case 'call.allowed': {
        const call = this.#move(event.callId, 'allowed')
        return { type: 'allowed', callId: event.callId, call, allowed: event }
      }
      case 'call.handed': {
        const { callId, argsHash, toolHash } = event
        const call = this.#move(callId, 'waiting', 'result')
        return this.#wait(callId, { type: 'waits', for: 'result', callId, call, argsHash, toolHash })
      }
      case 'approval.requested':
        return this.#asked(event)
      case 'approval.decided': {
        const { callId, granted } = event
        // The outcome of a refused call follows.
        if (granted) this.waits.delete(callId)
        const call = granted ? this.#move(callId, 'allowed') : this.calls.get(callId)
        return { type: 'decided', callId, call, decision: event }
      }
      case 'message.queued':
      case 'message.delivered':
      case 'message.withdrawn':
        return this.#message(event)
      default:
        return 'callId' in event ? this.#rare(event) : undefined
    }
  }

  #message(event: MessageQueued | MessageDelivered | MessageWithdrawn): ShownMessage {
    const { message, at } = event
    if (event.type === 'message.queued') {
      const { during, parts, wire } = event
      const queued: QueuedMessage = { type: 'message', message, at, state: 'queued', during, parts, wire }
      this.messages.set(message, queued)
      return queued
    }
    this.messages.delete(message)
    if (event.type === 'message.withdrawn') {
      const { by, reason } = event
      const why = reason === undefined ? {} : { reason }
      return { type: 'message', message, at, state: 'withdrawn', by, ...why }
    }
    const { turn, parts } = event
    return { type: 'message', message, at, state: 'delivered', turn, ...(parts && { parts }) }
  }

  #rare(event: Extract<Event, { callId: string }>): Shown | undefined {
    const { callId } = event
    const call = this.calls.get(callId)
    switch (event.type) {
      case 'approval.expired':
        return { type: 'expired', callId, call }
      case 'approval.voted':
        return this.#voted(event)
      case 'approval.refused':
        return { type: 'refused', callId, call, attempt: event }
      case 'call.edited':
        if (call) call.text = event.text
        return { type: 'edited', callId, call, edit: event }
      case 'question.asked': {
        const question = { ...event, id: event.question }
        if (call?.state === 'running') this.#move(callId, 'waiting', 'answer')
        return this.#wait(question.id, { type: 'waits', for: 'answer', callId, call, question })
      }
      case 'question.answered':
        return this.#closed(callId, event.question, event)
      case 'question.expired':
        return this.#closed(callId, event.question, { action: 'expired' })
      case 'question.withdrawn':
        return this.#closed(callId, event.question, { action: 'withdrawn' })
      case 'call.suspended':
        // If one of its calls was settled while it stopped, it goes on at once.
        if (this.#waitsForCalls(callId, event.seen)) this.#move(callId, 'resting', 'calls')
        return { type: 'rests', callId, call, for: 'calls' }
      case 'call.postponed':
        this.#move(callId, 'resting', 'later')
        return { type: 'rests', callId, call, for: 'later' }
      case 'call.delegated':
        return { type: 'delegated', callId, call, to: event }
      case 'call.used':
        return { type: 'used', callId, call, used: event }
      case 'call.reconciled':
        return { type: 'reconciled', callId, call, reconciled: event }
      case 'call.late':
        return { type: 'late', callId, call, outcome: event.outcome }
      default:
        return undefined
    }
  }

  /** All calls of earlier answers are settled. */
  #answered(answer: ModelAnswered): Shown {
    this.calls.clear()
    const calls: ShownCall[] = []
    for (const part of answer.parts) {
      if (part.type !== 'call') continue
      const call = newCall(part)
      this.calls.set(part.id, call)
      calls.push(call)
    }
    return { type: 'answer', answer, calls }
  }

  #voted({ callId, by, roles, at }: ApprovalVoted): Shown {
    const wait = this.waits.get(callId)
    const call = this.calls.get(callId)
    if (wait?.for !== 'permission') return { type: 'voted', callId, call, by, at, asked: undefined }
    const vote = { name: by, at, ...(roles && { roles }) }
    const asked = { ...wait.asked, votes: [...(wait.asked.votes ?? []), vote] }
    this.waits.set(callId, { ...wait, asked })
    return { type: 'voted', callId, call, by, at, asked }
  }

  #asked(asked: ApprovalRequested | ApprovalRestricted): Shown {
    const { callId, again } = asked
    const known = this.calls.get(callId)
    // A call that is asked about again may have been made before the first event that was taken.
    if (again && !known) this.calls.set(callId, newCall({ type: 'call', id: callId, ...again }))
    const call = this.#move(callId, 'waiting', 'permission')
    if (call && again) call.text = again.text
    return this.#wait(callId, { type: 'waits', for: 'permission', callId, call, asked })
  }

  #started({ callId, attempt, allowed }: CallStarted): Shown {
    // A question that was asked before a crash stays open when its call runs again.
    const asks = this.waits.size > 0 && this.#hasQuestion(callId)
    const call = this.#move(callId, asks ? 'waiting' : 'running', asks ? 'answer' : undefined)
    return { type: 'started', callId, call, attempt, ...(allowed && { allowed }) }
  }

  #settled({ callId, outcome, limit }: CallSettled): Shown {
    const call = this.#move(callId, 'settled')
    for (const [id, wait] of this.waits) if (wait.callId === callId) this.waits.delete(id)
    const parent = call?.parent === undefined ? undefined : this.calls.get(call.parent)
    if (parent?.state === 'resting') this.#move(parent.part.id, 'running')
    return { type: 'result', callId, call, outcome, ...(limit !== undefined && { limit }) }
  }

  #closed(callId: string, question: string, answer: ShownClose): Shown {
    this.waits.delete(question)
    const call = this.calls.get(callId)
    if (call?.waitsFor === 'answer' && !this.#hasQuestion(callId)) this.#move(callId, 'running')
    return { type: 'closed', callId, call, question, answer }
  }

  #wait(id: string, wait: ShownWait): ShownWait {
    this.waits.set(id, wait)
    return wait
  }

  #move(callId: string, state: ShownState, waitsFor?: WaitsFor): ShownCall | undefined {
    const call = this.calls.get(callId)
    if (!call) return undefined
    call.state = state
    call.waitsFor = waitsFor
    return call
  }

  #hasQuestion(callId: string): boolean {
    for (const wait of this.waits.values()) if (wait.for === 'answer' && wait.callId === callId) return true
    return false
  }

  #waitsForCalls(callId: string, seen: number): boolean {
    let settled = 0
    let open = 0
    for (const { parent, state } of this.calls.values()) {
      if (parent !== callId) continue
      if (state === 'settled') settled += 1
      else open += 1
    }
    return open > 0 && settled <= seen
  }

  #know(known: KnownCall): void {
    const { part, text, stage, parent, argsHash = '', toolHash = '', rule = '' } = known
    const callId = part.id
    const call = newCall(part, parent)
    call.text = text
    this.calls.set(callId, call)
    const [state, waitsFor]: readonly [ShownState, WaitsFor?] = stages[stage]
    this.#move(callId, state, waitsFor)
    const about = { type: 'waits', callId, call } as const
    if (stage === 'handed') this.#wait(callId, { ...about, for: 'result', argsHash, toolHash })
    else if (stage === 'asking') {
      const { name, form } = part
      const again = text === part.text ? {} : { again: { name, form, text } }
      const asked = { ...known, ...again, argsHash, toolHash, rule }
      this.#wait(callId, { ...about, for: 'permission', asked })
    }
    if (stage !== 'started') return
    for (const question of known.questions ?? []) {
      if (question.closed) continue
      this.#wait(question.id, { ...about, for: 'answer', question })
      this.#move(callId, 'waiting', 'answer')
    }
  }
}

function newCall(part: CallPart, parent?: string, elsewhere = false): ShownCall {
  return { part, text: part.text, elsewhere, state: 'requested', ...(parent !== undefined && { parent }) }
}

/** Why the turn failed; undefined if it did not. */
export function turnFailure(
  end: Pick<ShownEnd, 'stop' | 'error'> | undefined,
): { code: ErrorCode; message: string } | undefined {
  if (end?.stop !== 'error') return undefined
  return end.error ?? { code: 'internal', message: 'The turn failed.' }
}
