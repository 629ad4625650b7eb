// The Agent Application Protocol, version 3, as a client sees it. The types are those of the wire, without its code. A client
// may meet servers of others: where such a server may leave a member out or say a word that Turnwire does not know, the type
// here is wider.
import type { Report } from '../language/report.ts'
import type { ServerPrompt, ServerResource } from '../language/servers.ts'
import type { JsonObject } from '../lib/json/index.ts'
import type * as wire from '../wires/aap/schema.ts'

export type {
  AgentConfig as AgentChoice,
  AgentMessage,
  Ask as PermissionQuestion,
  AssistantMessage,
  Content,
  ContentBlock,
  HistoryMessage,
  HistoryType,
  ImageBlock,
  Option as AgentOption,
  ServerToolRef,
  StopReason,
  StreamMode,
  SystemMessage,
  TextBlock,
  ThinkingBlock,
  ToolMessage,
  ToolPermissionMessage,
  ToolUseBlock,
  UserMessage,
} from '../wires/aap/schema.ts'

/** `content`: the members of a form that was accepted. */
export type QuestionAnswer = { action: wire.ToolAnswerMessage['action']; content?: JsonObject }
/** The answer to a question of a running call. An extension of Turnwire to the protocol. */
export type ToolAnswerMessage = { role: 'tool_answer'; questionId: string } & QuestionAnswer
export type ApplicationMessage =
  | wire.UserMessage
  | wire.ToolMessage
  | wire.ToolPermissionMessage
  | ToolAnswerMessage

export type ToolSpec = { name: string; title?: string; description: string; parameters: JsonObject }
/** A capability is supported if its object is present. */
export type Capabilities = {
  history?: { compacted?: object; full?: object }
  stream?: { delta?: object; message?: object; none?: object }
  application?: { tools?: object }
  image?: { http?: object; data?: object }
}
export type AgentInfo = Omit<wire.MetaAgent, 'tools' | 'options' | 'capabilities'> & {
  tools?: ToolSpec[]
  options?: wire.Option[]
  capabilities?: Capabilities
}
export type Meta = { version: number; agents: AgentInfo[] }

export type SessionInfo = Omit<wire.SessionInfo, 'tools' | 'questions'> & {
  tools?: ToolSpec[]
  /** The questions that running calls ask. */
  questions?: ToolQuestion[]
}
/** Where a session stands. An extension of Turnwire to the protocol. */
export type SessionState = Omit<wire.SessionState, 'pending' | 'questions'> & {
  pending: PendingCall[]
  questions: ToolQuestion[]
}
/** What becomes of a message while a turn is under way. An extension of Turnwire to the protocol. */
export type During = 'refuse' | WaitingMessage['during']
/** A message that waits for its delivery. */
export type WaitingMessage = wire.WaitingMessage
/** `messageId`: of a message that had to wait. Without it, it started a turn. */
export type SentMessage = { messageId?: string; state: 'queued' | 'delivered' | 'withdrawn' }
export type ToolCall = wire.TurnEvents['tool_call'] & wire.Ask
/** A call that waits: for its result (`client`), or for a permission (`server`). */
export type PendingCall = ToolCall & { side: 'client' | 'server' }
export type NewSession = { agent: wire.AgentConfig; messages?: wire.HistoryMessage[]; tools?: ToolSpec[] }
/** A question of a running call: fill in the flat form `schema`, or open `url`. */
export type ToolQuestion = Omit<wire.Question, 'schema'> & { schema?: JsonObject }
/** The protocol has only `stopReason`. The other members are extensions of Turnwire. */
export type StopInfo = {
  stopReason: wire.StopReason
  /** With `error`: a message for people, and a code for programs. */
  error?: string
  code?: string
  /** With `max_tokens`: the limit of the server that ended the turn, if one did. */
  limit?: string
  /** With `tool_use`. */
  asks?: wire.Ask[]
  /** With `tool_use`: of calls that are running. */
  questions?: ToolQuestion[]
}
export type TurnAnswer = StopInfo & { messages: wire.AgentMessage[] }

export type SessionResources = { resources: ServerResource[] }
export type SessionPrompts = { prompts: ServerPrompt[] }
/** `model`: the one that was chosen for the session; null: its agent's own. */
export type SessionModels = { model: string | null; models: string[] }

export type TurnEvent =
  | { event: 'turn_start' }
  | { event: 'text_delta'; delta: string }
  | { event: 'thinking_delta'; delta: string }
  | { event: 'text'; text: string }
  | { event: 'thinking'; thinking: string }
  | ({ event: 'tool_call' } & ToolCall)
  /** `report`: what the tool did, for people. An extension of Turnwire to the protocol. */
  | { event: 'tool_result'; toolCallId: string; content: wire.Content; report?: Report }
  | ({ event: 'turn_stop' } & StopInfo)

/** The text of a message or a result, without its other blocks. */
export function textOfContent(content: wire.Content): string {
  if (typeof content === 'string') return content
  let text = ''
  for (const block of content) if (block.type === 'text') text += block.text
  return text
}
