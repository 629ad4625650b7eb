// How Anthropic guards thinking: blocks come back byte for byte, in their place, with a signature that the API made.
// Encrypted search results are guarded the same way. `request.ts` checks the settings that turn thinking on.
import type { Rejections } from '../script.ts'
import { inspectSeal, judgeSignature } from '../seal.ts'
import { asRecord, asRecords, asString, type JsonRecord } from '../shape.ts'
import { type AnthropicCheck, type AnthropicMessage, isToolResult, isToolUse } from './history.ts'
import type { AnthropicMemory } from './memory.ts'
import { anthropicError, fieldRequired } from './refusals.ts'

const isThinking = (block: JsonRecord): boolean =>
  block['type'] === 'thinking' || block['type'] === 'redacted_thinking'

const MODIFIED =
  '`thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified. These blocks must remain as they were in the original response.'
const BAD_SIGNATURE = 'Invalid `signature` in `thinking` block'

export function* checkThinking(check: AnthropicCheck): Rejections {
  const { body, messages, memory, mode } = check
  const latest = messages.findLast(message => message.role === 'assistant')
  for (const message of messages) yield* checkSignatures(message, message === latest, check)
  for (const message of messages) yield* checkEncryptedResults(message, memory)
  if (mode === 'lenient') return
  if (latest) yield* checkLatestThinking(latest, memory)
  if (asRecord(body['thinking'])['type'] === 'enabled') yield* checkTurnOpening(messages, memory)
}

function* checkSignatures(message: AnthropicMessage, isLatest: boolean, check: AnthropicCheck): Rejections {
  const { memory, mode } = check
  for (const [place, block] of message.blocks.entries()) {
    const path = `messages.${message.index}.content.${place}`
    if (block['type'] === 'redacted_thinking') {
      const data = asString(block['data'])
      const isKnown = memory.redacted.has(data) || inspectSeal('redacted', data, '') === 'valid'
      if (isKnown || (memory.trustForeign && data !== '')) continue
      yield anthropicError('A-19', `${path}: Invalid \`data\` in \`redacted_thinking\` block`)
    } else if (block['type'] === 'thinking') {
      const [signature, text] = [asString(block['signature']), asString(block['thinking'])]
      const verdict = judgeSignature('thinking', signature, text, memory)
      if (verdict === 'valid' || (verdict === 'altered' && mode === 'lenient')) continue
      const problem = verdict === 'altered' && isLatest ? MODIFIED : BAD_SIGNATURE
      yield anthropicError('A-19', `${path}: ${problem}`)
    }
  }
}

function* checkEncryptedResults(message: AnthropicMessage, memory: AnthropicMemory): Rejections {
  for (const [place, block] of message.blocks.entries()) {
    if (block['type'] !== 'web_search_tool_result') continue
    for (const [at, item] of asRecords(block['content']).entries()) {
      if (item['type'] !== 'web_search_result') continue
      const path = `messages.${message.index}.content.${place}.web_search_tool_result.content.${at}`
      const text = item['encrypted_content']
      if (typeof text !== 'string') yield fieldRequired('A-25', `${path}.encrypted_content`)
      else if (
        !memory.trustForeign &&
        !memory.encrypted.has(text) &&
        inspectSeal('search', text, asString(item['url'])) !== 'valid'
      ) {
        yield anthropicError('A-25', `${path}: Invalid \`encrypted_content\` in \`web_search_result\` block`)
      }
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
  yield anthropicError('A-19', `messages.${latest.index}.content.0: ${MODIFIED}`)
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
  yield anthropicError('A-19', text)
}
