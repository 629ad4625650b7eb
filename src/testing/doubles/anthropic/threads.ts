/**
 * Conversations that Anthropic holds for its callers (the beta `message-threads`, which the SDK's own tool runner uses):
 * a response under whose id the next request goes on with its new messages alone. Everything else judges the request as
 * it reads with what is held.
 */

import type { Rejection } from '../script.ts'
import { isRecord, type JsonRecord, listOf, stringOf } from '../shape.ts'
import type { AnthropicMemory } from './memory.ts'
import { invalid } from './tools.ts'

export type Thread = { system: unknown; tools: unknown; messages: unknown[]; isContinued: boolean }

/** Set when the thread is made, and not to be sent again. */
const HELD = ['system', 'tools'] as const

const previousOf = (body: JsonRecord): string | undefined => {
  const thread = body['thread']
  return isRecord(thread) && thread['type'] === 'continue'
    ? stringOf(thread['previous_message_id'])
    : undefined
}

/** The request with what its thread holds; as it is when it goes on from none that is held. */
export function withThread(body: JsonRecord, memory: AnthropicMemory): JsonRecord {
  const held = memory.threads.get(previousOf(body) ?? '')
  if (held === undefined) return body
  const { system, tools, messages } = held
  return {
    ...body,
    ...(system !== undefined && { system }),
    ...(tools !== undefined && { tools }),
    messages: [...messages, ...listOf(body['messages'])],
  }
}

export function checkThread(body: JsonRecord, memory: AnthropicMemory): Rejection[] {
  const previous = previousOf(body)
  if (previous === undefined) return []
  const held = memory.threads.get(previous)
  if (held === undefined) {
    const message = `thread: no thread holds the message '${previous}'.`
    return memory.trustForeign ? [] : [{ ...invalid('A-TH', message), code: 'thread_not_found' }]
  }
  const repeated = HELD.filter(key => body[key] !== undefined).map(key =>
    invalid('A-TH', `${key}: is held by the thread and cannot be sent when continuing it.`),
  )
  if (!held.isContinued) return repeated
  const message = `thread: the message '${previous}' was continued already.`
  return [...repeated, { ...invalid('A-TH', message), code: 'thread_already_continued' }]
}

/** Holds the conversation under the id of the response that was just made. */
export function holdThread(body: JsonRecord, response: JsonRecord, memory: AnthropicMemory): void {
  if (!isRecord(body['thread'])) return
  const { system, tools, messages } = withThread(body, memory)
  const before = memory.threads.get(previousOf(body) ?? '')
  if (before !== undefined) before.isContinued = true
  memory.threads.set(stringOf(response['id']), {
    system,
    tools,
    messages: [...listOf(messages), { role: 'assistant', content: response['content'] }],
    isContinued: false,
  })
}
