// The items of a conversation while calls of its last answer are open. A client that reads it finds what it has to answer: a
// `function_call` for each call that it runs, an `mcp_approval_request` for each that it decides about, also those that
// programs and other agents made. A call that is at work is an `mcp_call` in progress.
import type { SessionCall } from '../../engine/index.ts'
import type { Entry } from '../../language/history.ts'
import { callQuestions, waitsForClient } from '../waiting-calls.ts'
import { encodeAnswerPart, encodeOutput, type ListedItem } from './encode-input.ts'
import { approvalId, idStem, itemId } from './ids.ts'

/** `calls`: all calls of the last answer, which is the last of `entries`, and those that they made. */
export function encodeOpenCalls(
  items: readonly ListedItem[],
  session: string,
  entries: readonly Entry[],
  calls: readonly SessionCall[],
  agent: string,
): ListedItem[] {
  const stem = idStem(session)
  const answer = entries.length - 1
  const last = entries[answer]
  const after = last?.role === 'assistant' ? last.parts.length : 0
  const own = new Map(calls.flatMap(call => (call.parent === undefined ? [[call.part.id, call]] : [])))
  const shown = items.map(item => {
    const call = typeof item['call_id'] === 'string' ? own.get(item['call_id']) : undefined
    return call ? encodeOpenCall(item, call, agent) : item
  })
  const nested = calls.flatMap(call => {
    if (call.parent === undefined || !waitsForClient(call)) return []
    const id = (prefix: string): string => itemId(prefix, stem, 0, answer, after + call.index)
    const part = { ...call.part, text: call.text }
    return encodeAnswerPart(part, id).map(item => encodeOpenCall(item, call, agent))
  })
  const outputs = [...own.values()].flatMap(({ part, outcome }, place) =>
    outcome ? [encodeOutput(part.id, outcome, itemId('fco', stem, 0, answer + 1, place))] : [],
  )
  return [...shown, ...nested, ...outputs]
}

function encodeOpenCall(item: ListedItem, call: SessionCall, agent: string): ListedItem {
  const { part, stage, text } = call
  if (stage === 'handed' || stage === 'settled') return item
  const named = { server_label: agent, name: part.name, arguments: text }
  if (stage === 'asking' || callQuestions(call).length > 0)
    return { type: 'mcp_approval_request', id: approvalId(part.id), ...named }
  return {
    type: 'mcp_call',
    id: item.id.replace(/^[a-z]+/, 'mcp'),
    ...named,
    output: null,
    error: null,
    status: 'in_progress',
    // A call that was asked about has a hash of its arguments.
    approval_request_id: call.argsHash === undefined ? null : approvalId(part.id),
  }
}
