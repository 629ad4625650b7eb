// The Agent Application Protocol as it goes over the wire: frozen types of version 3, and where versions 1 and 2 differ.
// Types only; decode.ts and encode.ts translate them.
import type { ErrorCode } from '../../language/errors.ts'
import type { LimitName } from '../../language/events.ts'
import type { AnswerAction, FormContent, FormSchema } from '../../language/questions.ts'
import type { Report } from '../../language/report.ts'
import type { Json, JsonObject } from '../../lib/json/index.ts'

export type Version = 1 | 2 | 3

// ---- content and messages -----------------------------------------------------------------------------------

/** `attached` is beyond the protocol: of a user's message, what a file, a page or a resource holds. It is not the user's word. */
export type TextBlock = { type: 'text'; text: string; attached?: true }
export type ThinkingBlock = { type: 'thinking'; thinking: string }
/** `url` is `https:` or a `data:` URI in base64. */
export type ImageBlock = { type: 'image'; url: string }
export type ToolUseBlock = { type: 'tool_use'; toolCallId: string; name: string; input: JsonObject }
export type ContentBlock = TextBlock | ThinkingBlock | ImageBlock | ToolUseBlock
export type Content = string | ContentBlock[]

export type SystemMessage = { role: 'system'; content: string }
export type UserMessage = { role: 'user'; content: Content }
export type AssistantMessage = { role: 'assistant'; content: Content }
/** `running` is beyond the protocol: the call has no result yet, and the content says so. */
export type ToolMessage = { role: 'tool'; toolCallId: string; content: Content; running?: true }
export type ToolPermissionMessage = {
  role: 'tool_permission'
  toolCallId: string
  granted: boolean
  reason?: string
  /** Beyond the protocol: arguments that replace the model's. */
  input?: JsonObject
}
/** Beyond the protocol: the answer to a question that a running call asks. */
export type ToolAnswerMessage = {
  role: 'tool_answer'
  questionId: string
  action: AnswerAction
  content?: FormContent
}
export type HistoryMessage = SystemMessage | UserMessage | AssistantMessage | ToolMessage
export type AgentMessage = AssistantMessage | ToolMessage

// ---- declarations -------------------------------------------------------------------------------------------

/** The schema stands in `parameters` since version 3, in `inputSchema` before. */
export type ToolSpec = {
  name: string
  title?: string
  description: string
  parameters?: JsonObject
  inputSchema?: JsonObject
}
export type ServerToolRef = { name: string; trust?: boolean }
export type AgentConfig = { name: string; tools?: ServerToolRef[]; options?: Record<string, string> }

export type Option = { name: string; title?: string; description?: string; default: string } & (
  | { type: 'text' | 'secret' }
  | { type: 'select'; options: string[] }
)

/** The presence of an (empty) object means yes. */
type Yes = Record<string, never>
export type Capabilities = {
  history: { compacted: Yes; full?: Yes }
  stream: { delta: Yes; message: Yes; none: Yes }
  application?: { tools: Yes }
  image?: { http?: Yes; data?: Yes }
}
export type MetaAgent = {
  name: string
  title?: string
  version: string
  description?: string
  tools: ToolSpec[]
  options: Option[]
  capabilities: Capabilities
}

// ---- answers ------------------------------------------------------------------------------------------------

export type Meta = { version: Version; agents: MetaAgent[] }
export type SessionInfo = {
  sessionId: string
  agent: AgentConfig
  tools?: ToolSpec[]
  questions?: Question[]
}
/** Beyond the protocol: where a session stands, for a client that knows nothing but its id. */
export type SessionState = {
  /** The number of the last event. */
  lastEvent: number
  status: 'idle' | 'running' | 'waiting'
  pending: PendingCall[]
  /** The calls that are at work. */
  running: string[]
  questions: Question[]
  /** The messages that wait for their delivery, if there are any. */
  messages?: WaitingMessage[]
}
/** Beyond the protocol: a message that was sent while a turn was under way. `at`: when, in milliseconds. */
export type WaitingMessage = {
  messageId: string
  during: 'queue' | 'steer' | 'interrupt'
  content: Content
  at: number
}
/** A call that waits: for its result (`client`), or for a permission (`server`). */
export type PendingCall = Ask & { name: string; input: JsonObject; side: 'client' | 'server' }
export type HistoryType = 'compacted' | 'full'
export type History = Partial<Record<HistoryType, HistoryMessage[]>>
export type StreamMode = 'delta' | 'message' | 'none'
export type StopReason = 'end_turn' | 'tool_use' | 'max_tokens' | 'refusal' | 'error'
/** Beyond the protocol: why this call needs a permission, until when it can be given, and what the call would do. */
export type Ask = { toolCallId: string; reason?: string; expiresAt?: number; preview?: Report }
/** Beyond the protocol: what a running call asks: to fill in the form `schema`, or to open `url`. */
export type Question = {
  questionId: string
  toolCallId: string
  message: string
  schema?: FormSchema
  url?: string
  expiresAt?: number
}
/** All but the first are beyond the protocol, and optional. */
export type Stop = {
  stopReason: StopReason
  error?: string
  code?: ErrorCode
  limit?: LimitName
  asks?: Ask[]
  questions?: Question[]
}
export type TurnAnswer = Stop & { messages: AgentMessage[] }

/** Each is sent as `event: <name>` and a line of data. `session_start` is gone since version 3. */
export type TurnEvents = {
  session_start: { sessionId: string }
  turn_start: Record<string, never>
  text_delta: { delta: string }
  thinking_delta: { delta: string }
  text: { text: string }
  thinking: { thinking: string }
  tool_call: { toolCallId: string; name: string; input: JsonObject }
  /** `report` is beyond the protocol: what the tool did to files, and what it ran. */
  tool_result: { toolCallId: string; content: Content; report?: Report; details?: Json }
  turn_stop: Stop
}
/** One event of a turn: its name and its data. */
export type TurnEvent = { [Name in keyof TurnEvents]: [Name, TurnEvents[Name]] }[keyof TurnEvents]
