// The memory of a Responses server, and its rules about how items relate to each other and to what it stored: calls and
// outputs, ids that occur once, reasoning and the items it led to, encrypted content, programs, approvals, the order of an
// echo. `items.ts` checks each item by itself.
import { createHmac, randomUUID } from 'node:crypto'
import type { MemoryOptions } from '../double.ts'
import { invalidType, openaiError } from '../openai/forms.ts'
import type { Check, DoubleFrame, Rejection, Rejections } from '../script.ts'
import {
  asList,
  asRecord,
  asRecords,
  isAbsent,
  isRecord,
  type JsonRecord,
  shownText,
  wordList,
} from '../shape.ts'
import { checkItem, isModelOutput, itemType } from './items.ts'

export type StoredResponse = {
  /** The response in its final state. */
  response: JsonRecord
  input: JsonRecord[]
  previous: string | null
  background: boolean
  frames: DoubleFrame[]
  /** How often a background response was retrieved: the first time it runs, the second time it is done. */
  polls: number
  cancelled: boolean
}

type IssuedItem = {
  item: JsonRecord
  stored: boolean
  response: string
  position: number
  /** The reasoning item that must precede this one, and whether it stood directly before. */
  reasoning: string | null
  adjacent: boolean
}

export type ResponsesMemory = ReturnType<typeof newResponsesMemory>

export const newResponsesMemory = ({ trustForeign = false }: MemoryOptions = {}) => ({
  answered: 0,
  /** Makes the ids of two doubles differ, so that a history may span both. */
  salt: randomUUID(),
  responses: new Map<string, StoredResponse>(),
  issued: new Map<string, IssuedItem>(),
  /** Tokens that a script wrote itself, with the item they belong to. */
  scriptedTokens: new Map<string, string>(),
  trustForeign,
})

/** Records the items of one response. With `stored` false they are issued but cannot be looked up. */
export function rememberItems(memory: ResponsesMemory, response: JsonRecord, stored: boolean): void {
  let reasoning: string | null = null
  let adjacent = false
  for (const [position, item] of asRecords(response['output']).entries()) {
    const id = item['id']
    const isReasoning = item['type'] === 'reasoning'
    if (typeof id === 'string') {
      const needs = isReasoning ? null : reasoning
      const owner = shownText(response['id'])
      memory.issued.set(id, { item, stored, response: owner, position, reasoning: needs, adjacent })
      if (isReasoning) reasoning = id
    }
    adjacent = isReasoning
  }
}

export function forgetResponse(memory: ResponsesMemory, id: string): void {
  memory.responses.delete(id)
  for (const issued of memory.issued.values()) if (issued.response === id) issued.stored = false
}

/** All items up to and including a stored response, oldest first. */
export function chainItems(memory: ResponsesMemory, id: unknown): JsonRecord[] {
  const links: StoredResponse[] = []
  let next = typeof id === 'string' ? memory.responses.get(id) : undefined
  while (next !== undefined) {
    links.push(next)
    next = next.previous === null ? undefined : memory.responses.get(next.previous)
  }
  return links.reverse().flatMap(({ input, response }) => [...input, ...asRecords(response['output'])])
}

type OpenedReasoning = { item: string; organisation: string | null }

const TOKEN_PREFIX = 'gAAAAAB'
const MAC_BYTES = 16

/** Encrypted reasoning as far as a caller can see: opaque text, bound to one item and one organisation. */
export function sealReasoning(item: string, organisation: string | null): string {
  const payload = Buffer.from(JSON.stringify({ item, organisation }), 'utf8')
  return TOKEN_PREFIX + Buffer.concat([reasoningMac(payload), payload]).toString('base64url')
}

/** `null` when `sealReasoning` did not make this token, or when it was changed or cut since. */
function openReasoning(token: string): OpenedReasoning | null {
  if (!token.startsWith(TOKEN_PREFIX)) return null
  const bytes = Buffer.from(token.slice(TOKEN_PREFIX.length), 'base64url')
  const payload = bytes.subarray(MAC_BYTES)
  if (bytes.length <= MAC_BYTES || !reasoningMac(payload).equals(bytes.subarray(0, MAC_BYTES))) return null
  const opened: unknown = JSON.parse(payload.toString('utf8'))
  if (!isRecord(opened) || typeof opened['item'] !== 'string') return null
  const organisation = opened['organisation']
  return { item: opened['item'], organisation: typeof organisation === 'string' ? organisation : null }
}

function reasoningMac(payload: Uint8Array): Buffer {
  return createHmac('sha256', 'turnwire-testing-reasoning').update(payload).digest().subarray(0, MAC_BYTES)
}

// ---- how items relate to each other -------------------------------------------------------------------------

/** Calls that the caller answers. */
const ANSWERED_CALLS = wordList(`
  function_call custom_tool_call computer_call local_shell_call shell_call apply_patch_call tool_search_call`)

/** The type of the output that answers a call. */
const outputType = (call: string): string =>
  call === 'tool_search_call' ? 'tool_search_output' : `${call}_output`

/** A call's type as refusals name it. */
const callNoun = (call: string): string => call.replaceAll('_', ' ')

type InputHistory = {
  memory: ResponsesMemory
  organisation: string | null
  /** Stateless requests in lenient mode: dangling and repeated encrypted reasoning was measured to pass. */
  lax: boolean
  /** The items of earlier responses. */
  chain: JsonRecord[]
  /** The items of this request, with references resolved. */
  own: { item: JsonRecord; path: string }[]
  /** The request continues a response that this memory has not seen but trusts. */
  unseen: boolean
}

export function* checkResponsesHistory(
  { body, memory, mode }: Check<ResponsesMemory>,
  organisation: string | null,
): Rejections {
  const { input, previous_response_id: previous } = body
  if (!isAbsent(input) && typeof input !== 'string' && !Array.isArray(input)) {
    return yield invalidType('R-00', 'input', 'one of a string or array of items', input)
  }
  const items = asList(input)
  for (const [at, item] of items.entries()) yield* checkItem(item, `input[${at}]`)
  const history: InputHistory = {
    memory,
    organisation,
    lax: mode === 'lenient' && body['store'] === false,
    chain: chainItems(memory, previous),
    own: items.flatMap((item, at) =>
      isRecord(item) ? [{ item: resolveReference(memory, item), path: `input[${at}]` }] : [],
    ),
    unseen: memory.trustForeign && !isAbsent(previous) && !memory.responses.has(shownText(previous)),
  }
  yield* checkStoredItems(history)
  yield* checkEncryptedContent(history)
  yield* checkDuplicateIds(history)
  yield* checkReasoning(history)
  yield* checkCallPairs(history)
  yield* checkPrograms(history)
  yield* checkApprovals(history)
  yield* checkSafety(history)
  yield* checkEcho(history)
}

function resolveReference(memory: ResponsesMemory, item: JsonRecord): JsonRecord {
  if (itemType(item) !== 'item_reference') return item
  const issued = memory.issued.get(shownText(item['id']))
  return issued?.stored === true ? issued.item : item
}

/** an item that is named but not sent must have been stored. */
function* checkStoredItems({ own, memory }: InputHistory): Rejections {
  for (const { item } of own) {
    const id = shownText(item['id'])
    const isNamedOnly =
      itemType(item) === 'item_reference' ||
      (itemType(item) === 'reasoning' && isAbsent(item['encrypted_content']) && !isAbsent(item['id']))
    if (!isNamedOnly || memory.trustForeign || memory.issued.get(id)?.stored === true) continue
    const message = `Item with id '${id}' not found. Items are not persisted when \`store\` is set to false. Try again with \`store\` set to true, or remove this item from your input.`
    yield openaiError('R-07', message, 'input', null, 404)
  }
}

/** encrypted content is whole, and was made for this item and this caller. */
function* checkEncryptedContent({ own, memory, organisation }: InputHistory): Rejections {
  for (const { item } of own) {
    const token = item['encrypted_content']
    if (itemType(item) !== 'reasoning' || typeof token !== 'string') continue
    const id = shownText(item['id'])
    const scripted = memory.scriptedTokens.get(token)
    const opened = scripted === undefined ? openReasoning(token) : { item: scripted, organisation }
    if (opened === null && memory.trustForeign) continue
    const reason = encryptionProblem(opened, id, organisation)
    if (reason === null) continue
    const message = `The encrypted content for item ${id} could not be verified. Reason: Encrypted content ${reason}`
    yield openaiError('R-08', message, null, 'invalid_encrypted_content')
  }
}

function encryptionProblem(opened: OpenedReasoning | null, id: string, caller: string | null): string | null {
  if (opened === null) return 'could not be decrypted or parsed.'
  if (opened.item !== id) return 'item_id did not match the target item id.'
  const owner = opened.organisation
  return owner !== null && caller !== null && owner !== caller
    ? 'organization_id did not match the target organization.'
    : null
}

function* checkDuplicateIds({ own, chain, lax }: InputHistory): Rejections {
  const seen = new Set(chain.map(item => item['id']))
  for (const { item } of own) {
    const id = item['id']
    if (typeof id !== 'string') continue
    const isAllowed = lax && typeof item['encrypted_content'] === 'string'
    if (seen.has(id) && !isAllowed) {
      const message = `Duplicate item found with id ${id}. Remove duplicate items from your input and try again.`
      yield openaiError('R-03', message, 'input')
    }
    seen.add(id)
  }
}

/** R-06, both ways: reasoning needs the item it led to, and that item needs its reasoning. */
function* checkReasoning({ own, chain, memory, lax }: InputHistory): Rejections {
  const before = new Set(chain.map(item => item['id']))
  for (const [at, { item }] of own.entries()) {
    const id = shownText(item['id'])
    before.add(item['id'])
    const type = itemType(item)
    if (type === 'reasoning') {
      if ((lax && typeof item['encrypted_content'] === 'string') || isFollowed(own, at)) continue
      const message = `Item '${id}' of type 'reasoning' was provided without its required following item.`
      yield openaiError('R-06', message, 'input')
      continue
    }
    const issued = memory.issued.get(id)
    if (issued?.stored !== true || issued.reasoning === null) continue
    const mustBeAdjacent = type === 'web_search_call' && issued.adjacent
    const previous = own[at - 1]?.item ?? chain.at(-1)
    if (mustBeAdjacent ? previous?.['id'] === issued.reasoning : before.has(issued.reasoning)) continue
    const message = `Item '${id}' of type '${type}' was provided without its required 'reasoning' item: '${issued.reasoning}'.`
    yield openaiError('R-06', message, 'input')
  }
}

function isFollowed(own: InputHistory['own'], at: number): boolean {
  const next = own.slice(at + 1).find(({ item }) => itemType(item) !== 'reasoning')
  return next !== undefined && isModelOutput(next.item)
}

/** over the whole conversation. Only an item of this request can be an orphan. */
function* checkCallPairs({ own, chain, unseen }: InputHistory): Rejections {
  const open = new Map<string, JsonRecord>()
  for (const { item, path } of [...chain.map(one => ({ item: one, path: null })), ...own]) {
    const type = itemType(item)
    const id = readCallId(item)
    if (ANSWERED_CALLS.includes(type) && needsOutput(item)) open.set(`${outputType(type)}:${id}`, item)
    const call = ANSWERED_CALLS.find(each => outputType(each) === type)
    if (call === undefined || isAbsent(item['call_id'] ?? item['id']) || open.delete(`${type}:${id}`))
      continue
    const isServers = type === 'tool_search_output' && item['execution'] !== 'client'
    if (path === null || unseen || isServers) continue
    yield openaiError('R-02', `No tool call found for ${callNoun(call)} output with call_id ${id}.`, 'input')
  }
  for (const call of open.values()) {
    if (call['async'] === true) continue
    const message = `No tool output found for ${callNoun(itemType(call))} ${readCallId(call)}.`
    yield openaiError('R-01', message, 'input')
  }
}

/** Local shell outputs name the call by `id`. Everything else has a `call_id`. */
const readCallId = (item: JsonRecord): string => shownText(item['call_id'] ?? item['id'])

/** A search that the server carries out itself needs no output from the caller. */
const needsOutput = (item: JsonRecord): boolean =>
  itemType(item) !== 'tool_search_call' || item['execution'] === 'client'

function* checkPrograms({ own, chain, memory, unseen }: InputHistory): Rejections {
  const programs = new Set<unknown>()
  const callers = new Map<string, unknown>()
  for (const { item, path } of [...chain.map(one => ({ item: one, path: '' })), ...own]) {
    const type = itemType(item)
    const id = readCallId(item)
    const { type: callerType, caller_id: caller } = asRecord(item['caller'])
    if (type === 'program') {
      programs.add(item['call_id'])
      const known = memory.issued.get(shownText(item['id']))?.item['fingerprint']
      if (known === undefined || known === item['fingerprint']) continue
      const message = `The fingerprint of program ${shownText(item['id'])} could not be verified.`
      yield openaiError('program', message, `${path}.fingerprint`, 'invalid_value')
    } else if (type === 'program_output') {
      if (unseen || programs.has(item['call_id'])) continue
      yield openaiError('program', `No program found for program output with call_id ${id}.`, 'input')
    } else if (ANSWERED_CALLS.includes(type) && callerType === 'program') {
      callers.set(id, caller)
      if (unseen || programs.has(caller)) continue
      const message = `No program found for ${callNoun(type)} ${id} with caller_id ${shownText(caller)}.`
      yield openaiError('program', message, 'input')
    } else if (callers.has(id) && caller !== callers.get(id)) {
      const message = `The output of call ${id} must carry the caller of its call.`
      yield openaiError('program', message, `${path}.caller`, 'invalid_value')
    }
  }
}

/** A result of a computer call must acknowledge the safety checks that the vendor asked for with the call. */
function* checkSafety({ own, chain }: InputHistory): Rejections {
  const pending = new Map<string, string[]>()
  for (const item of [...chain, ...own.map(one => one.item)]) {
    if (itemType(item) !== 'computer_call') continue
    pending.set(
      readCallId(item),
      asRecords(item['pending_safety_checks']).map(check => shownText(check['id'])),
    )
  }
  for (const { item, path } of own) {
    if (itemType(item) !== 'computer_call_output') continue
    const said = asRecords(item['acknowledged_safety_checks']).map(check => shownText(check['id']))
    const open = (pending.get(readCallId(item)) ?? []).filter(id => !said.includes(id))
    if (open.length === 0) continue
    const message = `The following pending safety checks have not been acknowledged: ${open.join(', ')}.`
    yield openaiError('computer', message, `${path}.acknowledged_safety_checks`)
  }
}

function* checkApprovals({ own, chain, unseen }: InputHistory): Rejections {
  const items = [...chain, ...own.map(({ item }) => item)]
  const requests = items.filter(item => itemType(item) === 'mcp_approval_request').map(item => item['id'])
  for (const { item } of own) {
    const id = item['approval_request_id']
    if (itemType(item) !== 'mcp_approval_response' || unseen || requests.includes(id)) continue
    yield openaiError('mcp-approval', `No approval request found with id ${shownText(id)}.`, 'input')
  }
}

/**
 * The API accepts an echo that is reordered or has lost its phase, and answers worse. So this refusal is the
 * double's own, with a status that no SDK retries.
 */
function* checkEcho({ own, memory }: InputHistory): Rejections {
  const last = new Map<string, number>()
  for (const { item, path } of own) {
    const issued = memory.issued.get(shownText(item['id']))
    if (issued === undefined) continue
    const earlier = last.get(issued.response) ?? -1
    last.set(issued.response, issued.position)
    const phase = issued.item['phase']
    if (earlier > issued.position) yield unfaithfulEcho(path, 'stands in another order than it was given in')
    else if (!isAbsent(phase) && item['phase'] !== phase) {
      yield unfaithfulEcho(path, `lost its phase '${shownText(phase)}'`)
    }
  }
}

function unfaithfulEcho(path: string, how: string): Rejection {
  const message = `${path} ${how}: echo output items as they came.`
  return { rule: 'R-14', status: 422, type: 'double_harness_error', message, param: path, code: null }
}
