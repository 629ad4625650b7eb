// What a tool is given with its input: who calls, how to stop, how to show progress, and what else it may use.
import { wordsOf } from '../language/errors.ts'
import type { CallAnswer, CallQuestion } from '../language/questions.ts'
import type { Abort } from '../lib/abort.ts'
import { Asking } from './ask-person.ts'
import type { CallClock } from './call-clock.ts'
import { subjectOf } from './hooks.ts'
import type { AppContext, AskOptions, Live, NestedCalls, SessionTools, ToolContext } from './ports.ts'
import type { Session } from './session.ts'
import { sessionTools } from './session-tools.ts'
import type { CallState } from './state.ts'

/** A class for its getters: a signal or options that a tool does not read are not made. */
export class CallContext implements ToolContext {
  readonly session: string
  readonly owner: string
  readonly callId: string
  readonly idempotencyKey: string
  readonly attempt: number
  readonly #session: Session
  readonly #call: CallState
  readonly #stop: Abort
  readonly #clock: CallClock
  #asking: Asking | undefined
  /** Made with the first piece of output; `null`: output is not redacted. */
  #live: Live | null | undefined

  readonly nested?: NestedCalls

  constructor(session: Session, call: CallState, stop: Abort, clock: CallClock, nested?: NestedCalls) {
    this.#session = session
    this.#call = call
    this.#stop = stop
    this.#clock = clock
    if (nested) this.nested = nested
    this.session = session.id
    this.owner = session.state.owner
    this.callId = call.part.id
    this.idempotencyKey = call.part.id
    this.attempt = call.attempt
  }

  get progress(): ToolContext['progress'] {
    return update => {
      const { callId } = this
      const { feed, lost } = this.#session
      if (lost || this.#call.stage !== 'started') return
      if ('output' in update) this.#show(this.#redacted(update.output))
      else feed.delta({ type: 'progress', callId, ...this.#redactedMessage(update) })
    }
  }

  get ask(): ToolContext['ask'] {
    return async (question: CallQuestion, options?: AskOptions): Promise<CallAnswer> => {
      this.#asking ??= new Asking(this.#session, this.#call, this.#stop)
      const goOn = this.#clock.pause()
      try {
        return await this.#asking.ask(question, options)
      } finally {
        goOn()
      }
    }
  }

  get fetch(): ToolContext['fetch'] {
    return (input, init = {}) => {
      const { ports } = this.#session
      const { egress } = ports
      if (!egress) return Promise.reject(new Error('This engine fetches nothing: it has no egress rule.'))
      const { session, callId } = this
      return egress.fetch(input, {
        signal: this.#stop.signal,
        ...init,
        report: report => {
          ports.log(report.refused === undefined ? 'info' : 'warn', 'A tool sent a request.', {
            session,
            callId,
            ...report,
          })
          init.report?.(report)
        },
      })
    }
  }

  get connect(): NonNullable<ToolContext['connect']> {
    return (url, hosts) => {
      const { ports } = this.#session
      const { egress } = ports
      if (!egress?.connect) return Promise.reject(new Error('This engine makes no connections for tools.'))
      return egress.connect(url, hosts).catch((error: unknown) => {
        const { session, callId } = this
        ports.log('warn', 'A tool was refused a connection.', {
          session,
          callId,
          host: url.host,
          error: wordsOf(error),
        })
        throw error
      })
    }
  }

  get tools(): SessionTools {
    return sessionTools(this.#session)
  }

  get app(): AppContext {
    const given = { ...this.#session.ports.app?.(subjectOf(this.#session)), ...this.#session.requestApp }
    // Which members there are is between the program and its tools.
    return given as AppContext
  }

  /** No more output comes: shows what redaction held back. */
  showRest(): void {
    if (this.#live && this.#call.stage === 'started') this.#show(this.#live.rest())
  }

  #show(text: string): void {
    if (text !== '') this.#session.feed.delta({ type: 'output', callId: this.callId, text })
  }

  #redacted(piece: string): string {
    if (this.#live === undefined) this.#live = this.#session.agent.gate.live() ?? null
    return this.#live ? this.#live.take(piece) : piece
  }

  #redactedMessage<Update extends { message?: string }>(update: Update): Update {
    const live = update.message === undefined ? undefined : this.#session.agent.gate.live()
    return live ? { ...update, message: live.take(update.message ?? '') + live.rest() } : update
  }

  get signal(): AbortSignal {
    return this.#stop.signal
  }

  get options(): Readonly<Record<string, string>> {
    return this.#session.options()
  }
}
