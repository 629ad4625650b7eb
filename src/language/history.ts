// The conversation as a list of whole entries, in the order in which a model reads it.
import type { CallPart, CallResult } from './calls.ts'
import type { HostedPart, InputPart, Native, Origin, TextPart, ThinkingPart } from './content.ts'

export type AnswerPart = TextPart | ThinkingPart | CallPart | HostedPart

export type SystemEntry = { role: 'system'; text: string; native?: Native }
export type UserEntry = { role: 'user'; parts: InputPart[] }
export type AssistantEntry = { role: 'assistant'; parts: AnswerPart[]; origin?: Origin; continuity?: Native }
/** The results of one batch of calls, in the order in which the model made them. */
export type ToolEntry = { role: 'tool'; results: CallResult[] }

export type Entry = SystemEntry | UserEntry | AssistantEntry | ToolEntry

export function listCalls(entry: AssistantEntry): CallPart[] {
  return entry.parts.filter(part => part.type === 'call')
}

/** For a model whose answer could not be used: what it said, and what is wrong with it. */
export function repairEntries(said: string, problem: string): Entry[] {
  const again: Entry = {
    role: 'user',
    parts: [{ type: 'text', text: `[Your answer could not be used. ${problem} Answer again.]` }],
  }
  return said.trim() === '' ? [again] : [{ role: 'assistant', parts: [{ type: 'text', text: said }] }, again]
}
