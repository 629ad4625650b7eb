// Rules of Anthropic about how messages follow one another: calls and their results, roles, server tools, paused
// turns, prefill. `messages.ts` checks single blocks, `thinking.ts` thinking.
import { isDeepStrictEqual } from 'node:util'
import * as says from '../../../apis/anthropic/wordings.ts'
import type { Check, Mode, Rejection, Rejections } from '../script.ts'
import { asList, asRecord, asRecords, asString, isRecord, type JsonRecord } from '../shape.ts'
import type { AnthropicMemory } from './memory.ts'
import { anthropicError } from './refusals.ts'
import { declaresServerTool } from './tools.ts'

/** One message, or in lenient mode a run of neighbours of one role. `index` is that of the first. */
export type AnthropicMessage = { index: number; role: string; blocks: JsonRecord[] }

export const isToolUse = (block: JsonRecord): boolean => block['type'] === 'tool_use'
export const isToolResult = (block: JsonRecord): boolean => block['type'] === 'tool_result'
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

export type AnthropicCheck = Check<AnthropicMemory> & { messages: AnthropicMessage[] }

export function* checkAnthropicHistory({ body, messages, memory }: AnthropicCheck): Rejections {
  yield* checkRoles(messages)
  const blocks = messages.flatMap(message => message.blocks)
  const usesTools = blocks.some(block => isToolUse(block) || isToolResult(block))
  if (usesTools && asList(body['tools']).length === 0) {
    const text = 'Requests which include `tool_use` or `tool_result` blocks must define tools.'
    yield anthropicError('A-13', text)
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
    yield anthropicError('A-21', says.firstRole)
  } else if (roles.some((role, at) => at > 0 && roles[at - 1] === role)) {
    yield anthropicError('A-21', says.alternatingRoles)
  }
}

function* checkIdsUnique(messages: AnthropicMessage[]): Rejections {
  const seen = new Set<string>()
  for (const { index, blocks } of messages) {
    for (const [place, block] of blocks.entries()) {
      if (!isToolUse(block)) continue
      const id = asString(block['id'])
      if (seen.has(id)) yield anthropicError('A-05', says.repeatedId(`messages.${index}.content.${place}`))
      seen.add(id)
    }
  }
}

const fieldOf = (blocks: JsonRecord[], field: string): string[] => blocks.map(block => asString(block[field]))

function* checkCallsAnswered(message: AnthropicMessage, after: AnthropicMessage | undefined): Rejections {
  const calls = fieldOf(message.blocks.filter(isToolUse), 'id')
  const answers = after?.role === 'user' ? after.blocks : []
  const stop = answers.findIndex(block => !isToolResult(block))
  const leading = fieldOf(stop < 0 ? answers : answers.slice(0, stop), 'tool_use_id')
  const missing = calls.filter(id => !leading.includes(id))
  if (missing.length === 0) return
  const late = fieldOf(answers.filter(isToolResult), 'tool_use_id')
  const rule = missing.every(id => late.includes(id)) ? 'A-03' : 'A-01'
  yield anthropicError(rule, says.unanswered(message.index, missing))
}

function* checkResults(message: AnthropicMessage, before: AnthropicMessage | undefined): Rejections {
  const calls = before?.role === 'assistant' ? fieldOf(before.blocks.filter(isToolUse), 'id') : []
  const seen = new Set<string>()
  for (const [place, block] of message.blocks.entries()) {
    const id = block['tool_use_id']
    if (!isToolResult(block) || typeof id !== 'string') continue
    const path = `messages.${message.index}.content.${place}`
    if (!calls.includes(id)) yield anthropicError('A-02', says.unknownUseId(path, id))
    else if (seen.has(id)) yield anthropicError('A-04', says.secondResult(path, id))
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
  for (const { role, index, blocks } of messages) {
    if (role !== 'assistant') {
      if (blocks.every(isToolResult)) continue
      for (const call of open.values()) yield danglingCall(call, tools)
      open.clear()
      continue
    }
    for (const [place, block] of blocks.entries()) {
      const type = asString(block['type'])
      if (isServerUse(block)) {
        const [id, name] = [asString(block['id']), asString(block['name'])]
        open.set(id, { id, name, index, result: resultType(block, name) })
      } else if (type.endsWith('_tool_result')) {
        const id = asString(block['tool_use_id'])
        if (open.get(id)?.result === type) open.delete(id)
        else {
          const text = `messages.${index}.content.${place}: unexpected \`tool_use_id\` found in \`${type}\` blocks: ${id}. Each \`${type}\` block must have a corresponding \`server_tool_use\` block before it.`
          yield anthropicError('A-22', text)
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
    ? anthropicError('A-22', text)
    : anthropicError('A-23', `${text}, but no \`${name}\` tool was provided`)
}

/** A tool reference, from the server's search or a client's own, names a tool that is declared. */
function* checkToolReferences(tools: unknown, blocks: JsonRecord[]): Rejections {
  const declared = asRecords(tools).map(tool => tool['name'])
  for (const { content } of blocks) {
    for (const part of asRecords(isRecord(content) ? content['tool_references'] : content)) {
      const name = part['tool_name']
      if (part['type'] !== 'tool_reference' || declared.includes(name)) continue
      yield anthropicError('A-TS', `Tool reference '${asString(name)}' has no corresponding tool definition`)
    }
  }
}

function* checkExpiry(container: unknown, expiries: ReadonlyMap<string, number>): Rejections {
  const expires = expiries.get(asString(container))
  if (expires === undefined || expires > Date.now()) return
  yield anthropicError('A-PTC', `container: Container '${asString(container)}' has expired.`)
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
    yield anthropicError('A-PTC', text)
  }
  const wanted = containers.get(asString(pending['id']))
  if (typeof container !== 'string') {
    const text =
      'container_id is required when there are pending tool uses generated by code execution with tools.'
    yield anthropicError('A-PTC', text)
  } else if (wanted !== undefined && wanted !== container) {
    const text = `container: the pending tool uses belong to another container than '${container}'.`
    yield anthropicError('A-PTC', text)
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
    return yield anthropicError('A-18', says.prefill)
  }
  // Turns that were paused one after the other stand in one message. The last of them is what is continued.
  const issued = serverUses.map(block => paused.get(asString(block['id']))).findLast(Boolean)
  if (issued === undefined) return
  const echoed = last.blocks.slice(-issued.length)
  if (isDeepStrictEqual(issued.map(withoutOptional), echoed.map(withoutOptional))) return
  const text = `messages.${last.index}: a paused turn must be sent back as it was received.`
  yield anthropicError('A-24', text)
}
