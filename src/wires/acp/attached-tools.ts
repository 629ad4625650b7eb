// Runs attached calls with tools of this process: declarations go to the engine, its items come back, and each run is
// answered with a report. The engine may be in another process.
import {
  type AttachedItem,
  type AttachedReport,
  type Engine,
  InvalidInput,
  type SessionRef,
  type Tool,
} from '../../engine/index.ts'
import { wordsOf } from '../../language/errors.ts'

export class AttachedTools {
  readonly #engine: Engine
  readonly #ref: SessionRef
  #current: Attachment | undefined
  readonly #open = new Set<Attachment>()

  constructor(engine: Engine, ref: SessionRef) {
    this.#engine = engine
    this.#ref = ref
  }

  /** False: nothing is offered, or the session was lost. */
  get isOpen(): boolean {
    return this.#current !== undefined && this.#open.has(this.#current)
  }

  /** Resolves once the model is offered these tools in place of the former ones. Calls of the former ones may finish. */
  async offer(tools: readonly Tool[]): Promise<void> {
    const before = this.#current
    const attachment = new Attachment(this.#engine, this.#ref, tools)
    this.#current = attachment
    this.#open.add(attachment)
    void attachment.ended.then(() => this.#open.delete(attachment))
    await attachment.attached
    before?.retire()
  }

  /** Resolves once nothing is offered any more. Calls that still run are aborted. */
  async close(): Promise<void> {
    await Promise.all([...this.#open].map(attachment => attachment.close()))
  }
}

type RunItem = Extract<AttachedItem, { type: 'run' }>

class Attachment {
  readonly #engine: Engine
  readonly #ref: SessionRef
  readonly #tools: readonly Tool[]
  readonly #stop = new AbortController()
  readonly #runs = new Map<string, AbortController>()
  #retired = false
  readonly attached: Promise<void>
  readonly ended: Promise<void>

  constructor(engine: Engine, ref: SessionRef, tools: readonly Tool[]) {
    this.#engine = engine
    this.#ref = ref
    this.#tools = tools
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    this.attached = promise
    this.ended = this.#serve(resolve).then(
      () => reject(new Error('The session was lost before its tools were attached.')),
      reject,
    )
  }

  /** Ends once no call runs. */
  retire(): void {
    this.#retired = true
    if (this.#runs.size === 0) this.#stop.abort()
  }

  close(): Promise<void> {
    this.#stop.abort()
    return this.ended
  }

  async #serve(attached: () => void): Promise<void> {
    const declarations = this.#tools.map(({ run: _run, ...declaration }) => declaration)
    try {
      for await (const items of this.#engine.attach(this.#ref, declarations, this.#stop.signal))
        for (const item of items) {
          if (item.type === 'attached') attached()
          else if (item.type === 'run') void this.#run(item)
          else this.#runs.get(item.run)?.abort()
        }
    } finally {
      for (const stop of this.#runs.values()) stop.abort()
    }
  }

  async #run(item: RunItem): Promise<void> {
    const { run } = item
    const stop = new AbortController()
    this.#runs.set(run, stop)
    let reported = Promise.resolve()
    // One after the other, so that progress comes before the result.
    const report = (report: AttachedReport): void => {
      // A refused report means that the session is gone: the call is settled without it.
      reported = reported.then(() => this.#engine.report(this.#ref, report)).catch(() => {})
    }
    try {
      report({ run, output: await this.#call(item, stop.signal, progress => report({ run, progress })) })
    } catch (error) {
      const refused = error instanceof InvalidInput
      report({ run, error: wordsOf(error), ...(refused && { refused }) })
    }
    await reported
    this.#runs.delete(run)
    if (this.#retired) this.retire()
  }

  async #call(
    { callId, name, input, attempt }: RunItem,
    signal: AbortSignal,
    progress: Parameters<Tool['run']>[1]['progress'],
  ) {
    const { owner, session } = this.#ref
    const tool = this.#tools.find(each => each.name === name)
    if (!tool) throw new InvalidInput(`This connection has no tool "${name}".`)
    // Options of the agent may be secret, so they do not leave the engine.
    const options = {}
    return tool.run(input, {
      signal,
      session,
      owner,
      callId,
      idempotencyKey: callId,
      attempt,
      progress,
      options,
    })
  }
}
