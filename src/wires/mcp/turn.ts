// One tools/call as a turn of a session: begins it, or goes on with one that asked a person, and gives the result, the next
// questions, or a task: the call goes on, and its client asks for it later. A call that waits while its client cannot be
// asked is decided on another wire.
import { type CallToolResult, type InputRequiredResult, inputRequired } from '@modelcontextprotocol/server'
import type { AgentInfo, During, Engine, SessionRef } from '../../engine/index.ts'
import { TurnwireError } from '../../language/errors.ts'
import { waitModes } from '../../language/events.ts'
import { ShownFold } from '../../language/show.ts'
import type { TraceContext } from '../../language/trace.ts'
import { isJsonObject, type Json, type JsonObject, parseJson } from '../../lib/json/index.ts'
import { agentNamed, type Principal, type WireHost } from '../host.ts'
import { askToolName } from './encode.ts'
import { type Answers, type CanAsk, giveAnswers, openRequests } from './questions.ts'
import type { McpCaller } from './server.ts'
import { type TurnProgress, TurnResult } from './turn-result.ts'

export const mcpWire = 'mcp'

export type McpCall = {
  name: string
  arguments: JsonObject
  /** The state that the client sends back when it answers questions. */
  state: string | undefined
  answers: Answers | undefined
  /** Which questions the client can put to a person. */
  can: CanAsk
  /** The call becomes a task if it is not over after this time. Absent: never. */
  taskAfterMs?: number
  signal: AbortSignal
  progress(update: TurnProgress): void
  trace?: TraceContext | undefined
}

/** A turn that goes on without its client: the session, and the number of the turn's first event. */
export class McpTask {
  readonly ref: SessionRef
  readonly first: number

  constructor(ref: SessionRef, first: number) {
    this.ref = ref
    this.first = first
  }

  get id(): string {
    return `${this.ref.session}.${this.first}`
  }
}

const durings: readonly During[] = ['refuse', ...waitModes]

function isDuring(value: Json): value is During {
  return durings.some(each => each === value)
}

export type TurnAnswer = CallToolResult | InputRequiredResult | McpTask

/** Where a call that asked a person goes on. */
type Kept = { owner: string; session: string; tool: string }

export class McpTurn {
  readonly #host: WireHost
  readonly #engine: Engine
  readonly #principal: Principal
  readonly #agent: AgentInfo
  readonly #call: McpCall
  /** The message joined a turn that another request began. */
  #joined = false

  constructor(host: WireHost, { principal, engine, agent }: McpCaller, call: McpCall) {
    this.#host = host
    this.#engine = engine
    this.#principal = principal
    this.#agent = agentNamed(host, agent)
    this.#call = call
  }

  async run(): Promise<TurnAnswer> {
    const kept = this.#kept()
    const task = kept ? await this.#goOn(kept) : await this.#begin()
    const cancel = (): void => {
      if (!this.#joined) void this.#engine.command(task.ref, { do: 'cancel' }).catch(() => {})
    }
    const { signal } = this.#call
    if (signal.aborted) cancel()
    signal.addEventListener('abort', cancel, { once: true })
    try {
      return await this.#follow(task)
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
    const kept = parseJson(this.#host.unseal(state, 'mcp request state'))
    const { owner, session, tool } = isJsonObject(kept) ? kept : {}
    if (owner !== this.#principal.owner || tool !== name || typeof session !== 'string')
      throw new Error('This state belongs to another request.')
    return { owner, session, tool }
  }

  async #begin(): Promise<McpTask> {
    const { name: by } = this.#principal
    const { name: tool, arguments: input, trace } = this.#call
    const within = trace && { trace }
    if (!this.#isAsk) {
      const ref = await this.#create()
      const form = this.#agent.tools.find(each => each.name === tool)?.input.form
      const free = input['input']
      const given = form === 'text' && typeof free === 'string' ? free : JSON.stringify(input)
      const call = { do: 'call', wire: mcpWire, by, tool, text: given, ...within } as const
      const { first } = await this.#engine.command(ref, call)
      return new McpTask(ref, first)
    }
    const { message: text, session: earlier, during } = input
    if (during !== undefined && !isDuring(during))
      throw new TurnwireError('bad_request', '"during" must be "refuse", "queue", "steer" or "interrupt".')
    if (typeof text !== 'string' || text.trim() === '')
      throw new TurnwireError('bad_request', `The tool "${tool}" needs "message": a text that is not empty.`)
    const ref = earlier === undefined ? await this.#create() : await this.#earlier(earlier)
    const parts = [{ type: 'text' as const, text }]
    const say = { do: 'say', wire: mcpWire, parts, ...within, ...(during && { during }) } as const
    const { first, message } = await this.#engine.command(ref, say)
    return new McpTask(ref, message ? await this.#delivery(ref, first, message.id) : first)
  }

  /** The number of the event that delivers a message which waits. A request that is cancelled before takes it back. */
  async #delivery(ref: SessionRef, from: number, id: string): Promise<number> {
    const fold = new ShownFold()
    const options = { from, until: 'never', deltas: 'none' } as const
    for await (const batch of this.#engine.follow(ref, options, this.#call.signal))
      for (const item of batch) {
        const shown = item.type === 'event' ? fold.take(item.event) : undefined
        if (item.type !== 'event' || shown?.type !== 'message' || shown.message !== id) continue
        if (shown.state === 'withdrawn') throw new TurnwireError('not_found', 'The message was withdrawn.')
        this.#joined = shown.state === 'delivered' && shown.parts !== undefined
        if (shown.state === 'delivered') return item.seq
      }
    if (this.#call.signal.aborted)
      await this.#engine.command(ref, { do: 'withdraw', message: id, by: this.#principal.name })
    throw new TurnwireError('stopping', 'The message waits still. It is delivered when its turn has come.')
  }

  /** A session of this agent, or one that began here and was handed over to another. */
  async #earlier(session: Json): Promise<SessionRef> {
    const ref = { owner: this.#principal.owner, session: typeof session === 'string' ? session : '' }
    const { agent, wire } = await this.#engine.summary(ref)
    if (agent === this.#agent.name || wire === mcpWire) return ref
    throw new TurnwireError('not_found', `The session is of another agent than "${this.#agent.name}".`)
  }

  async #create(): Promise<SessionRef> {
    const { owner } = this.#principal
    const settings = { tools: null, options: {}, clientTools: [] }
    const created = { owner, agent: this.#agent.name, wire: mcpWire, settings, seed: [] }
    return { owner, session: (await this.#engine.create(created)).session }
  }

  async #goOn({ owner, session }: Kept): Promise<McpTask> {
    const ref = { owner, session }
    const { turn, seq } = await this.#engine.summary(ref)
    const { answers } = this.#call
    if (answers) await giveAnswers(this.#engine, ref, { answers, by: this.#principal.name })
    return new McpTask(ref, turn?.first ?? seq)
  }

  async #follow(task: McpTask): Promise<TurnAnswer> {
    const { can, taskAfterMs } = this.#call
    if (taskAfterMs === 0) return task
    const late = new AbortController()
    const timer = taskAfterMs === undefined ? undefined : setTimeout(() => late.abort(), taskAfterMs)
    try {
      const fold = await this.#read(task, can.form || can.url ? 'stop' : 'turn', late.signal)
      if (!fold) return task
      if (!fold.isWaiting) return fold.result(this.#agent, this.#call.name, this.#isAsk)
      const asked = await this.#ask(task.ref)
      if (asked) return asked
      // It waits for something that this client cannot be asked.
      const whole = await this.#read(task, 'turn', late.signal)
      return whole ? whole.result(this.#agent, this.#call.name, this.#isAsk) : task
    } finally {
      clearTimeout(timer)
    }
  }

  /** Undefined: it takes longer than a call may before it becomes a task. */
  async #read(
    { ref, first }: McpTask,
    until: 'stop' | 'turn',
    signal: AbortSignal,
  ): Promise<TurnResult | undefined> {
    const fold = new TurnResult(ref.session, update => this.#call.progress(update))
    const options = { from: first, until, deltas: 'append' as const }
    for await (const batch of this.#engine.follow(ref, options, signal))
      for (const item of batch) fold.take(item)
    return signal.aborted && !fold.isOver && !fold.isWaiting ? undefined : fold
  }

  /** Undefined: there is nothing that the client can be asked. */
  async #ask(ref: SessionRef): Promise<InputRequiredResult | undefined> {
    const { calls } = await this.#engine.summary(ref)
    const requests = openRequests(calls, this.#call.can, this.#principal)
    if (requests.length === 0) return undefined
    const kept: Kept = { owner: ref.owner, session: ref.session, tool: this.#call.name }
    return inputRequired({
      inputRequests: Object.fromEntries(requests),
      requestState: this.#host.seal(JSON.stringify(kept), 'mcp request state'),
    })
  }
}
