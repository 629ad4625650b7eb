// Repairs of requests in the vendors' own forms. The caller gives the check that finds broken rules.

import { isJsonObject, type Json, type JsonObject } from '../../lib/json.ts'
import { anthropicRepairs } from './anthropic.ts'
import { chatRepairs } from './chat.ts'
import { geminiRepairs } from './gemini.ts'
import { interactionsRepairs } from './interactions.ts'
import { applyRepairs, type Check, type Repair, type Repaired } from './repair.ts'
import { responsesRepairs } from './responses.ts'

export { foreignForm } from './foreign.ts'
export type { Check, Finding, Repaired } from './repair.ts'
export { reasons } from './rules.ts'

export const doctorVendors = [
  'anthropic',
  'openai-responses',
  'openai-chat',
  'gemini',
  'gemini-interactions',
] as const
export type DoctorVendor = (typeof doctorVendors)[number]

const repairs: Record<DoctorVendor, readonly Repair[]> = {
  anthropic: anthropicRepairs,
  'openai-responses': responsesRepairs,
  'openai-chat': chatRepairs,
  gemini: geminiRepairs,
  'gemini-interactions': interactionsRepairs,
}

const envelopes: Record<DoctorVendor, (list: Json[]) => JsonObject> = {
  anthropic: messages => ({ model: 'claude-sonnet-4-6', max_tokens: 4096, messages }),
  'openai-responses': input => ({ model: 'gpt-5.2', input }),
  'openai-chat': messages => ({ model: 'gpt-5.2', messages }),
  gemini: contents => ({ contents }),
  'gemini-interactions': input => ({ model: 'gemini-3-pro', input }),
}

/** A list of messages becomes a request; a request stays as it is. Undefined for anything else. */
export function doctorBody(vendor: DoctorVendor, given: Json): JsonObject | undefined {
  if (isJsonObject(given)) return given
  return Array.isArray(given) ? envelopes[vendor](given) : undefined
}

export function repair(vendor: DoctorVendor, body: JsonObject, check: Check): Repaired {
  return applyRepairs(body, repairs[vendor], check)
}
