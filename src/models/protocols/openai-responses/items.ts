// The output items of the Responses API, read as parts of ours. Decoding builds an answer from them; encoding checks
// whether a kept item still says what its part says.

import type { CallForm } from '../../../language/calls.ts'
import type { Origin, Phase } from '../../../language/content.ts'
import { hostedApproval } from '../../../language/tools.ts'
import type { Json, JsonObject } from '../../../lib/json/index.ts'
import { printable } from '../../../lib/text/index.ts'
import { type ModelPart, NO_ARGUMENTS, wholeCall } from '../../common/answer.ts'
import { asList, asObject, asString, listObjects } from '../../common/json-read.ts'
import { type BoundTool, boundTo, type VendorTyped } from '../../common/vendor-typed.ts'
import { wireName } from './deferred.ts'
import { typedItem } from './vendor-typed.ts'

/** `typed`: the item has no field of arguments; they are read from the whole item. */
export type CallKind = { form: CallForm } & (
  | { field: 'arguments' | 'input'; typed?: undefined }
  | { field?: undefined; typed: VendorTyped }
)

/** An item that asks whether a hosted MCP tool may run. */
export const approvalRequest = 'mcp_approval_request'

/** The items that become calls: what we run, and the question whether the vendor may run something. */
const callKinds: ReadonlyMap<Json | undefined, CallKind> = new Map<Json | undefined, CallKind>([
  ['function_call', { form: 'json', field: 'arguments' }],
  ['custom_tool_call', { form: 'text', field: 'input' }],
  [approvalRequest, { form: 'json', field: 'arguments' }],
])

/** How an item is read as a call of ours; undefined for any other item. `bound`: the vendor's tools that we run. */
export function readCallKind(item: JsonObject, bound: readonly BoundTool[] | 'any'): CallKind | undefined {
  const kind = callKinds.get(item['type'])
  if (kind !== undefined) return kind
  const typed = bound === 'any' ? typedItem(item) : boundTo(bound, item)?.typed
  return typed && { form: typed.form, typed }
}

/** The texts and refusals of a message, one after the other. */
export function messageText(item: JsonObject): string {
  return listObjects(item['content'])
    .map(part => asString(part['type'] === 'refusal' ? part['refusal'] : part['text']))
    .join('')
}

export function hasRefusal(item: JsonObject): boolean {
  return item['type'] === 'message' && listObjects(item['content']).some(part => part['type'] === 'refusal')
}

export const SEGMENT_BREAK = '\n\n'

/** Summaries first, then the reasoning itself if the vendor shows it. */
export function reasoningText(item: JsonObject): string {
  return [...listObjects(item['summary']), ...listObjects(item['content'])]
    .map(part => asString(part['text']))
    .filter(text => text !== '')
    .join(SEGMENT_BREAK)
}

/** One item as one part, with the item itself beside it. `cut`: the item is a call that is not whole. */
export function readItem(
  item: JsonObject,
  cut: boolean,
  {
    origin,
    names,
    bound,
  }: { origin: Origin; names: ReadonlyMap<string, string>; bound: readonly BoundTool[] },
): ModelPart {
  const native = { origin, data: item }
  const kind = readCallKind(item, bound)
  if (kind !== undefined) {
    const call = { name: ourName(item, names, bound), form: kind.form, text: callText(item, kind, cut) }
    return wholeCall(call, cut, asString(item['call_id']), native)
  }
  if (item['type'] === 'message') return { type: 'text', text: messageText(item), ...readPhase(item), native }
  if (item['type'] === 'reasoning') return { type: 'thinking', text: reasoningText(item), native }
  return { type: 'hosted', tool: hostedTool(item), summary: hostedSummary(item), native }
}

/** Of a message: whether it is a remark or the answer itself. */
export function readPhase({ phase }: JsonObject): { phase?: Phase } {
  return phase === 'commentary' || phase === 'final_answer' ? { phase } : {}
}

/** Whole but empty arguments of a function become an empty object. */
export function callText(item: JsonObject, kind: CallKind, cut: boolean): string {
  if (item['type'] === approvalRequest) return approvalText(item)
  if (kind.typed !== undefined) return cut ? '' : (kind.typed.read?.(item) ?? '')
  const text = asString(item[kind.field])
  return kind.form === 'json' && !cut && text.trim() === '' ? NO_ARGUMENTS : text
}

/** The text that a person decides about: which tool of which server, with which arguments. */
function approvalText(item: JsonObject): string {
  const { server_label: server, name: tool, arguments: given } = item
  return JSON.stringify({ server: asString(server), tool: asString(tool), arguments: asString(given) })
}

export function ourName(
  item: JsonObject,
  names: ReadonlyMap<string, string>,
  bound: readonly BoundTool[],
): string {
  if (item['type'] === approvalRequest) return hostedApproval
  const typed = callKinds.has(item['type']) ? undefined : boundTo(bound, item)
  if (typed !== undefined) return typed.tool.name
  const name = wireName(item)
  return names.get(name) ?? name
}

// ---- hosted tools -------------- --------------------------------------------------------------------------

function hostedTool(item: JsonObject): string {
  const type = asString(item['type'])
  if (type === 'mcp_call') return `${asString(item['server_label'])}.${asString(item['name'])}`
  return type.replace(/_call$/, '')
}

const SUMMARY_CHARS = 200

function hostedSummary(item: JsonObject): string {
  return printable(describeItem(item), SUMMARY_CHARS)
}

function describeItem(item: JsonObject): string {
  const action = asObject(item['action'])
  const status = asString(item['status'])
  switch (item['type']) {
    case 'web_search_call':
      return asString(action['query']) || asString(action['url']) || status
    case 'file_search_call':
      return (
        asList(item['queries'])
          .filter(query => typeof query === 'string')
          .join(', ') || status
      )
    case 'code_interpreter_call':
    case 'program':
      return asString(item['code'])
    case 'program_output':
      return asString(item['result']) || status
    case 'mcp_list_tools':
      return `${asString(item['server_label'])}: ${listObjects(item['tools']).length} tools`
    case 'mcp_call':
      return asString(item['error']) || asString(item['arguments'])
    case 'image_generation_call':
      return asString(item['revised_prompt']) || status
    case 'tool_search_output':
      return `${listObjects(item['tools']).length} tools found`
    default:
      return status
  }
}
