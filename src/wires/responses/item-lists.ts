// The items of a conversation as lists, in pages: the input of a stored response (the conversation before it, and the items
// that its request added), and a conversation whose last answer has calls that are open.

import { refuseParameter, unsupportedParameterValue } from '../../apis/openai/refusal.ts'
import type { SessionCall, SessionHistory } from '../../engine/index.ts'
import type { Outcome } from '../../language/calls.ts'
import { type InputPart, joinText, type ResultPart } from '../../language/content.ts'
import type { Recorded } from '../../language/events.ts'
import type { Entry } from '../../language/history.ts'
import { ShownFold } from '../../language/show.ts'
import type { JsonObject } from '../../lib/json/index.ts'
import { callQuestions, waitsForClient } from '../waiting-calls.ts'
import { approvalId, idStem, itemId } from './ids.ts'

export type ListedItem = JsonObject & { id: string }

/** Items are numbered by entry, and by place in the entry. Their ids are not those of any output. */
export function encodeInputItems(session: string, entries: readonly Entry[]): ListedItem[] {
  const stem = idStem(session)
  return entries.flatMap((entry, index) => {
    let place = 0
    return encodeInputEntry(entry, prefix => itemId(prefix, stem, 0, index, place++))
  })
}

/** The history before a request, and the entries that the request added: messages, or the results of calls. */
export function inputEntries({ entries, calls }: SessionHistory, events: readonly Recorded[]): Entry[] {
  const outcomes = new Map<string, Outcome>()
  const said: Entry[] = []
  const fold = new ShownFold()
  for (const { event } of events) {
    const shown = fold.take(event)
    if (shown?.type === 'answer') break
    if (shown?.type === 'result') outcomes.set(shown.callId, shown.outcome)
    else if (shown?.type === 'turn' && shown.turn.parts.length > 0)
      said.push({ role: 'user', parts: shown.turn.parts })
    else if (shown?.type === 'message' && shown.state === 'delivered' && shown.parts)
      said.push({ role: 'user', parts: shown.parts })
  }
  const results = calls.flatMap(({ part, outcome: known }) => {
    const outcome = outcomes.get(part.id) ?? known
    return outcome?.from.source === 'client' ? [{ callId: part.id, name: part.name, outcome }] : []
  })
  return [...entries, ...(results.length > 0 ? [{ role: 'tool' as const, results }] : []), ...said]
}

type NewId = (prefix: string) => string

function encodeInputEntry(entry: Entry, id: NewId): ListedItem[] {
  switch (entry.role) {
    case 'system':
      return [inputMessage(id, 'system', [{ type: 'input_text', text: entry.text }])]
    case 'user':
      return [inputMessage(id, 'user', entry.parts.map(encodeInputPart))]
    case 'tool':
      return entry.results.map(({ callId, outcome }) => encodeOutput(callId, outcome, id('fco')))
    case 'assistant':
      return entry.parts.flatMap(part => encodeAnswerPart(part, id))
  }
}

function encodeOutput(callId: string, { parts }: Outcome, id: string): ListedItem {
  const output = parts.every(part => part.type === 'text') ? joinText(parts) : parts.map(encodeInputPart)
  return { type: 'function_call_output', id, call_id: callId, output, status: 'completed' }
}

function encodeAnswerPart(part: Extract<Entry, { role: 'assistant' }>['parts'][0], id: NewId): ListedItem[] {
  if (part.type === 'hosted') return []
  if (part.type === 'text')
    return [
      {
        ...inputMessage(id, 'assistant', [
          { type: 'output_text', text: part.text, annotations: [], logprobs: [] },
        ]),
        ...(part.phase && { phase: part.phase }),
      },
    ]
  if (part.type === 'thinking')
    return [{ type: 'reasoning', id: id('rs'), summary: [{ type: 'summary_text', text: part.text }] }]
  const call = { call_id: part.id, name: part.name, status: 'completed' }
  return part.form === 'text'
    ? [{ type: 'custom_tool_call', id: id('ctc'), ...call, input: part.text }]
    : [{ type: 'function_call', id: id('fc'), ...call, arguments: part.text }]
}

function inputMessage(id: NewId, role: string, content: JsonObject[]): ListedItem {
  return { type: 'message', id: id('msg'), status: 'completed', role, content }
}

function encodeInputPart(part: InputPart | ResultPart): JsonObject {
  if (part.type === 'text') return { type: 'input_text', text: part.text }
  if (part.type === 'image') return { type: 'input_image', image_url: part.url, detail: 'auto' }
  const named = part.name === undefined ? {} : { filename: part.name }
  const isData = part.url.startsWith('data:')
  return { type: 'input_file', [isData ? 'file_data' : 'file_url']: part.url, ...named }
}

// ---- open calls --------------------------------------------------------------------------------------------

// A client that reads a conversation with open calls finds what it has to answer: a `function_call` for each call that it runs,
// an `mcp_approval_request` for each that it decides about, also those that programs and other agents made. A call that is at
// work is an `mcp_call` in progress.

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

// ---- pages -------------------------------------------------------------------------------------------------

type ItemPage = { limit: number; order: 'asc' | 'desc'; after: string | undefined }

export function pageOfItems(items: readonly JsonObject[], { limit, order, after }: ItemPage): JsonObject {
  const ordered = order === 'desc' ? items.toReversed() : items
  const start = after === undefined ? 0 : ordered.findIndex(item => item['id'] === after) + 1
  if (after !== undefined && start === 0) refuseParameter(`There is no input item '${after}'.`, 'after')
  const data = ordered.slice(start, start + limit)
  return {
    object: 'list',
    data,
    first_id: data[0]?.['id'] ?? '',
    last_id: data.at(-1)?.['id'] ?? '',
    has_more: start + limit < items.length,
  }
}

/** Which page a request asks for. */
export function decodePage({ limit = '20', order = 'desc', after }: Record<string, string>): ItemPage {
  const most = /^\d{1,3}$/.test(limit) ? Number(limit) : 0
  if (most < 1 || most > 100) refuseParameter("Invalid 'limit': expected a number from 1 to 100.", 'limit')
  if (order !== 'asc' && order !== 'desc') throw unsupportedParameterValue('order', order, ['asc', 'desc'])
  return { limit: most, order, after }
}
