// One turn of a session as a stream of items: it follows the session's log, answers what the turn waits for, and resumes by
// itself when a connection breaks. Answers are sent together, once nothing else of the turn is running.
import { errorMessage } from '../lib/text/error-message.ts'
import { randomIds } from '../lib/text/random.ts'
import type { AapClient } from './client.ts'
import { AapError } from './errors.ts'
import { type ClientTool, runClientTool } from './run-client-tool.ts'
import { type Permission, permissionMessage } from './run-turn.ts'
import { type SessionCall, SessionFold, type SessionItem } from './session-fold.ts'
import type { ApplicationMessage, QuestionAnswer, ToolQuestion } from './types.ts'

export type TurnOptions = {
  /** The application's own tools, by the names under which the session declares them. */
  tools?: Readonly<Record<string, ClientTool>>
  /** Called for each call that needs a permission. Without it the turn stops there. */
  onApproval?: (call: SessionCall, signal: AbortSignal) => Permission | Promise<Permission>
  /** Called for each question of a running call. Without it the turn stops there. */
  onQuestion?: (question: ToolQuestion, signal: AbortSignal) => QuestionAnswer | Promise<QuestionAnswer>
  /** How long one of the application's tools may take. Default 60,000. */
  toolTimeoutMs?: number
  /** Cancels the turn at the server. */
  signal?: AbortSignal
}

/** `waiting`: only the caller, a person or another client can go on; `pending` says with what. */
export type TurnEnd =
  | { type: 'done'; stop: string; text: string; error?: { code: string; message: string }; limit?: string }
  | { type: 'waiting'; pending: SessionCall[]; questions: ToolQuestion[] }

export type TurnPlace = { client: AapClient; session: string; claimant: string }

const newId = randomIds()

export class SessionTurn implements AsyncIterable<SessionItem | TurnEnd>, PromiseLike<TurnEnd> {
  readonly #place: TurnPlace
  readonly #opening: readonly ApplicationMessage[]
  readonly #options: TurnOptions
  #begun = false

  constructor(place: TurnPlace, opening: readonly ApplicationMessage[], options: TurnOptions) {
    this.#place = place
    this.#opening = opening
    this.#options = options
  }

  /** How the turn ended. It reads the whole turn, so it cannot be combined with a loop. */
  then<Fulfilled = TurnEnd, Rejected = never>(
    fulfilled?: ((end: TurnEnd) => Fulfilled | PromiseLike<Fulfilled>) | null,
    rejected?: ((reason: unknown) => Rejected | PromiseLike<Rejected>) | null,
  ): Promise<Fulfilled | Rejected> {
    return this.#end().then(fulfilled, rejected)
  }

  async #end(): Promise<TurnEnd> {
    for await (const item of this) if (item.type === 'done' || item.type === 'waiting') return item
    throw new AapError(0, 'connection_lost', 'The session ended before its turn did.')
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<SessionItem | TurnEnd, void, undefined> {
    if (this.#begun) throw new Error('A turn can be read once. Use session.resume() for another reader.')
    this.#begun = true
    const { client, session } = this.#place
    const over = new AbortController()
    const { signal } = this.#options
    const cancel = (): void => void client.cancel(session).catch(() => {})
    signal?.addEventListener('abort', cancel, { once: true })
    try {
      if (signal?.aborted) return
      yield* new TurnReading(this.#place, this.#opening, this.#options, over.signal).items()
    } finally {
      signal?.removeEventListener('abort', cancel)
      over.abort()
    }
  }
}

/** The state of reading one turn. */
class TurnReading {
  readonly #place: TurnPlace
  readonly #opening: readonly ApplicationMessage[]
  readonly #options: TurnOptions
  readonly #over: AbortSignal
  readonly #fold = new SessionFold()
  /** By call or question: the answer that this client prepares. Undefined result: another client answers it. */
  readonly #answers = new Map<string, Promise<ApplicationMessage | undefined>>()
  /** The calls and questions whose answers were sent, and which time of asking that was. */
  readonly #sent = new Map<string, number>()
  #sending: Promise<void> | undefined
  #refused: { error: unknown } | undefined
  #wake = Promise.withResolvers<void>()

  constructor(
    place: TurnPlace,
    opening: readonly ApplicationMessage[],
    options: TurnOptions,
    over: AbortSignal,
  ) {
    this.#place = place
    this.#opening = opening
    this.#options = options
    this.#over = over
  }

  async *items(): AsyncGenerator<SessionItem | TurnEnd, void, undefined> {
    const { client, session } = this.#place
    const state = await client.getState(session)
    this.#fold.begin(state)
    if (this.#opening.length > 0) this.#send([...this.#opening])
    else if (state.status === 'idle') {
      yield { type: 'done', stop: 'end', text: '' }
      return
    }
    for (const call of this.#fold.open()) yield { type: 'call', call }
    const log = client.watch(session, { after: state.lastEvent, signal: this.#over })
    let next = log.next()
    for (;;) {
      const end = this.#turnEnd()
      if (end) {
        yield end
        return
      }
      await Promise.race([next, this.#wake.promise])
      if (this.#refused) throw this.#refused.error
      const arrived = await Promise.race([next, Promise.resolve(undefined)])
      if (!arrived) {
        this.#wake = Promise.withResolvers()
        continue
      }
      if (arrived.done) return
      for (const item of this.#fold.take(arrived.value)) yield item
      next = log.next()
    }
  }

  /** Undefined: the turn goes on. */
  #turnEnd(): TurnEnd | undefined {
    const { ended } = this.#fold
    if (ended) return ended
    if (this.#sending) return undefined
    const open = this.#fold.open().filter(call => !this.#isSent(call))
    const questions = this.#fold.questions().filter(question => !this.#isSent(question))
    this.#beginAnswers(open, questions)
    const count = this.#fold.open().length + this.#fold.questions().length
    // Answers that were sent will appear in the log soon, so wait for them.
    if (!this.#fold.waits || open.length + questions.length < count) return undefined
    const mine = [...open, ...questions].filter(each => this.#answers.has(waitingId(each)))
    if (mine.length === 0) return { type: 'waiting', pending: open, questions }
    this.#sending = this.#sendAnswers(mine)
    return undefined
  }

  #isSent(waiting: SessionCall | ToolQuestion): boolean {
    const id = waitingId(waiting)
    return this.#sent.get(id) === this.#fold.timesAsked(id)
  }

  /** The application's tools start as soon as their calls are handed out. People are asked one after the other. */
  #beginAnswers(open: readonly SessionCall[], questions: readonly ToolQuestion[]): void {
    const { tools = {}, onApproval, onQuestion } = this.#options
    for (const call of open) {
      if (this.#answers.has(call.id)) continue
      if (call.side === 'client' && Object.hasOwn(tools, call.name))
        this.#answers.set(call.id, this.#runTool(tools[call.name]!, call))
      if (call.side === 'server' && onApproval)
        this.#answers.set(
          call.id,
          this.#askPerson(async () => permissionMessage(call.id, await onApproval(call, this.#over))),
        )
    }
    for (const question of questions)
      if (onQuestion && !this.#answers.has(question.questionId))
        this.#answers.set(
          question.questionId,
          this.#askPerson(async () => ({
            role: 'tool_answer',
            questionId: question.questionId,
            ...(await onQuestion(question, this.#over)),
          })),
        )
  }

  #asking: Promise<unknown> = Promise.resolve()

  #askPerson(ask: () => Promise<ApplicationMessage>): Promise<ApplicationMessage> {
    const asked = this.#asking.then(ask)
    this.#asking = asked.catch(() => {})
    return asked
  }

  /** Undefined: another client runs it. */
  async #runTool(tool: ClientTool, call: SessionCall): Promise<ApplicationMessage | undefined> {
    const { client, session, claimant } = this.#place
    const { toolTimeoutMs = 60_000 } = this.#options
    while (!(await claimed(client, session, call.id, claimant, toolTimeoutMs))) {
      await client.pause(claimPauseMs, this.#over)
      if (!this.#fold.isOpen(call.id)) return undefined
    }
    const input = { toolCallId: call.id, name: call.name, input: call.input }
    const { content } = await runClientTool(tool, input, this.#over, toolTimeoutMs)
    return { role: 'tool', toolCallId: call.id, content }
  }

  async #sendAnswers(answered: readonly (SessionCall | ToolQuestion)[]): Promise<void> {
    try {
      const ids = answered.map(waitingId)
      const made = await Promise.all(ids.map(async id => this.#answers.get(id)))
      const open = made.flatMap((message, at) => (message && this.#fold.isOpen(ids[at]!) ? [message] : []))
      for (const id of ids) {
        this.#answers.delete(id)
        this.#sent.set(id, this.#fold.timesAsked(id))
      }
      this.#sending = undefined
      if (open.length > 0) this.#send(open)
      else this.#wake.resolve()
    } catch (error) {
      this.#fail(error)
    }
  }

  /** The response only says whether the request was refused. Everything else comes through the log. */
  #send(messages: ApplicationMessage[]): void {
    const { client, session } = this.#place
    this.#fold.sent()
    const request = { messages, stream: 'none' as const }
    const options = { idempotencyKey: newId('req'), signal: this.#over }
    client.sendTurn(session, request, options).then(
      () => this.#wake.resolve(),
      (error: unknown) => {
        // Another client was first: what it did comes through the log.
        const late = error instanceof AapError && ['call_settled', 'already_decided'].includes(error.code)
        if (late) this.#wake.resolve()
        else if (!this.#over.aborted) this.#fail(error)
      },
    )
  }

  #fail(error: unknown): void {
    this.#refused = { error }
    this.#wake.resolve()
  }
}

/** How long to wait before a call that another client has is looked at again. */
const claimPauseMs = 1_000

async function claimed(
  client: AapClient,
  session: string,
  callId: string,
  claimant: string,
  forMs: number,
): Promise<boolean> {
  try {
    await client.claim(session, callId, claimant, forMs + 5_000)
    return true
  } catch (error) {
    if (!(error instanceof AapError)) throw new Error(errorMessage(error), { cause: error })
    // A server without claims has one client at a time.
    if (error.status === 404 || error.status === 405) return error.code !== 'session_not_found'
    if (['call_claimed', 'call_settled', 'unknown_call'].includes(error.code)) return false
    throw error
  }
}

function waitingId(waiting: SessionCall | ToolQuestion): string {
  return 'questionId' in waiting ? waiting.questionId : waiting.id
}
