// The exports of `turnwire/react`: hooks and parts for React 18 and 19. The default look is `turnwire/react/style.css`; without
// it the parts are plain elements with class names.
export { Approval, type ApprovalAnswer, type ApprovalProps, type ApprovalQuestion } from './approval.tsx'
export type { Scope } from './approval-always.tsx'
export { Code } from './code.tsx'
export { Composer, type ComposerProps } from './composer.tsx'
export type {
  BackgroundSseOptions,
  ChatTransport,
  ChatTransportContext,
  ChatTransportRun,
  SseOptions,
  TransportOptions,
  WebSocketOptions,
} from './deltakit-transports.ts'
export { Diff } from './diff.tsx'
export { KindIcon, ShapeIcon } from './icons.tsx'
export { JsonTree } from './json-tree.tsx'
export { Markdown, type MarkdownProps } from './markdown.tsx'
export { Image, Output } from './output.tsx'
export { CopyButton, LongText, SafeText, Status, Time } from './parts.tsx'
export { Question, type QuestionAnswer, type QuestionProps } from './question.tsx'
export { ReportView } from './report.tsx'
export { checkAgainst, type SchemaIssue } from './schema-check.ts'
export { SchemaForm } from './schema-form.tsx'
export type { SessionClient, SessionConnection, Watching, WatchSource } from './session-page.ts'
export { StopCall, type StopCallProps } from './stop-call.tsx'
export { Terminal } from './terminal.tsx'
export { Arguments, ToolCall, type ToolCallProps } from './tool-call.tsx'
export { type ToolLook, Transcript, type TranscriptProps } from './transcript.tsx'
export {
  decideCall,
  type ListSource,
  type UsedApprovals,
  type UsedSessions,
  useApprovals,
  useChanges,
  useSessions,
} from './use-lists.ts'
export { type UsedSession, type UseSessionOptions, useSession, useSessionView } from './use-session.ts'
export {
  type EventHelpers,
  type StreamStatus,
  type StreamStatusContext,
  type UsedStreamChat,
  type UseStreamChatOptions,
  useStreamChat,
} from './use-stream-chat.ts'
export * from './view.ts'
export { ViewFold, type WatchedItem } from './view-fold.ts'
export { VirtualRows } from './virtual-rows.tsx'
