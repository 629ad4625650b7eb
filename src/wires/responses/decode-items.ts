// The items of a conversation: each into what it means, with unknown members refused as the API does, and all of them into
// entries that any model can be sent. Every call has exactly one output, which stands directly after the answer that made it.
// A conversation in which calls and outputs do not pair is refused, in the words of the API.

import { missingParameter, refuseParameter, unsupportedParameterValue } from '../../apis/openai/refusal.ts'
import type { AgentInfo } from '../../engine/index.ts'
import type { CallPart, CallResult, Outcome } from '../../language/calls.ts'
import type {
  HostedPart,
  InputPart,
  Native,
  Origin,
  ResultPart,
  TextPart,
  ThinkingPart,
} from '../../language/content.ts'
import { type AnswerPart, type Entry, listCalls } from '../../language/history.ts'
import { excerpt, isAbsent, names, optional } from '../../lib/json/fields.ts'
import { isJsonObject, type Json, type JsonObject } from '../../lib/json/index.ts'
import { decodeInputParts, decodeMessageText } from './decode-content.ts'
import { decodeTools, flatName, searchTool } from './decode-tools.ts'
import { callOfApproval, readItemId } from './ids.ts'
import { type Sealed, type SealOwner, sealedAnswers, sealedSummaries, unsealAnswer } from './sealed.ts'
import { type CallNoun, callNoun, field, noApprovalRequest, noCallFor, noOutputFor } from './wordings.ts'

export type InputItem =
  | { kind: 'user'; parts: InputPart[] }
  | { kind: 'system'; text: string }
  /** A hosted part: what the vendor did on its own side, for a model of that vendor. */
  | { kind: 'said'; part: TextPart | ThinkingPart | HostedPart }
  | { kind: 'sealed'; sealed: Sealed }
  /** `cut`: its arguments were never whole, so it needs no output. */
  | { kind: 'call'; part: CallPart; cut: boolean; path: string }
  /** A call that the server ran itself, with its result. */
  | { kind: 'ran'; part: CallPart; output: ResultPart[]; failed: boolean; path: string }
  /** `loads`: the tools that a search of the client's found. */
  | {
      kind: 'output'
      callId: string
      output: ResultPart[]
      noun: CallNoun
      path: string
      loads?: string[]
    }
  | { kind: 'approval'; callId: string; id: string; approve: boolean; reason?: string; path: string }

type ItemContext = {
  images: AgentInfo['images']
  /** Set when the model itself speaks this protocol: items with ids that are not ours are its own. */
  origin?: Origin
  sealedFor: SealOwner
}

/** A field in which Codex keeps its own data on any item. */
const clientNotes = 'internal_chat_message_metadata_passthrough'

const phases = ['commentary', 'final_answer'] as const

const idLength = { min: 1, max: 64 }
const nameLength = { min: 1, max: 128 }

type ItemReader = (item: JsonObject, path: string, context: ItemContext) => InputItem[]
/** `known`: the members that it may have. Absent: any. */
type ItemKind = { known?: ReadonlySet<string>; read: ItemReader }

const withOnly = (members: string, read: ItemReader): ItemKind => ({
  known: names(`type id ${members}`),
  read,
})

const kinds: Readonly<Record<string, ItemKind>> = {
  message: withOnly('role content status phase', readMessage),
  // The official SDK adds `parsed_arguments`, and sends it back with the rest.
  function_call: withOnly(
    'call_id name arguments parsed_arguments status namespace caller async created_by',
    (item, path, context) => [readCall(item, path, context, 'json')],
  ),
  custom_tool_call: withOnly(
    'call_id name input status namespace caller async created_by',
    (item, path, context) => [readCall(item, path, context, 'text')],
  ),
  function_call_output: withOnly(
    'call_id output status caller name namespace created_by',
    (item, path, context) => [readOutput(item, path, context, 'function call')],
  ),
  custom_tool_call_output: withOnly(
    'call_id output status caller name namespace created_by',
    (item, path, context) => [readOutput(item, path, context, 'custom tool call')],
  ),
  reasoning: withOnly('summary content encrypted_content status', readReasoning),
  mcp_call: withOnly('server_label name arguments output error status approval_request_id', readRan),
  mcp_approval_request: withOnly('server_label name arguments', () => []),
  mcp_approval_response: withOnly('approval_request_id approve reason', readApproval),
  mcp_list_tools: { read: () => [] },
  // Their tools are read with those of the request.
  additional_tools: { read: () => [] },
  // Its changes are read with the parameters of the request.
  configuration_update: { read: () => [] },
  program: withOnly('call_id code fingerprint', readProgram),
  program_output: withOnly('call_id result status', readProgram),
  tool_search_call: withOnly('call_id execution arguments status created_by', readSearch),
  tool_search_output: withOnly('call_id execution tools status created_by', readFound),
  compaction: withOnly('encrypted_content created_by', readCompaction),
  agent_message: withOnly('author recipient content agent', readAgentMessage),
}

/** Decodes each item of a request's `input`. References must have been resolved before. */
export function decodeItems(input: readonly Json[], context: ItemContext): InputItem[][] {
  return input.map((value, index) => {
    const path = `input[${index}]`
    const { [clientNotes]: _, ...item } = field.object(value, path)
    const type = item['type'] ?? (item['role'] === undefined ? undefined : 'message')
    if (type === undefined) throw missingParameter(`${path}.type`)
    const kind = typeof type === 'string' && Object.hasOwn(kinds, type) ? kinds[type] : undefined
    if (!kind) throw unsupportedParameterValue(`${path}.type`, type, Object.keys(kinds))
    if (kind.known) field.onlyKnown(item, kind.known, path)
    return kind.read(item, path, context)
  })
}

function readMessage(item: JsonObject, path: string, context: ItemContext): InputItem[] {
  const role = field.oneOf(item['role'] ?? undefined, `${path}.role`, [
    'user',
    'assistant',
    'system',
    'developer',
  ])
  if (role === 'user') {
    const parts = decodeInputParts(item['content'], `${path}.content`, context.images)
    return parts.length === 0 ? [] : [{ kind: 'user', parts }]
  }
  const content = decodeMessageText(item['content'], `${path}.content`)
  if (content === '') return []
  if (role !== 'assistant') return [{ kind: 'system', text: content }]
  const phase = optional(item['phase'], `${path}.phase`, (value, at) => field.oneOf(value, at, phases))
  const said = { type: 'text' as const, text: content, ...(phase && { phase }) }
  return [{ kind: 'said', part: { ...said, ...vendorNative(item, context) } }]
}

function readProgram(item: JsonObject, path: string, context: ItemContext): InputItem[] {
  field.text(item['call_id'], `${path}.call_id`)
  return readVendors(item, path, context)
}

/** An item that only the vendor itself can read. Other models do without it. */
function readVendors(item: JsonObject, path: string, { origin }: ItemContext): InputItem[] {
  const tool = field.text(item['type'], `${path}.type`)
  return origin
    ? [{ kind: 'said', part: { type: 'hosted', tool, summary: tool, native: { origin, data: item } } }]
    : []
}

/** The vendor's own item: it has an id that is not one of ours. */
function vendorNative(item: JsonObject, { origin }: ItemContext): { native?: Native } {
  const { id } = item
  if (!origin || typeof id !== 'string' || readItemId(id)) return {}
  return { native: { origin, data: item } }
}

function readCall(item: JsonObject, path: string, context: ItemContext, form: 'json' | 'text'): InputItem {
  const member = form === 'json' ? 'arguments' : 'input'
  const id = field.text(item['call_id'] ?? item['id'] ?? undefined, `${path}.call_id`, idLength)
  const native = vendorNative(item, context)
  const part: CallPart = {
    type: 'call',
    id,
    name: readName(item, path),
    form,
    text: field.text(item[member], `${path}.${member}`),
    ...(native.native ? { nativeId: id, ...native } : programNative(item, context)),
  }
  return { kind: 'call', part, cut: item['status'] === 'incomplete', path }
}

/** A call that the vendor's program made, under an id of ours: its answer goes to that program. */
function programNative(item: JsonObject, { origin }: ItemContext): { native?: Native } {
  const { id: _, parsed_arguments: __, caller, ...data } = item
  if (!origin || !isJsonObject(caller) || caller['type'] !== 'program') return {}
  return { native: { origin, data: { ...data, caller } } }
}

function readName(item: JsonObject, path: string): string {
  const name = field.text(item['name'], `${path}.name`, nameLength)
  const namespace = optional(item['namespace'], `${path}.namespace`, field.text)
  return namespace === undefined ? name : flatName(namespace, name)
}

/** A search that the client runs is a call. One that a vendor ran is no part of the conversation here. */
function readSearch(item: JsonObject, path: string): InputItem[] {
  if (isAbsent(item['call_id'])) return []
  const id = field.text(item['call_id'], `${path}.call_id`, idLength)
  const text = JSON.stringify(item['arguments'] ?? {})
  const part: CallPart = { type: 'call', id, name: searchTool, form: 'json', text }
  return [{ kind: 'call', part, cut: item['status'] === 'incomplete', path }]
}

function readFound(item: JsonObject, path: string): InputItem[] {
  if (isAbsent(item['call_id'])) return []
  const callId = field.text(item['call_id'], `${path}.call_id`, idLength)
  const found = decodeTools(item['tools'] ?? [])
  const listed = found.tools.map(({ name, description }) => `${name}: ${description}`)
  const text = listed.length === 0 ? 'No tool was found.' : `You can now call:\n${listed.join('\n')}`
  const loads = found.tools.map(({ name }) => name)
  const output: ResultPart[] = [{ type: 'text', text }]
  return [{ kind: 'output', callId, output, noun: 'function call', path, ...(loads.length > 0 && { loads }) }]
}

function readCompaction(item: JsonObject, path: string, context: ItemContext): InputItem[] {
  const at = `${path}.encrypted_content`
  const token = field.text(item['encrypted_content'], at, { max: 10 * 1024 * 1024 })
  const sealed = sealedSummaries.open(token, context.sealedFor)
  // One that the vendor made goes back to it.
  if (!sealed && context.origin && !sealedSummaries.isOurs(token)) return readVendors(item, path, context)
  if (!sealed)
    return refuseParameter(
      `The encrypted content of '${path}' could not be read. It must come from this server, unchanged.`,
      at,
      'invalid_encrypted_content',
    )
  // As the assistant: what tools said must not come back as a user's words.
  return [
    { kind: 'user', parts: [{ type: 'text', text: 'Sum up our conversation so far.' }] },
    { kind: 'said', part: { type: 'text', text: sealed.summary } },
  ]
}

function readAgentMessage(item: JsonObject, path: string, { images }: ItemContext): InputItem[] {
  const author = field.text(item['author'], `${path}.author`)
  const recipient = field.text(item['recipient'], `${path}.recipient`)
  const content = field.list(item['content'], `${path}.content`)
  // Content that another vendor encrypted cannot be read here.
  const readable = content.filter(part => !isJsonObject(part) || part['type'] !== 'encrypted_content')
  const parts = decodeInputParts(readable, `${path}.content`, images)
  const head = { type: 'text' as const, text: `Message from ${excerpt(author)} to ${excerpt(recipient)}:` }
  return [{ kind: 'user', parts: [head, ...parts] }]
}

function readOutput(item: JsonObject, path: string, { images }: ItemContext, noun: CallNoun): InputItem {
  const callId = field.text(item['call_id'], `${path}.call_id`, idLength)
  if (isAbsent(item['output'])) throw missingParameter(`${path}.output`)
  const output = decodeInputParts(item['output'], `${path}.output`, images)
  return { kind: 'output', callId, output, noun, path }
}

function readReasoning(item: JsonObject, path: string, context: ItemContext): InputItem[] {
  const token = optional(item['encrypted_content'], `${path}.encrypted_content`, field.text) ?? ''
  const thoughts = [
    ...readThoughts(item['summary'], `${path}.summary`),
    ...readThoughts(item['content'], `${path}.content`),
  ]
  const sealed = sealedAnswers.open(token, context.sealedFor)
  // Data that this server sealed holds the thoughts themselves. Data that another server sealed cannot be read here.
  if (sealed) return [{ kind: 'sealed', sealed }]
  const isVendors = token !== '' && !sealedAnswers.isOurs(token)
  if (thoughts.length === 0 && !isVendors) return []
  const native = isVendors ? vendorNative(item, context) : {}
  return [{ kind: 'said', part: { type: 'thinking', text: thoughts.join('\n\n'), ...native } }]
}

/** A text, or a list of parts with one. */
function readThoughts(value: Json | undefined, path: string): string[] {
  if (isAbsent(value)) return []
  const thoughts = Array.isArray(value)
    ? field.objects(value, path, (part, at) => field.text(part['text'], `${at}.text`))
    : [field.text(value, path)]
  return thoughts.filter(thought => thought !== '')
}

function readRan(item: JsonObject, path: string): InputItem[] {
  const part: CallPart = {
    type: 'call',
    id: field.text(item['id'], `${path}.id`, idLength),
    name: field.text(item['name'], `${path}.name`, nameLength),
    form: 'json',
    text: field.text(item['arguments'], `${path}.arguments`),
  }
  const { error } = item
  const failed = !isAbsent(error)
  const result = failed ? errorText(error) : (optional(item['output'], `${path}.output`, field.text) ?? '')
  const output: ResultPart[] = result === '' ? [] : [{ type: 'text', text: result }]
  return [{ kind: 'ran', part, output, failed, path }]
}

function errorText(error: Json): string {
  if (typeof error === 'string') return error
  return JSON.stringify(isJsonObject(error) ? (error['content'] ?? error['message'] ?? error) : error)
}

function readApproval(item: JsonObject, path: string): InputItem[] {
  const id = field.text(item['approval_request_id'], `${path}.approval_request_id`, idLength)
  const reason = optional(item['reason'], `${path}.reason`, field.text)
  const approve = field.flag(item['approve'] ?? undefined, `${path}.approve`)
  const callId = callOfApproval(id)
  return [{ kind: 'approval', callId, id, approve, ...(reason !== undefined && { reason }), path }]
}

// ---- the conversation ---------------------------------------------------------------------------------------

/** Calls of the answer before the items. Some may have their outcome already. */
export type EarlierCalls = readonly { part: CallPart; outcome?: Outcome }[]

export function decodeHistory(items: readonly InputItem[], open: EarlierCalls = []): Entry[] {
  const builder = new HistoryBuilder(pairOutcomes(items, open))
  builder.addResults(open.map(({ part }) => part))
  for (const item of items) builder.take(item)
  return builder.finish()
}

/** The outcome of each call, by its id. */
function pairOutcomes(items: readonly InputItem[], open: EarlierCalls): Map<string, Outcome> {
  const calls = new Map(open.map(({ part }) => [part.id, part]))
  const outcomes = new Map(open.flatMap(({ part, outcome }) => (outcome ? [[part.id, outcome]] : [])))
  for (const item of items) {
    if (item.kind === 'call' || item.kind === 'ran') {
      const { id } = item.part
      if (calls.has(id)) refuseDuplicate(id, item.path)
      calls.set(id, item.part)
      if (item.kind === 'ran') outcomes.set(id, clientOutcome(item.output, item.failed))
    } else if (item.kind === 'output') {
      const { callId, noun, output, loads } = item
      const call = calls.get(callId)
      if (!call || callNoun(call) !== noun || outcomes.has(callId)) noCallFor(noun, callId)
      outcomes.set(callId, { ...clientOutcome(output, false), ...(loads && { loads }) })
    } else if (item.kind === 'approval') noApprovalRequest(item.id)
  }
  return outcomes
}

function refuseDuplicate(callId: string, path: string): never {
  const message = `Duplicate call_id '${callId}' in input. Every call has an id of its own.`
  return refuseParameter(message, `${path}.call_id`, 'duplicate_call_id')
}

function clientOutcome(parts: ResultPart[], failed: boolean): Outcome {
  return { kind: failed ? 'error' : 'ok', parts, from: { source: 'client' } }
}

class HistoryBuilder {
  readonly #outcomes: ReadonlyMap<string, Outcome>
  readonly #entries: Entry[] = []
  #parts: AnswerPart[] = []
  #cut = new Set<string>()
  #sealed: Sealed | undefined
  /** The server ran calls of this answer: text that follows belongs to another answer. */
  #ran = false

  constructor(outcomes: ReadonlyMap<string, Outcome>) {
    this.#outcomes = outcomes
  }

  take(item: InputItem): void {
    switch (item.kind) {
      case 'said':
        if (this.#ran) this.#closeAnswer()
        this.#parts.push(item.part)
        break
      case 'ran':
        this.#ran = true
        this.#parts.push(item.part)
        break
      case 'call':
        this.#parts.push(item.part)
        if (item.cut) this.#cut.add(item.part.id)
        break
      case 'sealed':
        // Two in a row belong to two answers.
        if (this.#sealed || this.#ran) this.#closeAnswer()
        this.#sealed = item.sealed
        break
      case 'user':
        this.#closeAnswer()
        this.#entries.push({ role: 'user', parts: item.parts })
        break
      case 'system':
        this.#closeAnswer()
        this.#entries.push({ role: 'system', text: item.text })
        break
      case 'output':
      case 'approval':
        this.#closeAnswer()
        break
    }
  }

  finish(): Entry[] {
    this.#closeAnswer()
    return this.#entries
  }

  /** The results of an answer's calls, in the order in which the model asked. */
  addResults(calls: readonly CallPart[]): void {
    if (calls.length === 0) return
    const results = calls.map((call): CallResult => {
      const outcome = this.#outcomes.get(call.id) ?? noOutputFor(call)
      return { callId: call.id, name: call.name, outcome }
    })
    this.#entries.push({ role: 'tool', results })
  }

  #closeAnswer(): void {
    const sealed = this.#sealed
    const kept = this.#parts.filter(
      part => part.type !== 'call' || !this.#cut.has(part.id) || this.#outcomes.has(part.id),
    )
    const parts = sealed ? unsealAnswer(kept, sealed) : vendorsFirst(kept)
    this.#parts = []
    this.#cut = new Set()
    this.#sealed = undefined
    this.#ran = false
    if (parts.length === 0) return
    const { origin, continuity } = sealed ?? {}
    const entry = {
      role: 'assistant',
      parts,
      ...(origin && { origin }),
      ...(continuity && { continuity }),
    } as const
    this.#entries.push(entry)
    this.addResults(listCalls(entry))
  }
}

/**
 * A vendor takes its own items back only from the beginning of an answer, a program before the calls that it made. They may
 * have been shown after what the model said.
 */
function vendorsFirst(parts: AnswerPart[]): AnswerPart[] {
  if (!parts.some(part => part.type === 'hosted')) return parts
  const rank = ({ type, native }: AnswerPart): number =>
    type === 'hosted' ? 0 : native === undefined ? 2 : 1
  return parts.toSorted((a, b) => rank(a) - rank(b))
}
