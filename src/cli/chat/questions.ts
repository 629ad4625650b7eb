// The permissions that a turn needs. A question is put as soon as the session's events hold it, also while other calls of
// the same answer run. The protocol takes answers when the turn has stopped for them, so an early answer is kept until
// then. One question is put at a time, and the turn's own output waits for its end.

import type { Permission, ToolCall } from '../../client/index.ts'
import { describeApprovers } from '../../language/approvers.ts'
import { wordsOf } from '../../language/errors.ts'
import type { Event } from '../../language/events.ts'
import { ShownFold, type ShownPermission } from '../../language/show.ts'
import { present } from '../../lib/json/present.ts'
import { printable } from '../../lib/text/index.ts'

/** The input ended during a question, which stays open. */
export class Gone extends Error {}

/** The question was taken back, because it needs no answer any more. The message says why. */
export class Withdrawn extends Error {}

/** Puts one question. When the signal aborts, it is taken back and the signal's reason is thrown. */
type AskPerson = (call: ToolCall, withdrawn: AbortSignal) => Promise<Permission>

export class TurnQuestions {
  readonly #ask: AskPerson
  readonly #say: (words: string) => void
  readonly #shown = new ShownFold()
  /** Calls of this turn. Questions of earlier turns, which the events may repeat, concern none of them. */
  readonly #calls = new Map<string, ToolCall>()
  readonly #requested = new Map<string, ShownPermission>()
  readonly #asked = new Set<string>()
  readonly #open = new Map<string, AbortController>()
  /** Early answers that were not sent yet. */
  readonly #kept = new Map<string, Promise<Permission>>()
  #last: Promise<unknown> = Promise.resolve()
  #held: (() => void)[] | undefined
  #gone: Gone | undefined
  #isAside = false
  #isListening = false
  /** By call: what waits until the events hold its request. */
  readonly #awaited = new Map<string, () => void>()

  constructor(ask: AskPerson, say: (words: string) => void) {
    this.#ask = ask
    this.#say = say
  }

  /** Runs it now, or after the question that is on the screen. */
  show(output: () => void): void {
    if (this.#held) this.#held.push(output)
    else output()
  }

  called(call: ToolCall): void {
    this.#calls.set(call.toolCallId, call)
    this.#askEarly(call.toolCallId)
  }

  /** Events of the session come from here on, until `silent`. */
  listen(): void {
    this.#isListening = true
  }

  /** No more events come. */
  silent(): void {
    this.#isListening = false
    for (const hear of this.#awaited.values()) hear()
    this.#awaited.clear()
  }

  take(event: Event): void {
    const shown = this.#shown.take(event)
    if (!shown || !('callId' in shown)) return
    const { callId } = shown
    const name = printable(this.#calls.get(callId)?.name ?? callId, 128)
    if (shown.type === 'waits' && shown.for === 'permission') {
      this.#requested.set(callId, shown.asked)
      this.#askEarly(callId)
      this.#awaited.get(callId)?.()
      this.#awaited.delete(callId)
    } else if (shown.type === 'decided') {
      const decision = shown.decision.granted ? 'allowed' : 'refused'
      this.#settle(callId, `${name} was ${decision} elsewhere, by ${printable(shown.decision.by, 80)}.`)
    } else if (shown.type === 'result') this.#settle(callId, `${name} needs no answer any more.`)
  }

  /** The answer for a turn that has stopped for this call. Why it asks stands in the events, which may arrive later. */
  async permission(call: ToolCall): Promise<Permission> {
    const id = call.toolCallId
    if (this.#isListening && !this.#requested.has(id))
      await new Promise<void>(heard => void this.#awaited.set(id, heard))
    const kept = this.#kept.get(call.toolCallId)
    this.#kept.delete(call.toolCallId)
    return kept ?? this.#put(withRequest(call, this.#requested.get(call.toolCallId)))
  }

  /** Takes all questions back. */
  async end(): Promise<void> {
    this.silent()
    for (const open of this.#open.values()) open.abort(new Withdrawn('The turn is over.'))
    await this.#last
  }

  #askEarly(id: string): void {
    const call = this.#calls.get(id)
    const requested = this.#requested.get(id)
    if (!call || !requested || this.#asked.has(id)) return
    this.#kept.set(id, this.#put(withRequest(call, requested)))
  }

  #put(call: ToolCall): Promise<Permission> {
    const id = call.toolCallId
    const withdrawal = new AbortController()
    this.#asked.add(id)
    this.#open.set(id, withdrawal)
    const answer = this.#last.then(() => this.#askNow(call, withdrawal.signal))
    // A kept answer may never be read. Without this its rejection would end the process.
    this.#last = answer.catch(() => {})
    return answer
  }

  async #askNow(call: ToolCall, withdrawn: AbortSignal): Promise<Permission> {
    if (this.#gone) throw this.#gone
    try {
      return await this.#holding(() => this.#ask(call, withdrawn))
    } catch (error) {
      if (error instanceof Gone) this.#gone = error
      throw error
    } finally {
      this.#open.delete(call.toolCallId)
    }
  }

  /** Something else that a person types while the turn runs. It waits for the question that is on the screen. */
  aside(work: () => Promise<void>): void {
    if (this.#isAside) return
    this.#isAside = true
    this.#last = this.#last
      .then(() => this.#holding(work))
      .catch((error: unknown) => this.#say(wordsOf(error)))
      .finally(() => {
        this.#isAside = false
      })
  }

  async #holding<Result>(work: () => Promise<Result>): Promise<Result> {
    this.#held = []
    try {
      return await work()
    } finally {
      const held = this.#held
      this.#held = undefined
      for (const output of held) output()
    }
  }

  #settle(id: string, words: string): void {
    this.#requested.delete(id)
    const open = this.#open.get(id)
    if (open) open.abort(new Withdrawn(words))
    else if (this.#kept.delete(id)) this.show(() => this.#say(words))
  }
}

/** Where a rule names approvers, the reason says who is needed: it may be somebody else. */
function withRequest(call: ToolCall, requested: ShownPermission | undefined): ToolCall {
  if (!requested) return call
  const { expiresAt, preview, approvers } = requested
  const needs = approvers && `It needs ${describeApprovers(approvers)}.`
  const words = [requested.reason, needs].filter(each => each !== undefined).join(' ')
  const reason = words === '' ? undefined : words
  return { ...call, ...present({ reason, expiresAt, preview }) }
}
