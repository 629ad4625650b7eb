// Checks what a hook returned before it is used: hooks are the operator's own functions, and may be written without
// types.
import { isResultPart } from '../../language/content.ts'
import type { HookName } from '../../language/events.ts'
import { isJsonObject } from '../../lib/json/index.ts'

/** Why this is not an answer of that hook; undefined if it is one. */
export function hookAnswerFault(hook: HookName, answer: unknown): string | undefined {
  if (hook === 'turnEnded') return undefined
  if (hook === 'repair') return typeof answer === 'string' ? undefined : 'It must return a text, or nothing.'
  if (!isJsonObject(answer))
    return `It must return an object or nothing, not ${JSON.stringify(answer) ?? typeof answer}.`
  if ('refuse' in answer)
    return typeof answer['refuse'] === 'string' ? undefined : '"refuse" must be a text: the reason.'
  return faults[hook](answer)
}

const faults: Record<
  Exclude<HookName, 'turnEnded' | 'repair'>,
  (answer: Record<string, unknown>) => string | undefined
> = {
  beforeStep: ({ system, tools }) => {
    if (system !== undefined && typeof system !== 'string') return '"system" must be a text.'
    const isList = Array.isArray(tools) && tools.every(name => typeof name === 'string')
    return tools === undefined || isList ? undefined : '"tools" must be a list of names.'
  },
  afterStep: ({ text }) => (typeof text === 'string' ? undefined : 'It must return "refuse" or "text".'),
  beforeCall: ({ input }) =>
    isJson(input) ? undefined : 'It must return "refuse" or "input", which is JSON.',
  afterCall: ({ output }) =>
    isJsonObject(output) && Array.isArray(output['parts']) && output['parts'].every(isResultPart)
      ? undefined
      : 'It must return "refuse", or "output" with a list of "parts".',
}

function isJson(value: unknown): boolean {
  try {
    return JSON.stringify(value) !== undefined
  } catch {
    return false
  }
}
