// Rules of Chat Completions about how messages follow one another: every call is answered by a tool message directly
// after it, once, and no tool message stands alone. `messages.ts` checks each message by itself.
import * as says from '../../../apis/openai/chat-wordings.ts'
import { refusal } from '../openai/refusals.ts'
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
  if (open === null) yield refusal('C-02', says.noCallsBefore(at))
  else if (!open.waiting.delete(id))
    yield refusal('C-02', open.ids.has(id) ? says.secondResult(at, id) : says.unknownCallId(at, id))
}

function* unansweredCalls(open: WaitingCalls | null): Rejections {
  if (open !== null && open.waiting.size > 0) yield refusal('C-01', says.unanswered(open.at, open.waiting))
}
