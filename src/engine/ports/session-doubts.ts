// Calls that may have taken effect, and calls that were undone, as readers outside the engine see them: a part of boundary.ts.
import type { Found } from '../../language/calls.ts'
import type { TraceContext } from '../../language/trace.ts'
import type { RequestKey } from './boundary.ts'

export type SessionDoubts = {
  /** Calls that were settled although they may have taken effect, the oldest first. Absent: there is none. */
  doubts?: { callId: string; tool: string }[]
  /** What was found out about such calls later. */
  reconciled?: { callId: string; tool: string; found: Found }[]
  /** Calls that were undone, are being undone, or may have been. */
  undone?: { callId: string; state: 'open' | 'done' | 'unknown' }[]
}

/** Of a tool. `canReconcile`: it can say what became of a call that may have taken effect. `canUndo`: its calls can be undone. */
export type AfterCalls = { canReconcile?: true; canUndo?: true }

export type AfterCallCommand =
  /**
   * Asks a tool what became of a call that was settled although it may have taken effect. The answer says what was found. A call
   * that was found out about is not asked about again.
   */
  | { do: 'reconcile'; callId: string; by: string }
  /** Undoes a call, by a call of its own that passes the same gate. Refused with `busy` while a turn is under way. */
  | {
      do: 'undo'
      callId: string
      by: string
      wire: string
      /** Who asks for it, if it is not the owner of the session. */
      requesters?: string[]
      request?: RequestKey
      trace?: TraceContext
    }
