// One model step that is under way: the model's deltas as watchers see them.
import type { Delta } from '../language/events.ts'
import type { Abort } from '../lib/abort.ts'
import type { ModelDelta, World } from './ports.ts'

type StepCall = { id: string; name: string }

export type Step = {
  stop: Abort
  model: string
  /** The calls of the current attempt, by their index. */
  calls: (StepCall | undefined)[]
  /** Those of the attempt before: a call that comes again keeps its id. */
  earlier: (StepCall | undefined)[]
  /** The text of the current attempt so far. */
  text: string
  /** The tools that a hook withheld from the model. */
  withheld?: string[]
  over: boolean
}

export function newStep(stop: Abort): Step {
  return { stop, model: '', calls: [], earlier: [], text: '', over: false }
}

/** The ids that the calls of the current attempt were shown with, by their index. */
export function callIds({ calls }: Step): (string | undefined)[] {
  return calls.map(call => call?.id)
}

/** A model counts its calls; watchers know them by ids, which are given here. */
export function translate(step: Step, delta: ModelDelta, number: number, world: World): Delta | undefined {
  switch (delta.type) {
    case 'text':
      step.text += delta.text
      return delta
    case 'thinking':
    case 'block':
      return delta
    case 'call': {
      const { index, name, form } = delta
      const before = step.earlier[index]
      const callId = before?.name === name ? before.id : world.id('call')
      step.calls[index] = { id: callId, name }
      return { type: 'call.opened', callId, name, form }
    }
    case 'arguments': {
      const call = step.calls[delta.index]
      return call && { type: 'arguments', callId: call.id, text: delta.text }
    }
    case 'reset':
      step.earlier = step.calls
      step.calls = []
      step.text = ''
      return { type: 'step.reset', step: number }
  }
}
