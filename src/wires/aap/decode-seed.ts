// The history that a client brings along. Every call gets its result, in the order of the calls; a call that the client left
// open is settled as abandoned, since nobody will answer it here.

import type { AgentInfo } from '../../engine/index.ts'
import type { CallPart, CallResult, Outcome } from '../../language/calls.ts'
import { type AssistantEntry, type Entry, listCalls } from '../../language/history.ts'
import type { Json } from '../../lib/json/index.ts'
import { leftOpen } from '../left-open.ts'
import { decodeAssistant, decodeParts } from './decode-content.ts'
import { callIdField, object, refuseAap, text } from './wordings.ts'

/** Outcomes of the calls of one assistant message, so far. */
type OpenCalls = { calls: CallPart[]; outcomes: Map<string, Outcome | undefined>; results: CallResult[] }

/**
 * A result may follow other assistant messages of the same turn: the calls that a program made are shown, and answered, before
 * the program itself has its result.
 */
export function decodeSeed(messages: readonly Json[], agent: AgentInfo, where = 'messages'): Entry[] {
  const seed: Entry[] = []
  const open: OpenCalls[] = []
  for (const [index, item] of messages.entries()) {
    const at = `${where}[${index}]`
    const message = object(item, at)
    if (message['role'] === 'tool') {
      const id = callIdField(message['toolCallId'], `${at}.toolCallId`)
      const { outcomes } = open.findLast(each => each.outcomes.has(id)) ?? {}
      if (!outcomes)
        refuseAap(`${at} answers the call "${id}", which no assistant message before it makes in this turn.`)
      if (outcomes.get(id)) refuseAap(`${at} answers the call "${id}" a second time.`)
      const parts = decodeParts(message['content'], `${at}.content`, agent.images)
      outcomes.set(id, { kind: 'ok', parts, from: { source: 'client' } })
      continue
    }
    const entry = decodeEntry(message, at, agent)
    if (entry?.role === 'assistant') openCalls(seed, open, entry)
    else {
      closeCalls(open)
      if (entry) seed.push(entry)
    }
  }
  closeCalls(open)
  return seed
}

function openCalls(seed: Entry[], open: OpenCalls[], entry: AssistantEntry): void {
  seed.push(entry)
  const calls = listCalls(entry)
  if (calls.length === 0) return
  const results: CallResult[] = []
  seed.push({ role: 'tool', results })
  open.push({ calls, outcomes: new Map(calls.map(call => [call.id, undefined])), results })
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

function closeCalls(open: OpenCalls[]): void {
  for (const { calls, outcomes, results } of open.splice(0))
    for (const { id, name } of calls)
      results.push({ callId: id, name, outcome: outcomes.get(id) ?? leftOpen })
}
