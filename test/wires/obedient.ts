// A step of a scripted model that keeps to the tool choice: it makes the call that is demanded, and otherwise says its words.
import type { ModelRequest } from '../../src/engine/index.ts'
import type { ScriptStep } from '../../src/models/scripted/index.ts'

export function obedient({ choice, tools }: ModelRequest, otherwise: ScriptStep): ScriptStep {
  const name =
    choice === 'required'
      ? tools[0]?.name
      : typeof choice === 'string'
        ? undefined
        : 'tool' in choice
          ? choice.tool
          : choice.mode === 'required'
            ? choice.allowed[0]
            : undefined
  const { text: _, ...rest } = otherwise
  return name === undefined ? otherwise : { ...rest, calls: [{ name, text: '{}' }] }
}
