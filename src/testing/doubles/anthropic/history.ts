// Rules of Anthropic about how messages follow one another, and the memory that they read: calls and their results, roles,
// server tools, paused turns, prefill, thinking, held conversations. `request.ts` checks single messages.

import { isDeepStrictEqual } from 'node:util'
import * as says from '../../../apis/anthropic/wordings.ts'
import type { MemoryOptions } from '../double.ts'
import type { Check, Mode, Rejection, Rejections } from '../script.ts'
import { inspectSeal, judgeSignature } from '../seal.ts'
import { asList, asRecord, asRecords, asString, isRecord, type JsonRecord } from '../shape.ts'
import { refuse } from './refusals.ts'
import { declaresServerTool } from './tools.ts'

export type AnthropicMemory = ReturnType<typeof newAnthropicMemory>

export const newAnthropicMemory = ({ trustForeign = false }: MemoryOptions = {}) => ({
  counter: 0,
  trustForeign,
  /** Signature → the thinking text it was issued with. */
  signatures: new Map<string, string>(),
  redacted: new Set<string>(),
  encrypted: new Set<string>(),
  /** Tool call id → the thinking blocks of the response that made the call. */
  thinking: new Map<string, JsonRecord[]>(),
  /** Server tool call id → the whole content of the paused response it came in. */
  paused: new Map<string, unknown[]>(),
  /** Tool call id → the container that its code waits in. */
  containers: new Map<string, string>(),
  /** Container → when it expires, in milliseconds. */
  expiries: new Map<string, number>(),
  /** Response id → the conversation that is held under it. */
  threads: new Map<string, Thread>(),
})

// ---- how messages follow one another ------------------------------------------------------------------------

/** One message, or in lenient mode a run of neighbours of one role. `index` is that of the first. */
type AnthropicMessage = { index: number; role: string; blocks: JsonRecord[] }

const isToolUse = (block: JsonRecord): boolean => block['type'] === 'tool_use'
const isToolResult = (block: JsonRecord): boolean => block['type'] === 'tool_result'
const isServerUse = (block: JsonRecord): boolean =>
  block['type'] === 'server_tool_use' || block['type'] === 'mcp_tool_use'

/** A call that code made, and not the model itself. */
export const isFromCode = ({ caller }: JsonRecord): boolean => isRecord(caller) && caller['type'] !== 'direct'

/** A container is given by its id, or as an object with an id. */
export const containerId = (container: unknown): unknown =>
  isRecord(container) ? container['id'] : container

export function readMessages(given: unknown, mode: Mode): AnthropicMessage[] {
  const messages: AnthropicMessage[] = []
  for (const [index, { role: named, content }] of asRecords(given).entries()) {
    const blocks = typeof content === 'string' ? [{ type: 'text', text: content }] : asRecords(content)
    const role = asString(named)
    const last = messages.at(-1)
    if (mode === 'lenient' && last?.role === role) last.blocks.push(...blocks)
    else messages.push({ index, role, blocks: [...blocks] })
  }
  return messages
}

/** The blocks of messages, each with its path as the API reports it. */
function* placedBlocks(messages: AnthropicMessage[]) {
  for (const message of messages)
    for (const [place, block] of message.blocks.entries())
      yield { message, block, path: `messages.${message.index}.content.${place}` }
}

type AnthropicCheck = Check<AnthropicMemory> & { messages: AnthropicMessage[] }

export function* checkAnthropicHistory({ body, messages, memory }: AnthropicCheck): Rejections {
  yield* checkRoles(messages)
  const blocks = messages.flatMap(message => message.blocks)
  const usesTools = blocks.some(block => isToolUse(block) || isToolResult(block))
  if (usesTools && asList(body['tools']).length === 0) {
    const text = 'Requests which include `tool_use` or `tool_result` blocks must define tools.'
    yield refuse('A-13', text)
  }
  yield* checkIdsUnique(messages)
  for (const [at, message] of messages.entries()) {
    if (message.role === 'assistant') yield* checkCallsAnswered(message, messages[at + 1])
    else yield* checkResults(message, messages[at - 1])
  }
  yield* checkServerTools(body['tools'], messages)
  yield* checkToolReferences(body['tools'], blocks)
  yield* checkExpiry(containerId(body['container']), memory.expiries)
  yield* checkPendingCode(containerId(body['container']), messages, memory.containers)
  yield* checkLastMessage(asString(body['model']), messages.at(-1), memory.paused)
}

function* checkRoles(messages: AnthropicMessage[]): Rejections {
  const roles = messages.map(message => message.role).filter(role => role !== 'system')
  const isSummary = messages[0]?.blocks[0]?.['type'] === 'compaction'
  if (roles[0] === 'assistant' && !isSummary) {
    yield refuse('A-21', says.firstRole)
  } else if (roles.some((role, at) => at > 0 && roles[at - 1] === role)) {
    yield refuse('A-21', says.alternatingRoles)
  }
}

function* checkIdsUnique(messages: AnthropicMessage[]): Rejections {
  const seen = new Set<string>()
  for (const { block, path } of placedBlocks(messages)) {
    if (!isToolUse(block)) continue
    const id = asString(block['id'])
    if (seen.has(id)) yield refuse('A-05', says.repeatedId(path))
    seen.add(id)
  }
}

const listField = (blocks: JsonRecord[], field: string): string[] =>
  blocks.map(block => asString(block[field]))

function* checkCallsAnswered(message: AnthropicMessage, after: AnthropicMessage | undefined): Rejections {
  const calls = listField(message.blocks.filter(isToolUse), 'id')
  const answers = after?.role === 'user' ? after.blocks : []
  const stop = answers.findIndex(block => !isToolResult(block))
  const leading = listField(stop < 0 ? answers : answers.slice(0, stop), 'tool_use_id')
  const missing = calls.filter(id => !leading.includes(id))
  if (missing.length === 0) return
  const late = listField(answers.filter(isToolResult), 'tool_use_id')
  const rule = missing.every(id => late.includes(id)) ? 'A-03' : 'A-01'
  yield refuse(rule, says.unanswered(message.index, missing))
}

function* checkResults(message: AnthropicMessage, before: AnthropicMessage | undefined): Rejections {
  const calls = before?.role === 'assistant' ? listField(before.blocks.filter(isToolUse), 'id') : []
  const seen = new Set<string>()
  for (const { block, path } of placedBlocks([message])) {
    const id = block['tool_use_id']
    if (!isToolResult(block) || typeof id !== 'string') continue
    if (!calls.includes(id)) yield refuse('A-02', says.unknownUseId(path, id))
    else if (seen.has(id)) yield refuse('A-04', says.secondResult(path, id))
    seen.add(id)
  }
}

/** A call of a server tool that has no result yet. */
type ServerCall = { id: string; name: string; index: number; result: string }

const resultType = (block: JsonRecord, name: string): string => {
  if (block['type'] === 'mcp_tool_use') return 'mcp_tool_result'
  return name.startsWith('tool_search_tool_') ? 'tool_search_tool_result' : `${name}_tool_result`
}

/**
 * A server tool's call and its result stand in the same assistant turn. Only the results of client calls may come between
 * them (a mixed response), and the request may end while a call is open (a paused turn).
 */
function* checkServerTools(tools: unknown, messages: AnthropicMessage[]): Rejections {
  const open = new Map<string, ServerCall>()
  for (const message of messages) {
    if (message.role !== 'assistant') {
      if (message.blocks.every(isToolResult)) continue
      for (const call of open.values()) yield danglingCall(call, tools)
      open.clear()
      continue
    }
    for (const { block, path } of placedBlocks([message])) {
      const type = asString(block['type'])
      if (isServerUse(block)) {
        const [id, name] = [asString(block['id']), asString(block['name'])]
        open.set(id, { id, name, index: message.index, result: resultType(block, name) })
      } else if (type.endsWith('_tool_result')) {
        const id = asString(block['tool_use_id'])
        if (open.get(id)?.result === type) open.delete(id)
        else {
          const text = `${path}: unexpected \`tool_use_id\` found in \`${type}\` blocks: ${id}. Each \`${type}\` block must have a corresponding \`server_tool_use\` block before it.`
          yield refuse('A-22', text)
        }
      }
    }
  }
  for (const call of open.values()) if (!isDeclared(call, tools)) yield danglingCall(call, tools)
}

const isDeclared = ({ name, result }: ServerCall, tools: unknown): boolean =>
  result === 'mcp_tool_result' || declaresServerTool(tools, name)

function danglingCall(call: ServerCall, tools: unknown): Rejection {
  const { id, name, index, result } = call
  const text = `messages.${index}: \`${name}\` tool use with id \`${id}\` was found without a corresponding \`${result}\` block`
  return isDeclared(call, tools)
    ? refuse('A-22', text)
    : refuse('A-23', `${text}, but no \`${name}\` tool was provided`)
}

/** A tool reference, from the server's search or a client's own, names a tool that is declared. */
function* checkToolReferences(tools: unknown, blocks: JsonRecord[]): Rejections {
  const declared = asRecords(tools).map(tool => tool['name'])
  for (const { content } of blocks) {
    for (const part of asRecords(isRecord(content) ? content['tool_references'] : content)) {
      const name = part['tool_name']
      if (part['type'] !== 'tool_reference' || declared.includes(name)) continue
      yield refuse('A-TS', `Tool reference '${asString(name)}' has no corresponding tool definition`)
    }
  }
}

function* checkExpiry(container: unknown, expiries: ReadonlyMap<string, number>): Rejections {
  const expires = expiries.get(asString(container))
  if (expires === undefined || expires > Date.now()) return
  yield refuse('A-PTC', `container: Container '${asString(container)}' has expired.`)
}

/** Calls made from code wait in a container. Only their results may follow, and they go to that container. */
function* checkPendingCode(
  container: unknown,
  messages: AnthropicMessage[],
  containers: ReadonlyMap<string, string>,
): Rejections {
  const [calling, last] = messages.slice(-2)
  if (last?.role !== 'user' || calling?.role !== 'assistant') return
  const pending = calling.blocks.find(block => isToolUse(block) && isFromCode(block))
  if (pending === undefined) return
  if (!last.blocks.every(isToolResult)) {
    const text = `messages.${last.index}: only \`tool_result\` blocks may answer tool calls that were made from code execution.`
    yield refuse('A-PTC', text)
  }
  const wanted = containers.get(asString(pending['id']))
  if (typeof container !== 'string') {
    const text =
      'container_id is required when there are pending tool uses generated by code execution with tools.'
    yield refuse('A-PTC', text)
  } else if (wanted !== undefined && wanted !== container) {
    const text = `container: the pending tool uses belong to another container than '${container}'.`
    yield refuse('A-PTC', text)
  }
}

/** The version in a model's name. A name without one counts as newer than all. */
export function modelVersion(model: string): number {
  const match = /claude-(?:opus|sonnet|haiku|fable|mythos)-(\d+)(?:-(\d{1,2}))?(?!\d)/.exec(model)
  if (match) return Number(match[1]) + Number(match[2] ?? 0) / 10
  return /^claude-3/.test(model) ? 3 : Number.POSITIVE_INFINITY
}

/** A block without what an echo may drop or add: nulls and cache breakpoints. */
const withoutOptional = (block: unknown): JsonRecord =>
  Object.fromEntries(
    Object.entries(asRecord(block)).filter(([key, value]) => value !== null && key !== 'cache_control'),
  )

function* checkLastMessage(
  model: string,
  last: AnthropicMessage | undefined,
  paused: ReadonlyMap<string, unknown[]>,
): Rejections {
  if (last?.role !== 'assistant') return
  const serverUses = last.blocks.filter(isServerUse)
  if (serverUses.length === 0) {
    if (modelVersion(model) < 4.6) return
    return yield refuse('A-18', says.prefill)
  }
  // Turns that were paused one after the other stand in one message. The last of them is what is continued.
  const issued = serverUses.map(block => paused.get(asString(block['id']))).findLast(Boolean)
  if (issued === undefined) return
  const echoed = last.blocks.slice(-issued.length)
  if (isDeepStrictEqual(issued.map(withoutOptional), echoed.map(withoutOptional))) return
  const text = `messages.${last.index}: a paused turn must be sent back as it was received.`
  yield refuse('A-24', text)
}

// ---- thinking and encrypted results -------------------------------------------------------------------------

const isThinking = (block: JsonRecord): boolean =>
  block['type'] === 'thinking' || block['type'] === 'redacted_thinking'

const MODIFIED =
  '`thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified. These blocks must remain as they were in the original response.'
const BAD_SIGNATURE = 'Invalid `signature` in `thinking` block'

export function* checkThinking(check: AnthropicCheck): Rejections {
  const { body, messages, memory, mode } = check
  const latest = messages.findLast(message => message.role === 'assistant')
  yield* checkSignatures(check, latest)
  yield* checkEncryptedResults(check)
  if (mode === 'lenient') return
  if (latest) yield* checkLatestThinking(latest, memory)
  if (asRecord(body['thinking'])['type'] === 'enabled') yield* checkTurnOpening(messages, memory)
}

function* checkSignatures(check: AnthropicCheck, latest: AnthropicMessage | undefined): Rejections {
  const { memory, mode } = check
  for (const { message, block, path } of placedBlocks(check.messages)) {
    if (block['type'] === 'redacted_thinking') {
      const data = asString(block['data'])
      const isKnown = memory.redacted.has(data) || inspectSeal('redacted', data, '') === 'valid'
      if (isKnown || (memory.trustForeign && data !== '')) continue
      yield refuse('A-19', `${path}: Invalid \`data\` in \`redacted_thinking\` block`)
    } else if (block['type'] === 'thinking') {
      const [signature, text] = [asString(block['signature']), asString(block['thinking'])]
      const verdict = judgeSignature('thinking', signature, text, memory)
      if (verdict === 'valid' || (verdict === 'altered' && mode === 'lenient')) continue
      const problem = verdict === 'altered' && message === latest ? MODIFIED : BAD_SIGNATURE
      yield refuse('A-19', `${path}: ${problem}`)
    }
  }
}

function* checkEncryptedResults({ messages, memory }: AnthropicCheck): Rejections {
  const isGenuine = (text: string, url: unknown): boolean =>
    memory.trustForeign ||
    memory.encrypted.has(text) ||
    inspectSeal('search', text, asString(url)) === 'valid'
  for (const { block, path } of placedBlocks(messages)) {
    if (block['type'] !== 'web_search_tool_result') continue
    for (const [at, item] of asRecords(block['content']).entries()) {
      if (item['type'] !== 'web_search_result') continue
      const place = `${path}.web_search_tool_result.content.${at}`
      const text = item['encrypted_content']
      if (typeof text !== 'string') yield refuse('A-25', says.fieldRequired(`${place}.encrypted_content`))
      else if (!isGenuine(text, item['url']))
        yield refuse('A-25', `${place}: Invalid \`encrypted_content\` in \`web_search_result\` block`)
    }
  }
}

/** If this double wrote the latest assistant message, its thinking blocks come back whole, or none does. */
function* checkLatestThinking(latest: AnthropicMessage, memory: AnthropicMemory): Rejections {
  const call = latest.blocks.find(block => isToolUse(block) && memory.thinking.has(asString(block['id'])))
  const issued = call && memory.thinking.get(asString(call['id']))
  const given = latest.blocks.filter(isThinking)
  if (issued === undefined || given.length === 0) return
  const contents = (blocks: JsonRecord[]): string =>
    JSON.stringify(blocks.map(({ type, thinking, signature, data }) => [type, thinking, signature, data]))
  if (contents(given) === contents(issued)) return
  yield refuse('A-19', `messages.${latest.index}.content.0: ${MODIFIED}`)
}

/** With `thinking: enabled`, an assistant turn that waits for tool results begins with its thinking. */
function* checkTurnOpening(messages: AnthropicMessage[], memory: AnthropicMemory): Rejections {
  const last = messages.at(-1)
  if (last?.role !== 'user' || !last.blocks.some(isToolResult)) return
  const start = messages
    .slice(0, -1)
    .findLastIndex(({ role, blocks }) => role === 'user' && !blocks.every(isToolResult))
  const opening = messages[start + 1]
  const [first] = opening?.blocks ?? []
  if (opening?.role !== 'assistant' || first === undefined || isThinking(first)) return
  const calls = opening.blocks.filter(isToolUse)
  // A scripted turn may have no thinking. Then the double asks for none back.
  const hadNone = calls.some(call => memory.thinking.get(asString(call['id']))?.length === 0)
  if (calls.length === 0 || hadNone) return
  const text = `messages.${opening.index}.content.0.type: Expected \`thinking\` or \`redacted_thinking\`, but found \`${asString(first['type'])}\`. When \`thinking\` is enabled, a final \`assistant\` message must start with a thinking block (preceeding the lastmost set of \`tool_use\` and \`tool_result\` blocks). We recommend you include thinking blocks from previous turns. To avoid this requirement, disable \`thinking\`.`
  yield refuse('A-19', text)
}

// ---- conversations that the vendor holds --------------------------------------------------------------------

export type Thread = { system: unknown; tools: unknown; messages: unknown[]; isContinued: boolean }

/** The id of the response that the request continues, if it continues one. */
function previousMessage({ thread }: JsonRecord): string | undefined {
  const isContinue = isRecord(thread) && thread['type'] === 'continue'
  return isContinue ? asString(thread['previous_message_id']) : undefined
}

/** The request together with its held conversation. Without one, the request as it is. */
export function withThread(body: JsonRecord, memory: AnthropicMemory): JsonRecord {
  const held = memory.threads.get(previousMessage(body) ?? '')
  if (held === undefined) return body
  const { system, tools, messages } = held
  return {
    ...body,
    ...(system !== undefined && { system }),
    ...(tools !== undefined && { tools }),
    messages: [...messages, ...asList(body['messages'])],
  }
}

export function* checkThread(body: JsonRecord, memory: AnthropicMemory): Rejections {
  const previous = previousMessage(body)
  if (previous === undefined) return
  const held = memory.threads.get(previous)
  if (held === undefined) {
    if (memory.trustForeign) return
    const text = `thread: no thread holds the message '${previous}'.`
    return yield { ...refuse('A-TH', text), code: 'thread_not_found' }
  }
  for (const key of ['system', 'tools']) {
    if (body[key] === undefined) continue
    yield refuse('A-TH', `${key}: is held by the thread and cannot be sent when continuing it.`)
  }
  if (!held.isContinued) return
  const text = `thread: the message '${previous}' was continued already.`
  yield { ...refuse('A-TH', text), code: 'thread_already_continued' }
}

/** Holds the conversation under the id of the response that was just made. */
export function holdThread(body: JsonRecord, response: JsonRecord, memory: AnthropicMemory): void {
  if (!isRecord(body['thread'])) return
  const { system, tools, messages } = withThread(body, memory)
  const before = memory.threads.get(previousMessage(body) ?? '')
  if (before !== undefined) before.isContinued = true
  memory.threads.set(asString(response['id']), {
    system,
    tools,
    messages: [...asList(messages), { role: 'assistant', content: response['content'] }],
    isContinued: false,
  })
}
