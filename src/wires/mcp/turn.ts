// One tools/call as a turn of a session: begins it, or goes on with one that asked a person, and gives the result or the
// next questions. A call that waits while its client cannot be asked is decided on another wire.
import { type CallToolResult, type InputRequiredResult, inputRequired } from '@modelcontextprotocol/server'
import type {
  AgentInfo,
  CallState,
  Engine,
  FollowItem,
  GivenAnswer,
  QuestionState,
  SessionRef,
} from '../../engine/index.ts'
import type { Outcome } from '../../language/calls.ts'
import { textOf } from '../../language/content.ts'
import { errorCodes, TurnwireError } from '../../language/errors.ts'
import type { TraceContext } from '../../language/trace.ts'
import { isJsonObject, type Json, type JsonObject, parseJson } from '../../lib/json.ts'
import { agentNamed, type Principal, type WireHost } from '../host.ts'
import {
  askToolName,
  decodeAnswer,
  decodeDecision,
  encodeCallQuestion,
  encodeOutcome,
  encodeQuestion,
  failedResult,
} from './encode.ts'

export const mcpWire = 'mcp'

export type McpCall = {
  name: string
  arguments: JsonObject
  /** What the client sends back when it answers questions. */
  state: string | undefined
  answers: Readonly<Record<string, unknown>> | undefined
  /** Whether the client can put questions to a person. */
  canAsk: boolean
  signal: AbortSignal
  progress(update: TurnProgress): void
  trace?: TraceContext | undefined
}

/** `done` of `total`, or words. */
export type TurnProgress = { message?: string; done?: number; total?: number }

/** Where a call that asked a person goes on. */
type Kept = { owner: string; session: string; tool: string }

export class McpTurn {
  readonly #host: WireHost
  readonly #engine: Engine
  readonly #principal: Principal
  readonly #agent: AgentInfo
  readonly #call: McpCall

  constructor(host: WireHost, principal: Principal, agent: string, call: McpCall) {
    this.#host = host
    this.#engine = host.engine
    this.#principal = principal
    this.#agent = agentNamed(host, agent)
    this.#call = call
  }

  async run(): Promise<CallToolResult | InputRequiredResult> {
    const kept = this.#kept()
    const { ref, first } = kept ? await this.#goOn(kept) : await this.#begin()
    const cancel = (): void => void this.#engine.command(ref, { do: 'cancel' }).catch(() => {})
    const { signal } = this.#call
    if (signal.aborted) cancel()
    signal.addEventListener('abort', cancel, { once: true })
    try {
      return await this.#follow(ref, first)
    } finally {
      signal.removeEventListener('abort', cancel)
    }
  }

  get #isAsk(): boolean {
    return this.#call.name === askToolName(this.#agent)
  }

  #kept(): Kept | undefined {
    const { state, name } = this.#call
    if (state === undefined) return undefined
    const kept = parseJson(this.#host.unseal(state))
    const { owner, session, tool } = isJsonObject(kept) ? kept : {}
    if (owner !== this.#principal.owner || tool !== name || typeof session !== 'string')
      throw new Error('This state belongs to another request.')
    return { owner, session, tool }
  }

  async #begin(): Promise<{ ref: SessionRef; first: number }> {
    const { owner, name: by } = this.#principal
    const { name: tool, arguments: input, trace } = this.#call
    const within = trace && { trace }
    const text = input['message']
    if (!this.#isAsk) {
      const ref = await this.#create()
      const form = this.#agent.tools.find(each => each.name === tool)?.input.form
      const free = input['input']
      const given = form === 'text' && typeof free === 'string' ? free : JSON.stringify(input)
      const call = { do: 'call', wire: mcpWire, by, tool, text: given, ...within } as const
      const { first } = await this.#engine.command(ref, call)
      return { ref, first }
    }
    const earlier = input['session']
    const ref = typeof earlier === 'string' ? { owner, session: earlier } : await this.#create()
    const parts = [{ type: 'text' as const, text: typeof text === 'string' ? text : '' }]
    const { first } = await this.#engine.command(ref, { do: 'say', wire: mcpWire, parts, ...within })
    return { ref, first }
  }

  async #create(): Promise<SessionRef> {
    const { owner } = this.#principal
    const settings = { tools: null, options: {}, clientTools: [] }
    const created = { owner, agent: this.#agent.name, wire: mcpWire, settings, seed: [] }
    return { owner, session: (await this.#engine.create(created)).session }
  }

  /** The answers are for calls that still wait: others may have been decided on another wire meanwhile. */
  async #goOn({ owner, session }: Kept): Promise<{ ref: SessionRef; first: number }> {
    const ref = { owner, session }
    const { calls, turn, seq } = await this.#engine.summary(ref)
    const { name: by } = this.#principal
    const decisions = calls.filter(isAsking).flatMap(({ part: { id: callId } }) => {
      const decision = decodeDecision(this.#call.answers?.[callId] as Json | undefined) // Checked there.
      if (!decision) return []
      const { granted, remember, reason } = decision
      return [
        { callId, granted, by, ...(remember && { remember: true as const }), ...(reason && { reason }) },
      ]
    })
    if (decisions.length > 0)
      await this.#engine.command(ref, { do: 'respond', results: [], decisions, skipAnswered: true })
    for (const [key, { id: question }] of keyed(calls.flatMap(openQuestions))) {
      const answer = decodeAnswer(this.#call.answers?.[key] as Json | undefined) // Checked there.
      if (answer) await this.#answer(ref, { question, by, ...answer })
    }
    return { ref, first: turn?.first ?? seq }
  }

  /** An answer that does not fit its form changes nothing: the question is put again. */
  async #answer(ref: SessionRef, answer: GivenAnswer): Promise<void> {
    try {
      await this.#engine.command(ref, { do: 'respond', results: [], decisions: [], answers: [answer] })
    } catch (error) {
      if (!(error instanceof TurnwireError) || isDefect(error)) throw error
    }
  }

  async #follow(ref: SessionRef, first: number): Promise<CallToolResult | InputRequiredResult> {
    const { canAsk } = this.#call
    const fold = new TurnResult(update => this.#call.progress(update), ref.session)
    const options = {
      from: first,
      until: canAsk ? ('stop' as const) : ('turn' as const),
      deltas: 'append' as const,
    }
    for await (const batch of this.#engine.follow(ref, options)) for (const item of batch) fold.take(item)
    if (fold.lost !== undefined) return failedResult(fold.lost)
    if (fold.isWaiting) return this.#ask(ref)
    if (this.#isAsk) {
      const { text, stop } = fold
      return {
        content: [{ type: 'text', text: text === '' ? `The turn ended without an answer (${stop}).` : text }],
        structuredContent: { text, session: ref.session, stop },
        ...(stop !== 'end' && { isError: true }),
      }
    }
    const tool = this.#agent.tools.find(each => each.name === this.#call.name)
    return fold.outcome ? encodeOutcome(fold.outcome, tool) : failedResult('The call ended without a result.')
  }

  async #ask(ref: SessionRef): Promise<CallToolResult | InputRequiredResult> {
    const { calls } = await this.#engine.summary(ref)
    const requests = [
      ...calls.filter(isAsking).map(call => [call.part.id, encodeQuestion(call)] as const),
      ...keyed(calls.flatMap(openQuestions)).map(
        ([key, question]) => [key, encodeCallQuestion(question)] as const,
      ),
    ]
    if (requests.length === 0) return failedResult('The turn waits for something that cannot be asked here.')
    const kept: Kept = { owner: ref.owner, session: ref.session, tool: this.#call.name }
    return inputRequired({
      inputRequests: Object.fromEntries(requests),
      requestState: this.#host.seal(JSON.stringify(kept)),
    })
  }
}

function isAsking({ stage }: CallState): boolean {
  return stage === 'asking'
}

function openQuestions({ stage, questions = [] }: CallState): QuestionState[] {
  return stage === 'started' ? questions.filter(({ closed }) => closed === undefined) : []
}

/** By the name that the tool gave a question, where that is one of a kind; else by its id. */
function keyed(questions: readonly QuestionState[]): [string, QuestionState][] {
  return questions.map(question => {
    const { key, id } = question
    const isName = /^[a-z][\w-]{0,63}$/i.test(key) && questions.filter(each => each.key === key).length === 1
    return [isName ? key : id, question]
  })
}

function isDefect({ code }: TurnwireError): boolean {
  return errorCodes[code].status >= 500
}

/** Folds what is followed into what the client is told. */
class TurnResult {
  readonly #progress: (update: TurnProgress) => void
  readonly #session: string
  readonly #nested = new Set<string>()
  text = ''
  stop = 'end'
  outcome: Outcome | undefined
  isWaiting = false
  lost: string | undefined

  constructor(progress: (update: TurnProgress) => void, session: string) {
    this.#progress = progress
    this.#session = session
  }

  take(item: FollowItem): void {
    if (item.type === 'waiting') {
      this.isWaiting = true
      this.#progress({ message: `Waits for an approval in session ${this.#session}.` })
    } else if (item.type === 'lost') this.lost = item.error.message
    else if (item.type === 'delta') {
      const { delta } = item
      if (delta.type === 'progress') this.#progress(delta)
      else if (delta.type === 'output') this.#progress({ message: delta.text })
    } else if (item.type === 'event') {
      const { event } = item
      if (event.type === 'model.answered') this.text = textOf(event.parts)
      else if (event.type === 'call.nested') this.#nested.add(event.call.id)
      else if (event.type === 'call.settled' && !this.#nested.has(event.callId)) this.outcome = event.outcome
      else if (event.type === 'turn.ended') {
        this.isWaiting = false
        this.stop = event.stop
        if (event.error) this.lost = event.error.message
      }
    }
  }
}
