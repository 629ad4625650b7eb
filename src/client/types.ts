// The Agent Application Protocol, version 3, as a client sees it: types of the data on the wire. The server has types of
// its own, so that an application can use these without any of the server's code.
import type { Report } from '../language/report.ts'
import type { ServerPrompt, ServerResource } from '../language/servers.ts'
import type { JsonObject } from '../lib/json/index.ts'

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
  /** With a grant: other arguments for the call. An extension of Turnwire to the protocol. */
  input?: JsonObject
}
/** The answer to a question of a running call. An extension of Turnwire to the protocol. */
export type ToolAnswerMessage = { role: 'tool_answer'; questionId: string } & QuestionAnswer
export type HistoryMessage = SystemMessage | UserMessage | AssistantMessage | ToolMessage
export type AgentMessage = AssistantMessage | ToolMessage
export type ApplicationMessage = UserMessage | ToolMessage | ToolPermissionMessage | ToolAnswerMessage

// ---- declarations --------------------------------------------------------------------------------------------

export type ToolSpec = { name: string; title?: string; description: string; parameters: JsonObject }
export type ServerToolRef = { name: string; trust?: boolean }
/** The agent of a session, the server tools that are switched on, and the agent's options. */
export type AgentChoice = { name: string; tools?: ServerToolRef[]; options?: Record<string, string> }
export type AgentOption = { name: string; title?: string; description?: string; default: string } & (
  | { type: 'text' | 'secret' }
  | { type: 'select'; options: string[] }
)
/** A capability is supported if its object is present. */
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

export type SessionInfo = {
  sessionId: string
  agent: AgentChoice
  tools?: ToolSpec[]
  /** The questions that running calls ask. */
  questions?: ToolQuestion[]
}
/** Where a session stands. An extension of Turnwire to the protocol. */
export type SessionState = {
  /** The number of the last event. */
  lastEvent: number
  status: 'idle' | 'running' | 'waiting'
  pending: PendingCall[]
  /** The calls that are at work. */
  running: string[]
  questions: ToolQuestion[]
}
/** A call that waits: for its result (`client`), or for a permission (`server`). */
export type PendingCall = ToolCall & { side: 'client' | 'server' }
export type NewSession = { agent: AgentChoice; messages?: HistoryMessage[]; tools?: ToolSpec[] }
export type HistoryType = 'compacted' | 'full'
export type StreamMode = 'delta' | 'message' | 'none'
export type StopReason = 'end_turn' | 'tool_use' | 'max_tokens' | 'refusal' | 'error'
/**
 * Why a call needs a permission, until when it can be granted (`expiresAt`, in milliseconds since 1970), and what the call
 * would do to files.
 */
export type PermissionQuestion = { toolCallId: string; reason?: string; expiresAt?: number; preview?: Report }
/** What a running call asks: to fill in the flat form `schema`, or to open `url`. */
export type ToolQuestion = {
  questionId: string
  toolCallId: string
  message: string
  schema?: JsonObject
  url?: string
  expiresAt?: number
}
/** `content`: the members of a form that was accepted. */
export type QuestionAnswer = { action: 'accept' | 'decline' | 'cancel'; content?: JsonObject }
/** The protocol has only `stopReason`. The other members are extensions of Turnwire. */
export type StopInfo = {
  stopReason: StopReason
  /** With `error`: a message for people, and a code for programs. */
  error?: string
  code?: string
  /** With `max_tokens`: the limit of the server that ended the turn, if one did. */
  limit?: string
  /** With `tool_use`. */
  asks?: PermissionQuestion[]
  /** With `tool_use`: of calls that are running. */
  questions?: ToolQuestion[]
}
export type TurnAnswer = StopInfo & { messages: AgentMessage[] }
export type ToolCall = { toolCallId: string; name: string; input: JsonObject } & Omit<
  PermissionQuestion,
  'toolCallId'
>

/** `model`: the one that was chosen for the session; null: its agent's own. */
export type SessionResources = { resources: ServerResource[] }
export type SessionPrompts = { prompts: ServerPrompt[] }
export type SessionModels = { model: string | null; models: string[] }

export type TurnEvent =
  | { event: 'turn_start' }
  | { event: 'text_delta'; delta: string }
  | { event: 'thinking_delta'; delta: string }
  | { event: 'text'; text: string }
  | { event: 'thinking'; thinking: string }
  | ({ event: 'tool_call' } & ToolCall)
  | { event: 'tool_result'; toolCallId: string; content: Content }
  | ({ event: 'turn_stop' } & StopInfo)

/** The text of a message or a result, without its other blocks. */
export function textOfContent(content: Content): string {
  if (typeof content === 'string') return content
  let text = ''
  for (const block of content) if (block.type === 'text') text += block.text
  return text
}
