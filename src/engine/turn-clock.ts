// How long the loop may work on a turn. Time in which it waits for people or the application does not count.
import type { Session } from './session.ts'

export class TurnClock {
  readonly #session: Pick<Session, 'ports' | 'agent' | 'state'>
  readonly #outOfTime: () => void
  #worked = { turn: '', ms: 0 }

  constructor(session: Pick<Session, 'ports' | 'agent' | 'state'>, outOfTime: () => void) {
    this.#session = session
    this.#outOfTime = outOfTime
  }

  get isForAnotherTurn(): boolean {
    const { turn } = this.#session.state
    return turn !== null && turn.id !== this.#worked.turn
  }

  /** Limits the turn to the time it has left. Gives a function that stops the clock and adds up the time used. */
  start(): () => void {
    const { ports, agent, state } = this.#session
    const turn = state.turn?.id ?? ''
    if (this.#worked.turn !== turn) this.#worked = { turn, ms: 0 }
    const worked = this.#worked
    const began = ports.world.now()
    const stop = ports.world.timer(Math.max(agent.limits.time - worked.ms, 0), this.#outOfTime)
    return () => {
      stop()
      worked.ms += Math.max(ports.world.now() - began, 0)
    }
  }
}
