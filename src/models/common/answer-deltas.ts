// Shared by the models without an API: a finished answer as deltas, and the error of an aborted request.
import type { ModelAnswer, ModelDelta } from '../../engine/ports/index.ts'
import { TurnwireError } from '../../language/errors.ts'

/** Contract of `split`: the pieces of a text, joined, are the text. */
export function* answerDeltas(
  parts: ModelAnswer['parts'],
  split: (text: string) => readonly string[],
): Generator<ModelDelta> {
  let index = 0
  for (const part of parts) {
    if (part.type === 'call') {
      yield { type: 'call', index, name: part.name, form: part.form }
      for (const text of split(part.text)) yield { type: 'arguments', index, text }
      index++
    } else if (part.type !== 'hosted') for (const text of split(part.text)) yield { type: part.type, text }
  }
}

export function throwIfAborted(signal: AbortSignal): void {
  if (signal.aborted)
    throw new TurnwireError('model_failed', 'The model was stopped before it had answered.', {
      cause: signal.reason,
    })
}
