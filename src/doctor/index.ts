// Checks a history by the rules of the strict doubles, and repairs it. Signatures of unknown origin count as genuine,
// because only the vendor that made them can check them. A history in another vendor's form is reported, not repaired: a
// session that changes its vendor encodes the history anew.
import { isJsonObject, type Json, type JsonObject } from '../lib/json/index.ts'
import { asString, listObjects } from '../models/common/json-read.ts'
import { checkRequestAll } from '../testing/doubles/index.ts'
import { reasons } from './reasons.ts'
import { type Finding, repair } from './repair.ts'
import { type DoctorVendor, vendorForms } from './vendors.ts'

export { type DoctorVendor, doctorVendors } from './vendors.ts'

/** `message` is the vendor's own text. `why` is our explanation. */
export type HistoryFinding = Finding & { why: string }

export type HistoryRepair = {
  body: JsonObject
  changes: string[]
  /** Findings that remain; empty if the vendor accepts the repaired body. */
  left: HistoryFinding[]
}

/** Every rule of this vendor that a request, or a list of messages, breaks. */
export function checkHistory(vendor: DoctorVendor, history: Json): HistoryFinding[] {
  const body = toBody(vendor, history)
  return [...foreignFindings(vendor, body), ...vendorFindings(vendor, body)].map(withReason)
}

/** The smallest known repair, checked by the same rules. The argument is not changed. */
export function repairHistory(vendor: DoctorVendor, history: Json): HistoryRepair {
  const given = toBody(vendor, history)
  // Read as this vendor's, another vendor's history would lose its content.
  if (foreignFindings(vendor, given).length > 0)
    return { body: given, changes: [], left: checkHistory(vendor, history) }
  const repaired = repair(vendor, given, body => vendorFindings(vendor, body))
  return { ...repaired, left: repaired.left.map(withReason) }
}

function foreignFindings(vendor: DoctorVendor, body: JsonObject): Finding[] {
  const form = foreignForm(vendor, body)
  if (form === undefined) return []
  return [{ rule: 'form', message: `This is a history of ${form}: look at it with that vendor's rules.` }]
}

function vendorFindings(vendor: DoctorVendor, body: JsonObject): Finding[] {
  const found = checkRequestAll(vendor, body, { trustForeign: true })
  return found.map(({ rule, message, param }) => ({ rule, message, ...(param !== undefined && { param }) }))
}

const withReason = (finding: Finding): HistoryFinding => ({
  ...finding,
  why: reasons[finding.rule] ?? 'The vendor refuses this.',
})

/** A request, or a list of messages, for which one is made. */
function toBody(vendor: DoctorVendor, history: Json): JsonObject {
  if (isJsonObject(history)) return history
  if (!Array.isArray(history)) throw new TypeError('A history is a request body, or a list of messages.')
  const { model, list } = vendorForms[vendor]
  return {
    ...(vendor !== 'gemini' && { model }),
    ...(vendor === 'anthropic' && { max_tokens: 4096 }),
    [list]: history,
  }
}

const BLOCKS = new Set(['tool_use', 'tool_result', 'thinking', 'redacted_thinking', 'server_tool_use'])
const ITEMS =
  /^(?:function_call|function_call_output|custom_tool_call|custom_tool_call_output|reasoning|message)$/
const STEPS = /^(?:user_input|model_output|thought|function_result)$/

/** The vendor of one message, item, turn or step; undefined if several vendors share the form. */
function readForm(item: JsonObject): string | undefined {
  if (Array.isArray(item['parts'])) return 'gemini'
  if (STEPS.test(asString(item['type']))) return 'gemini-interactions'
  if (ITEMS.test(asString(item['type'])) && (item['call_id'] !== undefined || item['role'] === undefined))
    return item['call_id'] === undefined && item['type'] === 'function_call'
      ? 'gemini-interactions'
      : 'openai-responses'
  if (item['tool_calls'] !== undefined || item['role'] === 'tool') return 'openai-chat'
  return listObjects(item['content']).some(block => BLOCKS.has(asString(block['type'])))
    ? 'anthropic'
    : undefined
}

/** The vendor whose form this history has; undefined if it may be `vendor`. */
function foreignForm(vendor: DoctorVendor, body: JsonObject): string | undefined {
  const key = vendorForms[vendor].list
  const list = Object.hasOwn(body, key)
    ? key
    : ['messages', 'contents', 'input'].find(each => Array.isArray(body[each]))
  const items = listObjects(list === undefined ? undefined : body[list])
  const forms = new Set(items.map(readForm).filter(form => form !== undefined))
  if (forms.has(vendor)) return undefined
  const [other] = forms
  if (other !== undefined) return other
  // Plain messages are valid for Anthropic, Chat Completions and Responses, but not for Gemini.
  const isPlain =
    items.length > 0 && items.every(item => item['role'] !== undefined && item['content'] !== undefined)
  if (!isPlain || !vendor.startsWith('gemini')) return undefined
  return items.some(item => item['type'] === 'message') ? 'openai-responses' : 'openai-chat'
}
