// Records each question of a session that is not answered in time as expired. A timer decides, not the clock: a clock that
// is set back must not make an old question answerable again.
import { decideExpiry, nextDeadline } from './decide-call.ts'
import type { Session } from './session.ts'

export class Deadlines {
  readonly #session: Session
  #stop: (() => void) | undefined

  constructor(session: Session) {
    this.#session = session
  }

  /** `passed`: a deadline that is over, whatever the clock says. */
  watch(passed = -Infinity): void {
    this.stop()
    const { state, context, ports, lost, released, stopping } = this.#session
    if (lost || released || stopping) return
    const now = Math.max(context.now, state.updatedAt, passed)
    const expired = decideExpiry(state, now, context)
    if (expired.length > 0) this.#session.record(expired)
    const deadline = nextDeadline(state)
    if (deadline !== undefined) this.#stop = ports.world.timer(deadline - now, () => this.watch(deadline))
  }

  stop(): void {
    this.#stop?.()
    this.#stop = undefined
  }
}
