// The calls of the last answer that wait for the client or a person, among them those that programs and other agents made. A
// history shows them where a client looks for open calls: with the answer.
import type { SessionCall, SessionQuestion } from '../engine/index.ts'
import type { Entry } from '../language/history.ts'

/** The questions of these calls that nobody has answered. */
export function openQuestions(calls: readonly SessionCall[]): SessionQuestion[] {
  return calls.flatMap(({ questions = [] }) => questions.filter(({ closed }) => !closed))
}

export function callQuestions(call: SessionCall | undefined): SessionQuestion[] {
  return call?.stage === 'started' ? openQuestions([call]) : []
}

export function waitsForClient(call: SessionCall): boolean {
  return call.stage === 'handed' || call.stage === 'asking' || callQuestions(call).length > 0
}

/** `calls`: those of the last answer, until all of them are settled. Its entry also gets the calls that they made and that wait. */
export function withWaiting(entry: Entry, calls: readonly SessionCall[]): Entry {
  const [first] = calls
  if (!first || entry.role !== 'assistant') return entry
  if (!entry.parts.some(part => part.type === 'call' && part.id === first.part.id)) return entry
  const waiting = calls.filter(call => call.parent !== undefined && waitsForClient(call))
  return { ...entry, parts: [...entry.parts, ...waiting.map(({ part, text }) => ({ ...part, text }))] }
}
