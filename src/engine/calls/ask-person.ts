// A running call asks a person and waits for the answer. The question is an event, shown once it is durable; so is the
// answer. A call that runs again after a crash asks under the same key, and gets the answer that was given before.
import type { CallAnswer, CallQuestion } from '../../language/questions.ts'
import { questionFault } from '../../language/questions.ts'
import type { Abort } from '../../lib/async/abort.ts'
import { hashJson } from '../../lib/json/hash.ts'
import type { Json } from '../../lib/json/index.ts'
import type { AskOptions } from '../ports/index.ts'
import { decideWithdrawn } from '../rules/decide-call.ts'
import { decideAsk, givenAnswer } from '../rules/decide-question.ts'
import type { CallState, QuestionState } from '../rules/state.ts'
import type { CallSession } from './call-session.ts'
import { exactAnswer } from './hidden-arguments.ts'

/** The questions of one attempt at a call. */
export class Asking {
  readonly #session: CallSession
  readonly #call: CallState
  readonly #stop: Abort
  /** How often this attempt has asked the same. */
  readonly #asked = new Map<string, number>()

  constructor(session: CallSession, call: CallState, stop: Abort) {
    this.#session = session
    this.#call = call
    this.#stop = stop
  }

  async ask(given: CallQuestion, { key, expiresInMs, signal }: AskOptions = {}): Promise<CallAnswer> {
    const fault = questionFault(given)
    if (fault) throw new TypeError(fault)
    const question = plainQuestion(this.#session, given)
    const name = key ?? this.#questionKey(question)
    const before = this.#find(name)
    if (before && before.closed !== 'withdrawn') return this.#answer(before, signal)
    this.#refuseIfOver(signal)
    const { context } = this.#session
    const event = decideAsk(
      this.#call,
      question,
      expiresInMs === undefined ? { key: name } : { key: name, expiresInMs },
      context,
    )
    this.#session.record([event])
    this.#session.driver.asked()
    const asked = this.#find(name)
    if (!asked) throw new Error('The call is over.')
    return this.#answer(asked, signal)
  }

  #find(key: string): QuestionState | undefined {
    return this.#call.questions?.findLast(question => question.key === key)
  }

  /** The same question asked twice by one attempt has two keys, and the same two in every attempt. */
  #questionKey(question: CallQuestion): string {
    const hash = hashJson(question as unknown as Json) // A checked question is plain JSON.
    const count = (this.#asked.get(hash) ?? 0) + 1
    this.#asked.set(hash, count)
    return `${hash}#${count}`
  }

  /** Resolves once the answer is durable. */
  async #answer(question: QuestionState, signal: AbortSignal | undefined): Promise<CallAnswer> {
    if (!question.closed) await this.#closed(question, signal)
    await this.#session.flushed()
    const answer = givenAnswer(exactAnswer(this.#session, question))
    if (answer) return answer
    throw new Error('The question was withdrawn.')
  }

  #closed(question: QuestionState, signal: AbortSignal | undefined): Promise<void> {
    this.#refuseIfOver(signal)
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    const unwatch = this.#session.feed.watch(item => {
      if (item.type === 'closed') reject(item.reason)
      else if (question.closed) resolve()
    })
    const forget = this.#stop.onAbort(() => reject(this.#stop.signal.reason))
    const withdraw = (): void => {
      this.#withdraw(question)
      reject(signal?.reason)
    }
    signal?.addEventListener('abort', withdraw, { once: true })
    return promise.finally(() => {
      unwatch()
      forget()
      signal?.removeEventListener('abort', withdraw)
    })
  }

  #withdraw(question: QuestionState): void {
    if (question.closed || this.#session.lost || this.#call.stage !== 'started') return
    this.#session.record([decideWithdrawn(this.#call.part.id, question.id, this.#session.context)])
    this.#session.driver.wake()
  }

  #refuseIfOver(signal: AbortSignal | undefined): void {
    if (this.#stop.aborted) throw this.#stop.signal.reason
    signal?.throwIfAborted()
    if (this.#session.lost || this.#call.stage !== 'started') throw new Error('The call is over.')
  }
}

/** A copy without what is no JSON, its message redacted as the call's output is. */
function plainQuestion({ agent }: CallSession, question: CallQuestion): CallQuestion {
  const copy = JSON.parse(JSON.stringify(question)) as CallQuestion // It was checked, and goes into the log as JSON.
  const live = agent.gate.live()
  if (live) copy.message = live.take(copy.message) + live.rest()
  const { message } = copy
  return 'url' in copy ? { message, url: copy.url } : { message, schema: copy.schema }
}
