// How each vendor writes a history: the field of the list, the fields of the instructions, and the items of one element of
// the list. Elements are read leniently: roles, ids and types may be missing, wrong, or of another vendor.

import type { Native, ResultPart } from '../language/content.ts'
import { isJsonObject, type Json, type JsonObject } from '../lib/json/index.ts'
import { asObject, asString, listObjects } from '../models/common/json-read.ts'
import { type Protocol, protocols } from '../models/index.ts'
import type { HistoryCallItem, HistoryItem } from './items.ts'
import { member, readContent, readPart, readResult, toJsonText } from './read.ts'

/** Marks data as the vendor's own; undefined where artifacts are left out. */
export type Keep = (data: JsonObject) => Native | undefined

export type VendorForm = {
  protocol: Protocol
  model: string
  /** The field that has the history. */
  list: string
  /** The field that has the instructions, if it is not an element of the list. */
  system?: string
  items(element: JsonObject, keep: Keep): HistoryItem[]
}

const isModelRole = (role: Json | undefined): boolean => role === 'assistant' || role === 'model'
const isSystemRole = (role: Json | undefined): boolean => role === 'system' || role === 'developer'

export function systemItems(content: Json | undefined): HistoryItem[] {
  const parts = isJsonObject(content) ? readContent(content['parts']) : readContent(content)
  return parts.flatMap(part => (part.type === 'text' ? [{ kind: 'system', text: part.text } as const] : []))
}

/** The items of a message of a user, a model or the system. */
function spoken(role: Json | undefined, content: Json | undefined): HistoryItem[] {
  if (isSystemRole(role)) return systemItems(content)
  const parts = readContent(content)
  if (!isModelRole(role)) return parts.map(part => ({ kind: 'input', part }))
  return parts.map(part => ({
    kind: 'said',
    part: { type: 'text', text: part.type === 'text' ? part.text : '[media]' },
  }))
}

function withNative(items: HistoryItem[], native: Native | undefined): HistoryItem[] {
  return items.map(each =>
    each.kind === 'said' && native ? { ...each, part: { ...each.part, native } } : each,
  )
}

/** The result of a call, by its id, or by the name of its tool where there is none. */
function answered(id: Json | undefined, parts: ResultPart[], failed = false, name = ''): HistoryItem {
  return { kind: 'result', id: asString(id), name, parts, failed }
}

function hosted(tool: string, native: Native | undefined): HistoryItem[] {
  return native ? [{ kind: 'said', part: { type: 'hosted', tool, summary: tool, native } }] : []
}

function thinking(text: string, native: Native | undefined): HistoryItem[] {
  return native ? [{ kind: 'said', part: { type: 'thinking', text, native } }] : []
}

function called(
  id: Json | undefined,
  name: Json | undefined,
  input: Json | undefined,
  native?: Native,
): HistoryCallItem {
  const named = { id: asString(id), name: asString(name) }
  return { kind: 'call', ...named, form: 'json', text: toJsonText(input), ...(native && { native }) }
}

// ---- Anthropic ---------------------------------------------------------------------------------------------

const HOSTED = /^(?:server_tool_use|mcp_tool_use|container_upload|compaction|\w+_tool_result)$/

function anthropicItems({ role, content }: JsonObject, keep: Keep): HistoryItem[] {
  if (!Array.isArray(content) || isSystemRole(role)) return spoken(role, content)
  return listObjects(content).flatMap((block): HistoryItem[] => {
    const { type, id, name, input, caller, tool_use_id, signature } = block
    if (type === 'tool_use')
      return [called(id, name, input, isJsonObject(caller) ? keep({ caller }) : undefined)]
    if (type === 'tool_result') {
      const parts = readResult(block['content']).filter(
        part => part.type !== 'text' || part.text.trim() !== '',
      )
      return [answered(tool_use_id, parts, block['is_error'] === true)]
    }
    if (type === 'thinking' || type === 'redacted_thinking')
      return thinking(asString(block['thinking']), signature === '' ? undefined : keep(block))
    if (HOSTED.test(asString(type))) return hosted(asString(name) || asString(type), keep(block))
    return spoken(role, [block])
  })
}

// ---- OpenAI ------------------------------------------------------------------------------------------------

function chatItems(message: JsonObject): HistoryItem[] {
  const { role, content, refusal } = message
  if (role === 'tool') return [answered(message['tool_call_id'], readResult(content))]
  const calls = listObjects(message['tool_calls']).map((call): HistoryCallItem => {
    const { name, input, arguments: args } = asObject(call[call['type'] === 'custom' ? 'custom' : 'function'])
    const item = called(call['id'], name, args ?? input)
    return call['type'] === 'custom' ? { ...item, form: 'text' } : item
  })
  const said = spoken(role, content === null || content === undefined ? refusal : content)
  return isModelRole(role) ? [{ kind: 'answer' }, ...said, ...calls] : said
}

function responsesItems(item: JsonObject, keep: Keep): HistoryItem[] {
  const { role, content, call_id: id, name, output } = item
  const type = asString(item['type']) || (role === undefined ? '' : 'message')
  switch (type) {
    case 'message':
      return withNative(spoken(role, content), isModelRole(role) ? keep(item) : undefined)
    case 'function_call':
      return [called(id, name, item['arguments'], keep(item))]
    case 'custom_tool_call':
      return [{ ...called(id, name, item['input'], keep(item)), form: 'text' }]
    case 'function_call_output':
    case 'custom_tool_call_output':
      return [answered(id, readResult(output))]
    case 'reasoning':
      return thinking(
        readContent(item['summary'])
          .map(part => ('text' in part ? part.text : ''))
          .join('\n\n'),
        keep(item),
      )
    default:
      return hosted(type, keep(item))
  }
}

// ---- Google ----------------------------------------------------------------------------------------------

function geminiItems(content: JsonObject, keep: Keep): HistoryItem[] {
  const role = content['role'] ?? 'user'
  return listObjects(content['parts']).flatMap((part): HistoryItem[] => {
    const call = member(part, 'functionCall')
    const response = member(part, 'functionResponse')
    const native = member(part, 'thoughtSignature') === undefined ? undefined : keep(part)
    const parts = spoken(role, mediaIn(part))
    if (isJsonObject(call)) return [...parts, called(call['id'], call['name'], call['args'], native)]
    if (isJsonObject(response)) return [...parts, geminiResult(response)]
    if (part['thought'] === true) return thinking(asString(part['text']), native)
    return withNative(parts, native)
  })
}

/** The data of a part that is no call and no response; a part may hold several by mistake. */
function mediaIn(part: JsonObject): Json {
  const { text } = part
  const keys = ['inlineData', 'fileData'].filter(key => member(part, key) !== undefined)
  const media = keys.map(key => ({ [key]: member(part, key) ?? null }))
  return [...(typeof text === 'string' && text !== '' ? [{ text }] : []), ...media]
}

function geminiResult({ id, name, response, parts }: JsonObject): HistoryItem {
  const { output, error, ...more } = asObject(response)
  const isWhole = Object.keys(more).length === 0
  const text = toJsonText(isJsonObject(response) && isWhole ? (error ?? output) : response)
  const media = listObjects(parts).map(readPart)
  const said: ResultPart[] = text === '' ? [] : [{ type: 'text', text }]
  return answered(id, [...said, ...media], isWhole && error !== undefined, asString(name))
}

function interactionsItems(step: JsonObject, keep: Keep): HistoryItem[] {
  const { type, content, id, name, result } = step
  switch (type) {
    case 'user_input':
    case 'model_output':
      return spoken(type === 'user_input' ? 'user' : 'model', content)
    case 'function_call':
      return [called(id, name, step['arguments'], keep(step))]
    case 'function_result':
      return [answered(step['call_id'], readResult(result), step['is_error'] === true)]
    case 'thought':
      return thinking('', asString(step['signature']) === '' ? undefined : keep(step))
    default:
      return hosted(asString(type), keep(step))
  }
}

export const vendorForms = {
  anthropic: {
    protocol: protocols.anthropicMessages,
    model: 'claude-sonnet-4-6',
    list: 'messages',
    system: 'system',
    items: anthropicItems,
  },
  'openai-responses': {
    protocol: protocols.openaiResponses,
    model: 'gpt-5.2',
    list: 'input',
    system: 'instructions',
    items: responsesItems,
  },
  'openai-chat': { protocol: protocols.openaiChat, model: 'gpt-5.2', list: 'messages', items: chatItems },
  gemini: {
    protocol: protocols.geminiGenerate,
    model: 'gemini-3-pro',
    list: 'contents',
    system: 'systemInstruction',
    items: geminiItems,
  },
  'gemini-interactions': {
    protocol: protocols.geminiInteractions,
    model: 'gemini-3-pro',
    list: 'input',
    system: 'system_instruction',
    items: interactionsItems,
  },
} satisfies Record<string, VendorForm>

export type DoctorVendor = keyof typeof vendorForms

/** The keys of the table are the vendors. */
export const doctorVendors = Object.keys(vendorForms) as DoctorVendor[]
