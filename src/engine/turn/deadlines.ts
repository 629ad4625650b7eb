// Records an approval, question or postponed result as expired when it does not come in time. A timer decides, not the
// clock: a clock that is set back must not make an old question answerable again.
import type { Event } from '../../language/events.ts'
import { decideNeverCame, overduePostponed, postponedDeadlines } from '../calls/postpone.ts'
import { findReconciler } from '../calls/reconcile.ts'
import { approvalDeadlines, decideExpiry } from '../rules/decide-call.ts'
import { decideQuestionExpiry, questionDeadlines } from '../rules/decide-question.ts'
import { outcomes } from '../rules/outcomes.ts'
import type { CallState, SessionState } from '../rules/state.ts'
import type { TurnSession } from './turn-session.ts'

/** When the next approval or question has to be answered. `isChecked`: nothing more is waited for. */
export function nextDeadline(
  state: SessionState,
  isChecked?: (call: CallState) => boolean,
): number | undefined {
  if (state.batch.length === 0) return undefined
  const deadlines = [
    ...approvalDeadlines(state),
    ...questionDeadlines(state),
    ...postponedDeadlines(state, isChecked),
  ]
  return deadlines.length === 0 ? undefined : Math.min(...deadlines)
}

export class Deadlines {
  readonly #session: TurnSession
  #stop: (() => void) | undefined

  constructor(session: TurnSession) {
    this.#session = session
  }

  /** `passed`: a deadline that is over, whatever the clock says. */
  watch(passed = -Infinity): void {
    this.stop()
    const { state, context, ports, lost, released, stopping } = this.#session
    if (lost || released || stopping) return
    const now = Math.max(context.now, state.updatedAt, passed)
    const overdue = overduePostponed(state, now)
    const goOn: Event[] = decideQuestionExpiry(state, now, context)
    if (overdue.length > 0) goOn.push(...this.#neverCame(overdue))
    const expired = [...decideExpiry(state, now, context), ...goOn]
    if (expired.length > 0) this.#session.record(expired)
    if (goOn.length > 0) this.#session.driver.wake()
    const deadline = nextDeadline(state, call => this.#isChecked(call))
    if (deadline !== undefined) this.#stop = ports.world.timer(deadline - now, () => this.watch(deadline))
  }

  /** Tools that may know what became of their calls are asked first. */
  #neverCame(overdue: readonly CallState[]): Event[] {
    const session = this.#session
    const left = overdue.filter(call => !this.#isChecked(call))
    const unclear = left.filter(({ part }) => findReconciler(session, part.name) !== undefined)
    session.driver.check(unclear, outcomes.neverCame)
    return decideNeverCame(
      left.filter(call => !unclear.includes(call)),
      session.context,
    )
  }

  #isChecked({ part }: CallState): boolean {
    return this.#session.driver.isChecking(part.id)
  }

  stop(): void {
    this.#stop?.()
    this.#stop = undefined
  }
}

/** Sets the timer after an event that may need an answer by a deadline. */
export function watchDeadlines(session: { readonly deadlines: Deadlines }, events: readonly Event[]): void {
  if (events.some(event => 'expiresAt' in event && event.expiresAt !== undefined)) session.deadlines.watch()
}
