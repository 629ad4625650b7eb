// What leaves the engine. `boundary.ts` is the interface for everyone outside; `ports.ts` is what adapters implement.
export { addUsage } from './answer-once.ts'
export type * from './boundary.ts'
export { CallSlots } from './call-slots.ts'
export { summaryInstructions } from './compact.ts'
export type { Create, Decision } from './decide.ts'
export { evolve } from './evolve.ts'
export type { FeedItem, Watcher } from './feed.ts'
export { CompactedFold, HistoryFold } from './history-fold.ts'
export type { HookSubject, Hooks } from './hooks.ts'
export { LocalEngine } from './local-engine.ts'
export { ManualControl } from './manual-control.ts'
export { type Action, next, statusOf } from './next.ts'
export { type Offered, offerOf } from './offer.ts'
export { OpenSessions } from './open-sessions.ts'
export { outcomes } from './outcomes.ts'
export * from './ports.ts'
export type { Answers } from './prepare-answers.ts'
export { fold } from './read-state.ts'
export { requestOf } from './request.ts'
export { Session } from './session.ts'
export type { Recorded as Taken } from './session-home.ts'
export { isSnapshotName } from './snapshots.ts'
export {
  type CallState,
  emptyState,
  factsOf,
  findCall,
  isInQuestion,
  listSummaryOf,
  type QuestionState,
  type SessionState,
  settledCalls,
} from './state.ts'
export { StepDeltas } from './step-deltas.ts'
export { stopSessions } from './stop-sessions.ts'
