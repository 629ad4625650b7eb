// DeltaKit as it goes over the wire: the three events of its core, the conventional ones of its recipes, and ours, which
// its default clients ignore. Types only.
import type { TurnStop } from '../../language/events.ts'
import type { FormSchema } from '../../language/questions.ts'
import type { Report } from '../../language/report.ts'
import type { Json } from '../../lib/json/index.ts'

export type TextDelta = { type: 'text_delta'; delta: string }
/** A delta, to be accumulated. */
export type Reasoning = { type: 'reasoning'; text: string }
/** `argument` is JSON text, whole. */
export type ToolCall = { type: 'tool_call'; tool_name: string; argument: string; call_id: string }
/** Ours are `report`, what the tool did to files and ran, and `details`, for the application only. */
export type ToolResult = {
  type: 'tool_result'
  call_id: string
  output: string
  report?: Report
  details?: Json
}

// ---- ours ---------------------------------------------------------------------------------------------------

/** The session that was made for a message that named none. */
export type SessionMade = { type: 'session'; sessionId: string }
/** A person is to decide. `arguments_hash` may be sent back with the decision, which then holds for these alone. */
export type ApprovalRequest = {
  type: 'tool_approval_request'
  call_id: string
  tool_name: string
  argument: string
  arguments_hash: string
  reason?: string
  expires_at?: string
  /** The tool's preview of the call's effects. */
  preview?: Report
}
/** The application is to run it and to send its result. */
export type ExecuteRequest = {
  type: 'tool_execute_request'
  call_id: string
  tool_name: string
  argument: string
}
/** A running call asks: fill in the form `schema`, or open `url`. */
export type ToolQuestion = {
  type: 'tool_question'
  call_id: string
  question_id: string
  message: string
  schema?: FormSchema
  url?: string
  expires_at?: string
}
/** A person changed the arguments while approving. */
export type CallEdited = { type: 'tool_call_edited'; call_id: string; argument: string }
/** The turn ended otherwise than by the model's answer. */
export type Stopped = { type: 'stopped'; reason: Exclude<TurnStop, 'end' | 'error'>; limit?: string }

// ---- runs ---------------------------------------------------------------------------------------------------

export type RunStarted = { type: 'run_started'; runId: string; sessionId: string }
/** A message that was sent while a turn was under way. */
export type MessageQueued = { type: 'message_queued'; messageId: string; status: string; sessionId: string }
export type Done = { type: 'done' }
export type Failed = { type: 'error'; message: string; code?: string }

export type DeltaKitEvent =
  | MessageQueued
  | TextDelta
  | Reasoning
  | ToolCall
  | ToolResult
  | SessionMade
  | ApprovalRequest
  | ExecuteRequest
  | ToolQuestion
  | CallEdited
  | Stopped
  | RunStarted
  | Done
  | Failed

export type JobStatus = 'pending' | 'running' | 'completed' | 'cancelled' | 'failed'
export type Job = {
  job_id: string
  runId: string
  sessionId: string
  status: JobStatus
  created_at: string
  started_at: string
  finished_at?: string
  error?: string
  /** Ours: calls wait for a person or for the application. */
  waiting?: true
}
