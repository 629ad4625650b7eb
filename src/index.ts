// The library's door: what a program that embeds Turnwire, and a configuration file, may use.

export type {
  Action,
  Agent,
  AgentOption,
  FeedItem,
  Limits,
  ManualControl,
  Model,
  ModelAnswer,
  ModelDelta,
  ModelRequest,
  Store,
  Tool,
  ToolContext,
  ToolOutput,
} from './engine/index.ts'
export { InvalidInput } from './engine/index.ts'
export type { Outcome, OutcomeKind } from './language/calls.ts'
export type { FilePart, ImagePart, InputPart, ResultPart, TextPart } from './language/content.ts'
export { type ErrorCode, errorCodes, TurnwireError } from './language/errors.ts'
export type { Event, Recorded, Settings } from './language/events.ts'
export type { Entry } from './language/history.ts'
export type { ToolDeclaration, ToolKind } from './language/tools.ts'
export * from './models/index.ts'
export { rehearsal } from './models/rehearsal/index.ts'
export { parseScript, scripted, scriptFromFile } from './models/scripted/index.ts'
export type { GateOptions, PolicyRule, RedactRule } from './policy/index.ts'
export { type AgentConfig, defineConfig, type ServerConfig, type TurnwireConfig } from './runtime/config.ts'
export type { Conversation, ConversationOptions, OwnTool, Pending, Reply } from './runtime/conversation.ts'
export { createLog } from './runtime/log.ts'
export { type Running, startServer } from './runtime/server.ts'
export { Turnwire } from './runtime/turnwire.ts'
export { memoryStore } from './stores/memory.ts'
export { type SqliteOptions, sqliteStore } from './stores/sqlite/index.ts'
export * from './tools/index.ts'
