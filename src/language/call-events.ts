// Events of calls after their run: a name for their work elsewhere, and what became of them. A part of events.ts, with the same rules.
import type { Found, Outcome } from './calls.ts'
import type { At } from './events.ts'

/**
 * Names the work of a call at the service that does it, such as a task or a payment, so that the service can be asked about it
 * after a crash. The last one counts.
 */
export type CallReferenced = At & { type: 'call.referenced'; callId: string; reference: string }
/**
 * A call had been settled although it may have taken effect, and its tool has now said what became of it. This happens once for a
 * call. `told`: the call by which the model asked, whose result tells it; without it, the model is told by a message.
 * `session`: of a call that another session made, for a call of this one.
 */
export type CallReconciled = At & {
  type: 'call.reconciled'
  callId: string
  tool: string
  by: string
  found: Found
  outcome: Outcome
  told?: string
  session?: string
}
