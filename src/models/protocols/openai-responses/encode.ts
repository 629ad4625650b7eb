// A history as input items of the Responses API. Each entry is encoded by itself, so that its text can be kept;
// what depends on the other entries (ids that occur twice, a program that is no longer there) is its `variant`.
// An answer of this very vendor and family goes back item by item, byte for byte. From the first item that cannot
// go back like that, the answer is told in plain items instead: no ids, no reasoning, nothing hosted.

import type { CallPart, CallResult } from '../../../language/calls.ts'
import type { InputPart, Origin, ResultPart } from '../../../language/content.ts'
import type { AnswerPart, AssistantEntry, Entry, ToolEntry } from '../../../language/history.ts'
import { isJsonObject, type Json, type JsonObject } from '../../../lib/json.ts'
import { cutMiddle } from '../../../lib/text.ts'
import { emptyWords, flaggedText, isFailed, mediaNote, nativeFor, wireJson } from '../../common/artifacts.ts'
import { grown } from '../../common/grown.ts'
import {
  inlineOf,
  isInline,
  isPicture,
  isTextual,
  type Media,
  mention,
  pictureOf,
} from '../../common/media.ts'
import { historyArgumentsText } from '../../common/truncated.ts'
import type { WireIds } from '../../common/wire-ids.ts'
import {
  approvalRequest,
  type CallKind,
  callKinds,
  callText,
  messageText,
  reasoningText,
  stringOf,
} from './items.ts'

export type HistoryContext = {
  history: readonly Entry[]
  origin: Origin
  ids: WireIds
  toWire(name: string): string
  warn(text: string): void
}

/** The items of one entry as JSON texts with commas between them; empty where there is nothing to say. */
export function encodeEntry(context: HistoryContext, entry: Entry, index: number, plain: boolean): string {
  return itemsOf(context, entry, index, plain).map(wireJson).join(',')
}

function itemsOf(context: HistoryContext, entry: Entry, index: number, plain: boolean): JsonObject[] {
  switch (entry.role) {
    case 'system':
      return entry.text === '' ? [] : [message('developer', [inputText(entry.text)])]
    case 'user':
      return userItems(context, entry.parts)
    case 'assistant':
      return answerItems(context, entry, index, plain)
    case 'tool':
      return resultItems(context, entry, index, plain)
  }
}

// ---- what people say -------------------------------------------------------------------------------------

function userItems(context: HistoryContext, parts: readonly InputPart[]): JsonObject[] {
  const content = parts
    .filter(part => part.type !== 'text' || part.text !== '')
    .map(part => inputPart(context, part))
  return content.length === 0 ? [] : [message('user', content)]
}

function message(role: 'developer' | 'user', content: JsonObject[]): JsonObject {
  return { type: 'message', role, content }
}

function inputText(text: string): JsonObject {
  return { type: 'input_text', text }
}

function inputPart(context: HistoryContext, part: InputPart | ResultPart): JsonObject {
  return part.type === 'text' ? inputText(part.text) : inputMedia(context, part)
}

const pictures: ReadonlySet<string> = new Set(['image/png', 'image/jpeg', 'image/gif', 'image/webp'])
const documents = /^application\/(?:pdf|rtf|msword|vnd\.(?:ms-|openxmlformats-|oasis\.))/

/** A picture or a file that the vendor takes; else a mention of it. */
function inputMedia(context: HistoryContext, part: Media): JsonObject {
  const sent = isPicture(part) ? inputImage(part) : inputFile(part)
  if (sent !== undefined) return sent
  context.warn(`${mediaNote(part)} could not be sent to this vendor and was only mentioned.`)
  return inputText(mention(part))
}

function inputImage(part: Media): JsonObject | undefined {
  if (!isInline(part)) return { type: 'input_image', image_url: part.url, detail: 'auto' }
  const picture = pictureOf(inlineOf(part), pictures)
  if (picture === undefined) return undefined
  const image_url = `data:${picture.mediaType};base64,${picture.base64}`
  return { type: 'input_image', image_url, detail: 'auto' }
}

function inputFile(part: Media): JsonObject | undefined {
  if (!isInline(part)) return { type: 'input_file', file_url: part.url }
  const inline = inlineOf(part)
  if (inline === undefined) return undefined
  const { mediaType, base64 } = inline
  if (!documents.test(mediaType) && !isTextual(mediaType)) return undefined
  const filename = (part.type === 'file' ? part.name : undefined) ?? fileName(mediaType)
  return { type: 'input_file', filename, file_data: `data:${mediaType};base64,${base64}` }
}

/** The vendor tells the type of a file by its name. */
function fileName(mediaType: string): string {
  const subtype = /^[^/]+\/(?:x-)?([a-z0-9]+)$/i.exec(mediaType)?.[1]?.toLowerCase() ?? 'bin'
  return `file.${subtype === 'plain' ? 'txt' : subtype}`
}

// ---- what the model said ---------------------------------------------------------------------------------

/** How far an answer goes back as it came: the first `kept` of its parts. */
function keptParts(entry: AssistantEntry, origin: Origin, plain: boolean): number {
  if (plain) return 0
  const items = entry.parts.map(part => verbatim(part, origin))
  const answered = new Set(items.map(item => (item === undefined ? '' : answerKey(item))))
  const isOpen = (key: string): boolean => key !== '' && !answered.has(key)
  let kept = items.findIndex(item => item === undefined || isOpen(askKey(item)))
  if (kept < 0) kept = items.length
  // Reasoning is refused without the item that it led to.
  while (kept > 0 && entry.parts[kept - 1]?.type === 'thinking') kept -= 1
  return kept
}

function answerItems(
  context: HistoryContext,
  entry: AssistantEntry,
  index: number,
  plain: boolean,
): JsonObject[] {
  const kept = keptParts(entry, context.origin, plain)
  return entry.parts.flatMap((part, at) => {
    if (at >= kept) return plainItems(context, part, index)
    const item = verbatim(part, context.origin)
    if (item === undefined) return []
    const named = part.type === 'call' && item['type'] !== approvalRequest
    return [named ? { ...item, call_id: context.ids.of(index, part.id) } : item]
  })
}

function plainItems(context: HistoryContext, part: AnswerPart, index: number): JsonObject[] {
  switch (part.type) {
    case 'text': {
      const phase = phaseOf(nativeFor(part, context.origin))
      return part.text === '' ? [] : [{ type: 'message', role: 'assistant', content: part.text, ...phase }]
    }
    case 'call': {
      const shared = { call_id: context.ids.of(index, part.id), name: context.toWire(part.name) }
      return part.form === 'text'
        ? [{ type: 'custom_tool_call', ...shared, input: part.text }]
        : [{ type: 'function_call', ...shared, arguments: historyArgumentsText(part) }]
    }
    case 'hosted':
      context.warn(
        `What the vendor's tool "${part.tool}" did cannot be shown to this model and was left out.`,
      )
      return []
    case 'thinking':
      return []
  }
}

function phaseOf(native: Json | undefined): JsonObject {
  const phase = isJsonObject(native) ? native['phase'] : undefined
  return phase === 'commentary' || phase === 'final_answer' ? { phase } : {}
}

/** The vendor's own item, when it may go back and still says what the part says. */
function verbatim(part: AnswerPart, origin: Origin): JsonObject | undefined {
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

/** Without its encrypted content a reasoning item is only a reference to something that may not be stored. */
function isWholeReasoning(item: JsonObject): boolean {
  return (
    item['type'] === 'reasoning' &&
    typeof item['id'] === 'string' &&
    Array.isArray(item['summary']) &&
    stringOf(item['encrypted_content']) !== ''
  )
}

function isSameCall(item: JsonObject, part: CallPart): boolean {
  const kind: CallKind | undefined = callKinds.get(item['type'])
  return (
    part.cut !== true &&
    kind?.form === part.form &&
    (item['type'] === approvalRequest || /^[a-zA-Z0-9_-]{1,128}$/.test(stringOf(item['name']))) &&
    callText(item, kind, false) === part.text
  )
}

function isFinished(item: JsonObject): boolean {
  const status = item['status'] ?? 'completed'
  return typeof item['id'] === 'string' && ['completed', 'failed', 'incomplete'].includes(stringOf(status))
}

const prefixes: Readonly<Record<string, string>> = {
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
  const prefix = prefixes[stringOf(type)] ?? ''
  return typeof id === 'string' && id.startsWith(prefix) && /^[A-Za-z0-9_-]{1,64}$/.test(id)
}

/** Items that want an answer from whoever called the model. Nobody gives it here, unless the vendor itself did. */
const asking = new Set([
  'computer_call',
  'local_shell_call',
  'shell_call',
  'apply_patch_call',
  'tool_search_call',
])

function askKey(item: JsonObject): string {
  const type = stringOf(item['type'])
  if (!asking.has(type)) return ''
  if (type === 'tool_search_call' && item['execution'] !== 'client') return ''
  return `${type} ${stringOf(item['call_id'])}`
}

/** The key of the question that an item answers; empty, the key of no question, for all other items. */
function answerKey(item: JsonObject): string {
  const type = stringOf(item['type'])
  if (type === 'tool_search_output') return `tool_search_call ${stringOf(item['call_id'])}`
  return type.endsWith('_call_output')
    ? `${type.slice(0, -'_output'.length)} ${stringOf(item['call_id'])}`
    : ''
}

// ---- what the tools gave -----------------------------------------------------------------------------------

const longestOutput = 10_485_760

function resultItems(context: HistoryContext, entry: ToolEntry, index: number, plain: boolean): JsonObject[] {
  const asked = answerBefore(context.history, index)
  const kept = asked === undefined ? 0 : keptParts(asked, context.origin, plain)
  const places = new Map(asked?.parts.map((part, at) => [part.type === 'call' ? part.id : '', at]))
  return entry.results.flatMap(result => {
    const at = places.get(result.callId) ?? -1
    const call = asked?.parts[at]
    if (call?.type !== 'call') {
      context.warn(`The result of the call "${result.callId}" has no call in this history and was left out.`)
      return []
    }
    const item = at < kept ? verbatim(call, context.origin) : undefined
    if (item?.['type'] === approvalRequest) return [approvalItem(item, result)]
    return [
      {
        type: call.form === 'text' ? 'custom_tool_call_output' : 'function_call_output',
        call_id: context.ids.of(index, call.id),
        output: outputOf(context, result),
        ...(at < kept && callerOf(call, context.origin)),
      },
    ]
  })
}

/** The person's word, or the refusal of whatever else kept the call from its approval. */
function approvalItem(item: JsonObject, { outcome }: CallResult): JsonObject {
  const approve = outcome.kind === 'ok'
  return {
    type: 'mcp_approval_response',
    approval_request_id: stringOf(item['id']),
    approve,
    ...(!approve && { reason: flaggedText(outcome) }),
  }
}

function answerBefore(history: readonly Entry[], index: number): AssistantEntry | undefined {
  for (let at = index - 1; at >= 0; at--) {
    const entry = history[at]
    if (entry?.role === 'assistant') return entry
  }
  return undefined
}

/** Whoever asked for the call inside the vendor's own program is named again in its output. */
function callerOf(call: CallPart, origin: Origin): JsonObject {
  const native = nativeFor(call, origin)
  const caller = isJsonObject(native) ? native['caller'] : undefined
  return isJsonObject(caller) ? { caller } : {}
}

function outputOf(context: HistoryContext, { outcome, callId }: CallResult): Json {
  const bounded = (text: string): string => {
    const { text: whole, cutBytes } = cutMiddle(text, longestOutput, bytes => `\n[${bytes} bytes left out]\n`)
    if (cutBytes > 0)
      context.warn(`The result of the call "${callId}" is longer than the vendor takes and was cut.`)
    return whole
  }
  if (outcome.parts.every(part => part.type === 'text')) return bounded(flaggedText(outcome))
  const parts = outcome.parts.filter(part => part.type !== 'text' || part.text !== '')
  const content = parts.map(part =>
    part.type === 'text' ? inputText(bounded(part.text)) : inputMedia(context, part),
  )
  return isFailed(outcome) ? [inputText(`[${outcome.kind}] ${emptyWords(outcome)}`), ...content] : content
}

// ---- what depends on the other entries ---------------------------------------------------------------------

type Facts = { ids: string[]; programs: string[]; callers: string[] }

function factsOf(entry: AssistantEntry, origin: Origin): Facts {
  const items = entry.parts
    .slice(0, keptParts(entry, origin, false))
    .map(part => verbatim(part, origin))
    .filter(item => item !== undefined)
  return {
    ids: items.flatMap(item => (typeof item['id'] === 'string' ? [item['id']] : [])),
    programs: items.flatMap(item => (item['type'] === 'program' ? [stringOf(item['call_id'])] : [])),
    callers: items.flatMap(({ caller }) =>
      isJsonObject(caller) && caller['type'] === 'program' ? [stringOf(caller['caller_id'])] : [],
    ),
  }
}

/** `asked`: the place of the latest answer. */
type Told = { used: Set<string>; programs: Set<string>; plain: Set<number>; asked: number }

const toldIn = grown<Told, { origin: Origin; takesReasoning: boolean }>({
  key: ({ origin, takesReasoning }) => `${origin.protocol} ${origin.family} ${takesReasoning}`,
  begin: () => ({ used: new Set(), programs: new Set(), plain: new Set(), asked: -1 }),
  add(told, history, index, { origin, takesReasoning }) {
    const { used, programs, plain } = told
    const entry = history[index]!
    if (entry.role === 'assistant') {
      told.asked = index
      const { ids, programs: made, callers } = factsOf(entry, origin)
      const repeats = ids.some(id => used.has(id)) || new Set(ids).size < ids.length
      const orphaned = callers.some(caller => !programs.has(caller) && !made.includes(caller))
      const reasoned = !takesReasoning && entry.parts.some(part => part.type === 'thinking')
      if (repeats || orphaned || reasoned) plain.add(index)
      else {
        for (const id of ids) used.add(id)
        for (const program of made) programs.add(program)
      }
    } else if (entry.role === 'tool' && plain.has(told.asked)) plain.add(index)
  },
})

/**
 * The entries (answers, and the results that follow them) that must be told plainly: because of what stands before
 * them (an item's id was used already, or the program that made their calls is not there any more), or because they
 * hold reasoning that this model does not take.
 */
export function plainEntries(
  history: readonly Entry[],
  origin: Origin,
  takesReasoning: boolean,
): ReadonlySet<number> {
  return toldIn(history, { origin, takesReasoning }).plain
}

/** Whether the vendor's memory of this answer is all that we would say of it. */
export function isWhollyKept(entry: AssistantEntry, origin: Origin): boolean {
  const rest = entry.parts.slice(keptParts(entry, origin, false))
  return rest.every(part => part.type === 'thinking')
}
