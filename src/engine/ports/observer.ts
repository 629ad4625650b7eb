// The port for observers: the interface through which telemetry sees events of sessions, for traces and metrics.
import type { CallPart } from '../../language/calls.ts'
import type { Event, SessionParent } from '../../language/events.ts'
import type { TraceContext } from '../../language/trace.ts'
import type { SessionStatus } from './store.ts'

/** `parent`: the call that made it. */
export type ObservedCall = { readonly part: CallPart; readonly text: string; readonly parent?: string }

/** A session as it stands after the events. */
export type ObservedSession = {
  readonly state: {
    readonly id: string
    readonly owner: string
    readonly agent: string
    readonly status: SessionStatus
    readonly turn: { readonly id: string; readonly trace?: TraceContext } | null
    readonly parent?: SessionParent
    readonly batch: readonly ObservedCall[]
  }
}

/**
 * Contract: it is told synchronously, changes nothing, keeps nothing of what it is given, and does not throw. It is told of
 * events when they are recorded, a moment before they are durable. Functions that are not needed are absent:
 * `startTurn`, `inCall` and `findTrace` without tracing, `wrote` without metrics, `recorded` without both.
 */
export type Observer = {
  /**
   * A turn is about to start. Gives the trace that is recorded with it, so that the turn stays one trace after a wait, a
   * restart, or in another process. `caller`: the trace of the request. A start that is refused is not told of again.
   */
  startTurn?(session: ObservedSession, caller: TraceContext | undefined): TraceContext | undefined
  recorded?(session: ObservedSession, events: readonly Event[]): void
  /** How long a durable write took, also one that failed. */
  wrote?(seconds: number): void
  /** This copy of the session is over: its process stops, or another one has it. */
  lost(session: string): void
  /** Runs a tool's function: spans that it makes are below the span of its call. */
  inCall?<Result>(callId: string, run: () => Result): Result
  /** For requests that are made for this call. */
  findTrace?(callId: string): TraceContext | undefined
}
