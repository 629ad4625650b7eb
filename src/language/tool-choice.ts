// The demands of a tool choice on an answer, as one rule for all code that enforces it.
import { hostedApproval, type ToolChoice, type ToolDeclaration } from './tools.ts'

export type ChoiceDemand = {
  /** Whether a tool may be called; undefined: any may. */
  allows?: (name: string) => boolean
  /** The answer has to make a call. */
  forces: boolean
}

/** A tool that is not offered can be neither demanded nor kept apart from the others. */
export function readDemand(
  choice: ToolChoice,
  tools: readonly Pick<ToolDeclaration, 'name'>[],
): ChoiceDemand {
  if (choice === 'auto') return { forces: false }
  if (choice === 'none') return { allows: isApproval, forces: false }
  if (tools.length === 0) return { forces: false }
  if (choice === 'required') return { forces: true }
  const named = new Set('tool' in choice ? [choice.tool] : choice.allowed)
  if (!tools.some(({ name }) => named.has(name))) return { forces: false }
  return {
    allows: name => named.has(name) || isApproval(name),
    forces: 'tool' in choice || choice.mode === 'required',
  }
}

/** The vendor's own question is no tool that a model can choose. */
export function isApproval(name: string): boolean {
  return name === hostedApproval
}
