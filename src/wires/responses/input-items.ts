// What a stored response was given to read: the conversation before it and what its request added, as input items.
import type { InputPart, ResultPart } from '../../language/content.ts'
import { textOf } from '../../language/content.ts'
import type { Entry } from '../../language/history.ts'
import type { JsonObject } from '../../lib/json.ts'
import { itemId, stemOf } from './ids.ts'
import { refuse } from './refuse.ts'
import type { StoredResponse } from './stored-log.ts'

export type Page = { limit: number; order: 'asc' | 'desc'; after: string | undefined }

export function listInputItems(response: StoredResponse, { limit, order, after }: Page): JsonObject {
  const items = inputItems(response)
  if (order === 'desc') items.reverse()
  const start = after === undefined ? 0 : items.findIndex(item => item['id'] === after) + 1
  if (after !== undefined && start === 0) refuse(`There is no input item '${after}'.`, 'after')
  const data = items.slice(start, start + limit)
  return {
    object: 'list',
    data,
    first_id: data[0]?.['id'] ?? null,
    last_id: data.at(-1)?.['id'] ?? null,
    has_more: start + limit < items.length,
  }
}

/** Numbered by entry and by place in the entry. They are not the ids of any output. */
function inputItems(response: StoredResponse): JsonObject[] {
  const stem = stemOf(response.session)
  return [...response.before.entries, ...added(response)].flatMap((entry, index) => {
    let place = 0
    return encodeEntry(entry, prefix => itemId(prefix, stem, 0, index, place++))
  })
}

/** What the request itself brought: something said, or the outputs of the calls before it. */
function added({ before, events }: StoredResponse): Entry[] {
  const entries: Entry[] = []
  const results = before.batch.flatMap(({ part, outcome: known }) => {
    const settled = events.find(({ event }) => event.type === 'call.settled' && event.callId === part.id)
    const outcome = settled?.event.type === 'call.settled' ? settled.event.outcome : known
    return outcome?.from.source === 'client' ? [{ callId: part.id, name: part.name, outcome }] : []
  })
  if (results.length > 0) entries.push({ role: 'tool', results })
  for (const { event } of events)
    if (event.type === 'turn.started' && event.parts.length > 0)
      entries.push({ role: 'user', parts: event.parts })
  return entries
}

type NewId = (prefix: string) => string

function encodeEntry(entry: Entry, id: NewId): JsonObject[] {
  if (entry.role === 'system') return [message(id, 'system', [{ type: 'input_text', text: entry.text }])]
  if (entry.role === 'user') return [message(id, 'user', entry.parts.map(encodePart))]
  if (entry.role === 'tool')
    return entry.results.map(({ callId, outcome }) => ({
      type: 'function_call_output',
      id: id('fco'),
      call_id: callId,
      output: outcome.parts.every(part => part.type === 'text')
        ? textOf(outcome.parts)
        : outcome.parts.map(encodePart),
      status: 'completed',
    }))
  return entry.parts.flatMap((part): JsonObject[] => {
    if (part.type === 'text')
      return [message(id, 'assistant', [{ type: 'output_text', text: part.text, annotations: [] }])]
    if (part.type === 'thinking')
      return [{ type: 'reasoning', id: id('rs'), summary: [{ type: 'summary_text', text: part.text }] }]
    if (part.type === 'hosted') return []
    const call = { call_id: part.id, name: part.name, status: 'completed' }
    return part.form === 'text'
      ? [{ type: 'custom_tool_call', id: id('ctc'), ...call, input: part.text }]
      : [{ type: 'function_call', id: id('fc'), ...call, arguments: part.text }]
  })
}

function message(id: NewId, role: string, content: JsonObject[]): JsonObject {
  return { type: 'message', id: id('msg'), status: 'completed', role, content }
}

function encodePart(part: InputPart | ResultPart): JsonObject {
  if (part.type === 'text') return { type: 'input_text', text: part.text }
  if (part.type === 'image') return { type: 'input_image', image_url: part.url, detail: 'auto' }
  const named = part.name === undefined ? {} : { filename: part.name }
  return part.url.startsWith('data:')
    ? { type: 'input_file', file_data: part.url, ...named }
    : { type: 'input_file', file_url: part.url, ...named }
}
