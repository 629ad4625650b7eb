// Recognises a history that is written in another vendor's form. Such a history is reported, not repaired: a session that
// changes its vendor encodes the history anew.

import type { JsonObject } from '../lib/json/index.ts'
import { asString } from '../models/common/json-read.ts'
import { objectsIn } from './read.ts'
import { type DoctorVendor, vendorForms } from './vendors.ts'

const BLOCKS = new Set(['tool_use', 'tool_result', 'thinking', 'redacted_thinking', 'server_tool_use'])
const ITEMS =
  /^(?:function_call|function_call_output|custom_tool_call|custom_tool_call_output|reasoning|message)$/
const STEPS = /^(?:user_input|model_output|thought|function_result)$/

/** The vendor of one message, item, turn or step; undefined if several vendors share the form. */
function formOf(item: JsonObject): string | undefined {
  if (Array.isArray(item['parts'])) return 'gemini'
  if (STEPS.test(asString(item['type']))) return 'gemini-interactions'
  if (ITEMS.test(asString(item['type'])) && (item['call_id'] !== undefined || item['role'] === undefined))
    return item['call_id'] === undefined && item['type'] === 'function_call'
      ? 'gemini-interactions'
      : 'openai-responses'
  if (item['tool_calls'] !== undefined || item['role'] === 'tool') return 'openai-chat'
  return objectsIn(item['content']).some(block => BLOCKS.has(asString(block['type'])))
    ? 'anthropic'
    : undefined
}

/** The vendor whose form this history has; undefined if it may be `vendor`. */
export function foreignForm(vendor: DoctorVendor, body: JsonObject): string | undefined {
  const key = vendorForms[vendor].list
  const list = Object.hasOwn(body, key)
    ? key
    : ['messages', 'contents', 'input'].find(each => Array.isArray(body[each]))
  const items = objectsIn(list === undefined ? undefined : body[list])
  const forms = new Set(items.map(formOf).filter(form => form !== undefined))
  if (forms.has(vendor)) return undefined
  const [other] = forms
  if (other !== undefined) return other
  // Plain messages are valid for Anthropic, Chat Completions and Responses, but not for Gemini.
  const isPlain =
    items.length > 0 && items.every(item => item['role'] !== undefined && item['content'] !== undefined)
  if (!isPlain || !vendor.startsWith('gemini')) return undefined
  return items.some(item => item['type'] === 'message') ? 'openai-responses' : 'openai-chat'
}
