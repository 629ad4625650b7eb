// A request to Anthropic Messages: the body, and the history as its `messages`. Calls and results are paired, roles
// alternate, nothing is empty, and the vendor's own blocks go back unchanged in their places or are left out whole.
// Each entry is encoded once; neighbours of one role are joined as text.

import type { ModelRequest } from '../../../engine/ports/index.ts'
import type { CallPart, CallResult } from '../../../language/calls.ts'
import type { Origin, TextPart } from '../../../language/content.ts'
import type { AnswerFormat } from '../../../language/format.ts'
import type { AssistantEntry, Entry, SystemEntry, ToolEntry } from '../../../language/history.ts'
import { isJsonObject, type Json, type JsonObject, parseJson } from '../../../lib/json/index.ts'
import { formatSchema, settleFormat, type VendorFormat } from '../../common/format.ts'
import {
  ASKED_TO_CONTINUE,
  CONTINUE,
  loneCall,
  loneResult,
  nativeFor,
  splitSystem,
  systemNote,
} from '../../common/history.ts'
import { asObject } from '../../common/json-read.ts'
import {
  bodyWith,
  collectWarnings,
  keepOffers,
  type OfferRequest,
  type Warn,
  wireJson,
} from '../../common/prepare.ts'
import { anthropicFitted, anthropicStrict } from '../../common/schema-dialect.ts'
import { type JoinedHistory, joinVariants, SessionCache } from '../../common/session-cache.ts'
import { wrapText } from '../../common/text-tools.ts'
import { type BoundTool, bindTools, plainTools } from '../../common/vendor-typed.ts'
import { type IdRule, toolNames, type WireIds, type WireNames, wireIds } from '../../common/wire-names.ts'
import type { ModelTarget, Prepared } from '../../protocol.ts'
import { cacheMark, markedTools, mayMark, setsMarks, systemField, withMark } from './cache.ts'
import { computerBeta } from './computer.ts'
import {
  callersIn,
  historyFacts,
  livingContainer,
  noFacts,
  type Surroundings,
  surroundingsIn,
} from './context.ts'
import type { Reading } from './decode.ts'
import { takesDeferred, withSearch } from './deferred.ts'
import { noOutputFormat } from './failure.ts'
import { encodeContent, encodeResultContent, textBlock } from './media.ts'
import { type Declarations, declareTools, fitsStrict, nameRuleFor, type ToolContext } from './tools.ts'
import { anthropicTyped, callersNames, fixedNames } from './vendor-typed.ts'

export const protocolName = 'anthropic'

const VERSION = '2023-06-01'
const MCP_BETA = 'mcp-client-2025-11-20'
const LEAST_THINKING_BUDGET = 1024
/** The API requires a limit. Every current model takes this one. */
const DEFAULT_MAX_TOKENS = 32_000
const ID_RULE: IdRule = { pattern: /^[a-zA-Z0-9_-]+$/, maxLength: 256 }

export function prepare(
  asked: ModelRequest,
  deployed: ModelTarget,
  cache = new SessionCache(),
  now?: number,
): Prepared<Reading> {
  const { warnings, warn } = collectWarnings()
  const offer = offerFor(asked, deployed, warn)
  const { target, origin, names, bound } = offer
  const formed = asked.format ? settleFormat(asked, each => vendorFormat(each, target)) : { request: asked }
  const { request, field: format, unchecked } = formed
  const { systemParts, spoken } = splitSystem(request)
  const facts = historyFacts(cache, spoken, origin)
  const sets = offer.mayMark && setsMarks(request, systemParts, facts, origin)
  const stored = facts.container && livingContainer(facts.container, target, now)
  const history = encodeHistory(cache, spoken, {
    offer,
    ids: wireIds(cache, spoken, origin, ID_RULE),
    surroundings: surroundingsIn(spoken, facts, { origin, hosted: target.hosted, container: stored }),
    spoken,
    marksEnd: sets,
    warn,
  })
  const declared = declarationsFor(offer, { request, target, names, bound, spoken, facts, format, warn })
  const maxTokens = request.maxTokens ?? (target.maxTokens > 0 ? target.maxTokens : DEFAULT_MAX_TOKENS)
  const thinking = thinkingField(target.body, maxTokens, declared.isForced, history, warn)
  const usesContainer = stored !== undefined && (runsCode(target) || callersIn(spoken, origin).size > 0)
  const fields: JsonObject = {
    ...offer.fields,
    ...(usesContainer && { container: containerField(target.body, stored) }),
    max_tokens: maxTokens,
    ...(thinking && { thinking }),
    ...(format && { output_config: { ...asObject(target.body['output_config']), format } }),
    ...(systemParts.length > 0 && systemField(systemParts, origin, sets)),
    ...(declared.choice && { tool_choice: declared.choice }),
    stream: true,
  }
  const tools = sets && systemParts.length === 0 ? markedTools(declared) : declared.tools
  return {
    path: '/v1/messages',
    headers: facts.usesMcp ? headerFields(target, bound, true) : offer.headers,
    body: bodyWith({ tools }, fields, { messages: history.messages }),
    warnings,
    reading: {
      ...offer.reading,
      names: declared.names,
      textTools: declared.textTools,
      ...(facts.container && stored === undefined && { lostContainer: true as const }),
    },
    ...(unchecked && { unchecked }),
    usesStored: usesContainer,
    encoded: history.encoded,
  }
}

// ---- the offer -------------------------------------------------------------------------------------------

type Offer = {
  /** With the vendor's search among the hosted tools, if the request asks for it. */
  target: ModelTarget
  origin: Origin
  names: WireNames
  bound: readonly BoundTool[]
  /** Everything that the encoding of an entry depends on besides the entries and the names themselves. */
  key: string
  /** Results may refer to deferred tools. */
  takesReferences: boolean
  /** Nothing in it speaks against cache marks of ours. */
  mayMark: boolean
  /** The body's fields that no history changes. */
  fields: JsonObject
  headers: Record<string, string>
  reading: Pick<Reading, 'origin' | 'bound' | 'isSummary'>
  /** The declarations for a history that names no other tools. */
  declared: Declarations
  /** Those of `declared`. */
  warnings: readonly string[]
}

const offerFor = keepOffers(makeOffer)

function makeOffer(request: OfferRequest, deployed: ModelTarget, warn: Warn): Offer {
  const target = withSearch(request, deployed)
  const takesReferences = takesDeferred(target)
  const origin: Origin = { protocol: protocolName, family: target.family }
  const rule = nameRuleFor(target.hosted)
  const offered = target.quirks.has(plainTools) ? [] : request.tools
  const bound = bindTools(offered, protocolName, anthropicTyped, warn)
  const fixed = new Map([...callersNames(target.hosted, request.tools), ...fixedNames(bound)])
  const spelled = [...fixed].map(pair => pair.join('='))
  const names = toolNames(request.tools, rule, fixed)
  const collected = collectWarnings()
  const declared = declareTools({
    request,
    target,
    names,
    bound,
    spoken: [],
    facts: noFacts(),
    format: undefined,
    warn: collected.warn,
  })
  const keys = [takesReferences ? '' : 'plain', ...rule.reserved, ...spelled]
  return {
    target,
    origin,
    names,
    bound,
    key: `${origin.protocol} ${origin.family} ${keys.join('|')}`,
    takesReferences,
    mayMark: mayMark(request, target),
    fields: { ...operatorFields(request, target, warn), model: target.model },
    headers: headerFields(target, bound, false),
    reading: {
      origin,
      ...(bound.length > 0 && { bound }),
      ...(isJsonObject(target.body['compaction']) && { isSummary: true }),
    },
    declared,
    warnings: collected.warnings,
  }
}

/** Those of the offer, unless the history or the form of the answer asks for others. */
function declarationsFor({ declared, warnings }: Offer, context: ToolContext): Declarations {
  const { facts, format, warn } = context
  const isOwn = declared.hasTools && format === undefined && facts.found.size === 0 && facts.loads.size === 0
  if (!isOwn) return declareTools(context)
  for (const warning of warnings) warn(warning)
  return declared
}

// ---- fields ----------------------------------------------------------------------------------------------

/** The target's fields, less those that are set elsewhere. */
function operatorFields(request: OfferRequest, target: ModelTarget, warn: Warn): JsonObject {
  const { betas: _, thinking: __, messages: ___, mcp_servers: servers, ...own } = target.body
  const mcp_servers = usedServers(servers, request, target, warn)
  return { ...own, ...(mcp_servers.length > 0 && { mcp_servers }) }
}

/** The container in which the vendor's code waits. */
function containerField({ container }: JsonObject, id: string): Json {
  return isJsonObject(container) ? { ...container, id } : id
}

/** These came out before the API could be given a schema for an answer. */
const WITHOUT_FORMAT = /claude-(?:2|3|instant|(?:opus|sonnet)-4-(?:0$|2\d{7}))/

/** A schema is taken whole or not at all, and there is no form for any JSON. */
function vendorFormat(format: AnswerFormat, target: ModelTarget): VendorFormat | undefined {
  if (format.type === 'json' || target.quirks.has(noOutputFormat) || WITHOUT_FORMAT.test(target.model))
    return undefined
  const own =
    formatSchema(format.schema, anthropicStrict) ??
    (format.strict ? formatSchema(format.schema, anthropicFitted) : undefined)
  if (own === undefined || !fitsStrict(own.schema)) return undefined
  return { field: { type: 'json_schema', schema: own.schema }, holds: own.isWhole ? 'whole' : 'part' }
}

/** The API refuses a server that no toolset names. */
function usedServers(
  servers: Json | undefined,
  request: OfferRequest,
  target: ModelTarget,
  warn: Warn,
): Json[] {
  const named = new Set(target.hosted.map(tool => tool['mcp_server_name']))
  return (Array.isArray(servers) ? servers : []).filter(server => {
    if (isJsonObject(server) && named.has(server['name'])) return true
    if (request.hosted !== false)
      warn('A server of `mcp_servers` was left out: no `mcp_toolset` among the hosted tools names it.')
    return false
  })
}

/**
 * As the target has it, except for thinking that the API would refuse in this request: manual thinking in a turn that began
 * without, and any while a call is demanded. The caller's demand comes before the operator's setting.
 */
function thinkingField(
  { thinking }: JsonObject,
  maxTokens: number,
  isForced: boolean,
  { forbidsManualThinking }: Messages,
  warn: Warn,
): JsonObject | undefined {
  if (thinking === undefined || !isJsonObject(thinking)) return undefined
  if (isForced) {
    if (thinking['type'] !== 'disabled')
      warn(
        'Thinking is off for this step: a call was demanded, which Anthropic refuses while the model thinks.',
      )
    return undefined
  }
  if (thinking['type'] !== 'enabled') return thinking
  if (forbidsManualThinking()) {
    warn('Thinking is off for this step: the current turn began without thinking of this model.')
    return undefined
  }
  const budget = thinking['budget_tokens']
  if (typeof budget !== 'number' || budget < maxTokens) return thinking
  if (maxTokens <= LEAST_THINKING_BUDGET) {
    warn(`Thinking is off: ${maxTokens} tokens leave no room for it.`)
    return undefined
  }
  warn(`The budget for thinking was lowered to ${maxTokens - 1} tokens: an answer has at most ${maxTokens}.`)
  return { ...thinking, budget_tokens: maxTokens - 1 }
}

function runsCode(target: ModelTarget): boolean {
  return target.hosted.some(tool => tool['name'] === 'code_execution')
}

/** `usesMcp`: the history holds blocks of the MCP connector, which needs its beta header also then. */
function headerFields(
  target: ModelTarget,
  bound: readonly BoundTool[],
  usesMcp: boolean,
): Record<string, string> {
  const { betas } = target.body
  const names = (Array.isArray(betas) ? betas : []).filter(name => typeof name === 'string')
  const needsMcp = usesMcp || target.hosted.some(tool => tool['type'] === 'mcp_toolset')
  if (needsMcp && !names.some(name => name.startsWith('mcp-client-'))) names.push(MCP_BETA)
  const computer = computerBeta(bound)
  if (computer !== undefined && !names.some(name => name.startsWith('computer-use-'))) names.push(computer)
  return {
    'anthropic-version': VERSION,
    ...(names.length > 0 && { 'anthropic-beta': names.join(',') }),
  }
}

// ---- the history -----------------------------------------------------------------------------------------

type EncodingContext = {
  offer: Offer
  ids: WireIds
  surroundings: Surroundings
  /** The history without its leading system entries. */
  spoken: readonly Entry[]
  /** A cache mark is set on the last block. */
  marksEnd: boolean
  warn: Warn
}

type Messages = {
  /** JSON text of the list. */
  messages: string
  encoded: number
  /** The API refuses manual thinking when the current turn did not begin with thinking. */
  forbidsManualThinking: () => boolean
}

const OPENING = '(Earlier messages are not shown.)'

function encodeHistory(cache: SessionCache, spoken: readonly Entry[], context: EncodingContext): Messages {
  const { offer, ids, surroundings } = context
  const { pieces, encoded, join } = cache.encode(spoken, {
    key: offer.key,
    variant: ids.varies
      ? index => joinVariants(ids.variant(index), surroundings.variant(index))
      : surroundings.variant,
    encode: (entry, index) => encodeEntry(context, entry, index),
  })
  const joined = join((before, index) => {
    const role = messageRole(spoken[index])
    const opening = `{"role":"${role}","content":[`
    // The first message must be a user's, or begin with the summary of those before it.
    if (before < 0)
      return role === 'user' || pieces[index]?.startsWith(SUMMARY_PREFIX)
        ? opening
        : `${userMessage(OPENING)},${opening}`
    return messageRole(spoken[before]) === role ? ',' : `]},${opening}`
  })
  return {
    messages: `[${endWithUser(context, joined)}]`,
    encoded,
    forbidsManualThinking: () => opensWithoutThinking(messagesBackwards(spoken, pieces, surroundings)),
  }
}

/** Neighbours of one role are one message. */
type Role = 'user' | 'assistant'

const messageRole = (entry: Entry | undefined): Role => (entry?.role === 'assistant' ? 'assistant' : 'user')

const userMessage = (text: string): string => `{"role":"user","content":[${textBlock(text)!}]}`

/** The last message must be a user's, unless the vendor paused its answer and is to continue it. */
function endWithUser(context: EncodingContext, { text, head, tail, last }: JoinedHistory): string {
  if (last < 0) return userMessage(OPENING)
  if (messageRole(context.spoken[last]) === 'user')
    return context.marksEnd ? `${head}${withMark(tail)}]}` : `${text}]}`
  if (context.surroundings.endsPaused) return `${text}]}`
  context.warn(ASKED_TO_CONTINUE)
  return `${text}]},${userMessage(CONTINUE)}`
}

const SUMMARY_PREFIX = '{"type":"compaction"'
const RESULT_PREFIX = '{"type":"tool_result"'
const THINKING_PREFIX = /^\{"type":"(redacted_)?thinking"/

type Message = { role: Role; first: string; onlyResults: boolean; hasResults: boolean; hasCalls: boolean }

function* messagesBackwards(
  spoken: readonly Entry[],
  pieces: readonly string[],
  surroundings: Surroundings,
): Generator<Message> {
  let message: Message | undefined
  for (let index = spoken.length - 1; index >= 0; index--) {
    const [entry, first] = [spoken[index], pieces[index]]
    if (entry === undefined || first === undefined || first === '') continue
    const role = messageRole(entry)
    const hasResults = entry.role === 'tool' && first.startsWith(RESULT_PREFIX)
    // A result without its call becomes text after the others.
    const onlyResults = hasResults && surroundings.variant(index) === ''
    const hasCalls = entry.role === 'assistant' && entry.parts.some(part => part.type === 'call')
    if (message?.role === role) {
      message.first = first
      message.onlyResults &&= onlyResults
      message.hasResults ||= hasResults
      message.hasCalls ||= hasCalls
    } else {
      if (message) yield message
      message = { role, first, onlyResults, hasResults, hasCalls }
    }
  }
  if (message) yield message
}

/** The current turn ends with results, and the answer that opened it has calls and does not begin with thinking. */
function opensWithoutThinking(messages: Iterable<Message>): boolean {
  let after: Message | undefined
  for (const message of messages) {
    if (after === undefined && !message.hasResults) return false
    if (after !== undefined && message.role === 'user' && !message.onlyResults) break
    after = message
  }
  return after?.role === 'assistant' && after.hasCalls && !THINKING_PREFIX.test(after.first)
}

// ---- entries ---------------------------------------------------------------------------------------------

/** The entry's blocks as JSON text, joined by commas; '' when it says nothing to this vendor. */
function encodeEntry(context: EncodingContext, entry: Entry, index: number): string {
  switch (entry.role) {
    case 'system':
      // The vendor's own system role may not stand between two messages of one role, nor before results.
      return encodeNote(context, entry)
    case 'user':
      return encodeContent(entry.parts, context.offer.origin, context.warn).join(',')
    case 'assistant':
      return encodeAnswer(context, entry, index).join(',')
    case 'tool':
      return encodeResults(context, entry, index).join(',')
  }
}

function encodeNote({ offer, warn }: EncodingContext, entry: SystemEntry): string {
  const block = textBlock(systemNote(entry.text, warn))
  return block === undefined ? '' : marked(block, cacheMark(entry, offer.origin))
}

const marked = (block: string, mark: Json | undefined): string =>
  mark === undefined ? block : withMark(block, mark)

function encodeAnswer(context: EncodingContext, entry: AssistantEntry, index: number): string[] {
  const { surroundings } = context
  const { origin } = context.offer
  const blocks: string[] = []
  for (const part of entry.parts) {
    if (part.type === 'text') {
      const block = encodeText(part, origin, surroundings.keepsAllBlocks(index))
      if (block !== undefined) blocks.push(block)
    } else if (part.type === 'call') {
      const isPaired = surroundings.isPaired(index, part.id)
      blocks.push(isPaired ? encodeCall(context, part, index) : textBlock(loneCall(part))!)
    } else {
      const data = nativeFor(part, origin)
      if (isJsonObject(data) && !isDropped(data, surroundings))
        blocks.push(wireJson({ type: data['type'], ...data }))
    }
  }
  if (!surroundings.mayEndWithThinking(index)) while (THINKING_PREFIX.test(blocks.at(-1) ?? '')) blocks.pop()
  return blocks
}

function isDropped(block: JsonObject, surroundings: Surroundings): boolean {
  return surroundings.isDropped(block['id']) || surroundings.isDropped(block['tool_use_id'])
}

/** Citations refer to search results: they go back only together with these. */
function encodeText(part: TextPart, origin: Origin, keepsAllBlocks: boolean): string | undefined {
  const block = textBlock(part.text)
  if (block === undefined || part.native === undefined) return block
  const native = nativeFor(part, origin)
  if (!isJsonObject(native)) return block
  const citations = keepsAllBlocks ? native['citations'] : undefined
  const cited = citations === undefined ? block : `${block.slice(0, -1)},"citations":${wireJson(citations)}}`
  return marked(cited, native['cache_control'])
}

function encodeCall(context: EncodingContext, call: CallPart, index: number): string {
  const { offer, ids, surroundings } = context
  const { origin, names, bound } = offer
  const written = bound.length > 0 ? boundTool(bound, call.name)?.typed.write?.(call.text) : undefined
  const name = wireJson(written?.['name'] ?? names.toWire(call.name))
  const id = wireJson(ids.of(index, call.id))
  const input = written === undefined ? argumentsJson(call) : wireJson(written['input'])
  let block = `{"type":"tool_use","id":${id},"name":${name},"input":${input}`
  const given = call.native && nativeFor(call, origin)
  const native = isJsonObject(given) ? given : undefined
  if (native && isJsonObject(native['caller']) && !surroundings.isDropped(native['caller']['tool_id']))
    block += `,"caller":${wireJson(native['caller'])}`
  const toolset = native?.['toolset_name'] ?? written?.['toolset_name']
  if (toolset !== undefined) block += `,"toolset_name":${wireJson(toolset)}`
  return marked(`${block}}`, native?.['cache_control'])
}

const boundTool = (bound: readonly BoundTool[], name: string): BoundTool | undefined =>
  bound.find(({ tool }) => tool.name === name)

/** The set of the vendor's tools that a call belongs to, as the vendor said or as it has to be said. */
function findToolset({ origin, bound }: Offer, call: CallPart): Json | undefined {
  const native = nativeFor(call, origin)
  const given = isJsonObject(native) ? native['toolset_name'] : undefined
  return given ?? boundTool(bound, call.name)?.typed.write?.(call.text)?.['toolset_name']
}

/**
 * Always an object. Sound JSON keeps the model's own spelling, so that numbers keep their digits. Anything else goes
 * into a field, so that the model can see what the result complains about.
 */
function argumentsJson(call: CallPart): string {
  if (call.form === 'text') return wireJson(wrapText(call.text))
  if (call.text.trim() === '') return '{}'
  try {
    const value = parseJson(call.text)
    if (isJsonObject(value)) return call.text.includes('\\u') ? wireJson(value) : call.text.toWellFormed()
  } catch {
    // Not sound: it goes into a field.
  }
  return wireJson({ invalid_arguments: call.text })
}

/** Results must come first. A result whose call is not in the message before would be refused, so it becomes text. */
function encodeResults(context: EncodingContext, entry: ToolEntry, index: number): string[] {
  const { surroundings } = context
  const paired: string[] = []
  const lone: string[] = []
  for (const result of entry.results) {
    if (surroundings.isPaired(index, result.callId)) paired.push(encodeResult(context, result, index))
    else lone.push(textBlock(loneResult(result))!)
  }
  return [...paired, ...lone]
}

function encodeResult(context: EncodingContext, result: CallResult, index: number): string {
  const { offer, ids, warn } = context
  const { callId, outcome } = result
  const content =
    (offer.takesReferences ? referencesTo(result, offer.names) : undefined) ??
    encodeResultContent(outcome, offer.origin, warn)
  let block = `${RESULT_PREFIX},"tool_use_id":${wireJson(ids.of(index, callId))},"content":${content}`
  if (outcome.kind !== 'ok') block += ',"is_error":true'
  const toolset = calledToolset(context, callId, index)
  if (toolset !== undefined) block += `,"toolset_name":${wireJson(toolset)}`
  return marked(`${block}}`, result.native && cacheMark(result, offer.origin))
}

/** Only calls of the vendor's own tools have one. */
function calledToolset({ offer, spoken }: EncodingContext, callId: string, index: number): Json | undefined {
  const answer = spoken[index - 1]
  for (const part of answer?.role === 'assistant' ? answer.parts : [])
    if (part.type === 'call' && part.id === callId)
      return part.native || offer.bound.length > 0 ? findToolset(offer, part) : undefined
  return undefined
}

/** The tools that a search has found: the vendor takes references to them in place of text. */
function referencesTo({ outcome }: CallResult, names: WireNames): string | undefined {
  if (outcome.kind !== 'ok' || outcome.loads === undefined || outcome.loads.length === 0) return undefined
  return wireJson(outcome.loads.map(name => ({ type: 'tool_reference', tool_name: names.toWire(name) })))
}
