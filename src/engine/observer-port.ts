// Whoever watches what sessions do, for traces and metrics, as a type: one of the ports of ports.ts.
import type { Event } from '../language/events.ts'
import type { TraceContext } from '../language/trace.ts'
import type { SessionState } from './state.ts'
import type { SessionStatus } from './store-port.ts'

/** A session as it stands after the events. */
export type ObservedSession = {
  readonly state: Readonly<Pick<SessionState, 'id' | 'owner' | 'agent' | 'turn' | 'parent' | 'batch'>>
  readonly status: SessionStatus
}

/**
 * Contract: it is told synchronously, changes nothing, keeps nothing of what it is given, and does not throw. It is told of
 * events when they are recorded, a moment before they are durable.
 */
export type Observer = {
  /**
   * A turn is about to start. Gives the trace that is recorded with it, so that the turn stays one trace after a wait, a
   * restart, or in another process. `caller`: the trace of the request. A start that is refused is not told of again.
   */
  startTurn(session: ObservedSession, caller: TraceContext | undefined): TraceContext | undefined
  recorded(session: ObservedSession, events: readonly Event[]): void
  /** This copy of the session is over: its process stops, or another one has it. */
  lost(session: string): void
  /** Runs a tool's function: spans that it makes are below the span of its call. */
  inCall<Result>(callId: string, run: () => Result): Result
  /** For requests that are made for this call. */
  traceOf(callId: string): TraceContext | undefined
}
