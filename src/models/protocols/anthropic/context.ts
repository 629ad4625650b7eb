// What of an entry depends on the entries around it: server tools whose result never came, calls and results that
// have lost each other, thinking that nothing follows. Known before anything is encoded, and named in `variant` so that
// a remembered encoding is used only in the place it was made for.

import type { Origin } from '../../../language/content.ts'
import { type AssistantEntry, callsOf, type Entry } from '../../../language/history.ts'
import { isJsonObject, type Json, type JsonObject } from '../../../lib/json.ts'
import { nativeFor, sameOrigin } from '../../common/artifacts.ts'
import { grown } from '../../common/grown.ts'
import { isServerUse } from './decode.ts'

export type Places = {
  /** Whether a block of a server tool, or a call's caller, would be refused: its other half is not there. */
  isDropped(id: Json | undefined): boolean
  /** Whether all of the entry's own blocks go back. */
  isWhole(index: number): boolean
  /** Whether call and result stand side by side. `index` is the place of either. */
  isPaired(index: number, callId: string): boolean
  /** Whether thinking may be the last that this entry says. */
  keepsTail(index: number): boolean
  variant(index: number): string
  /** The history ends with an answer that the vendor paused; it goes back as it is. */
  isPaused: boolean
}

/** `container`: where code of the vendor's waits for results, if it still does. */
type Around = { origin: Origin; hosted: readonly JsonObject[]; container: string | undefined }

export function placesOf(spoken: readonly Entry[], traces: Traces, around: Around): Places {
  const { origin } = around
  const dropped = danglingIds(spoken, traces, around)
  const unpairedAt = (index: number): ReadonlySet<string> | undefined =>
    index === spoken.length - 1 ? unpairedIn(spoken, index) : traces.unpaired.get(index)
  const allPaired = traces.unpaired.size === 0 && unpairedAt(spoken.length - 1) === undefined
  const isPaused = endsPaused(spoken, origin, dropped)
  const lostOf = (index: number): string[] =>
    dropped.size === 0 ? [] : hostedIds(spoken[index], origin).filter(id => dropped.has(id))
  const keepsTail = (index: number): boolean => {
    const entry = spoken[index]
    if (entry?.role !== 'assistant' || hasCalls(entry)) return true
    const next = spoken[index + 1]
    return next === undefined ? isPaused : next.role === 'assistant'
  }
  return {
    isPaused,
    isDropped: id => typeof id === 'string' && dropped.has(id),
    isWhole: index => lostOf(index).length === 0,
    isPaired: (index, callId) => unpairedAt(index)?.has(callId) !== true,
    keepsTail,
    variant: index => {
      const end = keepsTail(index) ? '' : 'end'
      if (dropped.size === 0 && allPaired) return end
      return [...lostOf(index), ...(unpairedAt(index) ?? []), end].filter(Boolean).join(' ')
    },
  }
}

/** What the entries of a history leave behind for those that follow. */
export type Traces = {
  /** By place, but for the last: calls without their result in the next entry, results without their call in the one before. */
  unpaired: Map<number, ReadonlySet<string>>
  /** Calls of server tools that wait for their results. */
  open: Map<string, JsonObject>
  dropped: Set<string>
  /** Wire names that the vendor's tool search once found: each must still be declared. */
  referred: Set<string>
  /** Whether the vendor's MCP connector speaks in this history. */
  saysMcp: boolean
  /** Calls that code made are answered in the container it waits in, and nowhere else. */
  container: string | undefined
}

export const tracesOf = grown<Traces, Origin>({
  key: ({ protocol, family }) => `${protocol} ${family}`,
  begin: () => ({
    unpaired: new Map(),
    open: new Map(),
    dropped: new Set(),
    referred: new Set(),
    saysMcp: false,
    container: undefined,
  }),
  add(traces, spoken, index, origin) {
    const entry = spoken[index]!
    // What follows an answer is there only now.
    if (spoken[index - 1]?.role === 'assistant') notePair(traces, spoken, index - 1)
    if (entry.role === 'tool') notePair(traces, spoken, index)
    followEntry(traces, entry, index, origin)
    if (entry.role === 'assistant') noteBlocks(traces, entry, origin)
  },
})

function notePair({ unpaired }: Traces, spoken: readonly Entry[], index: number): void {
  const lost = unpairedIn(spoken, index)
  if (lost) unpaired.set(index, lost)
}

function unpairedIn(spoken: readonly Entry[], index: number): ReadonlySet<string> | undefined {
  const entry = spoken[index]
  if (entry?.role !== 'assistant' && entry?.role !== 'tool') return undefined
  const [asked, answer] = entry.role === 'tool' ? [spoken[index - 1], entry] : [entry, spoken[index + 1]]
  if (isAnsweredInOrder(asked, answer)) return undefined
  const own = idsIn(entry)
  if (own.length === 0) return undefined
  const other = entry.role === 'assistant' ? answer : asked
  const wanted = entry.role === 'assistant' ? 'tool' : 'assistant'
  const there = new Set(other?.role === wanted ? idsIn(other) : [])
  const lost = own.filter(id => !there.has(id))
  return lost.length > 0 ? new Set(lost) : undefined
}

/** The usual case, told without building anything: the results of the very calls, in their order. */
function isAnsweredInOrder(asked: Entry | undefined, answer: Entry | undefined): boolean {
  if (asked?.role !== 'assistant' || answer?.role !== 'tool') return false
  let place = 0
  for (const part of asked.parts)
    if (part.type === 'call' && answer.results[place++]?.callId !== part.id) return false
  return place === answer.results.length
}

function hasCalls({ parts }: AssistantEntry): boolean {
  // Mostly they stand at the end.
  for (let at = parts.length - 1; at >= 0; at--) if (parts[at]!.type === 'call') return true
  return false
}

function idsIn(entry: Entry): string[] {
  if (entry.role === 'assistant') return callsOf(entry).map(call => call.id)
  return entry.role === 'tool' ? entry.results.map(result => result.callId) : []
}

/** Between a server tool's call and its result may only stand results of calls of ours. */
function followEntry({ open, dropped, unpaired }: Traces, entry: Entry, index: number, origin: Origin): void {
  if (entry.role === 'assistant') followHosted(entry, origin, open, dropped)
  else if (entry.role !== 'tool' || unpaired.has(index)) {
    for (const id of open.keys()) dropped.add(id)
    open.clear()
  }
}

function followHosted(
  entry: AssistantEntry,
  origin: Origin,
  open: Map<string, JsonObject>,
  dropped: Set<string>,
): void {
  for (const part of entry.parts) {
    if (part.type !== 'hosted' && part.type !== 'call') continue
    const data = nativeFor(part, origin)
    if (!isJsonObject(data)) continue
    const { id, tool_use_id, caller } = data
    const calledBy = isJsonObject(caller) ? caller['tool_id'] : undefined
    // Code that is over, or never began, makes no calls.
    if (typeof calledBy === 'string' && !open.has(calledBy)) dropped.add(calledBy)
    if (part.type === 'call') continue
    if (isServerUse(data) && typeof id === 'string') {
      open.set(id, data)
    } else if (typeof tool_use_id === 'string' && !open.delete(tool_use_id)) dropped.add(tool_use_id)
  }
}

function noteBlocks(traces: Traces, entry: AssistantEntry, origin: Origin): void {
  for (const { type, content } of hostedBlocks(entry, origin)) {
    if (type === 'mcp_tool_use') traces.saysMcp = true
    const found = isJsonObject(content) ? content['tool_references'] : undefined
    for (const item of Array.isArray(found) ? found : [])
      if (isJsonObject(item) && typeof item['tool_name'] === 'string') traces.referred.add(item['tool_name'])
  }
  const data = sameOrigin(entry.continuity?.origin, origin) ? entry.continuity?.data : undefined
  const container = isJsonObject(data) ? data['container'] : undefined
  const id = isJsonObject(container) ? container['id'] : undefined
  if (typeof id === 'string') traces.container = id
}

/** A request may end while a server tool is at work, if that is still declared. What is left alone in any other way is dropped. */
function danglingIds(
  spoken: readonly Entry[],
  { open, dropped: before }: Traces,
  { origin, hosted, container }: Around,
): ReadonlySet<string> {
  if (open.size === 0) return before
  const dropped = new Set(before)
  const calling = callersOf(spoken, origin)
  const isAdrift = (id: string): boolean => calling.has(id) && container === undefined
  for (const [id, use] of open) if (!isDeclared(use, hosted) || isAdrift(id)) dropped.add(id)
  const isAnswer = spoken.at(-1)?.role === 'assistant'
  // An answer that is not gone on with is followed by a word of ours, and that closes the way for all results.
  if (isAnswer && !endsPaused(spoken, origin, dropped)) for (const id of open.keys()) dropped.add(id)
  return dropped
}

/** Ids of the server tools that made the latest answer's calls. */
export function callersOf(spoken: readonly Entry[], origin: Origin): Set<string> {
  const asked = spoken.findLast(entry => entry.role === 'assistant')
  const ids = new Set<string>()
  for (const { caller } of hostedBlocks(asked, origin))
    if (isJsonObject(caller) && typeof caller['tool_id'] === 'string') ids.add(caller['tool_id'])
  return ids
}

function isDeclared(use: JsonObject, hosted: readonly JsonObject[]): boolean {
  if (use['type'] === 'mcp_tool_use')
    return hosted.some(tool => tool['mcp_server_name'] === use['server_name'])
  const name = typeof use['name'] === 'string' ? use['name'] : ''
  const family = name.endsWith('code_execution') ? 'code_execution' : name
  return hosted.some(tool => tool['name'] === family)
}

function endsPaused(spoken: readonly Entry[], origin: Origin, dropped: ReadonlySet<string>): boolean {
  for (let index = spoken.length - 1; spoken[index]?.role === 'assistant'; index--) {
    const uses = hostedBlocks(spoken[index], origin).filter(isServerUse)
    if (uses.some(use => typeof use['id'] === 'string' && !dropped.has(use['id']))) return true
  }
  return false
}

function hostedIds(entry: Entry | undefined, origin: Origin): string[] {
  return hostedBlocks(entry, origin).flatMap(block => {
    const caller = block['caller']
    const ids = [block['id'], block['tool_use_id'], isJsonObject(caller) ? caller['tool_id'] : undefined]
    return ids.filter(id => typeof id === 'string')
  })
}

/** What the vendor itself said of the entry's server tools and of who made its calls. */
function hostedBlocks(entry: Entry | undefined, origin: Origin): JsonObject[] {
  if (entry?.role !== 'assistant') return []
  const blocks: JsonObject[] = []
  for (const part of entry.parts) {
    if (part.type !== 'hosted' && part.type !== 'call') continue
    const data = nativeFor(part, origin)
    if (isJsonObject(data)) blocks.push(data)
  }
  return blocks
}
