// One model step that is under way: the model's deltas as watchers see them.
import type { Phase } from '../../language/content.ts'
import type { Delta, RetriedRequest, ShownPart } from '../../language/events.ts'
import type { Abort } from '../../lib/async/abort.ts'
import type { ModelDelta, World } from '../ports/index.ts'

type Said = { type: ShownPart['type']; phase?: Phase }
type StepCall = { id: string; name: string }

export type Step = {
  stop: Abort
  model: string
  /** The calls of the current attempt, by their index. */
  calls: (StepCall | undefined)[]
  /** Those of the attempt before: a call that comes again keeps its id. */
  earlier: (StepCall | undefined)[]
  /** The text and the thinking of the current attempt so far. */
  said: ShownPart[]
  /** How many characters the current attempt has given: text, thinking, names of tools and their arguments. */
  written: number
  /** The tools that a hook withheld from the model. */
  withheld?: string[]
  /** The requests that failed before the current one. */
  retries?: RetriedRequest[]
  /** Nothing of it is shown before it is whole. */
  isUnseen?: true
  over: boolean
}

export function newStep(stop: Abort): Step {
  return { stop, model: '', calls: [], earlier: [], said: [], written: 0, over: false }
}

/** A model counts its calls; watchers know them by ids, which are given here. */
export function translate(step: Step, delta: ModelDelta, number: number, world: World): Delta | undefined {
  switch (delta.type) {
    case 'text':
    case 'thinking':
      addSaid(step.said, delta)
      step.written += delta.text.length
      return delta
    case 'block':
      return delta
    case 'call': {
      const { index, name, form } = delta
      const before = step.earlier[index]
      const callId = before?.name === name ? before.id : world.id('call')
      step.calls[index] = { id: callId, name }
      step.written += name.length
      return { type: 'call.opened', callId, name, form }
    }
    case 'arguments': {
      const call = step.calls[delta.index]
      step.written += delta.text.length
      return call && { type: 'arguments', callId: call.id, text: delta.text }
    }
    case 'reset':
      step.earlier = step.calls
      step.calls = []
      step.said = []
      step.written = 0
      return { type: 'step.reset', step: number }
    case 'retry': {
      const { code, message } = delta
      step.retries ??= []
      step.retries.push({ at: world.now(), code, message })
      return undefined
    }
  }
}

/** Adds a piece to the part that it continues, or begins another. Texts of another phase are another part. */
function addSaid(said: ShownPart[], piece: ShownPart): void {
  const last = said.at(-1)
  if (last && isSamePart(last, piece)) last.text += piece.text
  else said.push({ ...piece })
}

export function isSamePart(one: Said, other: Said): boolean {
  return one.type === other.type && one.phase === other.phase
}
