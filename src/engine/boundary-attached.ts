// The part of the boundary for tools that a connection offers and runs: what is offered, what the engine asks for, what comes
// back.
import type { Report } from '../language/report.ts'
import type { TraceContext } from '../language/trace.ts'
import type { Json } from '../lib/json.ts'
import type { Progress, Tool, ToolOutput } from './ports.ts'

/** `hasPreview`: the connection can say what a call would do. */
export type AttachedTool = Omit<Tool, 'run' | 'preview'> & { hasPreview?: true }

export type AttachedItem =
  /** The first item: from now on the model is offered these tools. */
  | { type: 'attached' }
  /** `run` names this attempt; `report` refers to it. */
  | {
      type: 'run'
      run: string
      callId: string
      name: string
      input: Json
      attempt: number
      trace?: TraceContext
    }
  /** What would this call do? The answer is a report of `preview`, or an error. */
  | { type: 'preview'; run: string; callId: string; name: string; input: Json }
  /** The call was cancelled or ran out of time. Its result is no longer waited for. */
  | { type: 'abort'; run: string }

export type AttachedReport =
  | { run: string; progress: Progress }
  | { run: string; report: Report }
  | { run: string; preview: Report }
  | { run: string; output: ToolOutput }
  /** It failed. `refused`: its own check refused the input, and nothing happened. */
  | { run: string; error: string; refused?: true }
