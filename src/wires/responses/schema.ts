// The Responses API as it goes over the wire: the items and events that this door gives. Types only.
import type { JsonObject } from '../../lib/json.ts'

export type ResponseStatus = 'queued' | 'in_progress' | 'completed' | 'incomplete' | 'failed' | 'cancelled'
export type ItemStatus = 'in_progress' | 'completed' | 'incomplete'

export type OutputText = { type: 'output_text'; text: string; annotations: never[]; logprobs: never[] }
export type RefusalPart = { type: 'refusal'; refusal: string }
export type MessageItem = {
  type: 'message'
  id: string
  status: ItemStatus
  role: 'assistant'
  content: (OutputText | RefusalPart)[]
}
export type ReasoningItem = {
  type: 'reasoning'
  id: string
  summary: { type: 'summary_text'; text: string }[]
  encrypted_content?: string
}
export type FunctionCallItem = {
  type: 'function_call'
  id: string
  call_id: string
  name: string
  arguments: string
  status: ItemStatus
}
export type CustomCallItem = {
  type: 'custom_tool_call'
  id: string
  call_id: string
  name: string
  input: string
  status: ItemStatus
}
/** A call that the server runs itself. */
export type ServerCallItem = {
  type: 'mcp_call'
  id: string
  server_label: string
  name: string
  arguments: string
  output: string | null
  error: { type: 'mcp_tool_execution_error'; content: string } | null
  status: ItemStatus | 'failed'
  approval_request_id: string | null
}
export type ApprovalRequestItem = {
  type: 'mcp_approval_request'
  id: string
  server_label: string
  name: string
  arguments: string
}
/** What a vendor of this same protocol ran on its own side, as it told it. */
export type VendorItem = JsonObject & { type: string; id: string }

export type CallItem = FunctionCallItem | CustomCallItem
export type OutputItem =
  | MessageItem
  | ReasoningItem
  | CallItem
  | ServerCallItem
  | ApprovalRequestItem
  | VendorItem

/** The events of a stream, by what they carry beside `type` and `sequence_number`. */
export type EventName =
  | 'response.created'
  | 'response.in_progress'
  | 'response.completed'
  | 'response.incomplete'
  | 'response.failed'
  | 'response.output_item.added'
  | 'response.output_item.done'
  | 'response.content_part.added'
  | 'response.content_part.done'
  | 'response.output_text.delta'
  | 'response.output_text.done'
  | 'response.refusal.delta'
  | 'response.refusal.done'
  | 'response.reasoning_summary_part.added'
  | 'response.reasoning_summary_part.done'
  | 'response.reasoning_summary_text.delta'
  | 'response.reasoning_summary_text.done'
  | 'response.function_call_arguments.delta'
  | 'response.function_call_arguments.done'
  | 'response.custom_tool_call_input.delta'
  | 'response.custom_tool_call_input.done'
  | 'response.mcp_call.in_progress'
  | 'response.mcp_call.completed'
  | 'response.mcp_call.failed'
  | 'response.mcp_call_arguments.delta'
  | 'response.mcp_call_arguments.done'
  | 'error'
