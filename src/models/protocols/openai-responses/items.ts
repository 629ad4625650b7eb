// The output items of the Responses API, read as parts of ours. Decoding uses it to build an answer, encoding to
// tell whether a kept item still says what its part says. It neither streams nor sends anything.

import type { ModelAnswer } from '../../../engine/ports.ts'
import type { CallForm } from '../../../language/calls.ts'
import type { Origin } from '../../../language/content.ts'
import { hostedApproval } from '../../../language/tools.ts'
import { isJsonObject, type Json, type JsonObject } from '../../../lib/json.ts'
import { printable } from '../../../lib/text.ts'
import { NO_ARGUMENTS } from '../../common/truncated.ts'

export const protocolName = 'openai-responses'

export type Part = ModelAnswer['parts'][number]

export type CallKind = { form: CallForm; field: 'arguments' | 'input'; output: string }

/** An item that asks whether a hosted MCP tool may run. */
export const approvalRequest = 'mcp_approval_request'

/** The calls that we carry out, and the question whether the vendor may; every other item is the vendor's own affair. */
export const callKinds: ReadonlyMap<Json | undefined, CallKind> = new Map<Json | undefined, CallKind>([
  ['function_call', { form: 'json', field: 'arguments', output: 'function_call_output' }],
  ['custom_tool_call', { form: 'text', field: 'input', output: 'custom_tool_call_output' }],
  [approvalRequest, { form: 'json', field: 'arguments', output: 'mcp_approval_response' }],
])

export function stringOf(value: Json | undefined): string {
  return typeof value === 'string' ? value : ''
}

export function objectsOf(value: Json | undefined): JsonObject[] {
  return Array.isArray(value) ? value.filter(isJsonObject) : []
}

/** What a person reads of a message: its texts and refusals, one after the other. */
export function messageText(item: JsonObject): string {
  return objectsOf(item['content'])
    .map(part => stringOf(part['type'] === 'refusal' ? part['refusal'] : part['text']))
    .join('')
}

export function hasRefusal(item: JsonObject): boolean {
  return item['type'] === 'message' && objectsOf(item['content']).some(part => part['type'] === 'refusal')
}

export const segmentBreak = '\n\n'

/** Summaries first, then the reasoning itself where the vendor shows it. */
export function reasoningText(item: JsonObject): string {
  return [...objectsOf(item['summary']), ...objectsOf(item['content'])]
    .map(part => stringOf(part['text']))
    .filter(text => text !== '')
    .join(segmentBreak)
}

/** One item as one part, with the item itself beside it. `cut`: the item is a call that is not whole. */
export function partOf(
  item: JsonObject,
  cut: boolean,
  origin: Origin,
  names: ReadonlyMap<string, string>,
): Part {
  const native = { origin, data: item }
  const kind = callKinds.get(item['type'])
  if (kind !== undefined) {
    const nativeId = stringOf(item['call_id'])
    return {
      type: 'call',
      name: ownName(item, names),
      form: kind.form,
      text: callText(item, kind, cut),
      ...(cut && { cut: true }),
      ...(nativeId !== '' && { nativeId }),
      native,
    }
  }
  if (item['type'] === 'message') return { type: 'text', text: messageText(item), native }
  if (item['type'] === 'reasoning') return { type: 'thinking', text: reasoningText(item), native }
  return { type: 'hosted', tool: hostedTool(item), summary: hostedSummary(item), native }
}

/** A function's arguments that are whole and empty are said as the empty object. */
export function callText(item: JsonObject, kind: CallKind, cut: boolean): string {
  if (item['type'] === approvalRequest) return approvalText(item)
  const text = stringOf(item[kind.field])
  return kind.form === 'json' && !cut && text.trim() === '' ? NO_ARGUMENTS : text
}

/** What a person is asked about: which tool of which server, with which arguments. */
function approvalText(item: JsonObject): string {
  const { server_label: server, name: tool, arguments: given } = item
  return JSON.stringify({ server: stringOf(server), tool: stringOf(tool), arguments: stringOf(given) })
}

export function ownName(item: JsonObject, names: ReadonlyMap<string, string>): string {
  if (item['type'] === approvalRequest) return hostedApproval
  const name = stringOf(item['name'])
  return names.get(name) ?? name
}

// ---- what the vendor ran itself --------------------------------------------------------------------------

function hostedTool(item: JsonObject): string {
  const type = stringOf(item['type'])
  if (type === 'mcp_call') return `${stringOf(item['server_label'])}.${stringOf(item['name'])}`
  return type.replace(/_call$/, '')
}

const longestSummary = 200

function hostedSummary(item: JsonObject): string {
  return printable(describe(item), longestSummary)
}

function describe(item: JsonObject): string {
  const action = isJsonObject(item['action']) ? item['action'] : {}
  const status = stringOf(item['status'])
  switch (item['type']) {
    case 'web_search_call':
      return stringOf(action['query']) || stringOf(action['url']) || status
    case 'file_search_call':
      return listed(item['queries']) || status
    case 'code_interpreter_call':
    case 'program':
      return stringOf(item['code'])
    case 'program_output':
      return stringOf(item['result']) || status
    case 'mcp_list_tools':
      return `${stringOf(item['server_label'])}: ${objectsOf(item['tools']).length} tools`
    case 'mcp_call':
      return stringOf(item['error']) || stringOf(item['arguments'])
    case 'image_generation_call':
      return stringOf(item['revised_prompt']) || status
    case 'tool_search_output':
      return `${objectsOf(item['tools']).length} tools found`
    default:
      return status
  }
}

function listed(value: Json | undefined): string {
  return Array.isArray(value) ? value.filter(each => typeof each === 'string').join(', ') : ''
}
