// How long the loop may work on a turn. Time in which it waits for people or the application does not count.
import type { TurnSession } from './turn-session.ts'

export class TurnClock {
  readonly #session: Pick<TurnSession, 'ports' | 'limits' | 'state'>
  readonly #outOfTime: () => void
  #worked = { turn: '', ms: 0 }
  #began: number | undefined

  constructor(session: Pick<TurnSession, 'ports' | 'limits' | 'state'>, outOfTime: () => void) {
    this.#session = session
    this.#outOfTime = outOfTime
  }

  get isForAnotherTurn(): boolean {
    const { turn } = this.#session.state
    return turn !== null && turn.id !== this.#worked.turn
  }

  /** How long the loop has worked on the current turn. */
  get workedMs(): number {
    const { state, ports } = this.#session
    if (this.#worked.turn !== state.turn?.id) return 0
    return (
      this.#worked.ms + (this.#began === undefined ? 0 : Math.max(ports.world.elapsed() - this.#began, 0))
    )
  }

  /** Limits the turn to the time it has left. Gives a function that stops the clock and adds up the time used. */
  start(): () => void {
    const { ports, limits, state } = this.#session
    const turn = state.turn?.id ?? ''
    if (this.#worked.turn !== turn) this.#worked = { turn, ms: 0 }
    const worked = this.#worked
    const began = ports.world.elapsed()
    this.#began = began
    const stop = ports.world.timer(Math.max(limits.time - worked.ms, 0), this.#outOfTime)
    return () => {
      stop()
      this.#began = undefined
      worked.ms += Math.max(ports.world.elapsed() - began, 0)
    }
  }
}
