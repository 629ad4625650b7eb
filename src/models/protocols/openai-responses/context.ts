// Which parts of an answer go back as the vendor's own items, byte for byte, and which entries must be told in plain
// items because of the entries before them.

import type { CallPart } from '../../../language/calls.ts'
import type { Origin } from '../../../language/content.ts'
import type { AnswerPart, AssistantEntry, Entry, ToolEntry } from '../../../language/history.ts'
import { isJsonObject, type JsonObject } from '../../../lib/json/index.ts'
import { nativeFor } from '../../common/history.ts'
import { asList, asString } from '../../common/json-read.ts'
import type { SessionCache } from '../../common/session-cache.ts'
import { approvalRequest, callText, messageText, readCallKind, reasoningText } from './items.ts'
import { typedItem } from './vendor-typed.ts'

// ---- one answer ------------------------------------------------------------------------------------------

/** How many parts, from the first on, go back as native items. */
export function countNativeParts(entry: AssistantEntry, origin: Origin): number {
  const items = entry.parts.map(part => nativeItem(part, origin))
  const answered = new Set(items.map(item => (item === undefined ? '' : answerKey(item))))
  const isUnanswered = (key: string): boolean => key !== '' && !answered.has(key)
  let count = items.findIndex(
    // A call of ours is answered by the entry that follows.
    (item, at) => item === undefined || (entry.parts[at]?.type !== 'call' && isUnanswered(questionKey(item))),
  )
  if (count < 0) count = items.length
  // The vendor refuses reasoning without the item that it led to.
  while (count > 0 && entry.parts[count - 1]?.type === 'thinking') count -= 1
  return count
}

/** The vendor's own item of a part, if it may go back and still says what the part says. */
export function nativeItem(part: AnswerPart, origin: Origin): JsonObject | undefined {
  const item = nativeFor(part, origin)
  if (!isJsonObject(item) || !hasValidId(item)) return undefined
  switch (part.type) {
    case 'text':
      return item['type'] === 'message' && messageText(item) === part.text ? item : undefined
    case 'thinking':
      return isWholeReasoning(item) && reasoningText(item) === part.text ? item : undefined
    case 'call':
      return isSameCall(item, part) ? item : undefined
    case 'hosted':
      return isFinished(item) ? item : undefined
  }
}

/** Without its encrypted content a reasoning item only refers to something that may not be stored. */
function isWholeReasoning(item: JsonObject): boolean {
  return (
    item['type'] === 'reasoning' &&
    typeof item['id'] === 'string' &&
    Array.isArray(item['summary']) &&
    asString(item['encrypted_content']) !== ''
  )
}

function isSameCall(item: JsonObject, part: CallPart): boolean {
  const kind = readCallKind(item, 'any')
  return (
    part.cut !== true &&
    kind?.form === part.form &&
    (item['type'] === approvalRequest || kind.typed !== undefined || hasValidName(item)) &&
    callText(item, kind, false) === part.text
  )
}

function hasValidName({ name }: JsonObject): boolean {
  return /^[a-zA-Z0-9_-]{1,128}$/.test(asString(name))
}

function isFinished(item: JsonObject): boolean {
  const status = item['status'] ?? 'completed'
  return typeof item['id'] === 'string' && ['completed', 'failed', 'incomplete'].includes(asString(status))
}

const ID_PREFIXES: Readonly<Record<string, string>> = {
  message: 'msg',
  reasoning: 'rs',
  function_call: 'fc',
  custom_tool_call: 'ctc',
  web_search_call: 'ws',
  file_search_call: 'fs',
  code_interpreter_call: 'ci',
  image_generation_call: 'ig',
  computer_call: 'cu',
  mcp_list_tools: 'mcpl',
  mcp_approval_request: 'mcpr',
  mcp_call: 'mcp',
}

function hasValidId(item: JsonObject): boolean {
  const { id, type } = item
  if (id === undefined || id === null) return true
  const prefix = ID_PREFIXES[asString(type)] ?? ''
  return typeof id === 'string' && id.startsWith(prefix) && /^[A-Za-z0-9_-]{1,64}$/.test(id)
}

/** Items that the caller has to answer. Those that are no calls of ours go back only if the vendor answered them itself. */
const QUESTIONS: ReadonlySet<string> = new Set([
  'computer_call',
  'local_shell_call',
  'shell_call',
  'apply_patch_call',
  'tool_search_call',
])

/** The items that ask something of the caller, and that the vendor has not answered itself. */
export function unansweredIn(items: readonly JsonObject[]): Set<JsonObject> {
  const answered = new Set(items.map(answerKey))
  return new Set(items.filter(item => questionKey(item) !== '' && !answered.has(questionKey(item))))
}

/** '' for an item that asks nothing of the caller. */
function questionKey(item: JsonObject): string {
  const type = asString(item['type'])
  if (!QUESTIONS.has(type)) return ''
  if (type === 'tool_search_call' && item['execution'] !== 'client') return ''
  return `${type} ${asString(item['call_id'])}`
}

/** The key of the question that this item answers; '' if it answers none. */
function answerKey(item: JsonObject): string {
  const type = asString(item['type'])
  if (type === 'tool_search_output') return `tool_search_call ${asString(item['call_id'])}`
  return type.endsWith('_call_output')
    ? `${type.slice(0, -'_output'.length)} ${asString(item['call_id'])}`
    : ''
}

// ---- the whole history -----------------------------------------------------------------------------------

type ItemFacts = { usedIds: Set<string>; programs: Set<string>; plain: Set<number>; lastAnswer: number }

/**
 * Indexes of the answers, and of the results that follow them, that must be told in plain items: an item id was used
 * before, the program that made their calls is no longer in the history, or they have reasoning that this model does
 * not take.
 */
export function plainEntries(
  cache: SessionCache,
  history: readonly Entry[],
  origin: Origin,
  takesReasoning: boolean,
): ReadonlySet<number> {
  const { plain } = cache.fold<ItemFacts>(history, {
    key: `plain ${origin.protocol} ${origin.family} ${takesReasoning}`,
    start: () => ({ usedIds: new Set(), programs: new Set(), plain: new Set(), lastAnswer: -1 }),
    add(facts, entries, index) {
      const entry = entries[index]!
      if (entry.role === 'assistant') {
        facts.lastAnswer = index
        if (!addNativeItems(facts, entry, origin, takesReasoning)) facts.plain.add(index)
      } else if (entry.role === 'tool') {
        if (hasOpenChecks(entries[facts.lastAnswer], entry, origin)) facts.plain.add(facts.lastAnswer)
        if (facts.plain.has(facts.lastAnswer)) facts.plain.add(index)
      }
    },
  })
  return plain
}

/** The vendor refuses a computer call whose safety checks nobody has acknowledged: the person said no. */
function hasOpenChecks(answer: Entry | undefined, { results }: ToolEntry, origin: Origin): boolean {
  if (answer?.role !== 'assistant') return false
  return answer.parts.some(part => {
    const item = part.type === 'call' ? nativeItem(part, origin) : undefined
    const typed = item && typedItem(item)
    const outcome =
      part.type === 'call' ? results.find(({ callId }) => callId === part.id)?.outcome : undefined
    if (!item || !typed?.result || !outcome || asList(item['pending_safety_checks']).length === 0)
      return false
    return typed.result(outcome, item)['acknowledged_safety_checks'] === undefined
  })
}

/** False when the answer's items may not go back. */
function addNativeItems(
  { usedIds, programs }: ItemFacts,
  entry: AssistantEntry,
  origin: Origin,
  takesReasoning: boolean,
): boolean {
  const items = entry.parts
    .slice(0, countNativeParts(entry, origin))
    .map(part => nativeItem(part, origin))
    .filter(item => item !== undefined)
  const ids = items.flatMap(item => (typeof item['id'] === 'string' ? [item['id']] : []))
  const made = items.flatMap(item => (item['type'] === 'program' ? [asString(item['call_id'])] : []))
  const callers = items.flatMap(({ caller }) =>
    isJsonObject(caller) && caller['type'] === 'program' ? [asString(caller['caller_id'])] : [],
  )
  if (ids.some(id => usedIds.has(id)) || new Set(ids).size < ids.length) return false
  if (callers.some(caller => !programs.has(caller) && !made.includes(caller))) return false
  if (!takesReasoning && entry.parts.some(part => part.type === 'thinking')) return false
  for (const id of ids) usedIds.add(id)
  for (const program of made) programs.add(program)
  return true
}
