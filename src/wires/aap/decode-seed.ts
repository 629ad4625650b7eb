// The history that a client brings along. Every call gets its result, in the order of the calls; a call that the client left
// open is settled as abandoned, since nobody will answer it here.

import type { AgentInfo } from '../../engine/index.ts'
import type { CallPart, CallResult, Outcome } from '../../language/calls.ts'
import { callsOf, type Entry } from '../../language/history.ts'
import type { Json } from '../../lib/json.ts'
import { leftOpen } from '../left-open.ts'
import { decodeAssistant, decodeParts } from './decode-content.ts'
import { callIdField, object, refuseAap, text } from './wordings.ts'

/** The calls of the assistant message before, and their outcomes so far. */
type OpenCalls = { calls: CallPart[]; results: Map<string, Outcome | undefined> }

export function decodeSeed(messages: readonly Json[], agent: AgentInfo, where = 'messages'): Entry[] {
  const seed: Entry[] = []
  let open: OpenCalls | undefined
  for (const [index, item] of messages.entries()) {
    const at = `${where}[${index}]`
    const message = object(item, at)
    if (message['role'] === 'tool') {
      const id = callIdField(message['toolCallId'], `${at}.toolCallId`)
      if (!open?.results.has(id))
        refuseAap(`${at} answers the call "${id}", which the assistant message before it does not make.`)
      if (open.results.get(id)) refuseAap(`${at} answers the call "${id}" a second time.`)
      const parts = decodeParts(message['content'], `${at}.content`, agent.images)
      open.results.set(id, { kind: 'ok', parts, from: { source: 'client' } })
      continue
    }
    closeCalls(seed, open)
    open = undefined
    const entry = decodeEntry(message, at, agent)
    if (entry === undefined) continue
    seed.push(entry)
    const calls = entry.role === 'assistant' ? callsOf(entry) : []
    if (calls.length > 0) open = { calls, results: new Map(calls.map(call => [call.id, undefined])) }
  }
  closeCalls(seed, open)
  return seed
}

function decodeEntry(message: ReturnType<typeof object>, at: string, agent: AgentInfo): Entry | undefined {
  switch (message['role']) {
    case 'system':
      return { role: 'system', text: text(message['content'], `${at}.content`) }
    case 'user': {
      const parts = decodeParts(message['content'], `${at}.content`, agent.images)
      return parts.length > 0 ? { role: 'user', parts } : refuseAap(`${at}.content is empty.`)
    }
    case 'assistant': {
      const parts = decodeAssistant(message['content'], `${at}.content`, agent)
      return parts.length > 0 ? { role: 'assistant', parts } : undefined
    }
    default:
      return refuseAap(`${at}.role must be "system", "user", "assistant" or "tool" in a history.`)
  }
}

function closeCalls(seed: Entry[], open: OpenCalls | undefined): void {
  if (!open) return
  const results = open.calls.map(
    (call): CallResult => ({
      callId: call.id,
      name: call.name,
      outcome: open.results.get(call.id) ?? leftOpen,
    }),
  )
  seed.push({ role: 'tool', results })
}
