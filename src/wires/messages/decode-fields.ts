// Fields of a Messages request that ask the vendor's servers for more than an answer: containers, MCP servers, fallbacks,
// summaries. They go to a model of Anthropic. With any other model, a summary is asked for here, and the others are refused
// in words that say what is missing.
import type { Entry } from '../../language/history.ts'
import { isJsonObject, type Json, type JsonObject } from '../../lib/json/index.ts'
import { isAbsent, optional } from '../fields.ts'
import { type ModelTarget, originFor } from '../stateless/index.ts'
import { anthropicRefusal, list, messagesTexts, object, readTag, text } from './wordings.ts'

export type VendorFields = {
  fields: JsonObject
  /** The answer is to be a summary of the conversation. `own`: the model is asked for it here. */
  summary?: { by: 'vendor' | 'own'; instructions?: string }
}

export function decodeVendorFields(body: JsonObject, target: ModelTarget): VendorFields {
  const isVendors = originFor(target, 'anthropic') !== undefined
  const { container, mcp_servers: servers, fallbacks, compaction } = body
  if (!isAbsent(body['fallback_credit_token'])) throw anthropicRefusal(messagesTexts.creditToken)
  const needed: [name: string, isAsked: boolean][] = [
    ['container', !isAbsent(container)],
    ['mcp_servers', !isAbsent(servers) && list(servers, 'mcp_servers').length > 0],
  ]
  for (const [name, isAsked] of needed)
    if (isAsked && !isVendors) throw anthropicRefusal(messagesTexts.vendorField(name, target.name))
  // A list would let clients choose models that the operator pays for and has not offered.
  if (!isAbsent(fallbacks) && fallbacks !== 'default') throw anthropicRefusal(messagesTexts.fallbackModels)
  const summary = decodeCompaction(compaction, body, isVendors)
  return {
    fields: {
      ...(isVendors && !isAbsent(container) && { container }),
      ...(isVendors && Array.isArray(servers) && servers.length > 0 && { mcp_servers: servers }),
      ...(isVendors && fallbacks === 'default' && { fallbacks }),
      ...(summary?.by === 'vendor' && compaction && { compaction }),
    },
    ...(summary && { summary }),
  }
}

function decodeCompaction(
  value: Json | undefined,
  body: JsonObject,
  isVendors: boolean,
): VendorFields['summary'] {
  if (isAbsent(value)) return undefined
  const given = object(value, 'compaction')
  readTag(given, 'compaction', ['summarize'])
  if (!isAbsent(body['context_management'])) throw anthropicRefusal(messagesTexts.compactionAndEdits)
  const instructions = optional(given['instructions'], 'compaction.summarize.instructions', text)?.trim()
  return { by: isVendors ? 'vendor' : 'own', ...(instructions && { instructions }) }
}

/** Calls that the vendor's code made wait in the container that the client names: it stands with the latest answer. */
export function withContainer(entries: Entry[], container: Json | undefined, target: ModelTarget): Entry[] {
  const origin = originFor(target, 'anthropic')
  const id = isJsonObject(container) ? container['id'] : container
  const last = entries.findLastIndex(entry => entry.role === 'assistant')
  if (origin === undefined || typeof id !== 'string' || last < 0) return entries
  return entries.map((entry, at) =>
    at === last && entry.role === 'assistant'
      ? { ...entry, continuity: { origin, data: { container: { id } } } }
      : entry,
  )
}

export type Diagnostics = { cache_miss_reason: JsonObject | null }

/** The id of a message is this server's own, so the vendor could not compare the message that it names. */
export function decodeDiagnostics(value: Json | undefined): Diagnostics | undefined {
  if (isAbsent(value)) return undefined
  const { previous_message_id: previous } = object(value, 'diagnostics')
  const isFirst = optional(previous, 'diagnostics.previous_message_id', text) === undefined
  return { cache_miss_reason: isFirst ? null : { type: 'unavailable' } }
}
