// The Responses API as it goes over the wire: the items and events that this wire gives. Types only.
import type { Phase } from '../../language/content.ts'
import type { JsonObject } from '../../lib/json/index.ts'

export type ResponseStatus = 'queued' | 'in_progress' | 'completed' | 'incomplete' | 'failed' | 'cancelled'
export type ItemStatus = 'in_progress' | 'completed' | 'incomplete'

export type OutputText = { type: 'output_text'; text: string; annotations: never[]; logprobs: never[] }
export type RefusalPart = { type: 'refusal'; refusal: string }
export type MessageItem = {
  type: 'message'
  id: string
  status: ItemStatus
  role: 'assistant'
  phase?: Phase
  content: (OutputText | RefusalPart)[]
}
export type SummaryText = { type: 'summary_text'; text: string }
export type ReasoningItem = {
  type: 'reasoning'
  id: string
  summary: SummaryText[]
  encrypted_content?: string
}
/** A call that the client runs. */
export type CallItem = { id: string; call_id: string; status: ItemStatus } & (
  | { type: 'function_call'; name: string; namespace?: string; arguments: string }
  | { type: 'custom_tool_call'; name: string; namespace?: string; input: string }
  | { type: 'tool_search_call'; execution: 'client'; arguments: JsonObject }
)
/** A summary that the client sends back in place of the conversation before it. */
export type CompactionItem = { type: 'compaction'; id: string; encrypted_content: string }
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
/** An item of a vendor of this same protocol that ran a tool on its own side, as the vendor gave it. */
export type VendorItem = JsonObject & { type: string; id: string }

export type OutputItem =
  | MessageItem
  | ReasoningItem
  | CallItem
  | ServerCallItem
  | ApprovalRequestItem
  | CompactionItem
  | VendorItem

type Growing = 'output_text' | 'refusal' | 'reasoning_summary_text'
type Arguments = 'function_call_arguments' | 'custom_tool_call_input' | 'mcp_call_arguments'

/** The events of a stream. */
export type EventName =
  | `response.${'created' | 'in_progress' | 'completed' | 'incomplete' | 'failed'}`
  | `response.${'output_item' | 'content_part' | 'reasoning_summary_part'}.${'added' | 'done'}`
  | `response.${Growing | Arguments}.${'delta' | 'done'}`
  | `response.mcp_call.${'in_progress' | 'completed' | 'failed'}`
  | 'error'
