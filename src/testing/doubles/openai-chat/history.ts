// Rules of Chat Completions about how messages follow one another: every call is answered by a tool message directly
// after it, once, and no tool message stands alone. `messages.ts` checks each message by itself.
import { openaiError } from '../openai/refusals.ts'
import type { Rejections } from '../script.ts'
import { asRecords, isRecord, type JsonRecord, shownText } from '../shape.ts'

/** The calls of one assistant message, and those that still wait for an answer. */
type WaitingCalls = { at: number; ids: Set<string>; waiting: Set<string> }

export function* checkChatHistory(messages: unknown): Rejections {
  if (!Array.isArray(messages)) return
  let open: WaitingCalls | null = null
  for (const [at, message] of messages.entries()) {
    if (!isRecord(message)) continue
    if (message['role'] === 'tool') yield* answerCall(open, shownText(message['tool_call_id']), at)
    else {
      yield* unansweredCalls(open)
      open = callsToAnswer(message, at)
    }
  }
  yield* unansweredCalls(open)
}

function callsToAnswer(message: JsonRecord, at: number): WaitingCalls | null {
  if (message['role'] !== 'assistant' || !Array.isArray(message['tool_calls'])) return null
  const ids = asRecords(message['tool_calls']).flatMap(({ id }) => (typeof id === 'string' ? [id] : []))
  return { at, ids: new Set(ids), waiting: new Set(ids) }
}

function* answerCall(open: WaitingCalls | null, id: string, at: number): Rejections {
  if (open === null) {
    const message =
      "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'."
    return yield openaiError('C-02', message, `messages.[${at}].role`)
  }
  if (open.waiting.delete(id)) return
  const message = open.ids.has(id)
    ? `Duplicate value for 'tool_call_id' of '${id}' in message[${at}].`
    : `Invalid parameter: 'tool_call_id' of '${id}' not found in 'tool_calls' of previous message.`
  yield openaiError('C-02', message, `messages.[${at}].tool_call_id`)
}

function* unansweredCalls(open: WaitingCalls | null): Rejections {
  if (open === null || open.waiting.size === 0) return
  const ids = [...open.waiting].join(', ')
  const message = `An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. The following tool_call_ids did not have response messages: ${ids}`
  yield openaiError('C-01', message, `messages.[${open.at}].role`)
}
