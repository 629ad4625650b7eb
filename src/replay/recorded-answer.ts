// What the recording says of an answer of a model and of a call that was cancelled, in the form in which the engine is given it.
import type { ModelAnswer } from '../engine/index.ts'
import type { CallPart, Outcome } from '../language/calls.ts'
import type { Event, ModelAnswered, ShownPart } from '../language/events.ts'
import { present } from '../lib/json/present.ts'

/** What a model had shown when it was interrupted, if the next thing that came of it is an interruption. */
export function cutParts(rest: readonly Event[]): readonly ShownPart[] {
  const next = rest.find(event => event.type === 'model.answered' || event.type === 'turn.ended')
  if (!next || (next.type === 'model.answered' && next.stop !== 'cancelled')) return []
  const parts = next.shown ?? ('parts' in next ? next.parts : [])
  return parts.filter(part => part.type === 'text' || part.type === 'thinking')
}

/** A reason stands at the end of the words that the model reads. */
export function cancelReason({ parts }: Outcome): string | undefined {
  const [words] = parts
  return words?.type === 'text' ? words.text.split(' Reason: ')[1] : undefined
}

export function describeCalls({ parts }: ModelAnswer): string {
  const names = parts.flatMap(part => (part.type === 'call' ? [part.name] : []))
  return names.length === 0 ? 'none' : names.join(', ')
}

export function recordedAnswer(
  event: ModelAnswered,
  asked: string,
  exact: (part: CallPart) => string,
): ModelAnswer {
  const { parts, stop, model, origin, usage, continuity, warnings, requestId, vendor, loads } = event
  return {
    parts: parts.map(part => {
      if (part.type !== 'call') return part
      const { id: _, sealed: __, ...call } = part
      return { ...call, text: exact(part) }
    }),
    // A cancelled answer is not given back: it was cut by what came from outside.
    stop: stop === 'cancelled' ? 'end' : stop,
    ...(model !== asked && { model }),
    ...present({ origin, usage, continuity, warnings, requestId, vendor, loads }),
  }
}
