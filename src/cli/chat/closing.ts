// How a turn ended, in words.
import { AapError, type RunTurnResult, textOfContent } from '../../client/index.ts'
import { TurnwireError } from '../../language/errors.ts'
import { printable } from '../../lib/text/index.ts'
import { UsageError } from '../command.ts'

/** The text of the last answer. Empty: it has none. */
export function lastText({ messages }: RunTurnResult): string {
  return textOfContent(messages.findLast(message => message.role === 'assistant')?.content ?? '')
}

/** Text about how a turn stopped. */
export function closingLine({ stopReason, pending, error, limit }: RunTurnResult): string {
  switch (stopReason) {
    case 'cancelled':
      return 'Cancelled.'
    case 'max_tokens':
      return limit === undefined
        ? 'It stopped at a limit.'
        : `It stopped at a limit: ${printable(limit, 80)}.`
    case 'refusal':
      return 'The model refused.'
    case 'error':
      return error === undefined
        ? 'It failed. The log of the server says why.'
        : `It failed: ${printable(error, 1000)}`
    case 'tool_use':
      return `It waits for ${pending.map(call => printable(call.name, 80)).join(', ') || 'something'}, which cannot be answered from here.`
    default:
      return ''
  }
}

/** Its message is enough; anything else is a defect. */
export function isExpected(error: unknown): error is Error {
  return error instanceof AapError || error instanceof UsageError || error instanceof TurnwireError
}
