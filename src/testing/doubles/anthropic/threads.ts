// Conversations that Anthropic holds for its callers (the beta `message-threads`, which the SDK's own tool runner
// uses). The next request names the last response and sends its new messages alone. All other checks see the request
// with the held conversation put before it.
import type { Rejections } from '../script.ts'
import { asList, asString, isRecord, type JsonRecord } from '../shape.ts'
import type { AnthropicMemory } from './memory.ts'
import { anthropicError } from './refusals.ts'

export type Thread = { system: unknown; tools: unknown; messages: unknown[]; isContinued: boolean }

/** The id of the response that the request continues, if it continues one. */
function previousMessage({ thread }: JsonRecord): string | undefined {
  const isContinue = isRecord(thread) && thread['type'] === 'continue'
  return isContinue ? asString(thread['previous_message_id']) : undefined
}

/** The request together with its held conversation. Without one, the request as it is. */
export function withThread(body: JsonRecord, memory: AnthropicMemory): JsonRecord {
  const held = memory.threads.get(previousMessage(body) ?? '')
  if (held === undefined) return body
  const { system, tools, messages } = held
  return {
    ...body,
    ...(system !== undefined && { system }),
    ...(tools !== undefined && { tools }),
    messages: [...messages, ...asList(body['messages'])],
  }
}

export function* checkThread(body: JsonRecord, memory: AnthropicMemory): Rejections {
  const previous = previousMessage(body)
  if (previous === undefined) return
  const held = memory.threads.get(previous)
  if (held === undefined) {
    if (memory.trustForeign) return
    const text = `thread: no thread holds the message '${previous}'.`
    return yield { ...anthropicError('A-TH', text), code: 'thread_not_found' }
  }
  for (const key of ['system', 'tools']) {
    if (body[key] === undefined) continue
    yield anthropicError('A-TH', `${key}: is held by the thread and cannot be sent when continuing it.`)
  }
  if (!held.isContinued) return
  const text = `thread: the message '${previous}' was continued already.`
  yield { ...anthropicError('A-TH', text), code: 'thread_already_continued' }
}

/** Holds the conversation under the id of the response that was just made. */
export function holdThread(body: JsonRecord, response: JsonRecord, memory: AnthropicMemory): void {
  if (!isRecord(body['thread'])) return
  const { system, tools, messages } = withThread(body, memory)
  const before = memory.threads.get(previousMessage(body) ?? '')
  if (before !== undefined) before.isContinued = true
  memory.threads.set(asString(response['id']), {
    system,
    tools,
    messages: [...asList(messages), { role: 'assistant', content: response['content'] }],
    isContinued: false,
  })
}
