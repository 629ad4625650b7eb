// Keeps the promise of a delta mode when a reader is moved from one engine to another in the middle of a model step.
// The second engine asks the model again, so the step starts over: for the reader that is the same as a step that
// starts over in one engine.
import type { FollowItem } from '../../engine/ports/boundary.ts'
import type { Delta } from '../../language/events.ts'
import { type DeltaMode, StepDeltas } from '../../language/step-deltas.ts'

type Give = (item: FollowItem) => void

export class ResumedDeltas {
  readonly #deltas: StepDeltas | undefined
  /** The number of the step that the reader has begun and that was not answered yet. */
  #step: number | undefined
  /** The reader knows that this step starts over, so it is not told that it starts. */
  #isRestarted = false
  /** The mode to ask the engines for. */
  readonly mode: DeltaMode

  constructor(mode: DeltaMode) {
    const isAppended = mode === 'append' || mode === 'fail'
    // In these modes a delta depends on those that were given before, in whichever engine.
    this.#deltas = isAppended ? new StepDeltas(mode) : undefined
    this.mode = isAppended ? 'take-back' : mode
  }

  /** Later deltas come from another engine. */
  moved(give: Give): void {
    if (this.#step === undefined) return
    this.#isRestarted = true
    this.#give({ type: 'step.reset', step: this.#step }, give)
  }

  /** Throws where the mode cannot show what the model did. */
  take(item: FollowItem, give: Give): void {
    if (item.type === 'event') this.#takeEvent(item, give)
    else if (item.type !== 'delta') give(item)
    else if (item.delta.type === 'step.started') this.#startStep(item.delta, give)
    else if (this.#deltas) this.#give(item.delta, give)
    else give(item)
  }

  #takeEvent(item: Extract<FollowItem, { type: 'event' }>, give: Give): void {
    const { type } = item.event
    if (type === 'model.answered' || type === 'turn.ended') {
      this.#step = undefined
      this.#isRestarted = false
    }
    this.#deltas?.event(item.event, delta => give({ type: 'delta', delta }))
    give(item)
  }

  #startStep(delta: Extract<Delta, { type: 'step.started' }>, give: Give): void {
    const isKnown = this.#isRestarted
    this.#isRestarted = false
    if (isKnown) return
    this.#step = delta.step
    this.#give(delta, give)
  }

  #give(delta: Delta, give: Give): void {
    if (this.#deltas) this.#deltas.delta(delta, given => give({ type: 'delta', delta: given }))
    else give({ type: 'delta', delta })
  }
}
