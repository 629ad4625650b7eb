// One step in flight: what the model says while it says it, in the words that watchers see.
import type { Delta } from '../language/events.ts'
import type { Abort } from '../lib/abort.ts'
import type { ModelDelta, World } from './ports.ts'

/** `text`: what it has said so far. */
export type Step = { stop: Abort; model: string; ids: string[]; text: string; over: boolean }

/** The model counts its calls; whoever watches knows them by our ids, which are given here. */
export function translate(step: Step, delta: ModelDelta, number: number, world: World): Delta | undefined {
  switch (delta.type) {
    case 'text':
      step.text += delta.text
      return delta
    case 'thinking':
    case 'block':
      return delta
    case 'call': {
      const callId = world.id('call')
      step.ids[delta.index] = callId
      return { type: 'call.opened', callId, name: delta.name, form: delta.form }
    }
    case 'arguments': {
      const callId = step.ids[delta.index]
      return callId === undefined ? undefined : { type: 'arguments', callId, text: delta.text }
    }
    case 'reset':
      step.ids = []
      step.text = ''
      return { type: 'step.reset', step: number }
  }
}
