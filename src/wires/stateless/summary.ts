// A request for a summary of the conversation in place of an answer, for clients that go on from the summary.
import { type OnceRequest, summaryInstructions } from '../../engine/index.ts'
import type { Entry } from '../../language/history.ts'

/** Tools stay declared, since vendors refuse calls in a history whose tools are not. */
export function summarising<Asked extends Pick<OnceRequest, 'ask' | 'history'>>(
  asked: Asked,
  instructions: string = summaryInstructions,
): Asked {
  const { choice: _, format: __, maxTokens: ___, ...ask } = asked.ask ?? {}
  const question: Entry = { role: 'user', parts: [{ type: 'text', text: instructions }] }
  return { ...asked, ask: { ...ask, choice: 'none' }, history: [...asked.history, question] }
}
