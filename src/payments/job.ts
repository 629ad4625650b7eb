// The work that a payment pays for: a turn of a session, or one answer without a session. The settlement takes it,
// waits until it has begun or ended, and ends it in time. The paid engine decides who reads it meanwhile.
import type { DeltaMode, Engine, OnceAnswer, OnceItem, OnceRequest } from '../engine/index.ts'
import { TurnwireError } from '../language/errors.ts'
import type { PaymentRecord } from '../language/payments.ts'
import { StepDeltas } from '../language/step-deltas.ts'
import { estimateTokens, type TokensUsed } from './amounts.ts'
import type { Kept, Ledger } from './ledger.ts'
import { paymentChanged } from './port.ts'
import { isSaid, type TurnResult, type Work, watchTurn } from './watch-turn.ts'

export type Job = {
  /** Records that it is done here. Rejects with `busy` if another process has changed the payment, or does the work. */
  take(kept: Kept): Promise<Kept>
  /** Once the model has said something. */
  begun(): Promise<TurnResult>
  ended(): Promise<TurnResult>
  /** Ends it: what was said until then is the answer. */
  cut(): void
  /** Its answer is durable. */
  answered?(answer: OnceAnswer): void
  /** Nothing more is done for it here. */
  over?(record: PaymentRecord): void
}

export function turnJob(engine: Engine, ledger: Ledger, work: Work): Job {
  const { owner, session, first } = work
  return {
    async take(kept) {
      const before = kept.record.work
      const isKnown = before?.session === session && before.first === first
      return isKnown ? kept : ledger.change(kept, { work, open: true })
    },
    begun: () => watchTurn(engine, work, true),
    ended: () => watchTurn(engine, work, false),
    cut: () => void engine.command({ owner, session }, { do: 'cancel' }).catch(() => {}),
  }
}

/** The process that works, and which others do. */
export type Workers = { self: string; isAlive(worker: string): boolean }

export type AskOnce = (request: OnceRequest, signal: AbortSignal) => AsyncIterable<readonly OnceItem[]>

/** Another process is about to answer it. */
export function isHeld({ worker, answer }: PaymentRecord, workers: Workers): boolean {
  return !answer && worker !== undefined && worker !== workers.self && workers.isAlive(worker)
}

/**
 * One answer without a session. The payment's record has the request and gets the answer, so it survives its process, and the
 * same request is given the same answer. It goes on when its client leaves.
 */
export class OnceJob implements Job {
  readonly #ledger: Ledger
  readonly #workers: Workers
  readonly #ask: AskOnce
  readonly #said: OnceItem[] = []
  readonly #stop = new AbortController()
  readonly #begun = Promise.withResolvers<TurnResult>()
  readonly #answer = Promise.withResolvers<OnceAnswer>()
  #more = Promise.withResolvers<void>()
  #result: Promise<TurnResult> | undefined
  #error: unknown
  #isCut = false
  #isOver = false

  constructor(ledger: Ledger, workers: Workers, ask: AskOnce) {
    this.#ledger = ledger
    this.#workers = workers
    this.#ask = ask
    // It may have no reader: without this a rejection would end the process.
    this.#answer.promise.catch(() => {})
  }

  /** Rejects with the error of the answer. */
  get answer(): Promise<OnceAnswer> {
    return this.#answer.promise
  }

  async take(kept: Kept): Promise<Kept> {
    const { answer, usage = { input: 0, output: 0 } } = kept.record
    if (answer) {
      // The record was written from a value of this type.
      const whole = answer as unknown as OnceAnswer
      this.#result ??= Promise.resolve({ result: 'answered', usage, answer: whole })
      this.answered(whole)
      return kept
    }
    if (isHeld(kept.record, this.#workers)) throw paymentChanged()
    const taken = await this.#ledger.change(kept, { worker: this.#workers.self, open: true })
    this.#result ??= this.#run(taken.record)
    return taken
  }

  async begun(): Promise<TurnResult> {
    return Promise.race([this.#begun.promise, this.ended()])
  }

  async ended(): Promise<TurnResult> {
    return this.#result ?? { result: 'gone', reason: 'stopping' }
  }

  cut(): void {
    this.#isCut = true
    this.#stop.abort()
  }

  answered(answer: OnceAnswer): void {
    this.#answer.resolve(answer)
    this.#end()
  }

  over({ answer }: PaymentRecord): void {
    if (answer) this.#answer.resolve(answer as unknown as OnceAnswer)
    else this.#answer.reject(this.#error ?? answersElsewhere())
    this.#end()
  }

  /** The items of the answer, from the first. Ends with the answer or its failure, or when the signal aborts. */
  async *deltas(mode: DeltaMode, signal: AbortSignal): AsyncGenerator<readonly OnceItem[]> {
    signal.addEventListener('abort', () => this.#wake(), { once: true })
    let given = 0
    while (!signal.aborted) {
      const items = this.#said.slice(given)
      given += items.length
      if (items.length > 0) yield items
      else if (this.#isOver) break
      else await this.#more.promise
    }
    // It was answered before, or elsewhere.
    if (given === 0 && mode !== 'raw' && mode !== 'none' && !signal.aborted)
      yield wholeDeltas(mode, await this.answer)
  }

  #end(): void {
    this.#isOver = true
    // The limits of its owner count it until then.
    this.#stop.abort()
    this.#wake()
  }

  #wake(): void {
    this.#more.resolve()
    this.#more = Promise.withResolvers()
  }

  async #run(record: PaymentRecord): Promise<TurnResult> {
    const request = onceRequest(record)
    try {
      for await (const batch of this.#ask(request, this.#stop.signal))
        for (const item of batch)
          if (item.type === 'answer')
            return { result: 'answered', usage: usedBy(request, item.answer), answer: item.answer }
          else this.#say(item)
    } catch (error) {
      this.#error = error
    }
    if (this.#isCut) return { result: 'answered', usage: usedBy(request, this.#partial()) }
    const code = this.#error instanceof TurnwireError ? this.#error.code : 'internal'
    return code === 'stopping' ? { result: 'gone', reason: code } : { result: 'failed', reason: code }
  }

  #say(item: Extract<OnceItem, { type: 'delta' }>): void {
    this.#said.push(item)
    if (isSaid(item.delta)) this.#begun.resolve({ result: 'begun' })
    this.#wake()
  }

  /** Of an answer that was cut: its words, in any form. */
  #partial(): Pick<OnceAnswer, 'parts' | 'usage'> {
    const said = this.#said.map(item =>
      item.type === 'delta' && 'text' in item.delta ? item.delta.text : '',
    )
    this.#error = new TurnwireError('stopping', 'The request was cancelled: its payment expires.')
    return { parts: [{ type: 'text', text: said.join('') }] }
  }
}

function wholeDeltas(mode: Exclude<DeltaMode, 'raw' | 'none'>, { parts }: OnceAnswer): OnceItem[] {
  const items: OnceItem[] = []
  new StepDeltas(mode).complete(parts, delta => items.push({ type: 'delta', delta }))
  return items
}

/** The recorded request, bound to the provider that was paid. */
function onceRequest({ request, price }: PaymentRecord): OnceRequest {
  // Both were written by the desk.
  const asked = request as unknown as OnceRequest
  const { to } = price as { to?: NonNullable<OnceRequest['ask']>['to'] }
  const deltas = asked.deltas === 'none' ? 'raw' : asked.deltas
  return { ...asked, deltas, ...(to && { ask: { ...asked.ask, to: { ...asked.ask?.to, ...to } } }) }
}

/** An answer whose vendor did not say what it used is estimated. */
function usedBy({ history }: OnceRequest, { parts, usage }: Pick<OnceAnswer, 'parts' | 'usage'>): TokensUsed {
  return {
    input: usage?.input ?? estimateTokens(history.filter(({ role }) => role !== 'assistant')),
    output: usage?.output ?? estimateTokens(parts),
  }
}

function answersElsewhere(): TurnwireError {
  return new TurnwireError(
    'payment_pending',
    'The answer is not whole yet. Send the same request with the same payment again; it is not charged twice.',
    { retryAfterMs: 5_000 },
  )
}
