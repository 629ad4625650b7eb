// What a stateless wire reads of a turn in a session: its deltas as they come, and at the end one answer.
import { addUsage, type FollowItem, type OnceAnswer, type OnceItem } from '../engine/index.ts'
import { TurnwireError } from '../language/errors.ts'
import type { ModelAnswered } from '../language/events.ts'

export class OnceFold {
  readonly #answers: ModelAnswered[] = []

  /** Throws what the turn failed with. */
  take(batch: readonly FollowItem[]): OnceItem[] {
    const items: OnceItem[] = []
    for (const item of batch) {
      if (item.type === 'delta') items.push({ type: 'delta', delta: item.delta })
      else if (item.type === 'lost') throw failure(item.error)
      else if (item.type === 'event') this.#takeEvent(item.event)
    }
    return items
  }

  #takeEvent(event: Extract<FollowItem, { type: 'event' }>['event']): void {
    if (event.type === 'model.answered') this.#answers.push(event)
    if (event.type === 'turn.ended' && event.stop === 'error')
      throw failure(event.error ?? { code: 'internal', message: 'The turn failed.' })
    if (event.type === 'turn.ended' && event.stop === 'cancelled')
      throw new TurnwireError('stopping', 'The request was cancelled.')
  }

  answer(): OnceAnswer {
    const last = this.#answers.at(-1)
    if (!last) throw new TurnwireError('stopping', 'The answer goes on elsewhere. Send the request again.')
    const usages = this.#answers.flatMap(({ usage }) => usage ?? [])
    const warnings = this.#answers.flatMap(answer => answer.warnings ?? [])
    return {
      parts: this.#answers.flatMap(({ parts }) => parts),
      stop: last.stop === 'pause' || last.stop === 'cancelled' ? 'end' : last.stop,
      model: last.model,
      ...(last.origin && { origin: last.origin }),
      ...(usages.length > 0 && { usage: usages.reduce(addUsage) }),
      ...(last.continuity && { continuity: last.continuity }),
      ...(warnings.length > 0 && { warnings }),
    }
  }
}

function failure({ code, message }: { code: TurnwireError['code']; message: string }): TurnwireError {
  return new TurnwireError(code, message)
}
