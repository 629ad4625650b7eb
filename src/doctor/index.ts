// Checks a history by the rules of the strict doubles, and repairs it. Signatures of unknown origin count as genuine,
// because only the vendor that made them can check them.

import { isJsonObject, type Json, type JsonObject } from '../lib/json/index.ts'
import { checkRequestAll } from '../testing/doubles/index.ts'
import { foreignForm } from './foreign.ts'
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
  const body = bodyOf(vendor, history)
  return [...foreignFindings(vendor, body), ...vendorFindings(vendor, body)].map(withReason)
}

/** The smallest known repair, checked by the same rules. The argument is not changed. */
export function repairHistory(vendor: DoctorVendor, history: Json): HistoryRepair {
  const given = bodyOf(vendor, history)
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
function bodyOf(vendor: DoctorVendor, history: Json): JsonObject {
  if (isJsonObject(history)) return history
  if (!Array.isArray(history)) throw new TypeError('A history is a request body, or a list of messages.')
  const { model, list } = vendorForms[vendor]
  return {
    ...(vendor !== 'gemini' && { model }),
    ...(vendor === 'anthropic' && { max_tokens: 4096 }),
    [list]: history,
  }
}
