// A request to Anthropic Messages: the body, and the history as its `messages`. Calls and results are paired, roles
// alternate, nothing is empty, and the vendor's own blocks go back unchanged in their places or are left out whole.
// Each entry is encoded once; neighbours of one role are joined as text.

import type { ModelRequest } from '../../../engine/ports/index.ts'
import type { CallPart, CallResult } from '../../../language/calls.ts'
import type { Origin } from '../../../language/content.ts'
import type { AnswerFormat } from '../../../language/format.ts'
import {
  type AssistantEntry,
  callsOf,
  type Entry,
  type SystemEntry,
  type ToolEntry,
} from '../../../language/history.ts'
import { isJsonObject, type Json, type JsonObject, parseJson } from '../../../lib/json/index.ts'
import { wellFormed } from '../../../lib/text/index.ts'
import { bodyWith, isFailed, nativeFor, wireJson } from '../../common/artifacts.ts'
import { formatSchema, settleFormat, type VendorFormat } from '../../common/format.ts'
import {
  ASKED_TO_CONTINUE,
  CONTINUE,
  loneCall,
  loneResult,
  splitSystem,
  systemNote,
} from '../../common/history.ts'
import { asObject } from '../../common/json-read.ts'
import { anthropicFitted, anthropicStrict } from '../../common/schema-dialect.ts'
import { joinVariants, SessionCache } from '../../common/session-cache.ts'
import { wrapText } from '../../common/text-tools.ts'
import { type BoundTool, bindTools, plainTools } from '../../common/vendor-typed.ts'
import { collectWarnings, type Warn } from '../../common/warnings.ts'
import { type IdRule, type WireIds, wireIds } from '../../common/wire-ids.ts'
import { toolNames, type WireNames } from '../../common/wire-names.ts'
import type { ModelTarget, Prepared } from '../../protocol.ts'
import { markedTools, markOf, setsMarks, systemField, withMark } from './cache.ts'
import { computerBeta } from './computer.ts'
import {
  callersIn,
  type HistoryFacts,
  historyFacts,
  livingContainer,
  type Surroundings,
  surroundingsIn,
} from './context.ts'
import type { Reading } from './decode.ts'
import { referredIn, takesDeferred, withSearch } from './deferred.ts'
import { noOutputFormat } from './failure.ts'
import { encodeContent, encodeResultContent, textBlock } from './media.ts'
import { type Declarations, declareTools, fitsStrict, nameRuleFor } from './tools.ts'
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
): Prepared<Reading> {
  const { warnings, warn } = collectWarnings()
  const target = withSearch(asked, deployed)
  const takesReferences = takesDeferred(target)
  const { request, field: format, unchecked } = settleFormat(asked, each => vendorFormat(each, target))
  const origin: Origin = { protocol: protocolName, family: target.family }
  const { systemParts, spoken } = splitSystem(request)
  const facts = historyFacts(cache, spoken, origin)
  const isCallers = systemParts.some(part => markOf(part, origin) !== undefined)
  const sets = setsMarks(request, target, facts.marked || isCallers)
  const stored = livingContainer(facts, target)
  const { names, bound, namesKey } = namesFor(request, target, warn)
  const history = encodeHistory(cache, spoken, {
    origin,
    names,
    bound,
    namesKey,
    ids: wireIds(cache, spoken, origin, ID_RULE),
    surroundings: surroundingsIn(spoken, facts, { origin, hosted: target.hosted, container: stored }),
    spoken,
    takesReferences,
    marksEnd: sets,
    warn,
  })
  const found = new Set([...facts.found, ...referredIn(cache, spoken, names, target)])
  const maxTokens = request.maxTokens ?? (target.maxTokens > 0 ? target.maxTokens : DEFAULT_MAX_TOKENS)
  const declared = declareTools({ request, target, names, bound, spoken, found, format, warn })
  const thinking = declared.isForced
    ? withoutThinking(target.body, warn)
    : thinkingField(target.body, maxTokens, history.forbidsManualThinking, warn)
  const usesContainer = runsCode(target) || callersIn(spoken, origin).size > 0
  const container = usesContainer ? stored : undefined
  const fields: JsonObject = {
    ...operatorFields(request, target, container, warn),
    model: target.model,
    max_tokens: maxTokens,
    ...(thinking && { thinking }),
    ...(format && { output_config: { ...asObject(target.body['output_config']), format } }),
    ...systemField(systemParts, origin, sets),
    ...(sets && systemParts.length === 0 ? markedTools(declared.fields) : declared.fields),
    stream: true,
  }
  return {
    path: '/v1/messages',
    headers: headerFields(target, facts, bound),
    body: bodyWith(fields, 'messages', history.messages),
    warnings,
    reading: readingOf(declared, origin, bound, target, facts),
    ...(unchecked && { unchecked }),
    usesStored: container !== undefined,
    encoded: history.encoded,
  }
}

function readingOf(
  { names, textTools }: Declarations,
  origin: Origin,
  bound: readonly BoundTool[],
  target: ModelTarget,
  facts: HistoryFacts,
): Reading {
  const lostContainer = facts.container !== undefined && livingContainer(facts, target) === undefined
  return {
    origin,
    names,
    textTools,
    bound,
    ...(lostContainer && { lostContainer: true as const }),
    ...(isJsonObject(target.body['compaction']) && { isSummary: true }),
  }
}

/** `namesKey`: everything that the encoding of names and references depends on. */
function namesFor(
  request: ModelRequest,
  target: ModelTarget,
  warn: Warn,
): { names: WireNames; bound: BoundTool[]; namesKey: string } {
  const rule = nameRuleFor(target.hosted)
  const offered = target.quirks.has(plainTools) ? [] : request.tools
  const bound = bindTools(offered, protocolName, anthropicTyped, warn)
  const fixed = new Map([...callersNames(target.hosted, request.tools), ...fixedNames(bound)])
  const spelled = [...fixed].map(pair => pair.join('='))
  const namesKey = [takesDeferred(target) ? '' : 'plain', ...rule.reserved, ...spelled].join('|')
  return { names: toolNames(request.tools, rule, fixed), bound, namesKey }
}

// ---- fields ----------------------------------------------------------------------------------------------

/** The target's fields, less those that are set elsewhere, with the container in which the vendor's code waits. */
function operatorFields(
  request: ModelRequest,
  target: ModelTarget,
  id: string | undefined,
  warn: Warn,
): JsonObject {
  const {
    betas: _,
    thinking: __,
    messages: ___,
    container: given,
    mcp_servers: servers,
    ...own
  } = target.body
  const container = id === undefined ? given : isJsonObject(given) ? { ...given, id } : id
  const mcp_servers = usedServers(servers, request, target, warn)
  return {
    ...own,
    ...(container !== undefined && { container }),
    ...(mcp_servers.length > 0 && { mcp_servers }),
  }
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
  request: ModelRequest,
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

/** The API refuses a demanded call while the model thinks. The caller's demand comes before the operator's setting. */
function withoutThinking({ thinking }: JsonObject, warn: Warn): undefined {
  if (isJsonObject(thinking) && thinking['type'] !== 'disabled')
    warn(
      'Thinking is off for this step: a call was demanded, which Anthropic refuses while the model thinks.',
    )
}

/** As the target has it, except for manual thinking that the API would refuse in this request. */
function thinkingField(
  body: JsonObject,
  maxTokens: number,
  isForbidden: () => boolean,
  warn: Warn,
): JsonObject | undefined {
  const { thinking } = body
  if (!isJsonObject(thinking)) return undefined
  if (thinking['type'] !== 'enabled') return thinking
  if (isForbidden()) {
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

/** The MCP connector needs its beta header also when only the history holds its blocks. */
function headerFields(
  target: ModelTarget,
  facts: HistoryFacts,
  bound: readonly BoundTool[],
): Record<string, string> {
  const { betas } = target.body
  const names = (Array.isArray(betas) ? betas : []).filter(name => typeof name === 'string')
  const usesMcp = facts.usesMcp || target.hosted.some(tool => tool['type'] === 'mcp_toolset')
  if (usesMcp && !names.some(name => name.startsWith('mcp-client-'))) names.push(MCP_BETA)
  const computer = computerBeta(bound)
  if (computer !== undefined && !names.some(name => name.startsWith('computer-use-'))) names.push(computer)
  return {
    'anthropic-version': VERSION,
    ...(names.length > 0 && { 'anthropic-beta': names.join(',') }),
  }
}

// ---- the history -----------------------------------------------------------------------------------------

type EncodingContext = {
  origin: Origin
  names: WireNames
  bound: readonly BoundTool[]
  /** Everything that spellings depend on besides the names themselves. */
  namesKey: string
  ids: WireIds
  surroundings: Surroundings
  /** The history without its leading system entries. */
  spoken: readonly Entry[]
  /** Results may refer to deferred tools. */
  takesReferences: boolean
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
  const { origin, namesKey, ids, surroundings } = context
  const { pieces, encoded, join } = cache.encode(spoken, {
    key: `${origin.protocol} ${origin.family} ${namesKey}`,
    variant: index => joinVariants(ids.variant(index), surroundings.variant(index)),
    encode: (entry, index) => encodeEntry(context, entry, index),
  })
  const { text, last } = join((before, index) => {
    const role = roleOf(spoken[index])
    const opening = `{"role":"${role}","content":[`
    // The first message must be a user's, or begin with the summary of those before it.
    if (before < 0)
      return role === 'user' || pieces[index]?.startsWith(SUMMARY_PREFIX)
        ? opening
        : `${userMessage(OPENING)},${opening}`
    return roleOf(spoken[before]) === role ? ',' : `]},${opening}`
  })
  return {
    messages: `[${endWithUser(context, text, last < 0 ? undefined : roleOf(spoken[last]))}]`,
    encoded,
    forbidsManualThinking: () => opensWithoutThinking(messagesBackwards(spoken, pieces, surroundings)),
  }
}

/** Neighbours of one role are one message. */
type Role = 'user' | 'assistant'

const roleOf = (entry: Entry | undefined): Role => (entry?.role === 'assistant' ? 'assistant' : 'user')

const userMessage = (text: string): string => `{"role":"user","content":[${textBlock(text)!}]}`

/** The last message must be a user's, unless the vendor paused its answer and is to continue it. */
function endWithUser(context: EncodingContext, messages: string, last: Role | undefined): string {
  if (last === undefined) return userMessage(OPENING)
  if (last === 'user') return `${context.marksEnd ? withMark(messages) : messages}]}`
  if (context.surroundings.endsPaused) return `${messages}]}`
  context.warn(ASKED_TO_CONTINUE)
  return `${messages}]},${userMessage(CONTINUE)}`
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
    const role = roleOf(entry)
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
      return encodeContent(entry.parts, context.origin, context.warn).join(',')
    case 'assistant':
      return encodeAnswer(context, entry, index).join(',')
    case 'tool':
      return encodeResults(context, entry, index).join(',')
  }
}

function encodeNote({ origin, warn }: EncodingContext, entry: SystemEntry): string {
  const block = textBlock(systemNote(entry.text, warn))
  return block === undefined ? '' : marked(block, markOf(entry, origin))
}

const marked = (block: string, mark: Json | undefined): string =>
  mark === undefined ? block : withMark(block, mark)

function encodeAnswer(context: EncodingContext, entry: AssistantEntry, index: number): string[] {
  const { origin, surroundings } = context
  const blocks: string[] = []
  for (const part of entry.parts) {
    if (part.type === 'text') {
      const block = encodeText(part.text, nativeFor(part, origin), surroundings.keepsAllBlocks(index))
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
function encodeText(text: string, native: unknown, keepsAllBlocks: boolean): string | undefined {
  const citations = isJsonObject(native) && keepsAllBlocks ? native['citations'] : undefined
  const block = textBlock(text)
  if (block === undefined) return undefined
  const cited = citations === undefined ? block : `${block.slice(0, -1)},"citations":${wireJson(citations)}}`
  return marked(cited, isJsonObject(native) ? native['cache_control'] : undefined)
}

function encodeCall(context: EncodingContext, call: CallPart, index: number): string {
  const { origin, ids, names, bound, surroundings } = context
  const written = bound.find(({ tool }) => tool.name === call.name)?.typed.write?.(call.text)
  const name = wireJson(written?.['name'] ?? names.toWire(call.name))
  const id = wireJson(ids.of(index, call.id))
  const input = written === undefined ? argumentsJson(call) : wireJson(written['input'])
  let block = `{"type":"tool_use","id":${id},"name":${name},"input":${input}`
  const native = nativeFor(call, origin)
  if (isJsonObject(native) && isJsonObject(native['caller']))
    if (!surroundings.isDropped(native['caller']['tool_id']))
      block += `,"caller":${wireJson(native['caller'])}`
  const toolset = toolsetOf(context, call)
  if (toolset !== undefined) block += `,"toolset_name":${wireJson(toolset)}`
  return marked(`${block}}`, isJsonObject(native) ? native['cache_control'] : undefined)
}

/** The set of the vendor's tools that a call belongs to, as the vendor said or as it has to be said. */
function toolsetOf({ origin, bound }: EncodingContext, call: CallPart): Json | undefined {
  const native = nativeFor(call, origin)
  const given = isJsonObject(native) ? native['toolset_name'] : undefined
  return (
    given ?? bound.find(({ tool }) => tool.name === call.name)?.typed.write?.(call.text)?.['toolset_name']
  )
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
    if (isJsonObject(value)) return call.text.includes('\\u') ? wireJson(value) : wellFormed(call.text)
  } catch {
    // Not sound: it goes into a field.
  }
  return wireJson({ invalid_arguments: call.text })
}

/** Results must come first. A result whose call is not in the message before would be refused, so it becomes text. */
function encodeResults(context: EncodingContext, entry: ToolEntry, index: number): string[] {
  const { surroundings, spoken } = context
  const answer = spoken[index - 1]
  const calls = new Map((answer?.role === 'assistant' ? callsOf(answer) : []).map(call => [call.id, call]))
  const paired: string[] = []
  const lone: string[] = []
  for (const result of entry.results) {
    if (surroundings.isPaired(index, result.callId))
      paired.push(encodeResult(context, result, calls.get(result.callId), index))
    else lone.push(textBlock(loneResult(result))!)
  }
  return [...paired, ...lone]
}

function encodeResult(
  context: EncodingContext,
  result: CallResult,
  call: CallPart | undefined,
  index: number,
): string {
  const { origin, ids, names, takesReferences, warn } = context
  const { callId, outcome } = result
  const content =
    (takesReferences ? referencesTo(result, names) : undefined) ?? encodeResultContent(outcome, origin, warn)
  let block = `${RESULT_PREFIX},"tool_use_id":${wireJson(ids.of(index, callId))},"content":${content}`
  if (isFailed(outcome)) block += ',"is_error":true'
  const toolset = call && toolsetOf(context, call)
  if (toolset !== undefined) block += `,"toolset_name":${wireJson(toolset)}`
  return marked(`${block}}`, markOf(result, origin))
}

/** The tools that a search has found: the vendor takes references to them in place of text. */
function referencesTo({ outcome }: CallResult, names: WireNames): string | undefined {
  if (isFailed(outcome) || outcome.loads === undefined || outcome.loads.length === 0) return undefined
  return wireJson(outcome.loads.map(name => ({ type: 'tool_reference', tool_name: names.toWire(name) })))
}
