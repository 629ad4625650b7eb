// Tools that a connection brings to a session and runs itself: an editor's files and terminals, MCP servers that a client
// named. The engine sees ordinary tools that pass the gate; each run is given to the connection as plain data and waits
// for its report. The tools are gone with the connection.
import { Batches } from '../lib/batches.ts'
import type { AttachedItem, AttachedReport, AttachedTool } from './boundary.ts'
import { InvalidInput, type Tool, type ToolContext, type ToolOutput } from './ports.ts'

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

  constructor(tools: readonly AttachedTool[], id: (prefix: string) => string) {
    this.#id = id
    this.items = new Batches(() => this.close())
    this.tools = tools.map(tool => ({
      ...tool,
      run: (input, context) => this.#run(tool.name, input, context),
    }))
  }

  /** False: the run is not, or no longer, one of this connection. */
  report(report: AttachedReport): boolean {
    const run = this.#runs.get(report.run)
    if (!run) return false
    if ('progress' in report) run.context.progress(report.progress)
    else {
      this.#runs.delete(report.run)
      if ('output' in report) run.resolve(report.output)
      else run.reject(report.refused ? new InvalidInput(report.error) : new Error(report.error))
    }
    return true
  }

  /** The connection is gone: whatever it was running may have taken effect. */
  close(): void {
    this.items.end()
    for (const run of this.#runs.values())
      run.reject(new Error('The connection that ran it went away, so it may have taken effect.'))
    this.#runs.clear()
  }

  #run(name: string, input: Parameters<Tool['run']>[0], context: ToolContext): Promise<ToolOutput> {
    const { promise, resolve, reject } = Promise.withResolvers<ToolOutput>()
    if (this.items.ended) {
      reject(new Error('The connection that runs this tool is gone. Nothing was done.'))
      return promise
    }
    const run = this.#id('run')
    const { callId, attempt, signal } = context
    this.#runs.set(run, { context, resolve, reject })
    this.items.push({ type: 'run', run, callId, name, input, attempt })
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
