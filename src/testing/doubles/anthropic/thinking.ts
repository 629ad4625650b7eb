/**
 * Thinking as Anthropic guards it: blocks come back byte for byte, in their place, with a signature that the
 * API itself made; and the settings that turn thinking on. Encrypted search results are guarded alike.
 */

import type { Mode, Rejection } from '../script.ts'
import { inspectSeal } from '../seal.ts'
import { extraKeys, isRecord, type JsonRecord, recordsOf, stringOf } from '../shape.ts'
import { isResult, isUse, modelVersion, type Said } from './history.ts'
import type { AnthropicMemory } from './memory.ts'
import { extra, invalid } from './tools.ts'

const isThinking = (block: JsonRecord): boolean =>
  block['type'] === 'thinking' || block['type'] === 'redacted_thinking'

const MODIFIED =
  '`thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified. These blocks must remain as they were in the original response.'

export function checkThinking(
  body: JsonRecord,
  said: Said[],
  memory: AnthropicMemory,
  mode: Mode,
): Rejection[] {
  const latest = said.findLast(message => message.role === 'assistant')
  return [
    ...said.flatMap(message => checkSignatures(message, message === latest, memory, mode)),
    ...said.flatMap(message => checkEncrypted(message, memory)),
    ...(mode === 'strict' && latest ? checkLatest(latest, memory) : []),
    ...(mode === 'strict' ? checkOpening(body, said, memory) : []),
  ]
}

function checkSignatures(message: Said, isLatest: boolean, memory: AnthropicMemory, mode: Mode): Rejection[] {
  return message.blocks.flatMap((block, place) => {
    const at = `messages.${message.index}.content.${place}`
    if (block['type'] === 'redacted_thinking') {
      const data = stringOf(block['data'])
      const isKnown = memory.redacted.has(data) || inspectSeal('redacted', data, '') === 'valid'
      return isKnown || (memory.trustForeign && data !== '')
        ? []
        : [invalid('A-19', `${at}: Invalid \`data\` in \`redacted_thinking\` block`)]
    }
    if (block['type'] !== 'thinking') return []
    const verdict = judgeSignature(stringOf(block['signature']), stringOf(block['thinking']), memory)
    if (verdict === 'foreign') {
      return [invalid('A-19', `${at}: Invalid \`signature\` in \`thinking\` block`)]
    }
    if (verdict === 'altered' && mode === 'strict') {
      const text = isLatest ? MODIFIED : 'Invalid `signature` in `thinking` block'
      return [invalid('A-19', `${at}: ${text}`)]
    }
    return []
  })
}

function judgeSignature(
  signature: string,
  thinking: string,
  memory: AnthropicMemory,
): 'valid' | 'altered' | 'foreign' {
  const scripted = memory.signatures.get(signature)
  if (scripted !== undefined) return scripted === thinking ? 'valid' : 'altered'
  const verdict = inspectSeal('thinking', signature, thinking)
  return verdict === 'foreign' && memory.trustForeign && signature !== '' ? 'valid' : verdict
}

function checkEncrypted(message: Said, memory: AnthropicMemory): Rejection[] {
  return message.blocks.flatMap((block, place) => {
    if (block['type'] !== 'web_search_tool_result') return []
    return recordsOf(block['content']).flatMap((item, at) => {
      if (item['type'] !== 'web_search_result') return []
      const path = `messages.${message.index}.content.${place}.web_search_tool_result.content.${at}`
      const text = item['encrypted_content']
      if (typeof text !== 'string') return [invalid('A-25', `${path}.encrypted_content: Field required`)]
      const isKnown =
        memory.encrypted.has(text) || inspectSeal('search', text, stringOf(item['url'])) === 'valid'
      return isKnown || memory.trustForeign
        ? []
        : [invalid('A-25', `${path}: Invalid \`encrypted_content\` in \`web_search_result\` block`)]
    })
  })
}

/** The latest assistant message that this double wrote: its thinking blocks come back whole, or none does. */
function checkLatest(latest: Said, memory: AnthropicMemory): Rejection[] {
  const call = latest.blocks.find(block => isUse(block) && memory.thinking.has(stringOf(block['id'])))
  const handed = call && memory.thinking.get(stringOf(call['id']))
  const given = latest.blocks.filter(isThinking)
  if (handed === undefined || given.length === 0) return []
  return JSON.stringify(given.map(bare)) === JSON.stringify(handed.map(bare))
    ? []
    : [invalid('A-19', `messages.${latest.index}.content.0: ${MODIFIED}`)]
}

const bare = (block: JsonRecord): unknown[] => [
  block['type'],
  block['thinking'],
  block['signature'],
  block['data'],
]

/** With manual thinking on, an assistant turn that waits for tool results begins with its thinking. */
function checkOpening(body: JsonRecord, said: Said[], memory: AnthropicMemory): Rejection[] {
  const thinking = body['thinking']
  const last = said.at(-1)
  if (!isRecord(thinking) || thinking['type'] !== 'enabled') return []
  if (last?.role !== 'user' || !last.blocks.some(isResult)) return []
  const isAsked = (message: Said): boolean => message.role === 'user' && !message.blocks.every(isResult)
  const start = said.slice(0, -1).findLastIndex(isAsked)
  const opening = said[start + 1]
  const [first] = opening?.blocks ?? []
  if (opening?.role !== 'assistant' || first === undefined || isThinking(first)) return []
  const calls = opening.blocks.filter(isUse)
  // A scripted turn may have no thinking; the double then asks for none back.
  const saidNone = calls.some(call => memory.thinking.get(stringOf(call['id']))?.length === 0)
  if (calls.length === 0 || saidNone) return []
  return [
    invalid(
      'A-19',
      `messages.${opening.index}.content.0.type: Expected \`thinking\` or \`redacted_thinking\`, but found \`${stringOf(first['type'])}\`. When \`thinking\` is enabled, a final \`assistant\` message must start with a thinking block (preceeding the lastmost set of \`tool_use\` and \`tool_result\` blocks). We recommend you include thinking blocks from previous turns. To avoid this requirement, disable \`thinking\`.`,
    ),
  ]
}

const CONFIG_KEYS: Readonly<Record<string, readonly string[]>> = {
  enabled: ['type', 'budget_tokens', 'display'],
  adaptive: ['type', 'display'],
  between_tools: ['type'],
  disabled: ['type'],
}

/** Whether sampling settings and thinking budgets are gone from a model. Names without a version keep them. */
const isWithoutSampling = (model: string): boolean => {
  const version = modelVersion(model)
  return Number.isFinite(version) && (version >= 5 || (version >= 4.7 && model.includes('opus')))
}

export function checkSettings(body: JsonRecord): Rejection[] {
  const model = stringOf(body['model'])
  const found: Rejection[] = []
  if (isWithoutSampling(model)) {
    for (const key of ['temperature', 'top_p', 'top_k']) {
      if (body[key] !== undefined)
        found.push(invalid('A-27', `${key}: \`${key}\` is not supported for this model.`))
    }
  }
  const thinking = body['thinking']
  if (thinking === undefined) return found
  if (!isRecord(thinking)) return [...found, invalid('A-27', 'thinking: Input should be an object')]
  const type = stringOf(thinking['type'])
  const keys = CONFIG_KEYS[type]
  if (keys === undefined) {
    found.push(
      invalid(
        'A-27',
        `thinking: Input tag '${type}' found using 'type' does not match any of the expected tags: 'adaptive', 'between_tools', 'disabled', 'enabled'`,
      ),
    )
    return found
  }
  found.push(...extraKeys(thinking, keys).map(key => extra(`thinking.${type}.${key}`)))
  return type === 'enabled' ? [...found, ...checkBudget(body, thinking, model)] : found
}

function checkBudget(body: JsonRecord, thinking: JsonRecord, model: string): Rejection[] {
  const budget = thinking['budget_tokens']
  if (isWithoutSampling(model)) {
    return [
      invalid(
        'A-27',
        '"thinking.type.enabled" is not supported for this model. Use "thinking.type.adaptive" and "output_config.effort" to control thinking behavior.',
      ),
    ]
  }
  if (typeof budget !== 'number') return [invalid('A-27', 'thinking.enabled.budget_tokens: Field required')]
  if (budget < 1024) {
    return [invalid('A-27', 'thinking.enabled.budget_tokens: Input should be greater than or equal to 1024')]
  }
  const most = body['max_tokens']
  return typeof most === 'number' && budget >= most
    ? [
        invalid(
          'A-27',
          '`max_tokens` must be greater than `thinking.budget_tokens`. Please consult our documentation at https://docs.claude.com/en/docs/build-with-claude/extended-thinking#max-tokens-and-context-window-size',
        ),
      ]
    : []
}
