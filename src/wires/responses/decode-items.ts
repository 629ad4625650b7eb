// The items of a conversation, one by one, into what they mean. How they hang together (which output belongs to which
// call) is for decode-history.ts; here each is read by itself, and unknown members are refused as the API does.
import type { Agent } from '../../engine/index.ts'
import type { CallPart } from '../../language/calls.ts'
import type { InputPart, Native, Origin, ResultPart, TextPart, ThinkingPart } from '../../language/content.ts'
import { isJsonObject, type Json, type JsonObject } from '../../lib/json.ts'
import { decodeInputParts, decodeWords } from './decode-content.ts'
import { absent, bounded, flag, names, object, oneOf, onlyKnown, optional, text } from './fields.ts'
import { callOfApproval, readItemId } from './ids.ts'
import { missing, unsupportedValue } from './refuse.ts'
import { isSealed, type OpenSealed, type Sealed } from './sealed.ts'

export type Item =
  | { kind: 'user'; parts: InputPart[] }
  | { kind: 'system'; text: string }
  | { kind: 'said'; part: TextPart | ThinkingPart }
  | { kind: 'sealed'; sealed: Sealed }
  /** `cut`: it was never whole, and need have no output. */
  | { kind: 'call'; part: CallPart; cut: boolean; path: string }
  /** A call that the server ran itself, with what came of it. */
  | { kind: 'ran'; part: CallPart; output: ResultPart[]; failed: boolean; path: string }
  | { kind: 'output'; callId: string; output: ResultPart[]; noun: CallNoun; path: string }
  | { kind: 'approval'; callId: string; id: string; approve: boolean; reason?: string; path: string }

export type CallNoun = 'function call' | 'custom tool call'

export type ItemContext = {
  images: Agent['images']
  /** Whose raw items these may be: set when the model itself speaks this protocol. */
  origin?: Origin
  open: OpenSealed
}

const messageFields = names('type role content id status phase')
/** `parsed_arguments` is added by the official SDK, and comes back with the rest. */
const callFields = names(
  'type id call_id name arguments parsed_arguments status namespace caller async created_by',
)
const customFields = names('type id call_id name input status namespace caller async created_by')
const outputFields = names('type id call_id output status caller name namespace created_by')
const reasoningFields = names('type id summary content encrypted_content status')
const ranFields = names('type id server_label name arguments output error status approval_request_id')
const askedFields = names('type id server_label name arguments')
const approvedFields = names('type id approval_request_id approve reason')

const longestId = 64

type Reader = (item: JsonObject, path: string, context: ItemContext) => Item[]

const readers: Readonly<Record<string, Reader>> = {
  message: readMessage,
  function_call: (item, path, context) => [readCall(item, path, context, 'json')],
  custom_tool_call: (item, path, context) => [readCall(item, path, context, 'text')],
  function_call_output: (item, path, context) => [readOutput(item, path, context, 'function call')],
  custom_tool_call_output: (item, path, context) => [readOutput(item, path, context, 'custom tool call')],
  reasoning: readReasoning,
  mcp_call: (item, path) => [readRan(item, path)],
  mcp_approval_request: (item, path) => {
    onlyKnown(item, askedFields, path)
    return []
  },
  mcp_approval_response: (item, path) => [readApproval(item, path)],
  mcp_list_tools: () => [],
}

/** `input` of a request: a text is one user message. References must have been resolved before. */
export function decodeItems(input: string | readonly Json[], context: ItemContext): Item[] {
  if (typeof input === 'string') return [{ kind: 'user', parts: [{ type: 'text', text: input }] }]
  return input.flatMap((value, index) => {
    const path = `input[${index}]`
    const item = object(value, path)
    const type = item['type'] ?? (item['role'] === undefined ? undefined : 'message')
    if (type === undefined) missing(`${path}.type`)
    const read = typeof type === 'string' && Object.hasOwn(readers, type) ? readers[type] : undefined
    return read?.(item, path, context) ?? unsupportedValue(`${path}.type`, type, Object.keys(readers))
  })
}

const roles = ['user', 'assistant', 'system', 'developer'] as const

function readMessage(item: JsonObject, path: string, context: ItemContext): Item[] {
  onlyKnown(item, messageFields, path)
  const role = oneOf(item['role'] ?? missing(`${path}.role`), `${path}.role`, roles)
  const { content } = item
  if (role === 'user') {
    const parts = decodeInputParts(content, `${path}.content`, context.images)
    return parts.length === 0 ? [] : [{ kind: 'user', parts }]
  }
  const words = decodeWords(content, `${path}.content`)
  if (words === '') return []
  if (role !== 'assistant') return [{ kind: 'system', text: words }]
  return [{ kind: 'said', part: { type: 'text', text: words, ...nativeOf(item, context) } }]
}

/** The vendor's own item, when it is the vendor's: it has an id, and not one of ours. */
function nativeOf(item: JsonObject, { origin }: ItemContext): { native?: Native } {
  const { id } = item
  if (!origin || typeof id !== 'string' || readItemId(id)) return {}
  return { native: { origin, data: item } }
}

function readCall(item: JsonObject, path: string, context: ItemContext, form: 'json' | 'text'): Item {
  onlyKnown(item, form === 'json' ? callFields : customFields, path)
  const field = form === 'json' ? 'arguments' : 'input'
  const given = absent(item['call_id']) ? item['id'] : item['call_id']
  const id = bounded(given ?? missing(`${path}.call_id`), `${path}.call_id`, longestId)
  const native = nativeOf(item, context)
  const part: CallPart = {
    type: 'call',
    id,
    name: bounded(item['name'], `${path}.name`, 128),
    form,
    text: text(item[field], `${path}.${field}`),
    ...(native.native && { nativeId: id, ...native }),
  }
  return { kind: 'call', part, cut: item['status'] === 'incomplete', path }
}

function readOutput(item: JsonObject, path: string, { images }: ItemContext, noun: CallNoun): Item {
  onlyKnown(item, outputFields, path)
  return {
    kind: 'output',
    callId: bounded(item['call_id'], `${path}.call_id`, longestId),
    output: decodeInputParts(item['output'] ?? missing(`${path}.output`), `${path}.output`, images),
    noun,
    path,
  }
}

function readReasoning(item: JsonObject, path: string, context: ItemContext): Item[] {
  onlyKnown(item, reasoningFields, path)
  const token = optional(item['encrypted_content'], `${path}.encrypted_content`, text) ?? ''
  const items: Item[] = []
  const words = [
    ...thoughts(item['summary'], `${path}.summary`),
    ...thoughts(item['content'], `${path}.content`),
  ]
  const sealed = context.open(token)
  // What this server sealed holds the thoughts themselves; what another one sealed is nobody's to read here.
  if (sealed) items.push({ kind: 'sealed', sealed })
  else if (words.length > 0 || (token !== '' && !isSealed(token))) {
    const native = token !== '' && !isSealed(token) ? nativeOf(item, context) : {}
    items.push({ kind: 'said', part: { type: 'thinking', text: words.join('\n\n'), ...native } })
  }
  return items
}

/** A text, or a list of parts with one. */
function thoughts(value: Json | undefined, path: string): string[] {
  if (absent(value)) return []
  if (typeof value === 'string') return value === '' ? [] : [value]
  if (!Array.isArray(value)) return [text(value, path)]
  return value
    .map((part, index) => text(object(part, `${path}[${index}]`)['text'], `${path}[${index}].text`))
    .filter(words => words !== '')
}

function readRan(item: JsonObject, path: string): Item {
  onlyKnown(item, ranFields, path)
  const { error } = item
  const words = absent(error)
    ? (optional(item['output'], `${path}.output`, text) ?? '')
    : typeof error === 'string'
      ? error
      : JSON.stringify(isJsonObject(error) ? (error['content'] ?? error['message'] ?? error) : error)
  return {
    kind: 'ran',
    part: {
      type: 'call',
      id: bounded(item['id'], `${path}.id`, longestId),
      name: bounded(item['name'], `${path}.name`, 128),
      form: 'json',
      text: text(item['arguments'], `${path}.arguments`),
    },
    output: words === '' ? [] : [{ type: 'text', text: words }],
    failed: !absent(error),
    path,
  }
}

function readApproval(item: JsonObject, path: string): Item {
  onlyKnown(item, approvedFields, path)
  const id = bounded(item['approval_request_id'], `${path}.approval_request_id`, longestId)
  const reason = optional(item['reason'], `${path}.reason`, text)
  return {
    kind: 'approval',
    callId: callOfApproval(id),
    id,
    approve: flag(item['approve'] ?? missing(`${path}.approve`), `${path}.approve`),
    ...(reason !== undefined && { reason }),
    path,
  }
}
