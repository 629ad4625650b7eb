/**
 * What Anthropic refuses about how messages stand to one another: calls and their results, roles, server
 * tools, paused turns, prefill. Single blocks are `anthropic-blocks.ts`, thinking is `anthropic-thinking.ts`.
 */
import { isDeepStrictEqual } from 'node:util'
import type { Mode, Rejection } from '../script.ts'
import { isRecord, type JsonRecord, recordsOf, stringOf } from '../shape.ts'
import type { AnthropicMemory } from './memory.ts'
import { declaresServerTool, invalid } from './tools.ts'

/** One message, or in lenient mode a run of neighbours of one role. `index` is the first one's. */
export type Said = { index: number; role: string; blocks: JsonRecord[] }

export const isUse = (block: JsonRecord): boolean => block['type'] === 'tool_use'
export const isResult = (block: JsonRecord): boolean => block['type'] === 'tool_result'
const isServerUse = (block: JsonRecord): boolean =>
  block['type'] === 'server_tool_use' || block['type'] === 'mcp_tool_use'

export function readMessages(messages: unknown, mode: Mode): Said[] {
  const said: Said[] = []
  for (const [index, message] of recordsOf(messages).entries()) {
    const content = message['content']
    const blocks = typeof content === 'string' ? [{ type: 'text', text: content }] : recordsOf(content)
    const role = stringOf(message['role'])
    const last = said.at(-1)
    if (mode === 'lenient' && last?.role === role) last.blocks.push(...blocks)
    else said.push({ index, role, blocks: [...blocks] })
  }
  return said
}

export function checkHistory(body: JsonRecord, said: Said[], memory: AnthropicMemory): Rejection[] {
  return [
    ...checkRoles(said),
    ...checkToolsDefined(body, said),
    ...checkIdsUnique(said),
    ...said.flatMap((message, at) => checkPairing(message, said[at - 1], said[at + 1])),
    ...checkServerTools(body, said),
    ...checkReferences(body, said),
    ...checkPending(body, said, memory),
    ...checkLast(body, said, memory),
  ]
}

function checkRoles(said: Said[]): Rejection[] {
  const spoken = said.filter(message => message.role !== 'system')
  if (spoken[0]?.role === 'assistant') {
    return [invalid('A-21', 'messages: first message must use the "user" role')]
  }
  const repeats = spoken.some((message, at) => at > 0 && spoken[at - 1]?.role === message.role)
  return repeats ? [invalid('A-21', 'messages: roles must alternate between "user" and "assistant"')] : []
}

function checkToolsDefined(body: JsonRecord, said: Said[]): Rejection[] {
  const usesTools = said.some(message => message.blocks.some(block => isUse(block) || isResult(block)))
  const hasTools = Array.isArray(body['tools']) && body['tools'].length > 0
  return usesTools && !hasTools
    ? [invalid('A-13', 'Requests which include `tool_use` or `tool_result` blocks must define tools.')]
    : []
}

function checkIdsUnique(said: Said[]): Rejection[] {
  const seen = new Set<string>()
  const found: Rejection[] = []
  for (const { index, blocks } of said) {
    for (const [place, block] of blocks.entries()) {
      if (!isUse(block)) continue
      const id = stringOf(block['id'])
      if (seen.has(id)) {
        found.push(invalid('A-05', `messages.${index}.content.${place}: \`tool_use\` ids must be unique`))
      }
      seen.add(id)
    }
  }
  return found
}

const idsOf = (blocks: JsonRecord[], field: string): string[] => blocks.map(block => stringOf(block[field]))

function checkPairing(message: Said, before: Said | undefined, after: Said | undefined): Rejection[] {
  return message.role === 'assistant' ? checkCalls(message, after) : checkResults(message, before)
}

function checkCalls(message: Said, after: Said | undefined): Rejection[] {
  const asked = idsOf(message.blocks.filter(isUse), 'id')
  if (asked.length === 0) return []
  const answers = after?.role === 'user' ? after.blocks : []
  const stop = answers.findIndex(block => !isResult(block))
  const leading = idsOf(stop < 0 ? answers : answers.slice(0, stop), 'tool_use_id')
  const missing = asked.filter(id => !leading.includes(id))
  if (missing.length === 0) return []
  const late = idsOf(answers.filter(isResult), 'tool_use_id')
  const rule = missing.every(id => late.includes(id)) ? 'A-03' : 'A-01'
  return [
    invalid(
      rule,
      `messages.${message.index}: \`tool_use\` ids were found without \`tool_result\` blocks immediately after: ${missing.join(', ')}. Each \`tool_use\` block must have a corresponding \`tool_result\` block in the next message.`,
    ),
  ]
}

function checkResults(message: Said, before: Said | undefined): Rejection[] {
  const asked = before?.role === 'assistant' ? idsOf(before.blocks.filter(isUse), 'id') : []
  const seen = new Set<string>()
  const found: Rejection[] = []
  for (const [place, block] of message.blocks.entries()) {
    if (!isResult(block) || typeof block['tool_use_id'] !== 'string') continue
    const id = block['tool_use_id']
    const at = `messages.${message.index}.content.${place}`
    if (!asked.includes(id)) {
      found.push(
        invalid(
          'A-02',
          `${at}: unexpected \`tool_use_id\` found in \`tool_result\` blocks: ${id}. Each \`tool_result\` block must have a corresponding \`tool_use\` block in the previous message.`,
        ),
      )
    } else if (seen.has(id)) {
      found.push(
        invalid(
          'A-04',
          `${at}: each tool_use must have a single result. Found multiple \`tool_result\` blocks with id: ${id}`,
        ),
      )
    }
    seen.add(id)
  }
  return found
}

const resultTypeOf = (name: string): string =>
  name.startsWith('tool_search_tool_') ? 'tool_search_tool_result' : `${name}_tool_result`

/**
 * A server tool's call and result stand in the same assistant turn. Between them may only stand the results
 * of client calls (a mixed response), and the request may end while one is open (a paused turn).
 */
function checkServerTools(body: JsonRecord, said: Said[]): Rejection[] {
  const found: Rejection[] = []
  const open = new Map<string, { name: string; index: number; result: string }>()
  for (const message of said) {
    if (message.role !== 'assistant') {
      if (message.blocks.every(isResult)) continue
      for (const [id, use] of open) found.push(danglingServerTool(id, use, body))
      open.clear()
      continue
    }
    for (const [place, block] of message.blocks.entries()) {
      const type = stringOf(block['type'])
      if (isServerUse(block)) {
        const name = stringOf(block['name'])
        const result = type === 'mcp_tool_use' ? 'mcp_tool_result' : resultTypeOf(name)
        open.set(stringOf(block['id']), { name, index: message.index, result })
      } else if (type.endsWith('_tool_result')) {
        const id = stringOf(block['tool_use_id'])
        if (open.get(id)?.result !== type) {
          found.push(
            invalid(
              'A-22',
              `messages.${message.index}.content.${place}: unexpected \`tool_use_id\` found in \`${type}\` blocks: ${id}. Each \`${type}\` block must have a corresponding \`server_tool_use\` block before it.`,
            ),
          )
        } else open.delete(id)
      }
    }
  }
  for (const [id, use] of open) {
    const isDeclared = use.result === 'mcp_tool_result' || declaresServerTool(body['tools'], use.name)
    if (!isDeclared) found.push(danglingServerTool(id, use, body))
  }
  return found
}

function danglingServerTool(
  id: string,
  use: { name: string; index: number; result: string },
  body: JsonRecord,
): Rejection {
  const text = `messages.${use.index}: \`${use.name}\` tool use with id \`${id}\` was found without a corresponding \`${use.result}\` block`
  const isMcp = use.result === 'mcp_tool_result'
  return isMcp || declaresServerTool(body['tools'], use.name)
    ? invalid('A-22', text)
    : invalid('A-23', `${text}, but no \`${use.name}\` tool was provided`)
}

/** A tool reference, from the server's search or a client's own, names a tool that is declared. */
function checkReferences(body: JsonRecord, said: Said[]): Rejection[] {
  const declared = recordsOf(body['tools']).map(tool => tool['name'])
  const blocks = said.flatMap(message => message.blocks)
  const referred = blocks.flatMap(block => {
    const content = block['content']
    return isRecord(content) ? recordsOf(content['tool_references']) : recordsOf(content)
  })
  return referred
    .filter(part => part['type'] === 'tool_reference' && !declared.includes(part['tool_name']))
    .map(part =>
      invalid('A-TS', `Tool reference '${stringOf(part['tool_name'])}' has no corresponding tool definition`),
    )
}

/** Calls made from code wait in a container: only their results may follow, and to that container. */
function checkPending(body: JsonRecord, said: Said[], memory: AnthropicMemory): Rejection[] {
  const last = said.at(-1)
  const asked = said.at(-2)
  if (last?.role !== 'user' || asked?.role !== 'assistant') return []
  const fromCode = asked.blocks.filter(
    block => isUse(block) && isRecord(block['caller']) && block['caller']['type'] !== 'direct',
  )
  const [first] = fromCode
  if (first === undefined) return []
  const found: Rejection[] = []
  if (!last.blocks.every(isResult)) {
    found.push(
      invalid(
        'A-PTC',
        `messages.${last.index}: only \`tool_result\` blocks may answer tool calls that were made from code execution.`,
      ),
    )
  }
  const given = body['container']
  const container = isRecord(given) ? given['id'] : given
  const wanted = memory.containers.get(stringOf(first['id']))
  if (typeof container !== 'string') {
    found.push(
      invalid(
        'A-PTC',
        'container_id is required when there are pending tool uses generated by code execution with tools.',
      ),
    )
  } else if (wanted !== undefined && wanted !== container) {
    found.push(
      invalid('A-PTC', `container: the pending tool uses belong to another container than '${container}'.`),
    )
  }
  return found
}

/** Models from 4.6 on take no prefill; a model whose name tells no version counts as one of them. */
export function modelVersion(model: string): number {
  const match = /claude-(?:opus|sonnet|haiku|fable|mythos)-(\d+)(?:-(\d{1,2}))?(?!\d)/.exec(model)
  if (match) return Number(match[1]) + Number(match[2] ?? 0) / 10
  return /^claude-3/.test(model) ? 3 : Number.POSITIVE_INFINITY
}

/** What an echo may drop or add without changing a block: nulls and cache breakpoints. */
const bare = (block: unknown): unknown =>
  isRecord(block)
    ? Object.fromEntries(
        Object.entries(block).filter(([key, value]) => value !== null && key !== 'cache_control'),
      )
    : block

function checkLast(body: JsonRecord, said: Said[], memory: AnthropicMemory): Rejection[] {
  const last = said.at(-1)
  if (last?.role !== 'assistant') return []
  const serverUses = last.blocks.filter(isServerUse)
  if (serverUses.length > 0) {
    // Answers that were paused one after the other stand in one message: the last of them is what is gone on with.
    const handed = serverUses.map(block => memory.paused.get(stringOf(block['id']))).findLast(Boolean)
    const echoed = handed === undefined ? [] : last.blocks.slice(-handed.length)
    const isSame = handed === undefined || isDeepStrictEqual(handed.map(bare), echoed.map(bare))
    return isSame
      ? []
      : [invalid('A-24', `messages.${last.index}: a paused turn must be sent back as it was received.`)]
  }
  return modelVersion(stringOf(body['model'])) >= 4.6
    ? [
        invalid(
          'A-18',
          'This model does not support assistant message prefill. The conversation must end with a user message.',
        ),
      ]
    : []
}
