// The door to the repairs: a request in a vendor's own form, a check that says which rules it breaks, and what comes of
// it. A list of messages alone is taken for the conversation of a request.

import { isJsonObject, type Json, type JsonObject } from '../../lib/json.ts'
import { anthropicTreatments } from './anthropic.ts'
import { chatTreatments } from './chat.ts'
import { geminiTreatments } from './gemini.ts'
import { interactionsTreatments } from './interactions.ts'
import { responsesTreatments } from './responses.ts'
import { type Check, type Repaired, type Treatment, treat } from './treatment.ts'

export { foreignForm } from './foreign.ts'
export { reasons } from './rules.ts'
export type { Check, Finding, Repaired } from './treatment.ts'

export const doctorVendors = [
  'anthropic',
  'openai-responses',
  'openai-chat',
  'gemini',
  'gemini-interactions',
] as const
export type DoctorVendor = (typeof doctorVendors)[number]

const treatments: Record<DoctorVendor, readonly Treatment[]> = {
  anthropic: anthropicTreatments,
  'openai-responses': responsesTreatments,
  'openai-chat': chatTreatments,
  gemini: geminiTreatments,
  'gemini-interactions': interactionsTreatments,
}

const envelopes: Record<DoctorVendor, (list: Json[]) => JsonObject> = {
  anthropic: messages => ({ model: 'claude-sonnet-4-6', max_tokens: 4096, messages }),
  'openai-responses': input => ({ model: 'gpt-5.2', input }),
  'openai-chat': messages => ({ model: 'gpt-5.2', messages }),
  gemini: contents => ({ contents }),
  'gemini-interactions': input => ({ model: 'gemini-3-pro', input }),
}

/** A whole request from a request, or from a list of messages. Undefined when it is neither. */
export function requestOf(vendor: DoctorVendor, given: Json): JsonObject | undefined {
  if (isJsonObject(given)) return given
  return Array.isArray(given) ? envelopes[vendor](given) : undefined
}

export function repair(vendor: DoctorVendor, body: JsonObject, check: Check): Repaired {
  return treat(body, treatments[vendor], check)
}
