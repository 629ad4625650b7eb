// Arguments at the end of an answer, and arguments in a history: when a call is cut and must never run, and what
// stands for arguments that are no JSON object where a vendor takes objects only. The text itself stays raw.

import type { CallForm, CallPart } from '../../language/calls.ts'
import { isJsonObject, type JsonObject } from '../../lib/json.ts'
import { wrapText } from './custom-tools.ts'

/**
 * `closed`: the vendor said that the arguments are whole. `unclosed`: the vendor has a mark for that and it never
 * came. `length`: the answer hit its limit while this call was the last, and the vendor has no mark.
 */
export type ArgumentsEnd = 'closed' | 'unclosed' | 'length'

export function isCut(call: { form: CallForm; text: string }, end: ArgumentsEnd): boolean {
  if (end === 'closed') return false
  if (end === 'unclosed') return true
  return call.form === 'text' || parseObject(call.text) === undefined
}

/** What an empty arguments text stands for on every vendor; to be shown as a delta too, once the call is whole. */
export const NO_ARGUMENTS = '{}'

/** The arguments of a past call as an object: never null, an array or text, which vendors refuse in a history. */
export function historyArguments(call: CallPart): JsonObject {
  if (call.form === 'text') return wrapText(call.text)
  if (call.text.trim() === '') return {}
  return parseObject(call.text) ?? { invalid_arguments: call.text }
}

/** The same as JSON text: the model's own spelling wherever it was an object. */
export function historyArgumentsText(call: CallPart): string {
  if (call.form === 'json' && parseObject(call.text) !== undefined) return call.text
  return JSON.stringify(historyArguments(call))
}

function parseObject(text: string): JsonObject | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return isJsonObject(value) ? value : undefined
  } catch {
    return undefined
  }
}
