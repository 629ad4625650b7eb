// Checks a history by the rules of the strict doubles, and repairs it. Signatures of unknown origin count as genuine,
// because only the vendor that made them can check them.

import type { Json, JsonObject } from '../lib/json.ts'
import {
  type DoctorVendor,
  doctorBody,
  type Finding,
  foreignForm,
  reasons,
  repair,
} from '../models/doctor/index.ts'
import { checkRequestAll } from './doubles/index.ts'

export { type DoctorVendor, doctorVendors } from '../models/doctor/index.ts'

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
  // A repair rule by rule would make another vendor's history valid and lose its content.
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

function bodyOf(vendor: DoctorVendor, history: Json): JsonObject {
  const body = doctorBody(vendor, history)
  if (body !== undefined) return body
  throw new TypeError('A history is a request body, or a list of messages.')
}
