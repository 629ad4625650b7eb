// Tools that a connection brings to a session and runs itself: an editor's files and terminals, MCP servers that a
// client named. The engine sees ordinary tools that pass the gate; each run is given to the connection as plain data
// and waits for its report. The tools are gone with the connection.
import type { Report } from '../../language/report.ts'
import { Batches } from '../../lib/async/batches.ts'
import type { Json } from '../../lib/json/index.ts'
import { Unanswered } from '../../lib/net/unanswered.ts'
import type { AttachedItem, AttachedReport, AttachedTool } from '../ports/boundary.ts'
import {
  InvalidInput,
  type PreviewContext,
  type Tool,
  type ToolContext,
  type ToolOutput,
} from '../ports/index.ts'

type PendingRun = {
  context: ToolContext
  resolve(output: ToolOutput): void
  reject(error: Error): void
}

export class Attachment {
  readonly tools: readonly Tool[]
  readonly items: Batches<AttachedItem>
  readonly #id: (prefix: string) => string
  readonly #runs = new Map<string, PendingRun>()
  readonly #previews = new Map<string, Pick<PromiseWithResolvers<Report>, 'resolve' | 'reject'>>()

  constructor(tools: readonly AttachedTool[], id: (prefix: string) => string) {
    this.#id = id
    this.items = new Batches(() => this.close())
    this.tools = tools.map(({ hasPreview, ...tool }) => ({
      ...tool,
      run: (input, context) => this.#run(tool.name, input, context),
      ...(hasPreview && { preview: (input, context) => this.#preview(tool.name, input, context) }),
    }))
  }

  /** False: the run is not, or no longer, one of this connection. */
  report(report: AttachedReport): boolean {
    const preview = this.#previews.get(report.run)
    if (preview) {
      this.#previews.delete(report.run)
      if ('preview' in report) preview.resolve(report.preview)
      else preview.reject(new Error('There is no preview.'))
      return true
    }
    const run = this.#runs.get(report.run)
    if (!run || 'preview' in report) return false
    if ('progress' in report) run.context.progress(report.progress)
    else if ('report' in report) run.context.report(report.report)
    else {
      this.#runs.delete(report.run)
      if ('output' in report) run.resolve(report.output)
      else run.reject(failureIn(report))
    }
    return true
  }

  /** The connection is gone. Calls that it was running may have taken effect. */
  close(): void {
    this.items.end()
    for (const run of this.#runs.values()) run.reject(new Unanswered('The connection that ran it went away.'))
    this.#runs.clear()
    for (const preview of this.#previews.values()) preview.reject(new Error('The connection is gone.'))
    this.#previews.clear()
  }

  #preview(name: string, input: Json, { callId, signal }: PreviewContext): Promise<Report> {
    const { promise, resolve, reject } = Promise.withResolvers<Report>()
    if (this.items.ended) {
      reject(new Error('The connection is gone.'))
      return promise
    }
    const run = this.#id('run')
    this.#previews.set(run, { resolve, reject })
    signal.addEventListener('abort', () => this.#previews.delete(run), { once: true })
    this.items.push({ type: 'preview', run, callId, name, input })
    return promise
  }

  #run(name: string, input: Parameters<Tool['run']>[0], context: ToolContext): Promise<ToolOutput> {
    const { promise, resolve, reject } = Promise.withResolvers<ToolOutput>()
    if (this.items.ended) {
      reject(new Error('The connection that runs this tool is gone. Nothing was done.'))
      return promise
    }
    const run = this.#id('run')
    const { callId, attempt, signal, trace } = context
    this.#runs.set(run, { context, resolve, reject })
    this.items.push({ type: 'run', run, callId, name, input, attempt, ...(trace && { trace }) })
    signal.addEventListener(
      'abort',
      () => {
        if (this.#runs.has(run)) this.items.push({ type: 'abort', run })
      },
      { once: true },
    )
    return promise
  }
}

function failureIn({ error, refused, unanswered }: Extract<AttachedReport, { error: string }>): Error {
  if (refused) return new InvalidInput(error)
  return unanswered ? new Unanswered(error) : new Error(error)
}
