// The exports of the engine. `ports/boundary.ts` is the interface for callers; adapters implement `ports/index.ts`.

export { openArguments } from './calls/hidden-arguments.ts'
export { type JudgedCall, RecordedSession } from './calls/judge-recorded.ts'
export { CallSlots } from './calls/running-calls.ts'
export type { FeedItem } from './log/feed.ts'
export { readReceipt } from './log/read-receipt.ts'
export { fold } from './log/read-state.ts'
export { isSnapshotName } from './log/snapshots.ts'
export { type RecordedShadow, type RecordedVerdict, VerdictFold } from './log/verdict-fold.ts'
export type * from './ports/boundary.ts'
export * from './ports/forward.ts'
export * from './ports/index.ts'
export type * from './ports/local.ts'
export { evolve } from './rules/evolve.ts'
export { CompactedFold, HistoryFold } from './rules/history-fold.ts'
export { next, sessionStatus } from './rules/next.ts'
export {
  emptyState,
  findCall,
  type SessionState,
  sessionFacts,
  settledCalls,
  summariseForList,
} from './rules/state.ts'
export { type SupposedStep, supposeCall, supposeSession } from './rules/suppose.ts'
export { addUsage } from './rules/usage.ts'
export { LocalEngine } from './sessions/local-engine.ts'
export { OpenSessions } from './sessions/open-sessions.ts'
export { Session } from './sessions/session.ts'
export { summaryInstructions } from './turn/compact.ts'
export { ManualControl } from './turn/manual-control.ts'
export type { Answers } from './turn/turn-session.ts'
