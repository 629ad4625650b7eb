// The Agent Application Protocol, version 3, as a client sees it: plain types of what goes over the wire. They are
// the client's own, so that an application can use them without any of the server.
import type { JsonObject } from '../lib/json.ts'

// ---- content and messages ----------------------------------------------------------------------------------

export type TextBlock = { type: 'text'; text: string }
export type ThinkingBlock = { type: 'thinking'; thinking: string }
/** `url` is `https:` or a `data:` URI in base64. */
export type ImageBlock = { type: 'image'; url: string }
export type ToolUseBlock = { type: 'tool_use'; toolCallId: string; name: string; input: JsonObject }
export type ContentBlock = TextBlock | ThinkingBlock | ImageBlock | ToolUseBlock
export type Content = string | ContentBlock[]

export type SystemMessage = { role: 'system'; content: string }
export type UserMessage = { role: 'user'; content: Content }
export type AssistantMessage = { role: 'assistant'; content: Content }
export type ToolMessage = { role: 'tool'; toolCallId: string; content: Content }
export type ToolPermissionMessage = {
  role: 'tool_permission'
  toolCallId: string
  granted: boolean
  reason?: string
  /** Turnwire takes other arguments along with a grant; the protocol itself does not know them. */
  input?: JsonObject
}
export type HistoryMessage = SystemMessage | UserMessage | AssistantMessage | ToolMessage
export type AgentMessage = AssistantMessage | ToolMessage
export type ApplicationMessage = UserMessage | ToolMessage | ToolPermissionMessage

// ---- declarations --------------------------------------------------------------------------------------------

export type ToolSpec = { name: string; title?: string; description: string; parameters: JsonObject }
export type ServerToolRef = { name: string; trust?: boolean }
export type AgentConfig = { name: string; tools?: ServerToolRef[]; options?: Record<string, string> }
export type AgentOption = { name: string; title?: string; description?: string; default: string } & (
  | { type: 'text' | 'secret' }
  | { type: 'select'; options: string[] }
)
/** The presence of an object means yes; what is missing is not supported. */
export type Capabilities = {
  history?: { compacted?: object; full?: object }
  stream?: { delta?: object; message?: object; none?: object }
  application?: { tools?: object }
  image?: { http?: object; data?: object }
}
export type AgentInfo = {
  name: string
  title?: string
  version: string
  description?: string
  tools?: ToolSpec[]
  options?: AgentOption[]
  capabilities?: Capabilities
}
export type Meta = { version: number; agents: AgentInfo[] }

// ---- sessions and turns --------------------------------------------------------------------------------------

export type SessionInfo = { sessionId: string; agent: AgentConfig; tools?: ToolSpec[] }
export type NewSession = { agent: AgentConfig; messages?: HistoryMessage[]; tools?: ToolSpec[] }
export type HistoryType = 'compacted' | 'full'
export type StreamMode = 'delta' | 'message' | 'none'
export type StopReason = 'end_turn' | 'tool_use' | 'max_tokens' | 'refusal' | 'error'
/** What whoever is to grant a call should know. `expiresAt`: until when it can be granted, in milliseconds. */
export type Ask = { toolCallId: string; reason?: string; expiresAt?: number }
/** The protocol has `stopReason` alone; Turnwire says more where there is more to say. */
export type Stop = {
  stopReason: StopReason
  /** With `error`: what went wrong, for people and for programs. */
  error?: string
  code?: string
  /** With `max_tokens`: which limit of the server ended the turn, if it was one. */
  limit?: string
  /** With `tool_use`. */
  asks?: Ask[]
}
export type TurnAnswer = Stop & { messages: AgentMessage[] }
export type ToolCall = { toolCallId: string; name: string; input: JsonObject } & Omit<Ask, 'toolCallId'>

export type TurnEvent =
  | { event: 'turn_start' }
  | { event: 'text_delta'; delta: string }
  | { event: 'thinking_delta'; delta: string }
  | { event: 'text'; text: string }
  | { event: 'thinking'; thinking: string }
  | ({ event: 'tool_call' } & ToolCall)
  | { event: 'tool_result'; toolCallId: string; content: Content }
  | ({ event: 'turn_stop' } & Stop)

/** The text of a message or a result; blocks that are no text are left out. */
export function textOfContent(content: Content): string {
  if (typeof content === 'string') return content
  let text = ''
  for (const block of content) if (block.type === 'text') text += block.text
  return text
}
