// The agents of a replay: those of today's configuration, whose models and tools do nothing by themselves. A request to a
// model and a call that was started are held until the replay says what comes of them. The outcome of a recorded call is the
// recorded one, word for word: what the tool gave before it was bounded and redacted is not in the log.
import {
  type Agent,
  type Finished,
  type Gate,
  type Model,
  type ModelAnswer,
  type ModelDelta,
  type ModelRequest,
  type ReconcileAnswer,
  type SessionState,
  Suspended,
  type Tool,
  type ToolContext,
  type ToolOutput,
} from '../engine/index.ts'
import type { Outcome } from '../language/calls.ts'
import type { QuestionAsked, Settings } from '../language/events.ts'
import type { Json } from '../lib/json/index.ts'

/** A request to a model, as it was made. */
export type HeldRequest = {
  /** The configured model, which was not asked. */
  model: Model
  request: ModelRequest
  watch: (delta: ModelDelta) => void
  signal: AbortSignal
  answer(answer: ModelAnswer | Promise<ModelAnswer>): void
  fail(error: unknown): void
  /** Asks the configured model after all. `look` sees its answer before the session does. */
  askModel(look?: (answer: ModelAnswer) => void): Promise<void>
}

/** A call that was started, and whose tool was not run. */
export class HeldCall {
  readonly callId: string
  readonly tool: Tool
  readonly input: Json
  readonly output: Promise<ToolOutput>
  readonly #context: ToolContext
  readonly #end = Promise.withResolvers<ToolOutput>()
  readonly #release: () => void

  constructor(tool: Tool, input: Json, context: ToolContext, release: () => void) {
    this.callId = context.callId
    this.tool = tool
    this.input = input
    this.#context = context
    this.#release = release
    this.output = this.#end.promise
    context.signal.addEventListener(
      'abort',
      () => this.#over(() => this.#end.reject(context.signal.reason)),
      {
        once: true,
      },
    )
  }

  finish(output: ToolOutput = { parts: [] }): void {
    this.#over(() => this.#end.resolve(output))
  }

  /** It waits for its own calls, and runs again when one of them is settled. */
  suspend(): void {
    this.#over(() => this.#end.reject(new Suspended()))
  }

  /** Its answer is of no use to a replay: the recorded outcome holds what came of it. */
  ask({ message, schema, url, key, expiresAt, at }: QuestionAsked): void {
    const question =
      url === undefined ? { message, schema: schema ?? { type: 'object', properties: {} } } : { message, url }
    this.#context
      .ask(question, { key, ...(expiresAt !== undefined && { expiresInMs: expiresAt - at }) })
      .catch(() => {})
  }

  makeCall(key: string, name: string, text: string): void {
    this.#context.nested?.call(key, name, text).catch(() => {})
  }

  handOver(agent: string): void {
    this.#context.nested?.handOver(agent)
  }

  #over(end: () => void): void {
    this.#release()
    end()
  }
}

/** What the replay holds at the moment. */
export class Stage {
  request: HeldRequest | undefined
  readonly calls = new Map<string, HeldCall>()
  /** The outcome that a call gets, whatever its tool gives. Undefined: what the tool gives goes through the gate. */
  readonly #outcome: (callId: string) => Outcome | undefined
  /** Told when a call is started: it may have run before. */
  readonly #started: (call: HeldCall) => void

  /** What the tool says became of a call that may have taken effect. */
  readonly #found: (callId: string) => ReconcileAnswer

  constructor(
    outcome: (callId: string) => Outcome | undefined,
    started: (call: HeldCall) => void,
    found: (callId: string) => ReconcileAnswer,
  ) {
    this.#outcome = outcome
    this.#found = found
    this.#started = started
  }

  /** Nothing of the session goes on by itself: it waits for someone, or all that runs is held. */
  isHeld({ status, batch }: SessionState): boolean {
    if (status !== 'running' || this.request) return true
    const open = batch.filter(({ stage }) => stage === 'proposed' || stage === 'started')
    return open.every(({ stage, part }) => stage === 'started' && this.calls.has(part.id))
  }

  /** What a session that is held waits for, after "the session". */
  describeRest({ turn, batch }: SessionState): string {
    if (!turn) return 'rests'
    const names = (wanted: string): string[] =>
      batch.filter(({ stage }) => stage === wanted).map(({ part }) => part.name)
    const [asking, handed] = [names('asking'), names('handed')]
    if (asking.length > 0) return `waits for an approval of ${asking.join(', ')}`
    if (handed.length > 0) return `waits for the application's result of ${handed.join(', ')}`
    return this.request ? 'asks the model' : 'is at work'
  }

  agent(agent: Agent): Agent {
    const models = new Map<Model, Model>()
    let known: { from: readonly Tool[]; tools: readonly Tool[] } | undefined
    // What is changed of the agent or of its gate while it is played counts here too.
    return Object.create(agent, {
      gate: { value: this.#gate(agent.gate) },
      model: {
        value: (settings: Settings) => {
          const model = agent.model(settings)
          const kept = models.get(model) ?? this.#model(model)
          models.set(model, kept)
          return kept
        },
      },
      tools: {
        get: () => {
          if (known?.from !== agent.tools)
            known = { from: agent.tools, tools: agent.tools.map(tool => this.#tool(tool)) }
          return known.tools
        },
      },
    }) as Agent // It has every member of `agent`.
  }

  #model(model: Model): Model {
    const respond: Model['respond'] = (request, watch, signal) => {
      const { promise, resolve, reject } = Promise.withResolvers<ModelAnswer>()
      const over = (end: () => void): void => {
        if (this.request === held) this.request = undefined
        end()
      }
      const held: HeldRequest = {
        model,
        request: { ...request, history: [...request.history] },
        watch,
        signal,
        answer: answer => over(() => resolve(answer)),
        fail: error => over(() => reject(error)),
        async askModel(look) {
          try {
            // Calls get their ids when the answer is whole, so that it can be compared first.
            const answer = await model.respond(held.request, () => {}, signal)
            look?.(answer)
            held.answer(answer)
          } catch (error) {
            held.fail(error)
          }
        },
      }
      this.request = held
      signal.addEventListener('abort', () => held.fail(signal.reason), { once: true })
      return promise
    }
    // The other members are those of the model, also where they are computed.
    return Object.create(model, { respond: { value: respond } }) as Model // It has every member of `model`.
  }

  /** It says what it would do to nobody: a preview may look at the world. */
  #tool(tool: Tool): Tool {
    return {
      ...tool,
      ...(tool.preview && { preview: () => ({}) }),
      ...(tool.reconcile && { reconcile: (_input, { callId }) => this.#found(callId) }),
      ...(tool.undo && { undo: { ...tool.undo, run: () => ({ parts: [] }) } }),
      run: (input, context) => {
        const call = new HeldCall(tool, input, context, () => this.calls.delete(context.callId))
        this.calls.set(context.callId, call)
        this.#started(call)
        return call.output
      },
    }
  }

  #gate(gate: Gate): Gate {
    const finished = (callId: string): Finished | undefined => {
      const outcome = this.#outcome(callId)
      return outcome && { outcome: structuredClone(outcome) }
    }
    const held: Pick<Gate, 'finish' | 'finishClient'> = {
      finish: (output, tool, callId, owner) => finished(callId) ?? gate.finish(output, tool, callId, owner),
      finishClient: (parts, failed, callId) => finished(callId) ?? gate.finishClient(parts, failed, callId),
    }
    return Object.assign(Object.create(gate) as Gate, held)
  }
}
