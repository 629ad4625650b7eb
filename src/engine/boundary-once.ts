// One answer of a model without a session, as it crosses the engine's boundary: a part of boundary.ts.
import type { Native, Origin } from '../language/content.ts'
import type { Ask, Delta, ModelStop, Usage } from '../language/events.ts'
import type { AnswerPart, Entry } from '../language/history.ts'
import type { ToolDeclaration } from '../language/tools.ts'
import type { TraceContext } from '../language/trace.ts'
import type { DeltaMode } from './boundary.ts'

export type OnceRequest = {
  owner: string
  agent: string
  /** A configured model, if it is not the agent's own. */
  model?: string
  clientTools: ToolDeclaration[]
  /** Results in it are bounded and redacted as any result of a client. */
  history: Entry[]
  ask?: Ask
  deltas: DeltaMode
  trace?: TraceContext
}

export type OnceItem = { type: 'delta'; delta: Delta } | { type: 'answer'; answer: OnceAnswer }

export type OnceAnswer = {
  parts: AnswerPart[]
  stop: Exclude<ModelStop, 'cancelled' | 'pause'>
  model: string
  origin?: Origin
  usage?: Usage
  /** What the vendor wants back with the next request, such as a container or a response id. */
  continuity?: Native
  warnings?: string[]
}
