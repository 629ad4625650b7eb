// A Messages request as a request for one answer. Fields that only the vendor understands (thinking, effort, sampling)
// are passed on as they are to a model of the vendor. decode-messages.ts reads the messages, decode-tools.ts the tools.
import * as says from '../../apis/anthropic/wordings.ts'
import type { Ask } from '../../language/events.ts'
import type { Entry } from '../../language/history.ts'
import { isAbsent, names, optional } from '../../lib/json/fields.ts'
import { isJsonObject, type Json, type JsonObject } from '../../lib/json/index.ts'
import type { ServedDescription } from '../host.ts'
import {
  adviceFor,
  askHosted,
  ifObject,
  ifTexts,
  type ModelTarget,
  originFor,
  passedBody,
  type StatelessRequest,
  summarising,
  targetFor,
} from '../stateless/index.ts'
import { decodeMessages } from './decode-messages.ts'
import { decodeMessagesChoice, decodeMessagesTools } from './decode-tools.ts'
import {
  anthropicRefusal,
  count,
  flag,
  list,
  messagesTexts,
  noSuchMessagesModel,
  object,
  objects,
  onlyKnown,
  readTag,
  text,
  threadRefusal,
} from './wordings.ts'

export type MessagesRequest = {
  target: ModelTarget
  request: StatelessRequest
  stream: boolean
  /** The model may sign its thinking, so no block may follow thinking before the signature is known. */
  signs: boolean
  /** The answer is a summary of the conversation: one that the vendor makes, or one that is asked for here. */
  summary?: 'vendor' | 'own'
  diagnostics?: Diagnostics
}

const passedOn = names(
  'thinking output_config stop_sequences metadata service_tier speed inference_geo cache_control context_management temperature top_p top_k',
)
const knownFields = new Set([
  ...passedOn,
  ...names('model max_tokens messages system tools tool_choice stream thread output_format'),
  ...names('compaction container diagnostics fallbacks fallback_credit_token mcp_servers'),
])
const mostTokens = 10_000_000

/** `isCount`: the request is to be measured only, and needs no `max_tokens`. */
export function decodeMessagesRequest(
  body: JsonObject,
  about: ServedDescription,
  betas: readonly string[] = [],
  isCount = false,
): MessagesRequest {
  const name = text(body['model'], 'model')
  const target = targetFor(about, name)
  if (!target) throw noSuchMessagesModel(name, adviceFor(about))
  if (isJsonObject(body['thread'])) throw threadRefusal()
  onlyKnown(body, knownFields, '')
  const isVendors = originFor(target, 'anthropic') !== undefined
  if (!isVendors) refuseEdits(body['context_management'])
  const vendor = decodeVendorFields(body, target)
  const { entries, changes, effort } = decodeMessages(body['messages'], target)
  const tools = decodeMessagesTools(body['tools'], changes, target)
  const system = decodeSystem(body['system'], target)
  const needsLimit = !isCount || body['max_tokens'] !== undefined
  const ask: Ask = {
    ...decodeMessagesChoice(body['tool_choice'], tools, target),
    ...(needsLimit && { maxTokens: Math.min(count(body['max_tokens'], 'max_tokens'), mostTokens) }),
    ...(system.text !== '' && { system: system.text }),
    ...askHosted(tools.hosted, target, (at, reason) => {
      throw anthropicRefusal(messagesTexts.hostedRefused(tools.hosted[at]!.path, reason))
    }),
    ...(tools.hosted.some(({ purpose }) => purpose === 'tools') && { vendorSearch: true }),
    ...decodeForm({ ...passedFields(body, effort), ...vendor.fields }, betas),
  }
  const history = withContainer([...system.entries, ...entries], body['container'], target)
  const request: StatelessRequest = { ...target.request, clientTools: tools.clientTools, history, ask }
  const { summary } = vendor
  const diagnostics = decodeDiagnostics(body['diagnostics'])
  return {
    target,
    request: summary?.by === 'own' && !isCount ? summarising(request, summary.instructions) : request,
    stream: optional(body['stream'], 'stream', flag) ?? false,
    signs: isVendors,
    ...(summary && { summary: summary.by }),
    ...(diagnostics && { diagnostics }),
  }
}

/** `effort`: from the latest message that sets it. */
function passedFields(body: JsonObject, effort: string | undefined): JsonObject {
  const fields = Object.fromEntries(
    Object.entries(body).filter(([key, value]) => passedOn.has(key) && value !== null),
  )
  const format = ifObject(body['output_format'])
  const config: JsonObject = {
    ...(format && { format }),
    ...ifObject(fields['output_config']),
    ...(effort !== undefined && { effort }),
  }
  return Object.keys(config).length > 0 ? { ...fields, output_config: config } : fields
}

/**
 * A model of another vendor is never given thinking back, so there is none to clear. Any other edit would be left out: it
 * is refused in the words after which the vendor's clients send the request without it.
 */
function refuseEdits(value: Json | undefined): void {
  if (isAbsent(value)) return
  const { edits } = object(value, 'context_management')
  const isHarmless = (edit: Json): boolean =>
    isJsonObject(edit) && typeof edit['type'] === 'string' && edit['type'].startsWith('clear_thinking_')
  if (Array.isArray(edits) && edits.every(isHarmless)) return
  throw anthropicRefusal('context_management: Extra inputs are not permitted')
}

/** The schema is taken out of `output_config`: the model's own protocol puts it back, in its own way. */
function decodeForm(fields: JsonObject, betas: readonly string[]): Pick<Ask, 'body' | 'format'> {
  const { output_config, ...others } = fields
  const { format, ...config } = ifObject(output_config) ?? {}
  const schema = ifObject(ifObject(format)?.['schema'])
  const kept = schema ? config : ifObject(output_config)
  const own: JsonObject = {
    ...others,
    ...(kept && Object.keys(kept).length > 0 && { output_config: kept }),
    ...(betas.length > 0 && { betas: [...betas] }),
  }
  return {
    ...(schema && { format: { type: 'schema', schema, strict: true } }),
    ...passedBody(ifTexts(fields['stop_sequences']), { anthropic: own }),
  }
}

/** Texts with cache marks stay apart for a model of this vendor; otherwise all are one text. */
function decodeSystem(value: Json | undefined, target: ModelTarget): { text: string; entries: Entry[] } {
  if (isAbsent(value)) return { text: '', entries: [] }
  if (typeof value === 'string') return { text: value, entries: [] }
  const blocks = objects(value, 'system', (block, path) => {
    if (block['type'] !== 'text') throw anthropicRefusal(says.inputShouldBe(`${path}.type`, "'text'"))
    if (block['text'] === '') throw anthropicRefusal(says.emptyText('system'))
    return { text: text(block['text'], `${path}.text`), mark: block['cache_control'] }
  })
  const origin = originFor(target, 'anthropic')
  if (!origin || blocks.every(({ mark }) => !isJsonObject(mark)))
    return { text: blocks.map(block => block.text).join('\n\n'), entries: [] }
  const entries = blocks.map(
    ({ text: said, mark }): Entry => ({
      role: 'system',
      text: said,
      ...(isJsonObject(mark) && { native: { origin, data: { cache_control: mark } } }),
    }),
  )
  return { text: '', entries }
}

// ---- what the vendor's servers are asked for ---------------------------------------------------------------

// Containers, MCP servers, fallbacks, summaries. They go to a model of Anthropic. With any other model, a summary is asked for
// here, and the others are refused in words that say what is missing.

type VendorFields = {
  fields: JsonObject
  /** The answer is to be a summary of the conversation. `own`: the model is asked for it here. */
  summary?: { by: 'vendor' | 'own'; instructions?: string }
}

function decodeVendorFields(body: JsonObject, target: ModelTarget): VendorFields {
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
function withContainer(entries: Entry[], container: Json | undefined, target: ModelTarget): Entry[] {
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
function decodeDiagnostics(value: Json | undefined): Diagnostics | undefined {
  if (isAbsent(value)) return undefined
  const { previous_message_id: previous } = object(value, 'diagnostics')
  const isFirst = optional(previous, 'diagnostics.previous_message_id', text) === undefined
  return { cache_miss_reason: isFirst ? null : { type: 'unavailable' } }
}
