// The context that a tool gets with its input: the caller, the abort signal, progress, and what else it may use.
import { mostSources, type OutcomeSource, sourceUri } from '../../language/calls.ts'
import { wordsOf } from '../../language/errors.ts'
import type { CallAnswer, CallQuestion } from '../../language/questions.ts'
import type { Report } from '../../language/report.ts'
import { withTrace } from '../../language/trace.ts'
import type { Abort } from '../../lib/async/abort.ts'
import type { Json } from '../../lib/json/index.ts'
import type {
  AppContext,
  AskOptions,
  Finished,
  Live,
  NestedCalls,
  Progress,
  SessionTools,
  ToolContext,
  World,
} from '../ports/index.ts'
import type { CallState } from '../rules/state.ts'
import { Asking } from './ask-person.ts'
import type { CallSession } from './call-session.ts'
import { isHiddenByTool } from './hidden-arguments.ts'
import { hookSubject } from './hooks.ts'
import { sampleModel } from './sample.ts'
import { sessionTools } from './session-tools.ts'

/** A class for its getters: a signal or options that a tool does not read are not made. */
export class CallContext implements ToolContext {
  readonly session: string
  readonly owner: string
  readonly callId: string
  readonly idempotencyKey: string
  readonly attempt: number
  readonly #session: CallSession
  readonly #call: CallState
  readonly #stop: Abort
  readonly #timeoutMs: number
  #clock: CallClock | undefined
  #asking: Asking | undefined
  /** By terminal, '' for none. Made with its first piece of output. */
  #live: Map<string, Live> | undefined
  /** The addresses that the tool has fetched so far. */
  #sources: OutcomeSource[] | undefined
  /** The merged reports of the tool so far. */
  #report: Report | undefined
  /** The arguments, as the tool's schema changed them. */
  #used: Json | undefined

  readonly nested?: NestedCalls

  constructor(session: CallSession, call: CallState, stop: Abort, timeoutMs: number, nested?: NestedCalls) {
    this.#session = session
    this.#call = call
    this.#stop = stop
    this.#timeoutMs = timeoutMs
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
      if ('output' in update) this.#show(this.#redacted(update), update.terminal)
      else feed.delta({ type: 'progress', callId, ...this.#redactedMessage(update) })
    }
  }

  get ask(): ToolContext['ask'] {
    return async (question: CallQuestion, options?: AskOptions): Promise<CallAnswer> => {
      this.#asking ??= new Asking(this.#session, this.#call, this.#stop)
      const goOn = this.clock.pause()
      try {
        return await this.#asking.ask(question, options)
      } finally {
        goOn()
      }
    }
  }

  get refer(): ToolContext['refer'] {
    return async reference => {
      if (typeof reference !== 'string' || reference === '' || reference.length > 2_000)
        throw new Error('A reference is a text of 1 to 2,000 characters.')
      if (this.#session.lost || this.#call.stage !== 'started') return
      const { context } = this.#session
      await this.#session.save([
        { v: 1, at: context.now, type: 'call.referenced', callId: this.callId, reference },
      ])
    }
  }

  get callback(): ToolContext['callback'] {
    return ({ expires }) => {
      const { world, callback } = this.#session.ports
      const expiresAt = typeof expires === 'number' ? world.now() + expires : expires.getTime()
      const { session, callId } = this
      const address = callback?.({ session, callId, expiresAt })
      if (address === undefined)
        throw new Error('There is no callback address: this engine is not served over HTTP.')
      return address
    }
  }

  get trace(): ToolContext['trace'] {
    return this.#session.ports.observer?.findTrace?.(this.callId)
  }

  get fetch(): ToolContext['fetch'] {
    return (input, init = {}) => {
      const { ports } = this.#session
      const { egress } = ports
      if (!egress) return Promise.reject(new Error('This engine fetches nothing: it has no egress rule.'))
      const { session, callId } = this
      const source = this.#read(input)
      const answering = egress.fetch(input, {
        signal: this.#stop.signal,
        ...init,
        headers: withTrace(init.headers, this.trace),
        report: report => {
          ports.log(report.refused === undefined ? 'info' : 'warn', 'A tool sent a request.', {
            session,
            callId,
            ...report,
          })
          init.report?.(report)
        },
      })
      if (source)
        answering.then(
          ({ url }) => this.#redirected(source, url),
          () => {},
        )
      return answering
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

  get sample(): ToolContext['sample'] {
    return request => sampleModel(this.#session, this.#call, request, this.#stop)
  }

  get app(): AppContext {
    const given = { ...this.#session.ports.app?.(hookSubject(this.#session)), ...this.#session.requestApp }
    // The program declares the members of `AppContext`. They cannot be checked here.
    return given as AppContext
  }

  get report(): ToolContext['report'] {
    return given => {
      const { feed, lost, agent } = this.#session
      if (lost || this.#call.stage !== 'started') return
      const report = agent.gate.report(given)
      this.#report = { ...this.#report, ...report }
      feed.delta({ type: 'report', callId: this.callId, report })
    }
  }

  /** Made when the call has to be waited for: many tools answer at once. */
  get clock(): CallClock {
    this.#clock ??= new CallClock(this.#session.ports.world, this.#timeoutMs)
    return this.#clock
  }

  /** Adds the reports, sources and used arguments of the run to its outcome. Members of the output's own report win. */
  withReport<Attempt extends Finished>(attempt: Attempt): Attempt {
    const given = attempt.outcome.provenance?.sources
    if (!this.#report && this.#used === undefined && !this.#sources && !given) return attempt
    const outcome = { ...attempt.outcome }
    const sources = [...(this.#sources ?? []), ...(given ?? [])].slice(0, mostSources)
    const now = this.#session.ports.world.now()
    if (sources.length > 0)
      outcome.provenance = { sources: sources.map(source => ({ ...source, at: source.at || now })) }
    if (this.#report) outcome.report = { ...this.#report, ...outcome.report }
    if (this.#used !== undefined) outcome.input = this.#hidden(this.#used)
    return { ...attempt, outcome }
  }

  #read(address: string | URL): OutcomeSource | undefined {
    const uri = this.#shownUri(address)
    this.#sources ??= []
    if (uri === undefined || this.#sources.length >= mostSources) return undefined
    const source = { uri, at: this.#session.ports.world.now() }
    this.#sources.push(source)
    return source
  }

  /** Before the tool has the answer. An egress of the program's own may not say where it was. */
  #redirected(source: OutcomeSource, address: string): void {
    const uri = address === '' ? undefined : this.#shownUri(address)
    if (uri !== undefined) source.uri = uri
  }

  #shownUri(address: string | URL): string | undefined {
    const uri = sourceUri(address)
    return uri && (this.#session.agent.gate.redactArguments?.(uri, 'text') ?? uri)
  }

  used(input: Json): void {
    this.#used = input
  }

  /** Redacted as the arguments of the call are. */
  #hidden(input: Json): Json {
    const { part, text, sealed } = this.#call
    if (sealed !== undefined && isHiddenByTool(this.#session, part.name)) return JSON.parse(text) as Json
    const { redactArguments } = this.#session.agent.gate
    return redactArguments ? (JSON.parse(redactArguments(JSON.stringify(input), 'json')) as Json) : input
  }

  /** No more output comes: shows what redaction held back. */
  showRest(): void {
    if (!this.#live || this.#call.stage !== 'started') return
    for (const [terminal, live] of this.#live) this.#show(live.rest(), terminal || undefined)
  }

  #show(text: string, terminal: string | undefined): void {
    if (text === '') return
    const delta = { type: 'output', callId: this.callId, text } as const
    this.#session.feed.delta(terminal === undefined ? delta : { ...delta, terminal })
  }

  #redacted({ output, terminal = '' }: Extract<Progress, { output: string }>): string {
    let live = this.#live?.get(terminal)
    if (!live) {
      live = this.#session.agent.gate.live()
      if (!live) return output
      this.#live ??= new Map()
      this.#live.set(terminal, live)
    }
    return live.take(output)
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

/** How long one attempt at a call may take. It stands still while the call waits for a person's answer. */
class CallClock {
  readonly #world: Pick<World, 'elapsed' | 'timer'>
  #left: number
  #startedAt = 0
  #pauses = 0
  #over: (() => void) | undefined
  #stop: (() => void) | undefined

  constructor(world: Pick<World, 'elapsed' | 'timer'>, ms: number) {
    this.#world = world
    this.#left = ms
  }

  /** Calls `over` when the time is used up, unless the function that it gives is called before. */
  start(over: () => void): () => void {
    this.#over = over
    if (this.#pauses === 0) this.#run()
    return () => {
      this.#over = undefined
      this.#stop?.()
    }
  }

  /** Gives a function that ends this pause. */
  pause(): () => void {
    this.#pauses += 1
    if (this.#pauses === 1 && this.#over) {
      this.#stop?.()
      this.#left = Math.max(this.#left - Math.max(this.#world.elapsed() - this.#startedAt, 0), 0)
    }
    return () => {
      this.#pauses -= 1
      if (this.#pauses === 0) this.#run()
    }
  }

  #run(): void {
    if (!this.#over) return
    this.#startedAt = this.#world.elapsed()
    this.#stop = this.#world.timer(this.#left, this.#over)
  }
}
