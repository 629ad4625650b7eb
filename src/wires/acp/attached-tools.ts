// Runs attached calls with tools of this process: declarations go to the engine, its items come back, and each run is
// answered with a report. The engine may be in another process.
import {
  type AttachedItem,
  type AttachedReport,
  type Engine,
  InvalidInput,
  type SessionRef,
  type Tool,
  type ToolContext,
} from '../../engine/index.ts'
import { TurnwireError, wordsOf } from '../../language/errors.ts'
import { Unanswered } from '../../lib/net/unanswered.ts'

/** The engine waits a little longer. */
const previewMs = 8000

type PreviewItem = Extract<AttachedItem, { type: 'preview' }>
type RunItem = Extract<AttachedItem, { type: 'run' }>

export class AttachedTools {
  readonly #engine: Engine
  readonly #ref: SessionRef
  readonly #tools: readonly Tool[]
  readonly #stop = new AbortController()
  readonly #runs = new Map<string, AbortController>()
  readonly #serving: Promise<void>
  #retired = false
  /** Resolves once the model is offered the tools. */
  readonly attached: Promise<void>
  /** The model is offered the tools no longer. */
  isOver = false

  constructor(engine: Engine, ref: SessionRef, tools: readonly Tool[]) {
    this.#engine = engine
    this.#ref = ref
    this.#tools = tools
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    this.attached = promise
    const lost = new TurnwireError('lease_lost', 'The session was lost before its tools were attached.')
    this.#serving = this.#serve(resolve).then(() => reject(lost), reject)
  }

  /** Other tools have replaced these. Calls that run may finish. */
  retire(): void {
    this.#retired = true
    if (this.#runs.size === 0) this.#stop.abort()
  }

  /** Aborts calls that run. */
  close(): Promise<void> {
    this.#stop.abort()
    return this.#serving
  }

  async #serve(attached: () => void): Promise<void> {
    // Functions do not cross the boundary.
    const declarations = this.#tools.map(tool => ({
      ...tool,
      run: undefined,
      preview: undefined,
      reconcile: undefined,
      undo: undefined,
      ...(tool.preview && { hasPreview: true as const }),
    }))
    try {
      for await (const items of this.#engine.attach(this.#ref, declarations, this.#stop.signal))
        for (const item of items) {
          if (item.type === 'attached') attached()
          else if (item.type === 'run') void this.#run(item)
          else if (item.type === 'preview') void this.#preview(item)
          else this.#runs.get(item.run)?.abort()
        }
    } finally {
      this.isOver = true
      for (const stop of this.#runs.values()) stop.abort()
    }
  }

  async #run(item: RunItem): Promise<void> {
    const { run } = item
    const stop = new AbortController()
    this.#runs.set(run, stop)
    let reported = Promise.resolve()
    // In order: progress comes before the result. A session that is gone has settled the call without it.
    const report = (report: AttachedReport): void => {
      reported = reported.then(() => this.#engine.report(this.#ref, report)).catch(() => {})
    }
    try {
      const output = await this.#call(item, stop.signal, {
        progress: progress => report({ run, progress }),
        report: shown => report({ run, report: shown }),
      })
      report({ run, output })
    } catch (error) {
      report({
        run,
        error: wordsOf(error),
        ...(error instanceof InvalidInput && { refused: true }),
        ...(error instanceof Unanswered && { unanswered: true }),
      })
    }
    await reported
    this.#runs.delete(run)
    if (this.#retired) this.retire()
  }

  async #preview({ run, callId, name, input }: PreviewItem): Promise<void> {
    const signal = AbortSignal.any([this.#stop.signal, AbortSignal.timeout(previewMs)])
    let report: AttachedReport
    try {
      const tool = this.#tools.find(each => each.name === name)
      report = { run, preview: (await tool?.preview?.(input, { ...this.#ref, callId, signal })) ?? {} }
    } catch (error) {
      report = { run, error: wordsOf(error) }
    }
    // A session that is gone asks nobody.
    await this.#engine.report(this.#ref, report).catch(() => {})
  }

  async #call(item: RunItem, signal: AbortSignal, live: Pick<ToolContext, 'progress' | 'report'>) {
    const { callId, name, input, attempt, trace } = item
    const tool = this.#tools.find(each => each.name === name)
    if (!tool) throw new InvalidInput(`This connection has no tool "${name}".`)
    // Options of the agent may be secret, so they do not leave the engine.
    const context = {
      ...this.#ref,
      callId,
      idempotencyKey: callId,
      attempt,
      signal,
      trace,
      ...live,
      options: {},
    }
    const fetch = () =>
      Promise.reject(new Error('A tool of a connection fetches nothing through the engine.'))
    const sample = () => Promise.reject(new Error('A tool of a connection asks no model of the engine.'))
    // Values of the engine's program do not leave it.
    const app = {} as ToolContext['app']
    const tools = { shared: [], find: () => undefined }
    const ask = () => Promise.reject(new Error('A tool of a connection asks through the connection.'))
    const callback = (): never => {
      throw new Error('A tool of a connection has no callback address.')
    }
    const refer = () => Promise.reject(new Error('A tool of a connection records no reference.'))
    return tool.run(input, { ...context, ask, callback, refer, fetch, sample, app, tools })
  }
}
