// The history that a client brings along, into ours: every call gets its result, in the order in which it was asked.
// A call that the client left open is settled as abandoned, since nobody will ever answer it here.

import type { Agent } from '../../engine/index.ts'
import type { CallPart, CallResult, Outcome } from '../../language/calls.ts'
import { callsOf, type Entry } from '../../language/history.ts'
import type { Json } from '../../lib/json.ts'
import { leftOpen } from '../left-open.ts'
import { decodeAnswer, decodeParts } from './decode-content.ts'
import { callId, object, refuse, text } from './fields.ts'

export type Blob = { name: string; body: string }

/** `blobs` are the wholes of results that were cut; they are kept once the session exists. */
export type Seed = { entries: Entry[]; blobs: Blob[] }

/** The calls of the assistant message before, and by their ids what has been said of them so far. */
type Open = { calls: CallPart[]; results: Map<string, Outcome | undefined> }

export function decodeSeed(messages: readonly Json[], agent: Agent, where = 'messages'): Seed {
  const seed: Seed = { entries: [], blobs: [] }
  let open: Open | undefined
  for (const [index, item] of messages.entries()) {
    const at = `${where}[${index}]`
    const message = object(item, at)
    if (message['role'] === 'tool') {
      const id = callId(message['toolCallId'], `${at}.toolCallId`)
      if (!open?.results.has(id))
        refuse(`${at} answers the call "${id}", which the assistant message before it does not make.`)
      if (open.results.get(id)) refuse(`${at} answers the call "${id}" a second time.`)
      const parts = decodeParts(message['content'], `${at}.content`, agent.images)
      const { outcome, blob } = agent.gate.finishClient(parts, false, id)
      if (blob) seed.blobs.push(blob)
      open.results.set(id, outcome)
      continue
    }
    close(seed, open)
    open = undefined
    const entry = decodeEntry(message, at, agent)
    if (entry === undefined) continue
    seed.entries.push(entry)
    const calls = entry.role === 'assistant' ? callsOf(entry) : []
    if (calls.length > 0) open = { calls, results: new Map(calls.map(call => [call.id, undefined])) }
  }
  close(seed, open)
  return seed
}

function decodeEntry(message: ReturnType<typeof object>, at: string, agent: Agent): Entry | undefined {
  switch (message['role']) {
    case 'system':
      return { role: 'system', text: text(message['content'], `${at}.content`) }
    case 'user': {
      const parts = decodeParts(message['content'], `${at}.content`, agent.images)
      return parts.length > 0 ? { role: 'user', parts } : refuse(`${at}.content is empty.`)
    }
    case 'assistant': {
      const parts = decodeAnswer(message['content'], `${at}.content`, agent)
      return parts.length > 0 ? { role: 'assistant', parts } : undefined
    }
    default:
      return refuse(`${at}.role must be "system", "user", "assistant" or "tool" in a history.`)
  }
}

function close(seed: Seed, open: Open | undefined): void {
  if (!open) return
  const results = open.calls.map(
    (call): CallResult => ({
      callId: call.id,
      name: call.name,
      outcome: open.results.get(call.id) ?? leftOpen,
    }),
  )
  seed.entries.push({ role: 'tool', results })
}
