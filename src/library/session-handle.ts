// A session for programs: say something, get the reply, answer the calls that wait. It uses the engine's boundary alone, as
// any wire does.
import {
  type Accepted,
  type AppContext,
  type Command,
  type During,
  type FollowItem,
  type FollowOptions,
  type GivenDecision,
  type GivenResult,
  readReceipt,
  type SessionMessage,
  type SessionRef,
  type SessionStatus,
  type ToolOutput,
} from '../engine/index.ts'
import type { ArgumentPatterns } from '../language/argument-patterns.ts'
import { type Found, keptName } from '../language/calls.ts'
import { type InputPart, isResultPart, joinText, type ResultPart } from '../language/content.ts'
import { TurnwireError } from '../language/errors.ts'
import { type Grant, waitModes } from '../language/events.ts'
import type { Entry } from '../language/history.ts'
import type { Receipt } from '../language/make-receipt.ts'
import type { CallAnswer } from '../language/questions.ts'
import { toolHash } from '../language/tools.ts'
import { hashJson } from '../lib/json/hash.ts'
import type { Json } from '../lib/json/index.ts'
import { type PendingCall, pendingCalls, type TurnTypes } from './reply.ts'
import { type LibraryHost, TurnHandle, type TurnStart } from './turn-handle.ts'

export type DecisionOptions = {
  /** The name of the person who decides, for the log. Default: the owner of the session. */
  by?: string
  /** The roles of that person, where a policy rule names approvers. The program vouches for both. */
  roles?: readonly string[]
  /** Told to the model when the call is denied. */
  reason?: string
  /** The decision also holds for every further call of this tool in this session, until it is revoked. */
  remember?: boolean
  /** The `hash` of the call as it was shown: refused with `stale_approval` if its arguments have changed. */
  seen?: string
}

/** `input`: other arguments to run the call with. */
export type ApproveOptions = DecisionOptions & { input?: Json }

/** Several answers at once. `by` defaults to the owner of the session. */
export type CallAnswers = {
  results?: readonly GivenResult[]
  decisions?: readonly (ApproveOptions & { callId: string; granted: boolean })[]
  answers?: readonly (CallAnswer & { question: string; by?: string })[]
}

export type ResultOptions = { failed?: boolean; structured?: Json; details?: Json }

/** `by`: the person who asks, where approvers may not be the one who asks. Default: the owner of the session. */
export type SendOptions = { context?: Partial<AppContext>; during?: During; by?: string }

/** `by`: for the log. Default: the owner of the session. `reason`: told to the model where it is told anything. */
export type StopOptions = { by?: string; reason?: string }

export type NewGrant = {
  tool: string
  by?: string
  /** The roles of the person who gives it, where a policy rule names approvers. */
  roles?: readonly string[]
  /** The only arguments that it covers. Default: any. */
  input?: Json
  /** Patterns of the arguments that it covers, by name; an argument without one is not covered. Not with `input`. */
  where?: ArgumentPatterns
  usesLeft?: number
  expiresAt?: number
}

export type WatchOptions = {
  /** The number of the last event that is known already. Default: 0, the whole log. */
  after?: number
  /** Default: `never`, until the loop is left. */
  until?: FollowOptions['until']
  signal?: AbortSignal
}

export class SessionHandle<ModelName extends string = string, Known extends TurnTypes = TurnTypes> {
  readonly id: string
  readonly #host: LibraryHost
  readonly #owner: string

  constructor(host: LibraryHost, owner: string, id: string) {
    this.#host = host
    this.#owner = owner
    this.id = id
  }

  // ---- turns -----------------------------------------------------------------------------------------------

  /**
   * Says something. `during`: what becomes of it while a turn is under way. By default it is refused while the turn runs, and
   * abandons calls that wait. A message that waits gives the reply of the turn that it is delivered to. `context` is added to what
   * tools get as `context.app` in this turn; it is not recorded, so that it is gone if another process continues the turn.
   */
  send(message: string | readonly InputPart[], { context, during, by }: SendOptions = {}): TurnHandle<Known> {
    return this.#turn(this.#say(toResultParts(message, 'send'), context, checkDuring(during), by))
  }

  /**
   * Proves one settled call: who allowed it under which rule, when, and how it ended, without arguments and results. Rejects with
   * `not_found` if its turn is not over, and with `bad_request` without `receipts: true` in the configuration. `salts`: its reader can
   * compare arguments and outcome with their hashes, and so guess them too.
   */
  receipt(callId: string, { salts = false }: { salts?: boolean } = {}): Promise<Receipt> {
    return readReceipt(this.#host.engine, this.#ref, callId, salts)
  }

  /** The messages that wait for their delivery, in the order in which they were sent. */
  async messages(): Promise<SessionMessage[]> {
    return (await this.#host.engine.summary(this.#ref)).messages ?? []
  }

  /** Takes back a message that waits. Rejects with `message_delivered` if it waits no longer. */
  async withdraw(message: string, { by = this.#owner, reason }: StopOptions = {}): Promise<void> {
    await this.#command({ do: 'withdraw', message, by, ...(reason !== undefined && { reason }) })
  }

  /** Lets a call run; with `input`, with these arguments. */
  approve(callId: string, options: ApproveOptions = {}): TurnHandle<Known> {
    return this.answer({ decisions: [{ ...options, callId, granted: true }] })
  }

  deny(callId: string, options: DecisionOptions = {}): TurnHandle<Known> {
    return this.answer({ decisions: [{ ...options, callId, granted: false }] })
  }

  /**
   * The result of one of the program's own tools, or of a server tool that left it for later. Only the latter has
   * `structured` data and `details`.
   */
  result(
    callId: string,
    output: string | readonly ResultPart[],
    { failed = false, structured, details }: ResultOptions = {},
  ): TurnHandle<Known> {
    const parts = toResultParts(output, 'result')
    const later: ToolOutput = {
      parts,
      ...(failed && { failed }),
      ...(structured !== undefined && { structured }),
      ...(details !== undefined && { details }),
    }
    const result: GivenResult = { callId, parts, failed }
    return this.#turn(this.#result(result, later))
  }

  async #result(result: GivenResult, later: ToolOutput): Promise<TurnStart> {
    const { calls } = await this.#host.engine.summary(this.#ref)
    const call = calls.find(({ part }) => part.id === result.callId)
    if (call?.stage !== 'postponed')
      return this.#respond({ do: 'respond', results: structuredClone([result]), decisions: [] })
    const { first } = await this.#command({ do: 'complete', callId: result.callId, output: later })
    return { from: first, calls }
  }

  /** The answer to a question that a running call asks. */
  answerQuestion(question: string, answer: CallAnswer, { by }: { by?: string } = {}): TurnHandle<Known> {
    return this.answer({ answers: [{ ...answer, question, ...(by !== undefined && { by }) }] })
  }

  /** Several answers at once, in one step. */
  answer({ results = [], decisions = [], answers = [] }: CallAnswers): TurnHandle<Known> {
    return this.#turn(
      this.#respond({
        do: 'respond',
        results: structuredClone([...results]),
        decisions: decisions.map(decision => this.#decision(decision)),
        answers: answers.map(({ question, by = this.#owner, ...answer }) => ({
          question,
          by,
          action: answer.action,
          ...(answer.action === 'accept' && answer.content && { content: { ...answer.content } }),
        })),
      }),
    )
  }

  /** The turn that is under way, from its beginning: after a restart, or when another program started it. */
  wait(): TurnHandle<Known> {
    return this.#turn(this.#current())
  }

  /** Goes on without a new message: after an error, a limit or a cancellation. A turn that is under way is waited for. */
  resume(): TurnHandle<Known> {
    return this.#turn(this.#goOn())
  }

  /** Ends the turn now. The first message that waits starts the next turn, unless all are withdrawn. */
  async cancel({ withdraw = false }: { withdraw?: boolean } = {}): Promise<void> {
    await this.#command({ do: 'cancel', ...(withdraw && { withdraw: this.#owner }) })
  }

  /** Stops one call and tells the model. The other calls and the turn go on. */
  async cancelCall(callId: string, { by = this.#owner, reason }: StopOptions = {}): Promise<void> {
    await this.#command({ do: 'cancel-call', callId, by, ...(reason !== undefined && { reason }) })
  }

  /**
   * Asks the tool of a call what became of it, if it was settled although it may have taken effect. The answer is recorded, and the
   * model is told.
   */
  async reconcile(callId: string, { by = this.#owner }: { by?: string } = {}): Promise<Found | 'unknown'> {
    const { found = 'unknown' } = await this.#command({ do: 'reconcile', callId, by })
    return found
  }

  /** Has a call undone, by a call of its own that passes the same gate: the reply may have it waiting for an approval. */
  undo(callId: string, { by = this.#owner }: { by?: string } = {}): TurnHandle<Known> {
    const started = this.#command({ do: 'undo', callId, by, wire: 'library' })
    return this.#turn(started.then(({ first }) => ({ from: first, calls: [] })))
  }

  /** Calls that were settled although they may have taken effect, the oldest first. */
  async doubts(): Promise<{ callId: string; tool: string }[]> {
    return (await this.#host.engine.summary(this.#ref)).doubts ?? []
  }

  #turn(started: Promise<TurnStart>): TurnHandle<Known> {
    return new TurnHandle(this.#host, this.#ref, started)
  }

  async #say(
    parts: InputPart[],
    app?: Partial<AppContext>,
    during?: During,
    by?: string,
  ): Promise<TurnStart> {
    const requesters = by === undefined || by === this.#owner ? undefined : [by]
    const options = { ...(app && { app }), ...(during && { during }), ...(requesters && { requesters }) }
    const { first, waited, message } = await this.#command({ do: 'say', wire: 'library', parts, ...options })
    return message ? { from: first, calls: [], message } : { from: first, calls: waited }
  }

  async #respond(command: Extract<Command, { do: 'respond' }>): Promise<TurnStart> {
    // The results of calls that still run come after the answer, and are known by their call.
    const { calls } = await this.#host.engine.summary(this.#ref)
    const { first } = await this.#command(command)
    return { from: first, calls }
  }

  async #current(): Promise<TurnStart> {
    const { turn, seq } = await this.#host.engine.summary(this.#ref)
    if (turn) return { from: turn.first, calls: [] }
    const last = (await this.history()).findLast(entry => entry.role === 'assistant')
    return { from: seq + 1, calls: [], ...(last && { text: joinText(last.parts) }) }
  }

  async #goOn(): Promise<TurnStart> {
    const { turn, lastRole } = await this.#host.engine.summary(this.#ref)
    if (turn) return this.#current()
    if (lastRole === 'user' || lastRole === 'tool') return this.#say([])
    throw new TurnwireError('bad_request', 'The model has answered already. Send a message.')
  }

  #decision(given: ApproveOptions & { callId: string; granted: boolean }): GivenDecision {
    const { callId, granted, by = this.#owner, roles, reason, remember, seen, input } = given
    return {
      callId,
      granted,
      by,
      ...(roles && { people: [{ name: by, roles: [...roles] }] }),
      ...(reason !== undefined && { reason }),
      ...(seen !== undefined && { seen }),
      ...(remember && { remember }),
      ...(input !== undefined && { edit: typeof input === 'string' ? input : JSON.stringify(input) }),
    }
  }

  // ---- the session -----------------------------------------------------------------------------------------

  async status(): Promise<SessionStatus> {
    return (await this.#host.engine.summary(this.#ref)).status
  }

  async pending(): Promise<PendingCall[]> {
    return pendingCalls((await this.#host.engine.summary(this.#ref)).calls)
  }

  async history(): Promise<Entry[]> {
    return (await this.#host.engine.history(this.#ref, { get: 'entries' })).entries
  }

  /**
   * A kept output of a call, in pieces of up to 1 MiB. `from`: the byte to begin at. Rejects with `not_found` if the call has
   * none.
   */
  async *output(callId: string, from = 0): AsyncGenerator<Uint8Array, void, undefined> {
    for (let at = from; ; ) {
      const { bytes, size } = await this.#host.engine.blob(this.#ref, {
        get: 'bytes',
        name: keptName(callId),
        from: at,
        length: 1024 * 1024,
      })
      if (bytes.length > 0) yield bytes
      at += bytes.length
      if (bytes.length === 0 || at >= size) return
    }
  }

  /** Uses another configured model from the next step on. */
  async setModel(name: ModelName): Promise<void> {
    await this.#command({ do: 'configure', settings: { model: name } })
  }

  /** Puts a summary in place of the oldest entries, for the model alone. False: there was nothing to replace. */
  async compact(): Promise<boolean> {
    return (await this.#command({ do: 'compact' })).count > 0
  }

  /** Events and deltas as they are recorded and happen: from the log, then live. */
  async *watch({ after = 0, until = 'never', signal }: WatchOptions = {}): AsyncGenerator<FollowItem> {
    const options: FollowOptions = { from: after + 1, until, deltas: 'take-back' }
    for await (const batch of this.#host.engine.follow(this.#ref, options, signal))
      for (const item of batch) yield structuredClone(item)
  }

  // ---- grants ----------------------------------------------------------------------------------------------

  async grants(): Promise<Grant[]> {
    return (await this.#host.engine.summary(this.#ref)).grants
  }

  /** Lets calls of a tool run without asking, as long as its definition stays as it is. Gives the id of the grant. */
  async grant({ tool, by = this.#owner, roles = [], input, ...rest }: NewGrant): Promise<string> {
    const { engine } = this.#host
    const [{ agents }, { agent, settings }] = await Promise.all([
      engine.describe(),
      engine.summary(this.#ref),
    ])
    const declared = [
      ...(agents.find(each => each.name === agent)?.tools ?? []),
      ...settings.clientTools,
    ].find(each => each.name === tool)
    if (!declared)
      throw new TurnwireError('unknown_tool', `There is no tool named "${tool}" in this session.`)
    const argsHash = input === undefined ? {} : { argsHash: hashJson(input) }
    const people = [{ name: by, ...(roles.length > 0 && { roles: [...roles] }) }]
    const grant = { ...rest, tool, by, people, toolHash: toolHash(declared), ...argsHash }
    return (await this.#command({ do: 'grant', grant })).grant ?? ''
  }

  async revoke(grantId: string, { by = this.#owner }: { by?: string } = {}): Promise<void> {
    await this.#command({ do: 'revoke', grantId, by })
  }

  get #ref(): SessionRef {
    return { owner: this.#owner, session: this.id }
  }

  #command(command: Command): Promise<Accepted> {
    return this.#host.engine.command(this.#ref, command)
  }
}

function checkDuring(during: During | undefined): During | undefined {
  if (during === undefined || during === 'refuse' || waitModes.includes(during)) return during
  throw new TurnwireError(
    'bad_request',
    `send() takes "during" as one of: refuse, ${waitModes.join(', ')}. It was given ${JSON.stringify(during)}.`,
  )
}

/** A text, or parts as they are. Programs in JavaScript give other things: these are refused before anything is recorded. */
export function toResultParts(given: unknown, method: 'run' | 'send' | 'result'): ResultPart[] {
  if (typeof given === 'string') return [{ type: 'text', text: given }]
  if (Array.isArray(given) && given.every(isResultPart)) return [...given]
  throw new TurnwireError(
    'bad_request',
    `${method}() takes a text, or a list of parts such as { type: 'text', text }, { type: 'image', url } or ` +
      `{ type: 'file', url, mediaType }. It was given ${describeGiven(given)}.`,
  )
}

function describeGiven(given: unknown): string {
  if (Array.isArray(given)) return 'a list with something else in it'
  if (typeof given !== 'object' || given === null) return String(given)
  return `an object with the members: ${Object.keys(given).join(', ') || 'none'}`
}
