// The library: what a program that embeds Turnwire, and a configuration file, may use.

// ---- to run ------------------------------------------------------------------------------------------------
export {
  type AgentConfig,
  defineConfig,
  type OwnCaller,
  type ServerConfig,
  type TurnwireConfig,
  type WireName,
} from './config/config.ts'
// ---- to implement a model, a tool or a store ---------------------------------------------------------------
export type {
  AgentOption,
  AppContext,
  FollowItem,
  Hooks,
  Limits,
  Model,
  ModelAnswer,
  ModelDelta,
  ModelRequest,
  NextAction,
  PreviewContext,
  ReconcileAnswer,
  ReconcileContext,
  Store,
  Tool,
  ToolContext,
  ToolOutput,
  UndoContext,
} from './engine/index.ts'
export { InvalidInput } from './engine/index.ts'
// ---- what is recorded --------------------------------------------------------------------------------------
export type { Outcome, OutcomeKind } from './language/calls.ts'
export type { FilePart, ImagePart, InputPart, ResultPart, TextPart } from './language/content.ts'
export { type ErrorCode, TurnwireError } from './language/errors.ts'
export type { Event, Grant, Recorded, Settings } from './language/events.ts'
export type { Entry } from './language/history.ts'
export type { Receipt } from './language/make-receipt.ts'
export type { CallAnswer, CallQuestion, FormSchema } from './language/questions.ts'
export type { CallReceipt, ReceiptDecision, ReceiptSalts } from './language/receipt-calls.ts'
export type { ReceiptKey } from './language/receipt-keys.ts'
export type { FileDiff, Location, Report, Rows, TerminalReport } from './language/report.ts'
export type { ToolDeclaration, ToolKind } from './language/tools.ts'
export { Unanswered } from './lib/net/unanswered.ts'
export type { ControlHandle as Control } from './library/control-handle.ts'
export type {
  PendingCall,
  PendingQuestion,
  Reply,
  ResultItem,
  TurnItem,
  TurnTypes,
} from './library/reply.ts'
export type {
  ApproveOptions,
  CallAnswers,
  DecisionOptions,
  NewGrant,
  SendOptions,
  SessionHandle as Session,
  StopOptions,
  WatchOptions,
} from './library/session-handle.ts'
export type { OwnTool, SessionOptions } from './library/session-options.ts'
export type { TurnHandle as Turn } from './library/turn-handle.ts'
export { type ListedSession, type RunOptions, Turnwire } from './library/turnwire.ts'
export type { Log, LogLevel } from './log.ts'
// ---- to configure ------------------------------------------------------------------------------------------
export {
  type AzureOptions,
  anthropic,
  azureOpenai,
  type ChatQuirk,
  type CompatibleOptions,
  compatible,
  deepseek,
  type FallbackOptions,
  fallback,
  gemini,
  geminiInteractions,
  groq,
  lmStudio,
  mistral,
  ollama,
  openai,
  openaiChat,
  openrouter,
  type Prices,
  type ProviderOptions,
  type Secret,
  together,
  type VertexOptions,
  vertex,
  vllm,
  xai,
} from './models/index.ts'
export { type RehearsalOptions, rehearsal } from './models/rehearsal/index.ts'
export {
  type Expectation,
  type ExpectedResult,
  parseScript,
  type Script,
  type ScriptDocument,
  type ScriptedOptions,
  type ScriptStep,
  type StepCall,
  scripted,
  scriptFromFile,
} from './models/scripted/index.ts'
export {
  type CedarOptions,
  cedar,
  type Decider,
  type Decision,
  type GateOptions,
  type OpaOptions,
  opa,
  type PolicyRule,
  type RedactRule,
} from './policy/index.ts'
// ---- to check what was recorded ----------------------------------------------------------------------------
export { verifyReceipt } from './proof/verify-receipt.ts'
export type { OpenOptions } from './runtime.ts'
export { type Running, type ServeOptions, startServer } from './server/server.ts'
export { memoryStore } from './stores/memory.ts'
export { type PostgresOptions, postgresStore } from './stores/postgres/index.ts'
export { type SqliteOptions, sqliteStore } from './stores/sqlite/index.ts'
export {
  type AgentToolOptions,
  agentTool,
  type BrowserOptions,
  browser,
  type CallSecret,
  type CodeLimits,
  type CodeOptions,
  codeTool,
  type HandOverOptions,
  type HttpAuth,
  type HttpToolDefinition,
  handOverTool,
  http,
  later,
  type McpConnection,
  type McpOptions,
  type McpServerSpec,
  mcpServer,
  type OpenApiOptions,
  type OwnPrompt,
  type OwnResource,
  openapi,
  type PromptDefinition,
  prompt,
  type ResourceDefinition,
  type Retries,
  resource,
  type ShellLimits,
  type ShellOptions,
  shell,
  type ToolDefinition,
  type ToolOutputOf,
  tool,
  type WorkspaceOptions,
  type WorkspaceTool,
  withDetails,
  workspace,
} from './tools/index.ts'
